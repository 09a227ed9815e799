"""seqloom demo: a tour: the bundled models, then a model trained on generated dates."""

from pathlib import Path


def demo(*, out: Path = Path("runs/demo"), seed: int = 1) -> None:
    """Train, evaluate and try a model in a few minutes, without data of your own.

    Begins with the bundled models: a first translation, and four generations of models on one sentence. Then generates
    dates as people write them in English and French, trains a small recurrent model with attention that
    translates them to ISO 8601, evaluates it on unseen dates, translates a few, and draws the attention of the model.
    Needs no network. After Ctrl-C the same command resumes; a finished model is only evaluated and shown.

    Parameters
    ----------
    out
        folder for the data and the model
    seed
        seed of the dates and of the training; the same seed gives the same model

    Examples
    --------
        seqloom demo
        seqloom demo --out runs/dates --seed 7
        echo "le 14 juillet 1998" | seqloom translate runs/demo
    """
    from rich.console import Console

    from seqloom.workflows.demo import demo as run

    run(Console(highlight=False, soft_wrap=True), out, seed)
