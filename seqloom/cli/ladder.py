"""seqloom ladder: parse, call the workflow, print."""

from typing import Annotated

from cyclopts import Parameter

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
    columns: str | None = None,
    allow_loss: bool = False,
) -> None:
    """Train the lineage on one corpus, from the plain RNN to the Transformer, and report each step.

    Every rung gets the same time, the same tokenizer and the same seed, and is a model folder of its own in DIR. After
    each rung the test set is translated and DIR/report.md, report.html, report.json and the charts are written anew:
    parameters, minutes, speed, loss, BLEU and chrF with intervals, BLEU by source length, and whether the step was
    significant. The same command again goes on where it stopped; twice at once, in two terminals, it shares the work.

    Parameters
    ----------
    pairs
        file.tsv, file.csv, file.jsonl or source.txt,target.txt (each also .gz)
    test
        pairs that no rung has seen: what the report is about
    budget
        wall-clock time of each rung: 20m or 1h30m
    out
        the folder for the rungs and the report
    valid
        held-out pairs to choose weights by; without it a part of the data is held out
    rungs
        some of the rungs, with commas between, or TOML files of your own [default: all, in the order of history]
    set
        one setting of every rung, section.name=value; may be given several times
    seed
        the start of every rung [default: 1, or train.seed where --set or the first rung's recipe has one]
    threads
        threads of torch [default: all cores]
    columns
        which columns to use, numbers from 1 or names: 1,2 or source,target
    allow_loss
        go on when more than 5 % of the lines cannot be used

    Examples
    --------
        seqloom ladder train.en,train.de --valid val.en,val.de --test test.en,test.de --budget 20m --out runs/ladder
        seqloom ladder pairs.tsv --test test.tsv --budget 5m --out runs/two --rungs lstm,rnnsearch-additive
    """
    from seqloom.workflows.ladder import ladder as run
    from seqloom.workflows.ladder import summarise

    report = run(
        pairs, test=test, out=out, budget=budget, valid=valid, rungs=rungs, overrides=set or (), seed=seed,
        threads=threads, columns=columns, allow_loss=allow_loss,
    )  # fmt: skip
    print(summarise(report))
    if failed := [row["name"] for row in report["rungs"] if row["status"] == "failed"]:
        raise TrainingError(f"no model came out of {', '.join(failed)}; {out}/report.md says why and has the others.")
