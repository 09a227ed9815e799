"""Compare word vectors with gensim's: speed and quality on the same words, with the same settings, in one run.

    SEQLOOM_DATA=... python benchmarks/word_vectors.py [--threads 2] [--epochs 5] [--rounds 1] [--small]

The text is the English side of Europarl, split into words once for both systems. gensim reads it as a file of
sentences, its fastest way. Reports for each system: words/s of training (words of the vocabulary times epochs, without
the time to count words), the accuracy on word2vec's analogy questions with Wilson's 95 % interval, and Spearman's
correlation with WordSim-353, SimLex-999 and MEN with 95 % bootstrap intervals. Seqloom's evaluation measures both;
tests/parity shows that it gives the same numbers as gensim's. With several rounds the systems take turns, and each
round has its own seed.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import gensim
import numpy as np
import torch
from gensim.models import Word2Vec

from seqloom.data.lines import read_lines
from seqloom.training.speed import keep_freed_memory
from seqloom.vectors.questions import Section, answer, read_questions, total
from seqloom.vectors.settings import VectorSettings
from seqloom.vectors.train import train_vectors
from seqloom.vectors.word_pairs import judge, read_pairs
from seqloom.vectors.word_vectors import WordVectors
from seqloom.vectors.words import WordCorpus, read_corpus, split_words

PAIRS = ("EN-WS-353-ALL.txt", "EN-SIMLEX-999.txt", "EN-MEN-TR-3k.txt")
SMALL_LINES = 10_000
Trained = tuple[WordVectors, float]  # and words/s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=5, help="epochs of word2vec")
    parser.add_argument("--glove-epochs", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--systems", default="skipgram,gensim-skipgram,cbow,gensim-cbow,glove")
    parser.add_argument("--small", action="store_true", help=f"a quick trial: {SMALL_LINES:,} lines, 2 epochs")
    options = parser.parse_args()
    if options.small:
        options.epochs = options.glove_epochs = 2
    data = Path(os.environ["SEQLOOM_DATA"])
    torch.set_num_threads(options.threads)
    keep_freed_memory()  # applies to both systems, because it works on the whole process
    texts = read_texts(data / "europarl-en-fr" / "train.en.gz", SMALL_LINES if options.small else None)
    corpus = read_corpus(texts, VectorSettings().min_count, "Europarl")
    print(f"{corpus.num_texts:,} sentences, {corpus.num_words:,} words, vocabulary {len(corpus.words):,}", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        sentences = Path(folder, "sentences.txt")
        sentences.write_text("".join(" ".join(words) + "\n" for words in texts), "utf-8")
        systems = {name: make_system(name, corpus, sentences, options) for name in options.systems.split(",")}
        for seed in range(1, options.rounds + 1):
            for name, train in systems.items():
                vectors, speed = train(seed)
                results.append({"system": name, "seed": seed, "words_per_second": speed, **quality(vectors, data)})
                print(render(results[-1]), flush=True)
    versions = {"gensim": gensim.__version__, "torch": torch.__version__, "numpy": np.__version__}
    print(json.dumps({"results": results, **vars(options), **versions}))


def read_texts(file: Path, lines: int | None) -> list[list[str]]:
    return [split_words(line) for line in islice(read_lines(file), lines) if isinstance(line, str)]


def make_system(
    name: str, corpus: WordCorpus, sentences: Path, options: argparse.Namespace
) -> Callable[[int], Trained]:
    if name.startswith("gensim-"):
        return lambda seed: train_gensim(corpus, sentences, name.removeprefix("gensim-"), seed, options)
    return lambda seed: train_ours(corpus, name, seed, options)


def train_ours(corpus: WordCorpus, method: str, seed: int, options: argparse.Namespace) -> Trained:
    epochs = options.glove_epochs if method == "glove" else options.epochs
    settings = VectorSettings(method, options.size, epochs=epochs, seed=seed, threads=options.threads)
    began = time.perf_counter()
    vectors = train_vectors(corpus, settings)
    return vectors, len(corpus.ids) * epochs / (time.perf_counter() - began)


def train_gensim(corpus: WordCorpus, sentences: Path, method: str, seed: int, options: argparse.Namespace) -> Trained:
    ours = VectorSettings(method)
    model = Word2Vec(
        vector_size=options.size, window=ours.reach, min_count=ours.min_count, sg=int(method == "skipgram"),
        negative=ours.negative, workers=options.threads, epochs=options.epochs, seed=seed,
    )  # fmt: skip
    model.build_vocab(corpus_file=str(sentences))
    began = time.perf_counter()
    model.train(
        corpus_file=str(sentences), total_words=model.corpus_total_words, total_examples=model.corpus_count,
        epochs=options.epochs,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    return WordVectors(model.wv.index_to_key, model.wv.vectors), len(corpus.ids) * options.epochs / seconds


def quality(vectors: WordVectors, data: Path) -> dict[str, object]:
    folder = data / "word-analogy"
    sections: list[Section] = read_questions(folder / "questions-words.txt")
    answer(vectors, sections)
    judged = [judge(vectors, read_pairs(folder / name), name).to_json() for name in PAIRS]
    return {"analogy": total(sections).to_json(), "similarity": judged}


def render(result: dict) -> str:
    analogy = result["analogy"]
    parts = [
        f"{result['system']:16s} seed {result['seed']}  {result['words_per_second']:10,.0f} words/s",
        f"analogy {100 * (analogy['accuracy'] or 0):.2f} % ({100 * analogy['low']:.2f} to {100 * analogy['high']:.2f}; "
        f"{analogy['asked']:,} asked, {analogy['left_out']:,} left out)",
    ]
    for pairs in result["similarity"]:
        if pairs["spearman"] is not None:
            interval = f"{pairs['low']:.3f} to {pairs['high']:.3f}"
            name = pairs["pairs"].removesuffix(".txt")
            parts.append(f"{name} {pairs['spearman']:.3f} ({interval}; {pairs['used']} of {pairs['total']})")
    return "\n    ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
