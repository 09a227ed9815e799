"""Settings: all errors are reported together, each with the name that was probably meant."""

import dataclasses
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import SECTIONS, Config, build_config, dump_config, idle_overrides, load_config
from seqloom.errors import UsageError


def settings() -> list[tuple[str, dataclasses.Field]]:
    return [(section, field) for section, kind in SECTIONS.items() for field in dataclasses.fields(kind)]


def fault(overrides: list[str]) -> str:
    with pytest.raises(UsageError) as caught:
        load_config(overrides=overrides)
    return str(caught.value)


def test_the_defaults_are_allowed():
    assert build_config({}, where="defaults") == Config()
    assert load_config() == Config()


def test_the_names_that_scripts_rely_on_exist():
    known = {f"{section}.{field.name}" for section, field in settings()}
    assert known >= {
        "model.kind", "model.cell", "model.attention", "model.layers", "model.width", "text.tokenizer",
        "text.vocab_size", "train.max_steps", "train.save_every", "train.batch_tokens", "train.seed",
        "data.source_lang", "data.target_lang",
    }  # fmt: skip


@pytest.mark.parametrize("pair", settings(), ids=lambda pair: f"{pair[0]}.{pair[1].name}")
def test_every_setting_has_a_help_text_and_a_default_it_allows(pair):
    section, field = pair
    assert field.metadata["help"]
    assert (
        getattr(getattr(build_config({section: {field.name: field.default}}, "x"), section), field.name)
        == field.default
    )


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().model.width = 3


def test_overrides_are_laid_over_the_recipe(tmp_path):
    recipe = tmp_path / "a.toml"
    recipe.write_text('[model]\nkind = "rnn"\nwidth = 64\n[train]\nlearning_rate = 2e-3\n', "utf-8")
    config = load_config(recipe, ["model.width=96", "train.seed=5"])
    assert (config.model.kind, config.model.width, config.train.seed) == ("rnn", 96, 5)
    assert config.train.learning_rate == 2e-3
    assert config.model.heads == Config().model.heads


@pytest.mark.parametrize(
    ("override", "section", "name", "want"),
    [
        ("model.kind=rnn", "model", "kind", "rnn"),
        ('model.kind="rnn"', "model", "kind", "rnn"),
        ("text.joint=false", "text", "joint", False),
        ("train.learning_rate=1e-4", "train", "learning_rate", 1e-4),
        ("train.learning_rate=1", "train", "learning_rate", 1.0),
        (" train.seed = 9", "train", "seed", 9),
        ("data.source_lang=en", "data", "source_lang", "en"),
    ],
)
def test_an_override_reads_as_toml_or_as_a_bare_word(override, section, name, want):
    got = getattr(getattr(load_config(overrides=[override]), section), name)
    assert got == want
    assert type(got) is type(want)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.attenton=none", "model.attenton: no such setting. Did you mean 'attention'?"),
        ("modle.width=3", "modle: no such section. Did you mean 'model'?"),
        ("model.cell=lsmt", "allowed: rnn, rnn_relu, lstm, gru, gru_fused. Did you mean 'lstm'?"),
        ("model.width=wide", "want int, got str"),
        ("model.width=2.5", "want int, got float"),
        ("model.width=true", "want int, got bool"),
        ("text.joint=1", "want bool, got int"),
        ("model.layers=0", "want 1 <= value"),
        ("model.dropout=1.5", "<= 0.99"),
        ("model.dropout=nan", "<= 0.99"),
        ("model.width=255", "is not divisible by model.heads = 4"),
        ("model.embed_size=100", "model.embed_size = 100"),
        ("train.batch_tokens=10", "cannot hold a sentence of data.max_tokens = 250"),
        ("model.width", "--set model.width: want section.name=value"),
        ("nonsense", "--set nonsense: want section.name=value"),
        ("=3", "--set =3"),
        ("width=3", "--set width=3"),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(override, said):
    assert said in fault([override])


def test_a_removed_setting_that_was_off_does_not_lock_out_a_run_folder(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(dump_config(Config()).replace('name = "translate"', 'name = "translate"\nrespell = 0.0'), "utf-8")
    assert "respell" in file.read_text("utf-8") and load_config(file) == Config()
    file.write_text("[task]\nrespell = 0.1\n", "utf-8")
    with pytest.raises(UsageError, match=r"task\.respell: no such setting"):
        load_config(file)


def test_a_recipe_is_not_blamed_alone_for_what_was_laid_over_it(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[model]\nwidth = 64\n", "utf-8")
    with pytest.raises(UsageError, match=r"mine\.toml with overrides: 1 wrong"):
        load_config(file, ["model.widht=3"])
    file.write_text("[model]\nwidht = 64\n", "utf-8")
    with pytest.raises(UsageError, match=r"mine\.toml: 1 wrong"):
        load_config(file)


def test_all_faults_come_at_once():
    text = fault(["model.cell=lsmt", "model.layers=0", "train.sede=3", "nonsense"])
    assert "4 wrong setting(s)" in text
    for name in ("model.cell", "model.layers", "train.sede", "nonsense"):
        assert name in text


def test_rules_between_settings_hold_only_where_they_apply():
    one_way = ["model.kind=rnn", "model.width=255", "model.bidirectional=false"]
    assert load_config(overrides=one_way).model.width == 255
    with pytest.raises(UsageError, match="two directions"):
        load_config(overrides=one_way[:2])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("model.width=8 model.encoder_width=7", "model.encoder_width = 7 cannot be halved for two directions"),
        ("data.reverse_source=true", "set it or model.bidirectional to false"),
        ("model.feed_context=true", "model.feed_context is for model.attention = none"),
        ("model.maxout=256 model.decoder=luong", "use model.decoder = bahdanau"),
        ("model.maxout=256 model.attention=none", "model.feed_context = true"),
        ("model.maxout=100", "must be the embedding size (256)"),
        ("model.maxout=100 model.embed_size=64", "must be the embedding size (64)"),
        ("model.kind=transformer data.reverse_source=true", "only for model.kind = rnn"),
        ("model.kind=transformer model.init_range=0.1", "only for model.kind = rnn"),
        ("model.kind=transformer model.width=12 model.positions=rotary", "needs an even width per head, not 12 / 4"),
        ("task.name=masked task.hide=0", "task.hide = 0: no token is hidden, so nothing is learned; use 0.15"),
        ("task.name=denoise task.hide=0", "task.hide = 0: the text has no noise, so nothing is learned; use 0.3"),
    ],
)
def test_settings_that_do_not_go_together(settings, said):
    text = fault(["model.kind=rnn", *settings.split()])
    assert "1 wrong setting" in text
    assert said in text


