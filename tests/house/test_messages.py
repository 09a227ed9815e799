"""The tests of the tests: shown a made-up source that breaks it, each rule says where, what, why and what to do."""

import pytest

from tests.house import english_rules, import_rules, style_rules
from tests.house.source import Rule, Source

LONG = '"""A long file."""\n' + "x = 1\n" * 400
LONG_FUNCTION = '"""A long function."""\n\n\ndef f():\n' + "    x = 1\n" * 61
PICKLE = '"""Weights."""\n\nimport torch\n\nweights = torch.load("model.pt")\n'
FORWARD = '"""A layer."""\n\n\nclass Layer:\n    def forward(self, x):\n        self.kept = x\n'


def made_up(name: str, text: str) -> list[Source]:
    return [Source.of(name, text)]


CYCLE = [
    Source.of("seqloom/nn/a.py", '"""A."""\n\nfrom seqloom.nn.b import B\n'),
    Source.of("seqloom/nn/b.py", '"""B."""\n\n\ndef late():\n    from seqloom.nn.c import C\n'),
    Source.of("seqloom/nn/c.py", '"""C."""\n\nimport seqloom.nn.a\n'),
]
TYPES_ONLY = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from seqloom.nn.a import A\n"
ROOM = [
    Source.of("seqloom/nn/__init__.py", '"""Layers.\n\ncells   recurrent cells\ngone    no longer there\n"""\n'),
    Source.of("seqloom/nn/cells.py", '"""Cells."""\n'),
    Source.of("seqloom/nn/new.py", '"""New."""\n'),
]

