"""Quotes of CSV that are opened and never closed: a fault in its line, in time that grows with the file only."""

import pytest

from seqloom.data import csv_reader
from seqloom.data.corpus import Fault
from seqloom.data.csv_reader import csv_rows


def test_an_open_quote_costs_no_more_per_line_when_the_file_grows(monkeypatch):
    looked_at = 0
    find_end = csv_reader.quotes_after

    def counted(*args, **options):
        nonlocal looked_at
        looked_at += 1
        return find_end(*args, **options)

    monkeypatch.setattr(csv_reader, "quotes_after", counted)
    counts = []
    for size in (5_000, 20_000):
        looked_at = 0
        found = list(csv_rows(iter(['a,"b', *["c,d"] * size]), ","))
        assert found[0] == (1, Fault("bad quotes", 1, "a quote is opened and not closed"))
        assert found[1:] == [(line, ["c", "d"]) for line in range(2, size + 2)]
        counts.append(looked_at)
    assert counts[0] <= csv_reader.MAX_RECORD_LINES + 1 and counts[1] == counts[0]


def test_a_quoted_cell_has_a_limit_in_characters(monkeypatch):
    monkeypatch.setattr(csv_reader, "MAX_RECORD_CHARS", 20)
    found = list(csv_rows(iter(['"a', "b" * 30, 'c",d', 'e,"f', 'g"']), ","))
    assert isinstance(found[0][1], Fault) and found[0][1].kind == "bad quotes"
    assert found[-1] == (4, ["e", "f\ng"])


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('a,"b ""c"" d"', ["a", 'b "c" d']),
        ('"a\nb, ""\nc",d', ['a\nb, "\nc', "d"]),
        ('"",""', ["", ""]),
        ('"a\n",b', ["a\n", "b"]),
        ('a "quote",b', ['a "quote"', "b"]),
        ('5" tall,b', ['5" tall', "b"]),
    ],
)
def test_quotes_are_read_as_before(text, cells):
    assert list(csv_rows(iter([*text.split("\n"), "x,y"]), ",")) == [(1, cells), (2 + text.count("\n"), ["x", "y"])]


def test_text_after_a_closing_quote_is_a_fault_of_its_line_only():
    first, second = csv_rows(iter(['"a"b,c', "x,y"]), ",")
    assert isinstance(first[1], Fault) and second == (2, ["x", "y"])


def test_several_open_quotes_in_one_file_are_each_a_fault_of_their_line():
    rows = [f"a{number},b" for number in range(5000)]
    opened = [10, 11, 400, 1600, 1601, 4990, 4999]
    for place in opened:
        rows[place] = f'a{place},"b'
    found = list(csv_rows(iter(rows), ","))
    assert [line for line, cells in found if isinstance(cells, Fault)] == [place + 1 for place in opened]
    assert len(found) == 5000 and found[12] == (13, ["a12", "b"])


def test_a_file_in_which_every_line_opens_a_quote(monkeypatch):
    """Each line closes the quote of the one before and opens another: none of 1,000 lines ahead closes the record."""
    looked_at = 0
    find_end = csv_reader.quotes_after

    def counted(*args, **options):
        nonlocal looked_at
        looked_at += 1
        return find_end(*args, **options)

    monkeypatch.setattr(csv_reader, "quotes_after", counted)
    found = list(csv_rows(iter(['5","a'] * 20_000), ","))
    assert len(found) == 20_000 and all(isinstance(cells, Fault) for _, cells in found)
    assert looked_at <= 2 * 20_000


def test_a_record_after_an_open_quote_is_read():
    lines = ['x,"', "y", 'z,"a', 'b",c', "d,e"]
    (_, first), *rest = csv_rows(iter([*lines]), ",")
    assert isinstance(first, Fault)
    assert rest == [(2, ["y"]), (3, ["z", "a\nb", "c"]), (5, ["d", "e"])]
