"""Marian-type models come in from Hugging Face, and ours go out to it: the same logits, the same texts."""

import io
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from seqloom.config import dump_config, load_config
from seqloom.data.store import Store
from seqloom.errors import ModelError, UsageError
from seqloom.formats.export_ctranslate2 import make_engine
from seqloom.formats.import_folder import import_model
from seqloom.models.build import build_model
from seqloom.models.weights import save_weights
from seqloom.runtime.folder import open_run
from seqloom.runtime.inputs import Intake
from seqloom.runtime.translator import Translator
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, NEVER, PAD
from seqloom.workflows.export import export
from seqloom.workflows.train import train

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs, of their own libraries
transformers = pytest.importorskip("transformers")
TEXTS = ["a small cat sat on the mat", "the dog ran and then it slept", "un petit chat dort", "a cat ran on"]


def learn_pieces(texts, size):
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 5), model_writer=model, vocab_size=size, model_type="bpe", minloglevel=2,
        hard_vocab_limit=False, num_threads=1,
    )  # fmt: skip
    return model.getvalue()


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    """A small random Marian model as it lies on disk."""
    import sentencepiece

    folder = tmp_path_factory.mktemp("marian")
    pieces = {"</s>": 0, "<unk>": 1, ">>fr<<": 2}
    for side, size in (("source", 40), ("target", 30)):  # which cut the same text differently
        model = learn_pieces(TEXTS, size)
        (folder / f"{side}.spm").write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        for index in range(processor.get_piece_size()):
            if not (processor.is_control(index) or processor.is_unknown(index)):
                pieces.setdefault(processor.id_to_piece(index), len(pieces))
    pieces["<pad>"] = pad = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces), "utf-8")
    torch.manual_seed(4)
    model = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=pad + 1, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, activation_function="swish",
            scale_embedding=True, pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
            forced_eos_token_id=None, max_position_embeddings=64, init_std=0.4,
        )
    ).eval()  # fmt: skip
    model.final_logits_bias = torch.randn_like(model.final_logits_bias)
    model.save_pretrained(folder)
    return folder, model, pieces


@pytest.fixture(scope="module")
def imported(marian, tmp_path_factory):
    out = tmp_path_factory.mktemp("imported") / "run"
    facts = import_model(marian[0], out)
    assert facts.params > 1000
    return out


def their_ids(translator, pieces, ids):
    tokens = translator.tokenizers.source.tokens()
    return [pieces["<pad>"] if index == BOS else pieces[tokens[index]] for index in ids]


def test_an_imported_model_has_the_same_logits(marian, imported):
    _, model, pieces = marian
    translator = Translator.load(imported)
    source, target = translator.tokenizers.source.encode(TEXTS[0]), translator.tokenizers.target.encode(TEXTS[2])
    src, tgt = [*source, EOS], [BOS, *target]
    ours = torch.tensor([src])
    with torch.inference_mode():
        memory = translator.model.encode(ours, ours != PAD)
        found = translator.model.project(translator.model.hidden(torch.tensor([tgt]), memory))[0]
        expected = model(
            input_ids=torch.tensor([their_ids(translator, pieces, src)]),
            decoder_input_ids=torch.tensor([their_ids(translator, pieces, tgt)]),
        ).logits[0]
    order = their_ids(translator, pieces, range(len(translator.tokenizers.target)))
    real = [index for index in range(len(order)) if index != BOS]
    assert torch.allclose(found[:, real], expected[:, [order[index] for index in real]], atol=1e-4)
    assert (found[:, BOS] < -1e8).all()


@pytest.mark.parametrize("beam", [1, 4])
def test_an_imported_model_writes_the_same(marian, imported, beam, tmp_path):
    folder, model, pieces = marian
    translator = Translator.load(imported)
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    for text in TEXTS:
        inputs = tokenizer([text], return_tensors="pt")
        expected_ids = their_ids(translator, pieces, [*translator.tokenizers.source.encode(text), EOS])
        assert inputs["input_ids"][0].tolist() == expected_ids
        written = model.generate(
            **inputs, num_beams=beam, early_stopping=True, length_penalty=1.0, max_new_tokens=12, do_sample=False,
            suppress_tokens=[pieces["<pad>"]],
        )  # fmt: skip
        assert translator.hypotheses([text], beam, max_length=12)[0][0].text == tokenizer.decode(
            written[0], skip_special_tokens=True
        )