@pytest.mark.parametrize(
    "settings",
    [
        "model.width=8 model.bidirectional=false model.encoder_width=7 model.attention=bilinear",
        "data.reverse_source=true model.bidirectional=false",
        "model.feed_context=true model.attention=none model.maxout=256",
        "model.maxout=100 model.tied=false",
        "model.kind=transformer model.width=12 model.heads=2 model.positions=rotary",
        "task.name=denoise task.hide=0 task.permute=true",
        "task.hide=0",
    ],
)
def test_settings_that_do(settings):
    assert load_config(overrides=["model.kind=rnn", *settings.split()])


@pytest.mark.parametrize(
    ("content", "said"),
    [("model = 3\n", "model: no such section"), ("x y\n", "not a TOML file"), ("[model]\nwidht = 3\n", "'width'")],
)
def test_a_wrong_recipe_is_named(tmp_path, content, said):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(content, "utf-8")
    with pytest.raises(UsageError) as caught:
        load_config(recipe)
    assert str(recipe) in str(caught.value)
    assert said in str(caught.value)


def test_a_recipe_in_another_encoding_or_missing_is_named(tmp_path):
    recipe = tmp_path / "latin.toml"
    recipe.write_bytes("# r\xe9seau\n[model]\n".encode("latin-1"))
    with pytest.raises(UsageError, match="not a TOML file"):
        load_config(recipe)
    with pytest.raises(UsageError, match="no such recipe"):
        load_config(tmp_path / "none.toml")


def strategy_of(field: dataclasses.Field) -> st.SearchStrategy:
    rule = field.metadata
    if "allowed" in rule:
        return st.sampled_from([*rule["allowed"]])
    if field.type is bool:
        return st.booleans()
    if field.type is int:
        return st.integers(int(rule["least"]), min(rule["most"], 2**40))
    if field.type is float:
        return st.floats(rule["least"], min(rule["most"], 1e30))
    return st.text('a-"\\\n\t=#[é中', max_size=8)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            section: st.fixed_dictionaries(
                {}, optional={field.name: strategy_of(field) for field in dataclasses.fields(kind)}
            )
            for section, kind in SECTIONS.items()
        },
    )
)
def test_what_is_written_reads_back_equal(table):
    try:
        config = build_config(table, where="drawn")
    except UsageError:
        return  # a rule between settings
    assert build_config(tomllib.loads(dump_config(config)), where="again") == config


RNN, TRANSFORMER = (
    "only for model.kind = rnn, but here it is {}",
    "only for model.kind = transformer, but here it is {}",
)


@pytest.mark.parametrize(
    ("overrides", "idle"),
    [
        (["model.cell=lstm"], {"model.cell=lstm": RNN.format("transformer")}),
        (["model.kind=rnn", "model.heads=2", "model.cell=lstm"], {"model.heads=2": TRANSFORMER.format("rnn")}),
        (
            ["model.kind=rnn", "model.attention=none", "model.decoder=luong"],
            {"model.decoder=luong": "only for networks with attention, but here model.attention = none"},
        ),
        (["data.reverse_source=false", "train.seed=3"], {"data.reverse_source=false": RNN.format("transformer")}),
        (
            ["task.name=language", "model.kind=gpt", "model.attention=dot", "model.heads=2", "task.window=9"],
            {"model.attention=dot": RNN.format("gpt")},
        ),
        (
            ["task.name=language", "model.kind=gpt", "task.hide=0.3"],
            {"task.hide=0.3": "only for task.name = masked or denoise, but here it is language"},
        ),
        (
            ["task.name=classify", "task.turns=4", "task.permute=false"],
            {
                "task.turns=4": "only for task.name = dialogue, but here it is classify",
                "task.permute=false": "only for task.name = denoise, but here it is classify",
            },
        ),
        (["task.name=denoise", "task.hide=0.3", "task.permute=true", "data.max_tokens=9", "train.init=x"], {}),
        (["task.name=masked", "task.hide=0.3"], {}),
        (["task.name=dialogue", "task.turns=3"], {}),
    ],
)
def test_what_another_family_or_task_would_read_is_told(overrides, idle):
    assert idle_overrides(load_config(overrides=overrides), overrides) == idle
