"""seqloom evaluate: measure a model."""

import json
import sys
from pathlib import Path
from typing import Annotated

from seqloom.cli.flags import (
    ALL_MODEL_FLAGS,
    DATA_FLAGS,
    NO_OPTIONS,
    ModelFlags,
    flattened,
    rival_flags,
    search_flags,
)
from seqloom.data.read_as import AS_FOUND, ReadAs
from seqloom.decode.options import SearchRequest


def evaluate(
    model: Path,
    pairs: str,
    /,
    *,
    search: Annotated[SearchRequest, search_flags("evaluate")] = NO_OPTIONS,
    models: Annotated[ModelFlags, flattened("models", "with_", "threads")] = ALL_MODEL_FLAGS,
    against: Path | None = None,
    against_search: Annotated[SearchRequest, rival_flags("evaluate")] = NO_OPTIONS,
    outputs: Path | None = None,
    task: str | None = None,
    json_: bool = False,
    reading: Annotated[ReadAs, DATA_FLAGS] = AS_FOUND,
    allow_loss: bool = False,
) -> None:
    """Measure a model on pairs that it has not seen.

    Reports BLEU, chrF and TER (computed by sacrebleu), exact match, token and character error rate, each with a 95 %
    interval; also the scores by source length and the worst outputs. Additional columns count as additional references,
    and so do additional lines with the same source.

    Each task has its own main metrics. Summaries: ROUGE, compared with the first sentence as a baseline. Dialogue:
    perplexity and diversity of words. Pronunciations: phoneme and word error rate. Classifiers and taggers: accuracy,
    F1 and the labels that the model confuses most often. If you leave a search option out, the model's settings
    decide.

    Either side of a comparison can be a model or a file with the outputs of any system. To compare two ways of
    searching with one model, give only the options: --beam 1 --against-beam 5.

    Parameters
    ----------
    model
        model folder, as written by `seqloom train --out`; or a file with the outputs of any system, one line per record
    pairs
        file.tsv, .csv, .jsonl, .tmx, .xlf or source.txt,target.txt (each also .gz)
    against
        another model folder or file of outputs: reports which differences are significant
    outputs
        write the outputs to this file: one line per record of PAIRS, empty for a record that cannot be used
    task
        what a file of outputs is for, e.g. pronounce [default: that of the other model, else translate]
    json_
        print one JSON object instead of text
    allow_loss
        accept more than 5 % unusable lines

    Examples
    --------
        seqloom evaluate runs/x test.tsv
        seqloom evaluate runs/x test.en,test.fr --beam 1 --json
        seqloom evaluate runs/x test.tsv --against runs/y
        seqloom evaluate runs/x test.tsv --beam 1 --against-beam 5
        seqloom evaluate runs/x test.tsv --outputs x.txt
        seqloom evaluate theirs.txt test.tsv --against x.txt
        seqloom evaluate runs/x test.tsv --with runs/y --against runs/x
    """
    from seqloom.workflows.evaluate import evaluate as run
    from seqloom.workflows.evaluate import render

    report = run(
        [model, *models.with_],
        pairs,
        search,
        columns=reading,
        against=against,
        against_request=against_search,
        task=task,
        outputs=outputs,
        threads=models.threads,
        allow_loss=allow_loss,
        say=lambda message: print(message, file=sys.stderr),
    )
    print(json.dumps(report.to_json(), ensure_ascii=False, allow_nan=False) if json_ else render(report))
