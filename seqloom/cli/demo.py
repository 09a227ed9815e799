"""seqloom demo: the whole main job, on dates that the project writes itself."""

from pathlib import Path

from seqloom.workflows.demo import DEFAULT_SEED
from seqloom.workflows.demo import demo as run


def demo(*, out: Path = Path("runs/demo"), seed: int = DEFAULT_SEED) -> None:
    """Train, measure and try a model in a few minutes, without any data of your own.

    Writes dates as people write them, in English and French, trains a small recurrent model with attention to turn
    them into ISO 8601, measures it on dates it has not seen, translates a few, and draws where the model looked.
    Needs no network. Run it again after Ctrl-C and it goes on; a finished model is only measured and shown.

    Parameters
    ----------
    out
        the folder for the data and the model
    seed
        other dates and another start; the same seed gives the same model

    Examples
    --------
        seqloom demo
        seqloom demo --out runs/dates --seed 7
        echo "le 14 juillet 1998" | seqloom translate runs/demo
    """
    from rich.console import Console

    run(Console(highlight=False, soft_wrap=True), out, seed)
