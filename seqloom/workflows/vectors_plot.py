"""A file of vectors -> a picture of chosen or frequent words, as PNG, as an HTML page, or both."""

from collections.abc import Callable, Sequence
from pathlib import Path

from seqloom.errors import UsageError

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
    warn: Callable[[str], None],
) -> list[Path]:
    """The files written: `out` as its ending says, or both kinds when it has none."""
    from seqloom.explain.charts import can_draw
    from seqloom.explain.word_map import WordMap, draw_html, draw_png
    from seqloom.vectors.files import load_vectors
    from seqloom.vectors.picture import make_picture

    for name, value, least in (("near", near, 0), ("top", top, 3), ("skip", skip, 0), ("clusters", clusters, 1)):
        if value < least:
            raise UsageError(f"--{name} {value}: want {least} or more.")
    targets = output_files(out)
    if not can_draw() and targets[0].suffix == ".png":
        raise UsageError(f"{targets[0]}: a PNG needs matplotlib: pip install 'seqloom[plots]', or give --out NAME.html")
    vectors = load_vectors(file, warn)
    chosen = list(words) or vectors.words[min(skip, max(0, len(vectors) - top)) :][:top]
    around = [found for word in words for found, _ in vectors.nearest(word, near)] if near else []
    picture = make_picture(vectors, [*chosen, *around], clusters, seed)
    drawing = WordMap(
        f"{len(picture.words)} words of {file.name}",
        picture.words,
        [(float(x), float(y)) for x, y in picture.places],
        picture.clusters,
        picture.names,
        [f"{word}: near {', '.join(found)}" for word, found in zip(picture.words, picture.neighbours, strict=True)],
        (f"first direction, {picture.shares[0]:.0%} of the variance", f"second, {picture.shares[1]:.0%}"),
    )
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".png":
            target.write_bytes(draw_png(drawing))
        else:
            target.write_text(draw_html(drawing), "utf-8")
    return targets


def output_files(out: Path) -> list[Path]:
    """What is to be written; refused now what would be lost or could not be drawn when the work is done."""
    if out.suffix not in ("", *ENDINGS):
        raise UsageError(f"--out {out}: want {', '.join(ENDINGS)}, or no ending for both.")
    files = [out] if out.suffix else [out.with_name(out.name + ending) for ending in ENDINGS]
    for file in files:
        if file.exists():
            raise UsageError(f"--out {out}: {file} is there already. Choose another name, or remove it.")
    return files
