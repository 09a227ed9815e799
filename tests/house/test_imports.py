"""Who may import whom, and where imports are written. Rules and reasons: import_rules.py; the table: layers.py."""

from tests.house import import_rules as rules
from tests.house.source import ROOT, Source, show


def test_every_folder_has_a_row(sources):
    assert not (broken := rules.folders_without_a_row(sources)), show(broken)


def test_imports_have_whole_names(sources):
    assert not (broken := rules.relative_imports(sources)), show(broken)


def test_imports_follow_the_layers(sources):
    assert not (broken := rules.imports_against_the_layers(sources)), show(broken)


def test_every_permission_is_used(sources):
    table = Source.of(rules.TABLE, (ROOT / rules.TABLE).read_text("utf-8"))
    assert not (broken := rules.unused_permissions(sources, table=table)), show(broken)


def test_torch_stays_where_it_is_needed(sources):
    assert not (broken := rules.torch_where_it_may_not_be(sources)), show(broken)


def test_models_are_built_in_one_place(sources):
    assert not (broken := rules.second_readers_of_config(sources)), show(broken)


def test_there_are_no_cycles_between_modules(sources):
    assert not (broken := rules.cycles(sources)), show(broken)


def test_imports_are_at_the_top(sources):
    assert not (broken := rules.more_imports_inside_functions(sources)), show(broken)
