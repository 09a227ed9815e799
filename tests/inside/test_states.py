"""States: the basis is PCA, it is kept with the model, paths and maps of phrases are the states on it."""

import numpy as np
import pytest
import torch

import seqloom
from seqloom.errors import UsageError
from seqloom.files.durable import hash_file
from seqloom.inside import basis as bases
from seqloom.inside.samples import samples_of
from seqloom.inside.states import map_phrases, states_of
from seqloom.text.vocabulary import BOS, EOS

TEXTS = ["the cat sat", "a small dog", "le chat dort", "un petit chien"]


def test_the_basis_is_the_singular_value_decomposition():
    rows = np.random.default_rng(1).normal(size=(40, 6)).astype(np.float32) @ np.diag([5, 4, 3, 2, 1, 1])
    found = bases.fit(rows.astype(np.float32), 7)
    centred = rows - rows.mean(0)
    variance, vectors = np.linalg.eigh(centred.T @ centred)
    assert np.allclose(np.abs((found.axes * vectors[:, ::-1].T[:3]).sum(1)), 1, atol=1e-4)  # equal up to sign
    assert np.allclose(found.explained, variance[::-1][:3] / variance.sum(), atol=1e-5)
    assert np.allclose(found.points(rows), centred @ found.axes.T, atol=1e-4)
    assert (found.fitted_on, found.axes.shape) == (7, (3, 6))


