from seqloom.workflows.validation import mark_changes


def test_the_first_time_nothing_is_marked() -> None:
    assert mark_changes(None, "ein Mann") == "ein Mann"


def test_what_is_new_and_what_is_gone() -> None:
    assert mark_changes("ein alter Mann schläft", "ein Mann schläft tief") == "ein [-alter-] Mann schläft {+tief+}"


def test_no_change_shows_the_text() -> None:
    assert mark_changes("a b", "a b") == "a b"