def test_an_imported_model_has_an_engine(imported):
    reference = Translator.load(imported, engine="torch").hypotheses(TEXTS, 3, max_length=12)
    make_engine(imported, tell=print)
    fast = Translator.load(imported)
    assert fast.engine.name == "ctranslate2"
    assert [r[0].text for r in fast.hypotheses(TEXTS, 3, max_length=12)] == [r[0].text for r in reference]


def test_a_language_code_holds_for_every_sentence_of_a_long_text(imported):
    tokenizer, warned = Translator.load(imported).tokenizers.source, []
    text = f">>fr<< {TEXTS[0]}. {TEXTS[1].capitalize()}."
    sentences = [f">>fr<< {TEXTS[0]}.", f">>fr<< {TEXTS[1].capitalize()}."]
    limit = max(map(len, tokenizer.encode_batch(sentences)))
    prepared = Intake(tokenizer, limit, warn=warned.append).prepare([text], [1])
    assert (prepared, warned) == ([tokenizer.encode_batch(sentences)], [])
    pieces = Intake(tokenizer, limit - 1, warn=warned.append).prepare([text], [1])[0]
    assert len(pieces) > 2 and {ids[0] for ids in pieces} == {tokenizer.encode(">>fr<< a")[0]}


def test_a_language_code_is_one_token(imported):
    tokenizer = Translator.load(imported).tokenizers.source
    assert tokenizer.pieces(tokenizer.encode(">>fr<< a cat"))[0] == ">>fr<<"
    assert tokenizer.spans_batch([">>fr<< a cat"])[0][0] == (0, 6)
    assert tokenizer.encode("</s>")[0] != EOS


@pytest.mark.slow
def test_an_imported_model_is_trained_on(imported, tmp_path):
    """Begun from it, opened, gone on with, translated with; each side is cut by its own pieces."""
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "run"
    lines = [f"{a} {a} {b}\t{b} {a}\n" for a in TEXTS for b in TEXTS]
    pairs.write_text("".join(lines), "utf-8")
    settings = ["train.threads=1", "train.warmup=1", "train.average=1", "train.save_every=1", "data.valid_pairs=2"]

    def go(steps: int):
        limit = [f"train.max_steps={steps}"]
        return train(pairs, out=out, init=imported, recipe="transformer-small", overrides=settings + limit, quiet=True)

    assert go(2).facts.step == 2
    assert open_run(out).config.text == open_run(imported).config.text
    assert go(3).facts.step == 3
    translator = Translator.load(out)
    assert len(translator.translate(TEXTS[:2])) == 2
    source, target = translator.tokenizers.source, translator.tokenizers.target
    store = Store.open(out / "store")
    for place, line in enumerate(store.lines):
        texts = lines[line - 1].rstrip("\n").split("\t")
        assert store.pair_ids(place) == (source.encode(texts[0]), target.encode(texts[1]))
    assert source.encode(TEXTS[0]) != target.encode(TEXTS[0])


def test_what_cannot_be_imported(marian, tmp_path):
    folder = shutil.copytree(marian[0], tmp_path / "copy")
    (folder / "vocab.json").write_text('{"</s>": 0, "<unk>": 0}', "utf-8")
    with pytest.raises(ModelError, match="every id from 0 up exactly once"):
        import_model(folder, tmp_path / "a")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="a pickle"):
        import_model(folder, tmp_path / "a")
    with pytest.raises(UsageError, match="the folder exists"):
        import_model(folder, folder)


