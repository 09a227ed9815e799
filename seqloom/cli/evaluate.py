"""seqloom evaluate: how good is a model?"""

import json
import sys
from pathlib import Path

from seqloom.workflows.decoding import Decoding
from seqloom.workflows.evaluate import evaluate as run
from seqloom.workflows.evaluate import render


def evaluate(
    folder: Path,
    pairs: str,
    /,
    *,
    beam: int | None = None,
    length_penalty: float | None = None,
    coverage_penalty: float | None = None,
    min_length: int | None = None,
    no_repeat_ngram: int | None = None,
    mbr: int | None = None,
    with_: list[Path] | None = None,
    against: Path | None = None,
    json_: bool = False,
    columns: str | None = None,
    threads: int | None = None,
    allow_loss: bool = False,
) -> None:
    """Measure a model on pairs it has not seen.

    BLEU, chrF and TER (by sacrebleu), exact match, token and character error rate, each with its 95 % interval;
    scores by source length; the worst outputs. Further columns are further references, and so are further lines
    of the same source. Other tasks show their own first: summaries ROUGE beside the first sentence, dialogue perplexity
    and how many words are different, pronunciations the phoneme and word error rate. Of models that classify or tag:
    accuracy, F1 and which labels are taken for which.

    Parameters
    ----------
    folder
        the folder that `seqloom train --out` wrote
    pairs
        file.tsv, file.csv, file.jsonl or source.txt,target.txt (each also .gz)
    beam
        hypotheses kept a sentence, 1 = greedy [default: the model's decode.beam, and so the four below]
    length_penalty
        divide a log-probability by length ** this: 0 likes short outputs, 1 is the mean a token
    coverage_penalty
        what parts of the source that nobody looked at cost an output; needs attention
    min_length
        tokens an output has at least
    no_repeat_ngram
        no group of this many tokens comes twice in an output
    mbr
        take of the N best outputs the one that agrees most with the others, by chrF
    with_
        a further model that answers together with this one: an ensemble; may be given several times
    against
        another model folder: translate with it too, and tell which differences are significant
    json_
        one JSON object instead of a text
    columns
        which columns to use, by number or name: source, target, further references
    threads
        threads of torch [default: all cores]
    allow_loss
        go on when more than 5 % of the lines cannot be used

    Examples
    --------
        seqloom evaluate runs/x test.tsv
        seqloom evaluate runs/x test.en,test.fr --beam 1 --json
        seqloom evaluate runs/x test.tsv --against runs/y
        seqloom evaluate runs/x test.tsv --with runs/y --against runs/x
    """
    decoding = Decoding(
        beam=beam, length_penalty=length_penalty, coverage_penalty=coverage_penalty, min_length=min_length,
        no_repeat_ngram=no_repeat_ngram, mbr=mbr,
    )  # fmt: skip
    report = run(
        folder,
        pairs,
        decoding,
        others=with_ or (),
        columns=columns,
        against=against,
        threads=threads,
        allow_loss=allow_loss,
        say=lambda message: print(message, file=sys.stderr),
    )
    print(json.dumps(report.to_json(), ensure_ascii=False, allow_nan=False) if json_ else render(report))