def test_the_basis_equals_that_of_scikit_learn_up_to_sign():
    """Run where scikit-learn is installed; the test above compares with numpy's eigenvectors everywhere."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    rows = np.random.default_rng(2).normal(size=(50, 7)).astype(np.float32) @ np.diag([6, 5, 4, 3, 2, 1, 1])
    found, theirs = bases.fit(rows.astype(np.float32), 7), decomposition.PCA(3).fit(rows)
    assert np.allclose(np.abs((found.axes * theirs.components_).sum(1)), 1, atol=1e-4)
    assert np.allclose(found.explained, theirs.explained_variance_ratio_, atol=1e-5)
    assert np.allclose(np.abs(found.points(rows)), np.abs(theirs.transform(rows)), atol=1e-3)


def test_few_or_equal_states_make_fewer_axes_and_no_nan():
    assert bases.fit(np.ones((1, 4), np.float32), 1).points(np.ones((1, 4), np.float32)) == [[0]]
    found = bases.fit(np.ones((5, 4), np.float32), 1)
    assert np.isfinite(found.axes).all()
    assert (found.explained == 0).all()


@pytest.mark.parametrize("family", ["rnn", "luong", "fixed", "transformer", "gpt"])
def test_states_are_those_of_the_contract(load, family):
    model = load(family)
    (lane,) = model.explain("a cat", target="le", views=["states"], sentences=TEXTS).lanes
    src = torch.tensor([[*model.tokenizers.source.encode("a cat"), EOS]])
    with torch.inference_mode():
        memory = model.model.encode(src, torch.ones_like(src, dtype=torch.bool))
    encoder, decoder = lane.paths
    assert [(path.name, path.axis, path.fitted_on) for path in lane.paths] == [
        ("encoder", "source", 4),
        ("decoder", "target", 4),
    ]
    assert (len(encoder.points), len(decoder.points)) == (len(lane.source.tokens), len(lane.target.tokens))
    samples = [states_of(sample)["encoder"] for sample in samples_of(model, TEXTS)]
    want = bases.fit(np.concatenate(samples), 4)
    assert np.allclose(encoder.points, want.points(memory.annotations[0].numpy()), atol=1e-4)
    assert np.allclose(encoder.explained, want.explained, atol=1e-5)


@pytest.mark.parametrize("family", ["classifier", "tagger", "masked", "rnn language", "gpt language"])
def test_models_with_one_side_have_one_path(load, family):
    (lane,) = load(family).explain("a cat", views=["states"], sentences=TEXTS).lanes
    assert [path.name for path in lane.paths] == ["decoder" if "language" in family else "encoder"]


def test_a_bag_of_words_has_no_states(load):
    with pytest.raises(UsageError, match=r"kind = bag has no such view; models of kind rnn and transformer have it"):
        load("bag").explain("a cat", views=["states"])


@pytest.fixture
def folder(tiny_model, tmp_path):
    import shutil

    return shutil.copytree(tiny_model, tmp_path / "model")


def path_of(folder, **options):
    return seqloom.load(folder).explain("abc", views=["states"], **options).lanes[0].paths[0]


def test_the_basis_is_fitted_once_and_kept_with_the_model(folder):
    first = path_of(folder)
    assert first.fitted_on == 20  # the held-out pairs in the store of the run
    assert (folder / bases.FILE).is_file()
    before = (folder / bases.FILE).stat().st_mtime_ns
    assert path_of(folder) == first
    assert (folder / bases.FILE).stat().st_mtime_ns == before
    other = path_of(folder, sentences=["abc", "bca", "cab"])
    assert (other.fitted_on, other.basis != first.basis) == (3, True)
    assert path_of(folder) == other  # the last basis stays
    assert path_of(folder, sentences=["abc", "bca", "cab"]) == other


def test_other_weights_or_a_damaged_file_are_fitted_again(folder):
    first = path_of(folder)
    file = folder / bases.FILE
    good = file.read_bytes()
    for damaged in (good[:50], good.replace(b"encoder.axes", b"encoder.xxes")):
        file.write_bytes(damaged)
        assert path_of(folder) == first
    random = np.random.default_rng(1).normal(size=(9, 16)).astype(np.float32)  # as wide as the states
    for weights in ("other weights", hash_file(folder / "model.safetensors")):
        bases.write(file, dict.fromkeys(("encoder", "decoder"), bases.fit(random, 9)), weights, "")
        assert (path_of(folder) == first) == (weights == "other weights")


def test_a_folder_that_cannot_be_written_is_no_error(folder, monkeypatch):
    from seqloom.errors import WriteError

    def refuse(*_):
        raise WriteError("read-only")

    monkeypatch.setattr(bases, "replace_file", refuse)
    assert path_of(folder).fitted_on == 20
    assert not (folder / bases.FILE).exists()


def test_a_folder_without_its_data_uses_the_golden_sentences(folder):
    import shutil

    shutil.rmtree(folder / "store")
    assert path_of(folder).fitted_on == 5
    (folder / "golden.json").unlink()
    (folder / bases.FILE).unlink()
    path = path_of(folder)
    assert path.fitted_on == 1
    assert not (folder / bases.FILE).exists()  # one text alone is no basis for others


@pytest.mark.parametrize(
    "family", ["rnn", "fixed", "transformer", "gpt", "tagger", "masked", "gpt language", "rnn language"]
)
def test_phrases_are_one_point_each(load, family):
    model = load(family)
    found = map_phrases(model, [("en", TEXTS[0]), ("en", TEXTS[1]), ("fr", TEXTS[2]), ("fr", TEXTS[3])])
    assert [(point.label, point.text) for point in found.points] == [*zip(("en", "en", "fr", "fr"), TEXTS, strict=True)]
    assert 0 < sum(found.explained) <= 1 + 1e-6
    points = np.array([point.point for point in found.points])
    assert np.allclose(points.mean(0), 0, atol=1e-4)
    assert ("last state" in found.about) == (family == "fixed")


def test_the_vector_of_a_phrase(load):
    for family in ("fixed", "tagger"):
        model = load(family)
        vectors = []
        for text in TEXTS:
            ids = model.tokenizers.source.encode(text)
            src = torch.tensor([[*ids, EOS] if family == "fixed" else [BOS, *ids, EOS]])
            mask = torch.ones_like(src, dtype=torch.bool)
            with torch.inference_mode():
                if family == "fixed":
                    vectors.append(model.model.encode(src, mask).last[-1][0][0].numpy())
                else:
                    vectors.append(model.model.hidden(src, mask)[0].mean(0).numpy())
        want = bases.fit(np.stack(vectors), 4).points(np.stack(vectors))
        found = map_phrases(model, [("", text) for text in TEXTS])
        assert np.allclose([point.point for point in found.points], want, atol=1e-4)


def test_a_bag_of_words_maps_phrases_too(load):
    assert len(map_phrases(load("bag"), [("", text) for text in TEXTS]).points) == 4
