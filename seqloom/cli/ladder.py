"""seqloom ladder: train and compare the lineage of models."""

from typing import Annotated

from cyclopts import Parameter

from seqloom.cli.flags import DATA_FLAGS
from seqloom.data.read_as import AS_FOUND, ReadAs
from seqloom.errors import TrainingError


def ladder(
    pairs: str,
    /,
    *,
    test: str,
    budget: str,
    out: str,
    valid: str | None = None,
    rungs: str | None = None,
    set: Annotated[list[str] | None, Parameter(negative="")] = None,
    seed: int | None = None,
    threads: int | None = None,
    reading: Annotated[ReadAs, DATA_FLAGS] = AS_FOUND,
    allow_loss: bool = False,
) -> None:
    """Train a series of models on one corpus, from the plain RNN to the Transformer, and compare them.

    Each model is a rung of the ladder. Every rung gets the same time, tokenizer and seed, and its own model folder in
    OUT. After each rung, Seqloom translates the test set and updates report.md, report.html, report.json and the charts
    in OUT: parameters, minutes, speed, loss, BLEU and chrF with intervals, BLEU by source length, and whether the
    difference from the rung before is significant.

    The same command again continues where it stopped. If you run it in two terminals, they share the rungs.

    Parameters
    ----------
    pairs
        training pairs: file.tsv, .csv, .jsonl, .tmx, .xlf or source.txt,target.txt (each may be .gz)
    test
        test pairs, not in the training pairs; the report is measured on them
    budget
        wall-clock time per rung, e.g. 20m or 1h30m
    out
        folder for the rungs and the report
    valid
        validation pairs [default: a part of PAIRS, held out]
    rungs
        names of rungs or your own TOML files, separated by commas [default: all rungs, oldest first]
    set
        one setting for every rung, section.name=value; may be given several times
    seed
        random seed of every rung [default: train.seed in --set or in the first rung's recipe, else 1]
    threads
        number of torch threads [default: all cores]
    allow_loss
        accept more than 5 % unusable lines

    Examples
    --------
        seqloom ladder train.en,train.de --valid val.en,val.de --test test.en,test.de --budget 20m --out runs/ladder
        seqloom ladder pairs.tsv --test test.tsv --budget 5m --out runs/two --rungs lstm,rnnsearch-additive
    """
    from seqloom.ladder.document import Failed
    from seqloom.ladder.run import ladder as run
    from seqloom.ladder.run import summarise

    report = run(
        pairs, test=test, out=out, budget=budget, valid=valid, rungs=rungs, overrides=set or (), seed=seed,
        threads=threads, columns=reading, allow_loss=allow_loss,
    )  # fmt: skip
    print(summarise(report))
    if failed := [row.name for row in report.rungs if isinstance(row, Failed)]:
        raise TrainingError(
            f"{', '.join(failed)}: no model. {out}/report.md gives the reason and the results of the other rungs."
        )
