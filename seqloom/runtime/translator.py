"""Text in, text out: a trained model, or several, with the tokenizers.

translator = Translator.load("runs/x")
translator.translate("a sentence")                        -> "une phrase"
translator.translate(["one", "two"], no_repeat_ngram=3)   -> ["un", "deux"]
translator.hypotheses(["one"], n_best=5)                  -> the best five, with scores
translator.alternatives(["one"], 5)                       -> five that differ from their first token on
translator.sample(["one"], 5, temperature=0.8)            -> five by chance
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from numpy.typing import NDArray

from seqloom.config import Config
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import MOST_BEAM, SampleOptions, SearchOptions, check_vocabulary
from seqloom.errors import UsageError, did_you_mean
from seqloom.runtime.engines import Notice, check_request, hasten, load_torch_model, open_converted
from seqloom.runtime.folder import open_run
from seqloom.runtime.inputs import Warn, encode_texts
from seqloom.runtime.members import check_members, shared_config, shared_facts
from seqloom.runtime.parts import Part, flat, join, split_texts, without_repeats
from seqloom.runtime.parts import Translation as Translation
from seqloom.runtime.prefixes import PrefixTexts
from seqloom.runtime.requests import Alternatives, Engine, Request, Sample, Search
from seqloom.text.sides import Tokenizers
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import BOS, EOS

if TYPE_CHECKING:  # torch takes seconds to import: only the torch engine does
    import torch

    from seqloom.models.api import Seq2Seq
    from seqloom.runtime.engine_torch import TorchEngine


class Translator:
    """A model, its tokenizers and its settings, on the engine that runs it fastest.

    `settings` of a search are the names of `SearchOptions`; those not given (or None) are the model's own.
    What the engine lacks the torch engine does, with a notice.
    """

    def __init__(
        self,
        model: "Seq2Seq | None",
        tokenizers: Tokenizers,
        config: Config,
        facts: dict[str, Any] | None = None,
        *,
        engine: Engine | None = None,
        load_model: "Callable[[], Seq2Seq] | None" = None,
        notice: Notice = warnings.warn,
    ) -> None:
        """A model, or an engine with a way to load the model when the engine is not enough."""
        self.tokenizers, self.config, self.facts, self.notice = tokenizers, config, facts or {}, notice
        self.model_given, self.load_model = model, load_model
        self.engine: Engine = engine or self.reference
        self.said: set[str] = set()  # notices: each once

    @classmethod
    def load(
        cls,
        folder: str | Path,
        threads: int | None = None,
        device: str = "cpu",
        engine: str = "auto",
        notice: Notice = warnings.warn,
    ) -> "Translator":
        """The model in a run folder. `threads` of torch hold for the whole process, those of CTranslate2 for this."""
        return cls.load_ensemble([folder], threads, device, engine, notice)

    @classmethod
    def load_ensemble(
        cls,
        folders: Sequence[str | Path],
        threads: int | None = None,
        device: str = "cpu",
        engine: str = "auto",
        notice: Notice = warnings.warn,
    ) -> "Translator":
        """Several models that answer as one; they must share their vocabularies. Settings are the first one's."""
        if not folders:
            raise UsageError("an ensemble of no model: name at least one folder")
        check_request(engine, threads)
        runs = [open_run(Path(folder)) for folder in folders]
        check_members(runs)
        shared = (runs[0].tokenizers, shared_config(runs), shared_facts(runs))
        fast = open_converted(runs, engine, threads, device, notice)
        if fast is None:
            model = load_torch_model(runs, threads, device)
            hastened = hasten(model, engine, runs[0].config.decode.batch_size)
            return cls(model, *shared, engine=hastened, notice=notice)
        load_model = partial(load_torch_model, runs, threads, device)
        return cls(None, *shared, engine=fast, load_model=load_model, notice=notice)

    @cached_property
    def reference(self) -> "TorchEngine":
        """The torch engine, which answers everything."""
        from seqloom.runtime.engine_torch import TorchEngine

        model = self.model_given if self.load_model is None else self.load_model()
        assert model is not None, "want a model, or an engine and a way to load one"
        return TorchEngine(model, self.config.decode.batch_size)

    @property
    def model(self) -> "Seq2Seq":
        return self.reference.model

    @property
    def device(self) -> "torch.device":
        return self.reference.device

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
        return self.answer(texts, Search(self.options(beam, n_best, **settings)), prefixes, lines, warn)

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
        """Up to `num` translations of each text, best first, that differ in the first token (after the prefix)."""
        options = self.options(beam, **settings)
        if not 1 <= num <= MOST_BEAM:
            raise UsageError(f"{num} alternatives: want 1 to {MOST_BEAM}")
        check_vocabulary(num, len(self.tokenizers.target), f"{num} alternatives")
        return [*map(without_repeats, self.answer(texts, Alternatives(options, num), prefixes, lines, warn))]

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
        how = SampleOptions(num, temperature, top_k, top_p)
        return self.answer(texts, Sample(self.options(**settings), how, seed), prefixes, lines, warn)

    def options(self, beam: int | None = None, n_best: int = 1, **settings: Any) -> SearchOptions:
        """The model's own settings with these laid over them, checked."""
        own, vocab_size = self.config.decode, len(self.tokenizers.target)
        names = ("length_penalty", "coverage_penalty", "min_length", "no_repeat_ngram")
        given = {name: setting for name, setting in settings.items() if setting is not None}
        for name in given.keys() - (allowed := {*names, "max_length"}):
            raise UsageError(
                f"{name}: no setting of a search; want {', '.join(sorted(allowed))}.{did_you_mean(name, allowed)}"
            )
        width = max(n_best, min(own.beam, vocab_size)) if beam is None else beam
        options = SearchOptions(beam=width, n_best=n_best, **{name: getattr(own, name) for name in names} | given)
        check_vocabulary(width, vocab_size, f"{width} outputs of one search" if beam is None else f"beam = {width}")
        return options

    def search(self, sources: list[list[int]], beam: int | None = None, n_best: int = 1) -> list[list[Hypothesis]]:
        """The n_best outputs for each source of ids, in the order given."""
        return self.find(Search(self.options(beam, n_best)), [Part(ids) for ids in sources])

    def answer(
        self, texts: Sequence[str], request: Request, prefixes: PrefixTexts, lines: Sequence[int], warn: Warn
    ) -> list[list[Translation]]:
        """The outputs of each text: what the engine finds for its parts, put together."""
        lines = lines or range(1, len(texts) + 1)
        usual = self.facts.get("usual_tokens")
        parts = split_texts(texts, self.tokenizers, self.config, usual, request.options, prefixes, lines, warn)
        if isinstance(request, Alternatives):
            found = self.open_first(request, parts)
        else:
            found = self.find(request, flat(parts))
        return join(parts, found, request.num, self.tokenizers.target)

    def count_split(self, texts: Sequence[str]) -> int:
        """How many of them are translated in parts, as too long or longer than what the model has seen."""
        usual, lines = self.facts.get("usual_tokens"), range(1, len(texts) + 1)
        parts = split_texts(
            texts, self.tokenizers, self.config, usual, self.options(), None, lines, warn=lambda message: None
        )
        return sum(len(found) > 1 for found in parts)

    def open_first(self, request: Alternatives, texts: list[list[Part]]) -> list[list[Hypothesis]]:
        """Alternatives of the first part of each text; the others stand behind all of them as search finds them."""
        later = [part for parts in texts for part in parts[1:]]
        firsts = iter(self.find(request, [parts[0] for parts in texts if parts]))
        others = iter(self.find(Search(request.options), later) if later else [])
        opened = [[next(firsts), *(next(others)[:1] * request.num for _ in parts[1:])] for parts in texts if parts]
        return [found for text in opened for found in text]

    def find(self, request: Request, parts: list[Part]) -> list[list[Hypothesis]]:
        lack = self.engine.lacks(request, parts)
        if not lack:
            return self.engine.find(request, parts)
        if lack not in self.said:
            self.said.add(lack)
            self.notice(f"the engine {self.engine.name} has {lack}: the torch engine answers, which takes longer")
        return self.reference.find(request, parts)

    def align(self, source: str, target: str | None = None) -> tuple[list[str], list[str], NDArray[Any]]:
        """Source pieces, target pieces and the (T,S) attention between them; both end in </s>, each row sums to 1.

        Without a target: the model's own translation.
        """
        import torch

        from seqloom.runtime.alignment import cross_attention

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
