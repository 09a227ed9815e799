"""N-best lists of other systems: what is read, what is refused and with which words."""

import gzip

import pytest

from seqloom.errors import DataError
from seqloom.rerank.n_best_lists import Candidate, read_n_best

GOOD = """\
0 ||| le chat ||| LM0= -3.5 TM= -1 -2 ||| -12.5
0 ||| un chat ||| LM0= -4 ||| -13e0 ||| 0-0 1-1 ||| more
1 |||  ||| -2
2||| a | b ||| 7
"""


@pytest.fixture
def read(tmp_path):
    def run(text, num_sources=3):
        file = tmp_path / "x.nbest"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_n_best(file, num_sources)

    return run


def test_fields_are_read_and_written(read):
    lists = read(GOOD)
    assert lists == [
        [
            Candidate("le chat", -12.5, "LM0= -3.5 TM= -1 -2"),
            Candidate("un chat", -13.0, "LM0= -4", ("0-0 1-1", "more")),
        ],
        [Candidate("", -2.0)],
        [Candidate("a | b", 7.0)],
    ]
    line = lists[0][1].render(0, -1.25, "seqloom= -3")
    assert line == "0 ||| un chat ||| LM0= -4 seqloom= -3 ||| -1.250000 ||| 0-0 1-1 ||| more"
    assert lists[1][0].render(1, 2, "seqloom= -3") == "1 |||  ||| seqloom= -3 ||| 2.000000"
    again = read("\n".join(c.render(n, c.score, "") for n, group in enumerate(lists) for c in group))
    assert [[c.text for c in group] for group in again] == [[c.text for c in group] for group in lists]
    assert again[0] == lists[0]


def test_gzip(read):
    assert read(gzip.compress(GOOD.encode())) == read(GOOD)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "0 ||| a ||| -1\n0 ||| b\n",
            "line 2: 2 field(s) separated by |||: '0 ||| b'. Want id ||| text ||| features ||| score",
        ),
        ("0 ||| a ||| -1\n\n", "line 2: 1 field(s)"),
        ("0\ta\t-1\n", "line 1: 1 field(s)"),
        ("x ||| a ||| -1\n", "line 1: id 'x': want the number of a source line"),
        ("-1 ||| a ||| -1\n", "line 1: id '-1'"),
        ("² ||| a ||| -1\n", "line 1: id '²'"),
        ("9" * 5000 + " ||| a ||| -1\n", "line 1: id '999"),
        ("0 ||| a ||| LM= -3\n", "line 1: score 'LM= -3': want a number"),
        ("0 ||| a ||| f ||| high\n", "line 1: score 'high': want a number"),
        ("0 ||| a ||| f ||| nan\n", "line 1: score 'nan'"),
        ("0 ||| a ||| f ||| -inf\n", "line 1: score '-inf'"),
        ("1 ||| a ||| -1\n", "line 1: the first id is 1; ids count the lines of the source from 0"),
        ("0 ||| a ||| -1\n1 ||| a ||| -1\n0 ||| b ||| -2\n", "line 3: id 0 after id 1: want ids in order"),
        ("0 ||| a ||| -1\n2 ||| a ||| -1\n", "line 2: id 2 after id 0: no candidate for id 1"),
        ("0 ||| a ||| -1\n3 ||| a ||| -1\n", "line 2: id 3, but the source has 3 lines: ids 0 to 2"),
        ("0 ||| a ||| -1\n1 ||| a ||| -1\n", "ends with id 1, but the source has 3 lines, ids 0 to 2"),
        ("", "holds no candidate, but the source has 3 lines"),
        (b"0 ||| caf\xe9 ||| -1\n", "line 1: invalid UTF-8: byte 0xe9"),
    ],
)
def test_a_broken_list_is_named_with_its_line(text, said, read):
    with pytest.raises(DataError) as raised:
        read(text)
    assert "x.nbest" in str(raised.value)
    assert said in str(raised.value)
