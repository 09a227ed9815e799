"""seqloom finish: make a model of a stopped run."""

from pathlib import Path


def finish(folder: Path, /) -> None:
    """Make a model from the last checkpoint of a training run that was stopped.

    Does what the end of training does: chooses the last, best or averaged weights, writes the fast engine, the golden
    answers (outputs for `info --check`) and the model card. Needs neither the data nor the options of `seqloom train`.
    The same `seqloom train` command can still continue the run afterwards, with the same result as if it had never been
    finished.

    Parameters
    ----------
    folder
        run folder, as written by `seqloom train --out`

    Examples
    --------
        seqloom finish runs/x
    """
    from seqloom.workflows.train import finish as run

    run(folder)