def test_what_nobody_took_of_a_marian_is_told(marian, imported, tmp_path):
    assert open_run(imported).facts.left_out is None
    folder = shutil.copytree(marian[0], tmp_path / "more")
    more = {f"model.encoder.layernorm_embedding.{part}": torch.ones(16) for part in ("weight", "bias")}
    more["model.encoder.embed_positions.weight"] = torch.zeros(64, 16)  # sines, which ours computes
    save_file({**load_file(folder / "model.safetensors"), **more}, folder / "model.safetensors", {"format": "pt"})
    assert import_model(folder, tmp_path / "run").left_out == "encoder.layernorm_embedding (2 tensors)"


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_weights_in_half_precision_are_imported(marian, kind, tmp_path):
    folder = shutil.copytree(marian[0], tmp_path / "half")
    tensors = {name: tensor.to(kind) for name, tensor in load_file(folder / "model.safetensors").items()}
    tensors["final_logits_bias"] = tensors["final_logits_bias"].flatten()  # some tools store it so
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    import_model(folder, tmp_path / "run")
    found = Translator.load(tmp_path / "run").model.state_dict()
    assert all(tensor.dtype == torch.float32 and tensor.isfinite().all() for tensor in found.values())
    assert found["output.bias"][BOS] == NEVER


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"encoder_ffn_dim": 28, "decoder_ffn_dim": 28}, "W_1"),
        ({"decoder_start_token_id": 0}, "decoder_start_token_id = 0: want that of <pad>"),
    ],
)
def test_a_config_that_does_not_fit_its_weights(marian, changed, said, tmp_path):
    folder = shutil.copytree(marian[0], tmp_path / "other")
    about = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(about | changed), "utf-8")
    with pytest.raises(ModelError, match=said):
        import_model(folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module", params=["pre", "post"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "run"
    settings = [
        f"model.norm={request.param}", "model.width=16", "model.heads=2", "model.layers=2", "model.decoder_layers=1",
        "text.vocab_size=300", "data.max_tokens=40", "decode.beam=3",
    ]  # fmt: skip
    config = load_config(overrides=settings)
    tokenizer = learn_tokenizer("bpe", TEXTS, 300)
    torch.manual_seed(1)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
        model.output.bias[EOS] = 3.0
    folder.mkdir()
    (folder / "config.toml").write_text(dump_config(config), "utf-8")
    (folder / "run.json").write_text('{"format": 1, "finished": true}', "utf-8")
    Tokenizers(tokenizer, tokenizer).save(folder)
    save_weights(model, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("beam", [1, 3])
def test_an_exported_model_writes_the_same_in_transformers(run, beam, tmp_path):
    out = export(run, "hf", tmp_path / "hf", tell=print)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(out).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    translator = Translator.load(run)
    for text in TEXTS:
        inputs = tokenizer(text, return_tensors="pt")
        ids = [*translator.tokenizers.source.encode(text), EOS]
        assert inputs["input_ids"][0].tolist() == ids
        with torch.inference_mode():
            src, tgt = torch.tensor([ids]), torch.tensor([[BOS, 9, 12, 7]])
            own = translator.model.project(translator.model.hidden(tgt, translator.model.encode(src, src != PAD)))
            logits = model(input_ids=src, decoder_input_ids=tgt).logits
        assert torch.allclose(own, logits, atol=1e-4)
        written = model.generate(input_ids=inputs["input_ids"], num_beams=beam, max_new_tokens=20)[0]
        expected = translator.hypotheses([text], beam, max_length=20)[0][0].text
        assert tokenizer.decode(written, skip_special_tokens=True) == expected


def test_an_exported_model_writes_the_same_in_ctranslate2(run, tmp_path):
    import ctranslate2

    out = export(run, "ctranslate2", tmp_path / "ct2", tell=print)
    translator = Translator.load(run)
    tokens = translator.tokenizers.source.tokens()
    model = ctranslate2.Translator(str(out))
    for text in TEXTS:
        ids = [*translator.tokenizers.source.encode(text), EOS]
        found = model.translate_batch(
            [[tokens[index] for index in ids]], beam_size=3, max_decoding_length=20, min_decoding_length=0,
            suppress_sequences=[["<pad>"], ["<s>"]],
        )  # fmt: skip
        text_found = translator.tokenizers.target.decode([tokens.index(t) for t in found[0].hypotheses[0]])
        assert text_found == translator.hypotheses([text], 3, max_length=20)[0][0].text


def test_what_cannot_be_exported(run, tmp_path):
    for format_, said in (("hf", "name the folder to write"), ("tensorflow", "want ctranslate2")):
        with pytest.raises(UsageError, match=said):
            export(run, format_, tell=print)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(UsageError, match="not empty"):
        export(run, "hf", tmp_path / "full", tell=print)


def test_explain_shows_the_attention_of_the_original(marian, imported):
    _, model, pieces = marian
    translator = Translator.load(imported)
    (lane,) = translator.explain(TEXTS[0], target=TEXTS[2], views=["attention", "self"]).lanes
    src = [token.id for token in lane.source.tokens]
    tgt = [BOS, *(token.id for token in lane.target.tokens[:-1])]
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        theirs = model(
            input_ids=torch.tensor([their_ids(translator, pieces, src)]),
            decoder_input_ids=torch.tensor([their_ids(translator, pieces, tgt)]),
            output_attentions=True,
        )
    layers = {"encoder.self": theirs.encoder_attentions, "decoder.self": theirs.decoder_attentions}
    layers["decoder.cross"] = theirs.cross_attentions
    for name, weights in layers.items():
        for layer, want in enumerate(weights):
            assert torch.allclose(torch.tensor(lane.map(f"{name}.{layer}").values), want[0], atol=2e-3)
