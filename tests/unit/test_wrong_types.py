"""Python code that gives the wrong thing gets a sentence, as the command line does."""

import pytest

import seqloom
from seqloom.errors import UsageError


def test_a_model_where_a_folder_is_wanted():
    for call in (lambda: seqloom.load(5), lambda: seqloom.evaluate(object(), [("a", "b")])):
        with pytest.raises(UsageError, match="folder: want the path of a model folder, got"):
            call()


@pytest.mark.parametrize("beam", ["x", 2.5, True])
def test_a_beam_is_a_whole_number(beam):
    from seqloom.decode.options import SearchRequest

    with pytest.raises(UsageError, match=r"beam = .*: want 1 to 1000"):
        SearchRequest.of(beam=beam).check()
    SearchRequest.of(beam=2, length_penalty=1, temperature=None).check()  # 1 is a number too


def test_a_column_that_the_header_does_not_have(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id;English;French\n" + "".join(f"{i};word {i};mot {i}\n" for i in range(20)))
    with pytest.raises(UsageError, match="line 1 has 3 columns, so there is no column 9"):
        seqloom.doctor(str(file), columns="2,9")