# name: (messages of a check on a bad source, where the first one points, the rule, words that say what was found)
BAD = {
    "no row": (
        import_rules.folders_without_a_row(made_up("seqloom/attic/box.py", "")),
        "seqloom/attic/box.py:1",
        import_rules.HAS_A_ROW,
        "'attic'",
    ),
    "relative import": (
        import_rules.relative_imports(made_up("seqloom/nn/x.py", "import torch\nfrom .cells import CELLS\n")),
        "seqloom/nn/x.py:2",
        import_rules.WHOLE_NAME,
        ".cells.CELLS",
    ),
    "against the layers": (
        import_rules.imports_against_the_layers(
            made_up("seqloom/text/x.py", "def f():\n    from seqloom.models.build import MODELS\n")
        ),
        "seqloom/text/x.py:2",
        import_rules.FOLLOWS_LAYERS,
        "imports seqloom.models.build.MODELS",
    ),
    "unused permission": (
        import_rules.unused_permissions(
            made_up("seqloom/nn/x.py", "import seqloom.errors\n"),
            {"nn": ({"errors", "config"}, "layers")},
            Source.of("tests/house/layers.py", 'RULES = {\n    "nn": ({"errors", "config"}, "layers"),\n}\n'),
        ),
        "tests/house/layers.py:2",
        import_rules.PERMISSION_IN_USE,
        "nn may import config",
    ),
    "torch": (
        import_rules.torch_where_it_may_not_be(made_up("seqloom/serve/x.py", "\nfrom torch import nn\n")),
        "seqloom/serve/x.py:2",
        import_rules.NO_TORCH_HERE,
        "imports torch.nn",
    ),
    "reads config": (
        import_rules.second_readers_of_config(made_up("seqloom/models/x.py", "from seqloom.config import Config\n")),
        "seqloom/models/x.py:1",
        import_rules.ONE_READER_OF_CONFIG,
        "seqloom.config.Config",
    ),
    "cycle": (
        import_rules.cycles(CYCLE, known={}),
        "seqloom/nn/a.py:3",
        import_rules.NO_CYCLE,
        "nn.a -> nn.b -> nn.c -> nn.a",
    ),
    "known cycle that is gone": (
        import_rules.cycles(CYCLE[:2], known={frozenset({"nn.a", "nn.b"}): "why"}),
        "tests/house/import_rules.py:1",
        import_rules.CYCLE_IS_THERE,
        "nn.a, nn.b",
    ),
    "import inside a function": (
        import_rules.more_imports_inside_functions(
            made_up("seqloom/data/x.py", "def f():\n    import torch\n    from seqloom.errors import DataError\n"), {}
        ),
        "seqloom/data/x.py:3",
        import_rules.AT_THE_TOP,
        "data/ has 1 of these, at most 0",
    ),
    "long file": (
        style_rules.long_files(made_up("seqloom/nn/x.py", LONG)),
        "seqloom/nn/x.py:401",
        style_rules.SHORT_FILE,
        "401 lines",
    ),
    "long function": (
        style_rules.long_functions(made_up("seqloom/nn/x.py", LONG_FUNCTION)),
        "seqloom/nn/x.py:4",
        style_rules.SHORT_FUNCTION,
        "f has 62 lines",
    ),
    "sliver": (
        style_rules.slivers(made_up("seqloom/nn/x.py", '"""Short."""\n')),
        "seqloom/nn/x.py:1",
        style_rules.NO_SLIVER,
        "1 lines",
    ),
    "vague file": (
        style_rules.vague_names(made_up("seqloom/nn/loss_utils.py", "")),
        "seqloom/nn/loss_utils.py:1",
        style_rules.SPEAKING_NAME,
        "nn.loss_utils",
    ),
    "vague class": (
        style_rules.vague_names(made_up("seqloom/nn/x.py", "\n\nclass LossManager:\n    pass\n")),
        "seqloom/nn/x.py:3",
        style_rules.SPEAKING_NAME,
        "LossManager",
    ),
    "silent module": (
        style_rules.silent_modules(made_up("seqloom/nn/x.py", "x = 1\n")),
        "seqloom/nn/x.py:1",
        style_rules.SAYS_WHAT_IT_IS,
        "no docstring",
    ),
    "unlisted file": (
        style_rules.unlisted_files(ROOM)[:1],
        "seqloom/nn/__init__.py:1",
        style_rules.ROOM_IS_LISTED,
        "no row for new.py",
    ),
    "listed file that is gone": (
        style_rules.unlisted_files(ROOM)[1:],
        "seqloom/nn/__init__.py:4",
        style_rules.ROOM_IS_LISTED,
        "gone.py",
    ),
    "pickle": (
        style_rules.pickles(made_up("seqloom/nn/x.py", PICKLE)),
        "seqloom/nn/x.py:5",
        style_rules.NO_PICKLE,
        "torch.load",
    ),
    "path of a machine": (
        style_rules.places_of_one_machine({"docs/x.md": "# Data\n\nIt is in /" + "home/me/corpus.\n"}),
        "docs/x.md:3",
        style_rules.NO_MACHINE,
        "/home/",
    ),
    "address of a registry": (
        style_rules.places_of_one_machine({"Makefile": f"all:\n\tpip install -i {style_rules.HOSTS[0]}\n"}),
        "Makefile:2",
        style_rules.NO_MACHINE,
        style_rules.HOSTS[0],
    ),
    "old phrase": (
        english_rules.phrases_over_their_ceiling(
            {"docs/x.md": "# Speed\n\nIt does 100 tokens a\nsecond.\n"},
            {"per": english_rules.Phrase(r"\btokens a second\b", "tokens per second", 0)},
        ),
        "docs/x.md:3",
        english_rules.PLAIN_ENGLISH,
        '"tokens a second"',
    ),
    "tensor on self": (
        style_rules.tensors_on_self(made_up("seqloom/nn/x.py", FORWARD)),
        "seqloom/nn/x.py:6",
        style_rules.NO_STATE,
        "forward assigns self.kept",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_message_says_where_what_why_and_what_to_do(name):
    messages, where, rule, found = BAD[name]
    assert len(messages) == 1, messages
    (message,) = messages
    first, says, why, do = message.splitlines()[:4]
    assert first.startswith(f"{where}: ")
    assert found in first
    assert says == f"  rule: {rule.says}"
    assert why.startswith("  why:  ") and len(why) > 20
    assert do in (f"  do:   {rule.do}", "  do:   write: tokens per second")


def test_every_rule_has_a_bad_example():
    rules = {
        id(value)
        for module in (english_rules, import_rules, style_rules)
        for value in vars(module).values()
        if type(value) is Rule
    }
    assert rules == {id(rule) for _, _, rule, _ in BAD.values()}


def test_the_reason_of_a_layer_is_that_of_its_row():
    (message,) = import_rules.imports_against_the_layers(made_up("seqloom/nn/x.py", "import seqloom.config.load\n"))
    assert "why:  nn: tensors in, tensors out" in message


def test_imports_for_types_make_no_cycle():
    two = [CYCLE[0], Source.of("seqloom/nn/b.py", TYPES_ONLY)]
    assert not import_rules.cycles(two, known={})


def test_good_sources_break_nothing():
    good = made_up(
        "seqloom/nn/x.py", '"""A layer."""\n\nimport torch\n\nfrom seqloom.errors import UsageError\n' + "\n" * 40
    )
    checks = [
        import_rules.folders_without_a_row,
        import_rules.relative_imports,
        import_rules.imports_against_the_layers,
        import_rules.torch_where_it_may_not_be,
        import_rules.second_readers_of_config,
        import_rules.more_imports_inside_functions,
        style_rules.long_files,
        style_rules.long_functions,
        style_rules.slivers,
        style_rules.vague_names,
        style_rules.silent_modules,
        style_rules.unlisted_files,
        style_rules.pickles,
        style_rules.tensors_on_self,
    ]
    assert [message for check in checks for message in check(good)] == []
