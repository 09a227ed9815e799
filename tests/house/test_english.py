"""Typical phrases of unclear English do not come back. The list, and what to write instead: english_rules.py."""

from tests.house.english_rules import phrases_over_their_ceiling, texts_for_people
from tests.house.source import show


def test_typical_phrases_become_no_more():
    assert not (broken := phrases_over_their_ceiling(texts_for_people())), show(broken)
