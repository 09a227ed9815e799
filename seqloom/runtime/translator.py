"""Text in, text out: a trained model, or several, with the tokenizers.

translator = Translator.load("runs/x")
translator.translate("a sentence")                        -> "une phrase"
translator.translate(["one", "two"], no_repeat_ngram=3)   -> ["un", "deux"]
translator.hypotheses(["one"], n_best=5)                  -> the best five, with scores
translator.alternatives(["one"], 5)                       -> five that differ from their first token on
translator.sample(["one"], 5, temperature=0.8)            -> five by chance
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import torch
from numpy.typing import NDArray

from seqloom.config import Config
from seqloom.decode.alternatives import alternatives
from seqloom.decode.ensemble import Ensemble
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import MOST_BEAM, SampleOptions, SearchOptions, check_vocabulary
from seqloom.decode.sample import sample
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.runtime.alignment import cross_attention
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.inputs import Warn, encode_texts
from seqloom.runtime.members import check_members, shared_config, shared_facts
from seqloom.runtime.parts import Find, Part, flat, in_batches, join, split_texts
from seqloom.runtime.parts import Translation as Translation
from seqloom.runtime.prefixes import PrefixTexts
from seqloom.text.sides import Tokenizers
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import BOS, EOS

MOST_THREADS = 1024  # more is a slip of the keyboard


class Translator:
    """A model, its tokenizers and its settings. Puts the model into eval mode.

    `settings` of a search are the names of `SearchOptions`; those not given (or None) are the model's own.
    """

    def __init__(
        self, model: Seq2Seq, tokenizers: Tokenizers, config: Config, facts: dict[str, Any] | None = None
    ) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.config = config
        self.facts = facts or {}
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls, folder: str | Path, threads: int | None = None, device: str = "cpu") -> "Translator":
        """The model in a run folder. `threads` holds for the whole process: torch has one pool."""
        return cls.load_ensemble([folder], threads, device)

    @classmethod
    def load_ensemble(
        cls, folders: Sequence[str | Path], threads: int | None = None, device: str = "cpu"
    ) -> "Translator":
        """Several models that answer as one; they must share their vocabularies. Settings are the first one's."""
        if not folders:
            raise UsageError("an ensemble of no model: name at least one folder")
        runs = [open_run(Path(folder)) for folder in folders]
        check_members(runs)
        if threads is not None:
            if not 1 <= threads <= MOST_THREADS:
                raise UsageError(f"threads = {threads}: want 1 to {MOST_THREADS}")
            torch.set_num_threads(threads)
        members = [load_model(run) for run in runs]
        model = Ensemble(members) if len(members) > 1 else members[0]
        return cls(model.to(find_device(device)), runs[0].tokenizers, shared_config(runs), shared_facts(runs))

    @overload
    def translate(self, text: str, beam: int | None = None, **settings: Any) -> str: ...
    @overload
    def translate(self, text: list[str], beam: int | None = None, **settings: Any) -> list[str]: ...
    def translate(self, text: str | list[str], beam: int | None = None, **settings: Any) -> str | list[str]:
        """The best translation of a text, or of each text of a list, in its order."""
        if isinstance(text, str):
            return self.hypotheses([text], beam, **settings)[0][0].text
        return [found[0].text for found in self.hypotheses(text, beam, **settings)]

    def hypotheses(
        self,
        texts: Sequence[str],
        beam: int | None = None,
        n_best: int = 1,
        *,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
        **settings: Any,
    ) -> list[list[Translation]]:
        """The n_best translations of each text, best first. `lines` are what warnings call them, else 1, 2, 3 ..."""
        options = self.options(beam, n_best, **settings)
        return self.answer(texts, self.searching(options), n_best, options.beam, options, prefixes, lines, warn)

    def alternatives(
        self,
        texts: Sequence[str],
        num: int,
        beam: int | None = None,
        *,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
        **settings: Any,
    ) -> list[list[Translation]]:
        """`num` translations of each text, best first, that differ in the first token (the one after the prefix)."""
        options = self.options(beam, **settings)
        if not 1 <= num <= MOST_BEAM:
            raise UsageError(f"{num} alternatives: want 1 to {MOST_BEAM}")
        check_vocabulary(num, len(self.tokenizers.target), "alternatives")

        def find(memory: Memory, parts: list[Part]) -> list[list[Hypothesis]]:
            return alternatives(self.model, memory, num, options, prefixes=[part.prefix for part in parts])

        return self.answer(texts, find, num, num * options.beam, options, prefixes, lines, warn)

    def sample(
        self,
        texts: Sequence[str],
        num: int = 1,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
        **settings: Any,
    ) -> list[list[Translation]]:
        """`num` translations of each text by chance: the same ones for the same seed, text and line."""
        if seed < 0:
            raise UsageError(f"seed = {seed}: want 0 or more")
        how, options = SampleOptions(num, temperature, top_k, top_p), self.options(**settings)

        def find(memory: Memory, parts: list[Part]) -> list[list[Hypothesis]]:
            seeds = [(seed, *part.place) for part in parts]
            return sample(self.model, memory, how, options, seeds=seeds, prefixes=[part.prefix for part in parts])

        return self.answer(texts, find, num, num, options, prefixes, lines, warn)

    def options(self, beam: int | None = None, n_best: int = 1, **settings: Any) -> SearchOptions:
        """The model's own settings with these laid over them, checked."""
        own, vocab_size = self.config.decode, len(self.tokenizers.target)
        names = ("length_penalty", "coverage_penalty", "min_length", "no_repeat_ngram")
        given = {name: setting for name, setting in settings.items() if setting is not None}
        if beam is None:
            beam = max(n_best, min(own.beam, vocab_size))
        options = SearchOptions(beam=beam, n_best=n_best, **{name: getattr(own, name) for name in names} | given)
        check_vocabulary(options.beam, vocab_size)
        return options

    def search(self, sources: list[list[int]], beam: int | None = None, n_best: int = 1) -> list[list[Hypothesis]]:
        """The n_best outputs for each source of ids, in the order given."""
        options = self.options(beam, n_best)
        return self.in_batches([Part(ids) for ids in sources], self.searching(options), options.beam)

    def searching(self, options: SearchOptions) -> Find:
        return lambda memory, parts: search(self.model, memory, options, prefixes=[part.prefix for part in parts])

    def in_batches(self, parts: list[Part], find: Find, num_rows: int) -> list[list[Hypothesis]]:
        return in_batches(self.model, parts, find, num_rows, self.config.decode.batch_size, self.device)

    def answer(
        self,
        texts: Sequence[str],
        find: Find,
        num: int,
        num_rows: int,
        options: SearchOptions,
        prefixes: PrefixTexts,
        lines: Sequence[int],
        warn: Warn,
    ) -> list[list[Translation]]:
        """`num` translations a text: what `find`, which keeps `num_rows` hypotheses a sentence, finds for its parts."""
        lines = lines or range(1, len(texts) + 1)
        parts = split_texts(texts, self.tokenizers, self.config.data, options, prefixes, lines, warn)
        return join(parts, self.in_batches(flat(parts), find, num_rows), num, self.tokenizers.target)

    def align(self, source: str, target: str | None = None) -> tuple[list[str], list[str], NDArray[Any]]:
        """Source pieces, target pieces and the (T,S) attention between them; both end in </s>, each row sums to 1.

        Without a target: the model's own translation.
        """
        source_ids = self.encode_whole(source, self.tokenizers.source)
        if target is None:
            target_ids = list(self.search([source_ids])[0][0].ids)
        else:
            target_ids = self.encode_whole(target, self.tokenizers.target)
        src = torch.tensor([[*source_ids, EOS]], device=self.device)
        tgt_in = torch.tensor([[BOS, *target_ids]], device=self.device)
        weights = cross_attention(self.model, src, tgt_in).cpu().numpy()
        pieces = self.tokenizers.source.pieces([*source_ids, EOS]), self.tokenizers.target.pieces([*target_ids, EOS])
        return *pieces, weights

    def encode_whole(self, text: str, tokenizer: Tokenizer) -> list[int]:
        """The ids of a text that the model takes in one piece."""
        ids = encode_texts([text], tokenizer, self.config.data.normalise)[0]
        if not 1 <= len(ids) <= self.config.data.max_tokens:
            raise UsageError(f"{len(ids)} tokens; an alignment shows texts of 1 to {self.config.data.max_tokens}")
        return ids


def find_device(name: str) -> torch.device:
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        name = "cuda" if has_cuda else "cpu"
    if name.startswith("cuda") and not has_cuda:
        raise UsageError(f"device = {name}: there is no CUDA device here; use cpu")
    try:
        return torch.device(name)
    except RuntimeError:
        raise UsageError(f"device = {name!r}: want auto, cpu or cuda") from None
