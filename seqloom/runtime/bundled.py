"""The models in the box: folders inside the package; their names work wherever a model folder is wanted."""

from pathlib import Path

from seqloom.errors import ModelError

BOX = Path(__file__).parents[1] / "box"
DEFAULT = "en-fr"  # where no model is named
SERVED = ("en-fr", "fr-en")
LINEAGE = ("rnn", "lstm", "rnnsearch", "transformer")  # one model per generation: same data, tokenizer and minutes
NAMES = {
    "en-fr": "English to French: Transformer",
    "fr-en": "French to English: Transformer",
    "pronounce": "English words to phonemes: LSTM, fixed vector",
    "rnn": "English to French, as in 1990: plain recurrent network, fixed vector",
    "lstm": "English to French, as in 2014: LSTM, fixed vector, reversed source",
    "rnnsearch": "English to French, as in 2015: GRU with attention",
    "transformer": "English to French, as in 2017: Transformer",
}


def find_model(named: str | Path) -> Path:
    """The folder that is meant: an existing one of this name, or else the bundled model."""
    if str(named) not in NAMES or Path(named).exists():
        return Path(named)
    folder = BOX / named
    if not is_installed(str(named)):
        raise ModelError(
            f"{named}: this installation of Seqloom has no bundled models ({folder} is missing). Install a released "
            "wheel, or name a model folder of your own: what `seqloom train --out` wrote."
        )
    return folder


def model_and_input(first: str | None, second: str | None) -> tuple[Path, str | None]:
    """What two words on a command line mean: a model and an input, or an input alone, for the default model.

    One word alone is an input if it is a file, or has blanks as no name of a folder has.
    """
    if first is None:
        return find_model(DEFAULT), None
    is_input = Path(first).is_file() or any(map(str.isspace, first.strip())) or first == "-"
    if second is None and is_input and not Path(first).is_dir() and not (Path(first).parent / "config.toml").is_file():
        return find_model(DEFAULT), first
    return find_model(first), second


def is_installed(name: str) -> bool:
    return (BOX / name / "config.toml").is_file()
