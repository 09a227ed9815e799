"""seqloom train: train a model."""

from typing import Annotated

from cyclopts import Parameter

from seqloom.cli.flags import DATA_FLAGS
from seqloom.data.read_as import AS_FOUND, ReadAs


def train(
    pairs: str,
    /,
    *more: str,
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
    reading: Annotated[ReadAs, DATA_FLAGS] = AS_FOUND,
    tokenizer: str | None = None,
    allow_loss: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Train a model on pairs; the same command again continues where it stopped.

    Examples:

        seqloom train pairs.tsv --out runs/first

        seqloom train train.en,train.de --valid val.en,val.de --out runs/ende --budget 30m

        seqloom train part-*.tsv.gz --out runs/large --budget 8h

        seqloom train plain.txt --task denoise --out runs/bart --budget 30m

        seqloom train pairs.tsv --out runs/tuned --init runs/bart --budget 10m

        seqloom train pairs.tsv --out runs/gru --set model.kind=rnn --set model.cell=gru --set train.max_steps=2000

    Parameters
    ----------
    pairs
        file.tsv, .csv, .jsonl, .tmx, .xlf or source.txt,target.txt (each may be .gz), or - for standard input; also an
        address such as s3://bucket/file.tsv, fetched into the run folder (extra remote)
    more
        further files of pairs, in the order in which they are read
    out
        run folder for the model, its log and its checkpoints: a new or empty folder, or that of a run to continue
    valid
        validation pairs [default: a part of PAIRS, held out]
    mix
        another corpus, e.g. more.tsv, or more.tsv:2 to read it twice per epoch; may be given several times
    task
        what the model learns: translate (the default), summarise, dialogue or pronounce, from pairs; classify, from
        label<TAB>text; tag, from tokens<TAB>tags; language, masked or denoise, from plain text
    recipe
        built-in recipe (see `seqloom recipes`) or TOML file [default: chosen to fit the data]
    set
        one setting, section.name=value; may be given several times
    budget
        wall-clock time, e.g. 20m or 1h30m; the learning-rate schedule is fitted to it, so training ends on time with a
        finished model
    seed
        short for --set train.seed=N
    threads
        short for --set train.threads=N
    device
        short for --set train.device=auto|cpu|cuda
    init
        model folder to start from: takes its tokenizer, its shape and all weights that fit
    tokenizer
        folder with a tokenizer to use instead of learning one
    allow_loss
        accept more than 5 % unusable lines
    """
    from seqloom.workflows.train import train as run_train

    overrides = [*(set or ()), *([f"train.device={device}"] if device else ())]
    run_train(
        pairs, out=out, valid=valid, more=more, mix=mix or (), task=task, recipe=recipe, overrides=overrides,
        budget=budget, seed=seed, threads=threads, init=init, columns=reading, tokenizer=tokenizer,
        allow_loss=allow_loss,
    )  # fmt: skip
