"""seqloom train: parse, call the workflow."""

from typing import Annotated

from cyclopts import Parameter


def train(
    pairs: str,
    /,
    *,
    out: str,
    valid: str | None = None,
    mix: Annotated[list[str] | None, Parameter(negative="")] = None,
    task: str | None = None,
    recipe: str | None = None,
    set: Annotated[list[str] | None, Parameter(negative="")] = None,
    budget: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    init: str | None = None,
    columns: str | None = None,
    tokenizer: str | None = None,
    allow_loss: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Train a model on pairs; the same command again goes on where it stopped.

    Examples:

        seqloom train pairs.tsv --out runs/first

        seqloom train train.en,train.de --valid val.en,val.de --out runs/ende --budget 30m

        seqloom train plain.txt --task denoise --out runs/bart --budget 30m

        seqloom train pairs.tsv --out runs/tuned --init runs/bart --budget 10m

        seqloom train pairs.tsv --out runs/gru --set model.kind=rnn --set model.cell=gru --set train.max_steps=2000

    Parameters
    ----------
    pairs
        file.tsv, file.csv, file.jsonl or source.txt,target.txt, each also .gz; - for TSV on standard input.
    out
        The run folder: the model, its log and its checkpoints.
    valid
        Held-out pairs; without it a part of the data is held out.
    mix
        A further corpus with its weight, PAIRS:2; may be given several times.
    task
        What to learn: translate (the default), summarise, dialogue or pronounce from pairs; classify from
        label<TAB>text, tag from tokens<TAB>tags; language, masked or denoise from plain text.
    recipe
        A built-in recipe (`seqloom recipes`) or a TOML file; without it one is chosen for the data.
    set
        One setting, section.name=value; may be given several times.
    budget
        Wall-clock time, 20m or 1h30m: the schedule fits it, and the run ends on time, finished and averaged.
    seed
        Short for --set train.seed=N.
    threads
        Short for --set train.threads=N.
    device
        Short for --set train.device=auto|cpu|cuda.
    init
        The folder of a model to begin from: its tokenizer, its shape and every tensor that fits are taken.
    columns
        Which columns to use, numbers from 1 or names: 1,2 or source,target.
    tokenizer
        A folder to take the tokenizer from, instead of learning one.
    allow_loss
        Train though more than 5 % of the lines cannot be used.
    """
    from seqloom.workflows.train import train as run_train

    overrides = [*(set or ()), *([f"train.device={device}"] if device else ())]
    run_train(
        pairs, out=out, valid=valid, mix=mix or (), task=task, recipe=recipe, overrides=overrides, budget=budget,
        seed=seed, threads=threads, init=init, columns=columns, tokenizer=tokenizer, allow_loss=allow_loss,
    )  # fmt: skip
