"""The tokenizers of a model: one for source and target, or one for each."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import tokenizers

from seqloom.errors import ModelError
from seqloom.files.reading import TOKENIZER, parse_json, read_file
from seqloom.text.foreign import ForeignTokenizer
from seqloom.text.sentencepiece import SentencePieceTokenizer
from seqloom.text.shapes import check_own_shape, check_spelling, check_vocabulary
from seqloom.text.tokenizer import Tokenizer, no_panic
from seqloom.text.vocabulary import SPECIALS

FOLDER = "tokenizer"


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of source and target, which may be the same."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether source and target share one vocabulary; two different sentencepiece models may share one."""
        pieces = self.source.kind == self.target.kind == "sentencepiece"
        return self.source is self.target or (pieces and self.source.tokens() == self.target.tokens())

    @property
    def fingerprint(self) -> str:
        """SHA-256 over both tokenizers: equal fingerprints mean equal ids."""
        both = f"{self.source.fingerprint} {self.target.fingerprint} {self.joint}"
        return hashlib.sha256(both.encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Write `tokenizer/` into a run folder."""
        one = self.source is self.target
        sides = {"tokenizer": self.source} if one else {"source": self.source, "target": self.target}
        for name, tokenizer in sides.items():
            tokenizer.save(folder / FOLDER / f"{name}.json")
        for name in {"tokenizer", "source", "target"} - set(sides):
            (folder / FOLDER / f"{name}.json").unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path) -> "Tokenizers":
        """Load from a run folder, or from its `tokenizer/` folder."""
        inner = folder / FOLDER if (folder / FOLDER).is_dir() else folder
        if (inner / "tokenizer.json").exists():
            joint = load_tokenizer(inner / "tokenizer.json")
            return cls(joint, joint)
        if not (inner / "source.json").exists() and not (inner / "target.json").exists():
            raise ModelError(
                f"{folder}: has no tokenizer; want tokenizer/tokenizer.json, or tokenizer/source.json and "
                "tokenizer/target.json"
            )
        return cls(load_tokenizer(inner / "source.json"), load_tokenizer(inner / "target.json"))


def load_tokenizer(file: Path) -> Tokenizer:
    """Load a tokenizer of any kind; ModelError if the file is missing, damaged or not one of ours."""
    try:
        content = read_file(file, TOKENIZER).decode()
        if content.startswith('{"foreign"'):
            return ForeignTokenizer.from_content(content)
        if content.startswith('{"sentencepiece"'):
            return SentencePieceTokenizer.from_content(content)
        check_vocabulary(parse_json(content))
        with no_panic():
            engine = tokenizers.Tokenizer.from_str(content)
    except FileNotFoundError:
        raise ModelError(f"{file}: no such file; a tokenizer is expected there") from None
    except Exception as error:  # the library raises bare Exceptions
        raise ModelError(f"{file}: not a tokenizer, or a damaged one: {error}") from None
    learned = engine.get_vocab(with_added_tokens=False)
    if [learned.get(token) for token in SPECIALS] != [*range(len(SPECIALS))]:
        raise ModelError(f"{file}: not a Seqloom tokenizer: its first tokens are not {' '.join(SPECIALS)}")
    try:
        tokenizer = Tokenizer(engine)
        check_own_shape(tokenizer.content)
        check_spelling(tokenizer.kind, tokenizer.tokens())
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from None
    return tokenizer
