"""Small rules that keep the house readable and safe. Rules and reasons: style_rules.py."""

from tests.house import style_rules as rules
from tests.house.source import show


def test_files_are_short(sources):
    assert not (broken := rules.long_files(sources)), show(broken)


def test_functions_are_short(sources):
    assert not (broken := rules.long_functions(sources)), show(broken)


def test_files_are_no_slivers(sources):
    assert not (broken := rules.slivers(sources)), show(broken)


def test_names_say_what_is_inside(sources):
    assert not (broken := rules.vague_names(sources)), show(broken)


def test_every_module_says_what_it_is(sources):
    assert not (broken := rules.silent_modules(sources)), show(broken)


def test_every_folder_lists_its_files(sources):
    assert not (broken := rules.unlisted_files(sources)), show(broken)


def test_nothing_is_pickled(sources):
    assert not (broken := rules.pickles(sources)), show(broken)


def test_no_path_of_a_machine_and_no_registry_in_the_project(project_texts):
    assert not (broken := rules.places_of_one_machine(project_texts)), show(broken)


def test_no_forward_pass_leaves_a_tensor_on_self(sources):
    assert not (broken := rules.tensors_on_self(sources)), show(broken)
