"""The tokenizers of a model: one for both sides, or one a side."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import ModelError
from seqloom.text.tokenizer import Tokenizer

FOLDER = "tokenizer"


@dataclass(frozen=True)
class Tokenizers:
    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """One vocabulary for both sides; two sentencepiece models may cut texts differently and yet share theirs."""
        pieces = self.source.kind == self.target.kind == "sentencepiece"
        return self.source is self.target or (pieces and self.source.tokens() == self.target.tokens())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of both contents."""
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
        """From a run folder, or from its `tokenizer/` folder itself."""
        inner = folder / FOLDER if (folder / FOLDER).is_dir() else folder
        if (inner / "tokenizer.json").exists():
            joint = Tokenizer.load(inner / "tokenizer.json")
            return cls(joint, joint)
        if not (inner / "source.json").exists() and not (inner / "target.json").exists():
            raise ModelError(
                f"{folder}: no tokenizer here; want tokenizer/tokenizer.json, or source.json and target.json"
            )
        return cls(Tokenizer.load(inner / "source.json"), Tokenizer.load(inner / "target.json"))
