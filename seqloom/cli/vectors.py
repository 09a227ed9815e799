"""seqloom vectors: learn, look at and measure word vectors. A verb with verbs of its own."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from cyclopts import App

from seqloom.cli.app import VERBS, description, examples
from seqloom.errors import UsageError
from seqloom.workflows import vectors_measure as measure
from seqloom.workflows.vectors_train import VectorSettings
from seqloom.workflows.vectors_train import train as run_train

EXAMPLES = """\
Examples:
    seqloom vectors train text.txt.gz --out words.bin
    seqloom vectors nearest words.bin parliament
    seqloom vectors analogy words.bin man king woman
    seqloom vectors similarity words.bin wordsim353.txt
    seqloom vectors plot words.bin --out words.html
"""


def say(message: str) -> None:
    print(message, file=sys.stderr)


def train(
    *texts: str,
    out: Path,
    method: str = "skipgram",
    size: int = 100,
    window: int | None = None,
    epochs: int | None = None,
    min_count: int = 5,
    negative: int = 5,
    seed: int = 1,
    threads: int | None = None,
    column: str | None = None,
    keep_case: bool = False,
    spaces: bool = False,
) -> None:
    """Learn word vectors from plain text, one sentence a line.

    Words are runs of letters and digits, in lower case; signs are dropped. The same text, settings and threads give the
    same vectors. The file is word2vec's: binary when its name ends in .bin, text when in .txt or .vec, each also .gz;
    any other name is a folder, which also gets the counts of the words and the facts of the training.

    Parameters
    ----------
    texts
        files of UTF-8 text, also .gz; - is standard input
    out
        a new file of vectors, or a folder
    method
        skipgram, cbow or glove
    size
        numbers a vector
    window
        words to each side that count as near; 5 unless told, 10 for glove
    epochs
        times the text is read; 5 unless told, 15 for glove
    min_count
        rarer words get no vector
    negative
        noise words for each pair; of skipgram and cbow
    seed
        another start; the same seed gives the same vectors
    threads
        threads that share the work; another number gives other vectors [default: all cores]
    column
        the text is one column of a table: a number from 1, or the name of a header or of a JSON field
    keep_case
        Word and word are two words
    spaces
        words are what stands between spaces, signs and all: for text that is split already

    Examples
    --------
        seqloom vectors train text.txt.gz --out words.bin
        seqloom vectors train part1.txt part2.txt --out words.vec --method cbow --size 200 --epochs 10
        seqloom vectors train pairs.tsv --column 2 --out runs/words --method glove
    """
    if not texts:
        raise UsageError("vectors train: no text. Give one or more files, or - for standard input.")
    settings = VectorSettings(method, size, window, epochs, min_count, negative, seed, threads)
    say(run_train(texts, out, settings, column=column, keep_case=keep_case, spaces=spaces, say=say).render())


def nearest(vectors: Path, /, *words: str, k: int = 10, json_: bool = False) -> None:
    """Tell the words nearest to a word.

    One row a neighbour, nearest first: WORD<TAB>COSINE; with several words, each row begins with the word asked for.

    Parameters
    ----------
    vectors
        a file of vectors (word2vec's text or binary form, or GloVe's), or a folder of `vectors train`
    words
        one or more words
    k
        how many neighbours
    json_
        one JSON object instead of rows

    Examples
    --------
        seqloom vectors nearest words.bin parliament
        seqloom vectors nearest words.bin red green blue --k 3
    """
    if not words:
        raise UsageError("vectors nearest: no word. Give one or more behind the file.")
    found = measure.nearest(vectors, words, k, say)
    if json_:
        print(json.dumps(found, ensure_ascii=False))
        return
    for word, neighbours in found.items():
        for near, cosine in neighbours:
            print(*([word] if len(found) > 1 else []), near, f"{cosine:.4f}", sep="\t")


def analogy(vectors: Path, /, *words: str, k: int = 5, json_: bool = False) -> None:
    """Complete an analogy, or answer a file of them.

    Three words, A B C: A is to B as C is to what? One row an answer, best first: WORD<TAB>COSINE. A file of questions
    has `a b c d` a line and `: name` before each section; told is how often d comes first, with a 95 % interval
    (Wilson's). Case does not matter there, and answers are sought among the 300,000 most frequent words.

    Parameters
    ----------
    vectors
        a file of vectors (word2vec's text or binary form, or GloVe's), or a folder of `vectors train`
    words
        three words, or one file of questions (also .gz)
    k
        how many answers to three words
    json_
        one JSON object instead of rows

    Examples
    --------
        seqloom vectors analogy words.bin man king woman
        seqloom vectors analogy words.bin questions-words.txt
    """
    if len(words) == 3:
        answers = measure.complete(vectors, words, k, say)
        lines = (f"{word}\t{cosine:.4f}" for word, cosine in answers)
        print(json.dumps(answers, ensure_ascii=False) if json_ else "\n".join(lines))
    elif len(words) == 1:
        found = measure.answer_questions(vectors, Path(words[0]), say)
        print(json.dumps(found.to_json(), ensure_ascii=False) if json_ else found.render())
    else:
        raise UsageError(f"vectors analogy: want three words, or one file of questions; got {len(words)} words.")


def similarity(vectors: Path, /, *words: str, json_: bool = False) -> None:
    """Tell how near two words are, or how well the vectors agree with people.

    Two words: their cosine. Files of word pairs that people judged (`word word number` a line): the rank correlation
    (Spearman's) of cosines and judgements, with a 95 % bootstrap interval and how many pairs have vectors.

    Parameters
    ----------
    vectors
        a file of vectors (word2vec's text or binary form, or GloVe's), or a folder of `vectors train`
    words
        two words, or one or more files of pairs (also .gz)
    json_
        one JSON object instead of rows

    Examples
    --------
        seqloom vectors similarity words.bin king queen
        seqloom vectors similarity words.bin wordsim353.txt simlex999.txt
    """
    if not words:
        raise UsageError("vectors similarity: want two words, or one or more files of pairs, behind the file.")
    if len(words) == 2 and not any(Path(word).is_file() for word in words):
        cosine = measure.cosine(vectors, words[0], words[1], say)
        print(json.dumps({"cosine": cosine}) if json_ else f"{cosine:.4f}")
        return
    found = measure.judge_pairs(vectors, [Path(word) for word in words], say)
    print(json.dumps(found.to_json(), ensure_ascii=False) if json_ else found.render())


def plot(
    vectors: Path,
    /,
    *words: str,
    out: Path,
    near: int = 0,
    top: int = 200,
    skip: int = 100,
    clusters: int = 8,
    seed: int = 1,
) -> None:
    """Draw words on the plane in which they differ most, in clusters with a name.

    The plane is that of the first two principal components; the clusters are made by k-means of the whole vectors, and
    each is named by its word nearest to the middle. A PNG needs matplotlib; the HTML is one file that needs nothing.

    Parameters
    ----------
    vectors
        a file of vectors (word2vec's text or binary form, or GloVe's), or a folder of `vectors train`
    words
        the words to draw; without any, the most frequent ones
    out
        a new file, NAME.png or NAME.html; NAME alone: both
    near
        also the N nearest of each of the words
    top
        how many frequent words
    skip
        how many of the most frequent words to leave out: `the` and `of` say little
    clusters
        how many clusters
    seed
        another start of the clusters

    Examples
    --------
        seqloom vectors plot words.bin --out words.html
        seqloom vectors plot words.bin france monday red seven --near 12 --clusters 4 --out picture
    """
    from seqloom.workflows.vectors_plot import plot as run

    for file in run(vectors, words, out, near=near, top=top, skip=skip, clusters=clusters, seed=seed, warn=say):
        print(file)


vectors = App(name="vectors", help=VERBS["vectors"], help_epilogue=EXAMPLES, sort_key=[*VERBS].index("vectors"))
PARTS: tuple[Callable[..., None], ...] = (train, nearest, analogy, similarity, plot)
for order, part in enumerate(PARTS):
    vectors.command(part, help=description(part), help_epilogue=examples(part), sort_key=order)
