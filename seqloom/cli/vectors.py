"""seqloom vectors: train, inspect and evaluate word vectors. A command with subcommands."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from cyclopts import App

from seqloom.cli.app import VERBS, description, examples
from seqloom.errors import UsageError
from seqloom.vectors import measure as measure
from seqloom.vectors.make import VectorSettings
from seqloom.vectors.make import train as run_train

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
    """Train word vectors on plain text, one sentence per line.

    Words are sequences of letters and digits, in lower case; punctuation is dropped. The same text, settings and number
    of threads give the same vectors. The output is a file in the format of word2vec: binary if its name ends in .bin,
    text if it ends in .txt or .vec, each also with .gz. Any other name is a folder, which also gets the word counts and
    facts about the training.

    Parameters
    ----------
    texts
        files of UTF-8 text, may be .gz; - is standard input
    out
        new vector file, or folder
    method
        skipgram, cbow or glove
    size
        width of the vectors
    window
        context words on each side [default: 5; glove: 10]
    epochs
        how many times the text is read [default: 5; glove: 15]
    min_count
        words that occur less often get no vector
    negative
        skipgram and cbow: negative samples per pair
    seed
        random seed; the same seed gives the same vectors
    threads
        number of threads; a different number gives different vectors [default: all cores]
    column
        if the files are tables, the column with the text: a number from 1, or the name of a header or of a JSON field
    keep_case
        keep upper and lower case: Word and word are two words
    spaces
        split at spaces only and keep punctuation: for text that is already tokenised

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


def nearest(
    vectors: Path,
    /,
    *words: str,
    k: int = 10,
    side: str | None = None,
    sentences: Path | None = None,
    in_context: Path | None = None,
    json_: bool = False,
) -> None:
    """Print the nearest neighbours of a word, of a sentence, or of a word in its sentence.

    One row per neighbour, nearest first: WORD<TAB>COSINE. With several words, each row begins with the word asked for.
    In a model folder, the words are the tokens of its embedding table; ##x is a piece that does not begin a word.
    With --sentences and --in-context, a model folder gives vectors to whole sentences, or to words in their sentences.

    Parameters
    ----------
    vectors
        vector file (text or binary format of word2vec, or GloVe's), folder of `vectors train`, or model folder
    words
        one or more words; --sentences: texts instead; --in-context: texts with one word in brackets each
    k
        number of neighbours
    side
        source or target: which embedding table of a model folder [default: source]
    sentences
        model folder only: find the nearest sentences of this file, one sentence per line
    in_context
        model folder only: find the nearest words of this file, each in its sentence
    json_
        print one JSON object instead of rows

    Examples
    --------
        seqloom vectors nearest words.bin parliament
        seqloom vectors nearest words.bin red green blue --k 3
        seqloom vectors nearest runs/x maison --side target
        seqloom vectors nearest runs/x "They are watching." --sentences text.txt
        seqloom vectors nearest runs/x "He sat on the [bank] of the river." --in-context text.txt
    """
    if not words:
        raise UsageError("vectors nearest: no word. Give one or more words after the vector file.")
    found = measure.nearest(vectors, words, k, say, side, sentences, in_context)
    if json_:
        print(json.dumps(found, ensure_ascii=False))
        return
    for word, neighbours in found.items():
        for near, cosine in neighbours:
            print(*([word] if len(found) > 1 else []), near, f"{cosine:.4f}", sep="\t")


def analogy(vectors: Path, /, *words: str, k: int = 5, json_: bool = False) -> None:
    """Complete an analogy, or answer a file of analogy questions.

    With three words, A B C: A is to B as C is to what? Prints one row per answer, best first: WORD<TAB>COSINE.
    With a file of questions (lines `a b c d`, and `: name` before each section): prints how often d is the best answer,
    with a 95 % interval (Wilson's). Case is ignored, and only the 300,000 most frequent words can be answers.

    Parameters
    ----------
    vectors
        vector file (text or binary format of word2vec, or GloVe's), folder of `vectors train`, or model folder
    words
        three words, or one file of questions (may be .gz)
    k
        number of answers to three words
    json_
        print one JSON object instead of rows

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
    """Print the similarity of two words, or the agreement of the vectors with human judgements.

    With two words: their cosine. With files of word pairs that people have judged (lines `word word number`):
    Spearman's rank correlation of cosines and judgements, a 95 % bootstrap interval, and how many pairs have vectors.

    Parameters
    ----------
    vectors
        vector file (text or binary format of word2vec, or GloVe's), folder of `vectors train`, or model folder
    words
        two words, or one or more files of word pairs (may be .gz)
    json_
        print one JSON object instead of rows

    Examples
    --------
        seqloom vectors similarity words.bin king queen
        seqloom vectors similarity words.bin wordsim353.txt simlex999.txt
    """
    if not words:
        raise UsageError(
            "vectors similarity: want two words, or one or more files of word pairs, after the vector file."
        )
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
    side: str | None = None,
    sentences: Path | None = None,
    in_context: Path | None = None,
) -> None:
    """Draw a two-dimensional map of words or sentences, with clusters.

    Positions are the first two principal components. Clusters are computed by k-means on the whole vectors; each is
    named after the word nearest its centre. A PNG needs matplotlib; the HTML page is one self-contained file.

    Parameters
    ----------
    vectors
        vector file (text or binary format of word2vec, or GloVe's), folder of `vectors train`, or model folder
    words
        words to draw [default: the most frequent ones]
    out
        new file, NAME.png or NAME.html; NAME alone writes both
    near
        also draw the N nearest neighbours of each word
    top
        number of frequent words to draw, if no words are given
    skip
        number of the most frequent words to leave out, such as `the` and `of`
    clusters
        number of clusters
    seed
        random seed of the clusters
    side
        source or target: which embedding table of a model folder [default: source]
    sentences
        model folder only: draw the sentences of this file, one sentence per line
    in_context
        model folder only: draw the words of this file, each in its sentence

    Examples
    --------
        seqloom vectors plot words.bin --out words.html
        seqloom vectors plot words.bin france monday red seven --near 12 --clusters 4 --out picture
        seqloom vectors plot runs/x --out words.html
        seqloom vectors plot runs/x --sentences text.txt --out sentences.html
        seqloom vectors plot runs/x bank --in-context text.txt --out bank.html
    """
    from seqloom.vectors.plot import plot as run

    options = {"near": near, "top": top, "skip": skip, "clusters": clusters, "seed": seed}
    for file in run(vectors, words, out, **options, side=side, sentences=sentences, in_context=in_context, warn=say):
        print(file)


vectors = App(name="vectors", help=VERBS["vectors"], help_epilogue=EXAMPLES, sort_key=[*VERBS].index("vectors"))
PARTS: tuple[Callable[..., None], ...] = (train, nearest, analogy, similarity, plot)
for order, part in enumerate(PARTS):
    vectors.command(part, help=description(part), help_epilogue=examples(part), sort_key=order)
