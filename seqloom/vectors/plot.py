"""`vectors plot`: a picture of chosen or frequent words, as PNG, as an HTML page, or both."""

from collections.abc import Callable, Sequence
from pathlib import Path

from seqloom.errors import UsageError
from seqloom.explain.charts import can_draw
from seqloom.files.durable import replace_file
from seqloom.vectors.files import load_vectors
from seqloom.vectors.measure import check_model
from seqloom.vectors.picture import make_picture
from seqloom.vectors.word_map import WordMap, draw_html, draw_png
from seqloom.vectors.word_vectors import WordVectors

ENDINGS = (".png", ".html")


def plot(
    file: Path,
    words: Sequence[str],
    out: Path,
    *,
    near: int,
    top: int,
    skip: int,
    clusters: int,
    seed: int,
    side: str | None = None,
    sentences: Path | None = None,
    in_context: Path | None = None,
    warn: Callable[[str], None],
) -> list[Path]:
    """Draw the picture; returns the files written: `out`, or a PNG and an HTML file if it has no ending.

    sentences, in_context: a file whose sentences, or words in their sentences, are drawn as the model in `file` sees
    them. There `words` are the words to draw, and no frequent words are skipped.
    """
    for name, value, least in (("near", near, 0), ("top", top, 3), ("skip", skip, 0), ("clusters", clusters, 1)):
        if value < least:
            raise UsageError(f"--{name} {value}: want {least} or more.")
    targets = output_files(out)
    if not can_draw() and targets[0].suffix == ".png":
        raise UsageError(f"{targets[0]}: a PNG needs matplotlib: pip install 'seqloom[plots]', or give --out NAME.html")
    if sentences or in_context:
        vectors = vectors_of_model(file, words, side, sentences, in_context, warn)
        words, skip = [], 0
    else:
        vectors = load_vectors(file, warn, side, say=warn)
    chosen = list(words) or vectors.words[min(skip, max(0, len(vectors) - top)) :][:top]
    around = [found for word in words for found, _ in vectors.nearest(word, near)] if near else []
    picture = make_picture(vectors, [*chosen, *around], clusters, seed)
    drawing = WordMap(
        f"{len(picture.words)} {'sentences' if sentences else 'words'} of {(sentences or in_context or file).name}",
        picture.words,
        [(float(x), float(y)) for x, y in picture.places],
        picture.clusters,
        picture.names,
        [f"{word}: near {', '.join(found)}" for word, found in zip(picture.words, picture.neighbours, strict=True)],
        (f"first direction, {picture.shares[0]:.0%} of the variance", f"second, {picture.shares[1]:.0%}"),
    )
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, draw_png(drawing) if target.suffix == ".png" else draw_html(drawing))
    return targets


def vectors_of_model(
    folder: Path,
    words: Sequence[str],
    side: str | None,
    sentences: Path | None,
    in_context: Path | None,
    warn: Callable[[str], None],
) -> WordVectors:
    """The sentences of a file, or its words in their sentences, with the vectors that a model gives them."""
    check_model(folder, side, sentences, in_context)
    from seqloom.runtime.sentence_vectors import SentenceVectors  # imports torch, which other pictures do not need
    from seqloom.vectors.of_sentences import sentences_of, words_of

    if sentences:
        if words:
            raise UsageError(
                f"{words[0]!r} with --sentences: all sentences of the file are drawn; leave out the words."
            )
        return sentences_of(SentenceVectors.load(folder), sentences, warn)
    assert in_context is not None
    return words_of(SentenceVectors.load(folder), in_context, warn, only=words)


def output_files(out: Path) -> list[Path]:
    """The files to write; UsageError now rather than after the work if one exists or has an unknown ending."""
    if out.suffix not in ("", *ENDINGS):
        raise UsageError(f"--out {out}: want {', '.join(ENDINGS)}, or no ending for both.")
    files = [out] if out.suffix else [out.with_name(out.name + ending) for ending in ENDINGS]
    for file in files:
        if file.exists():
            raise UsageError(f"--out {out}: {file} already exists. Choose another name, or remove it.")
    return files
