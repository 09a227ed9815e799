"""Translator: text in, text out, with a trained model or an ensemble.

translator = Translator.load("runs/x")
translator.translate("a sentence")                        -> "une phrase"
translator.translate(["one", "two"], no_repeat_ngram=3)   -> ["un", "deux"]
translator.hypotheses(["one"], n_best=5)                  -> the best five, with scores
translator.alternatives(["one"], 5)                       -> five with different first tokens
translator.sample(["one"], 5, temperature=0.8)            -> five drawn at random
translator.answer(["one"], SearchRequest(mbr=20))         -> any search request; all methods above build one
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from numpy.typing import NDArray

from seqloom.config import Config
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest, check_vocabulary
from seqloom.errors import UsageError
from seqloom.runtime.capitals import read_capitals, write_capitals
from seqloom.runtime.engines import Notice, check_request, faster_engine, load_torch_model, open_converted
from seqloom.runtime.explaining import Explains
from seqloom.runtime.folder import open_latest
from seqloom.runtime.inputs import Intake, Warn, as_list, encode_texts, one_or_many
from seqloom.runtime.members import check_members, shared_config, shared_facts
from seqloom.runtime.parts import Engine, Part, flat, join, least_risky, split_texts, without_repeats
from seqloom.runtime.parts import Translation as Translation
from seqloom.runtime.prefixes import PrefixTexts, encode_prefixes
from seqloom.text.sides import Tokenizers
from seqloom.text.tokenizer import Tokenizer
from seqloom.text.vocabulary import BOS, EOS

if TYPE_CHECKING:  # torch takes seconds to import, and only the torch engine needs it
    import torch

    from seqloom.models.api import Seq2Seq
    from seqloom.runtime.engine_torch import TorchEngine
    from seqloom.runtime.plain_module import PlainModule


PUBLIC = (  # what dir() shows; the rest is for Seqloom itself
    "align", "alternatives", "config", "device", "explain", "facts", "hypotheses", "load", "load_ensemble", "module",
    "sample", "tokenizers", "translate",
)  # fmt: skip


class Translator(Explains):
    """A model, its tokenizers and its settings, on the engine that runs it fastest.

    Options of a search are the fields of `SearchRequest`; those not given (or None) are the model's own.
    For a request that the engine does not support the torch engine is used, with a notice.
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
        """Takes a model, or an engine and a function that loads the model if the engine does not support a request."""
        self.tokenizers, self.config, self.facts, self.notice = tokenizers, config, facts or {}, notice
        self.model_given, self.load_model = model, load_model
        self.engine: Engine = engine or self.reference
        self.said: set[str] = set()  # notices that were given: each only once

    @classmethod
    def load(
        cls,
        folder: str | Path,
        threads: int | None = None,
        device: str = "cpu",
        engine: str = "auto",
        notice: Notice = warnings.warn,
    ) -> "Translator":
        """Load a run folder. `threads` of torch are set for the whole process, those of CTranslate2 for this model."""
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
        """Load several models as an ensemble; they must share their vocabularies. Settings are those of the first."""
        if not folders:
            raise UsageError("an ensemble of no model: name at least one folder")
        check_request(engine, threads)
        runs = [open_latest(Path(folder), notice) for folder in folders]
        check_members(runs)
        shared = (runs[0].tokenizers, shared_config(runs), shared_facts(runs))
        fast = open_converted(runs, engine, threads, device, notice)
        if fast is None:
            model = load_torch_model(runs, threads, device)
            faster = faster_engine(model, engine, runs[0].config.decode.batch_size)
            return cls(model, *shared, engine=faster, notice=notice).opened_from(runs[0].path)
        load_model = partial(load_torch_model, runs, threads, device)
        found = cls(None, *shared, engine=fast, load_model=load_model, notice=notice)
        return found.opened_from(runs[0].path)

    @cached_property
    def reference(self) -> "TorchEngine":
        """The torch engine, which supports every request."""
        from seqloom.runtime.engine_torch import TorchEngine

        model = self.model_given if self.load_model is None else self.load_model()
        assert model is not None, "want a model, or an engine and a way to load one"
        return TorchEngine(model, self.config.decode.batch_size)

    @property
    def model(self) -> "Seq2Seq":
        return self.reference.model

    @cached_property
    def module(self) -> "PlainModule":
        """The model as a plain torch module: `module(source_ids, target_ids)` gives logits.

        From then on the torch engine answers, with the weights that the module has at that moment.
        """
        self.engine = self.reference
        return self.reference.plain_module(self.tokenizers, self.config)

    @property
    def device(self) -> "torch.device":
        return self.reference.device

    def __dir__(self) -> list[str]:
        return [*PUBLIC]

    @overload
    def translate(self, text: str, beam: int | None = None, **options: Any) -> str: ...
    @overload
    def translate(self, text: Iterator[str], beam: int | None = None, **options: Any) -> Iterator[str]: ...
    @overload
    def translate(self, text: Iterable[str], beam: int | None = None, **options: Any) -> list[str]: ...
    def translate(
        self, text: str | Iterable[str], beam: int | None = None, **options: Any
    ) -> str | list[str] | Iterator[str]:
        """The best translation of a text; of each text of a list or another collection, as a list in its order.

        An iterator (a generator, an open file) gives an iterator, which reads 256 texts ahead: for more than fits in
        memory.
        """

        def answer(texts: list[str], lines: Sequence[int]) -> list[str]:
            return [found[0].text for found in self.hypotheses(texts, beam, **{"lines": lines, **options})]

        return one_or_many(text, answer)

    def hypotheses(
        self,
        texts: Sequence[str],
        beam: int | None = None,
        n_best: int | None = None,
        *,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
        **options: Any,
    ) -> list[list[Translation]]:
        """The n_best translations of each text, best first."""
        request = SearchRequest.of(beam=beam, n_best=n_best, **options)
        return self.answer(texts, request, prefixes=prefixes, lines=lines, warn=warn)

    def alternatives(
        self,
        texts: Sequence[str],
        num: int,
        beam: int | None = None,
        *,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
        **options: Any,
    ) -> list[list[Translation]]:
        """Up to `num` translations of each text, best first, that differ in the first token (after the prefix)."""
        request = SearchRequest.of(alternatives=num, beam=beam, **options)
        return self.answer(texts, request, prefixes=prefixes, lines=lines, warn=warn)

    def sample(
        self,
        texts: Sequence[str],
        num: int = 1,
        *,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
        **options: Any,
    ) -> list[list[Translation]]:
        """`num` translations of each text drawn at random: the same ones for the same seed, text and line."""
        return self.answer(texts, SearchRequest.of(sample=num, **options), prefixes=prefixes, lines=lines, warn=warn)

    def answer(
        self,
        texts: Sequence[str],
        request: SearchRequest,
        *,
        prefixes: PrefixTexts = None,
        lines: Sequence[int] = (),
        warn: Warn = warnings.warn,
    ) -> list[list[Translation]]:
        """The outputs for each text, best first (samples in the order they were drawn).

        `prefixes`: what the outputs must begin with; `lines`: line numbers for warnings, by default 1, 2, 3 ...
        """
        request, (texts, loud) = self.fill(request), read_capitals(as_list(texts), self.config.data)
        lines = lines or range(1, len(texts) + 1)
        begins = encode_prefixes(prefixes, self.tokenizers.target, self.config.data.normalise, lines)
        parts = split_texts(texts, self.intake(warn), begins, request, lines)
        found = self.open_first(request, parts) if request.alternatives else self.find(request, flat(parts))
        unmarked = [self.tokenizers.source.split_language(text)[1] for text in texts]
        ranked = write_capitals(join(unmarked, parts, found, request.num, self.tokenizers.target), loud)
        if request.alternatives:
            return [*map(without_repeats, ranked)]
        return [least_risky(each)[: request.shown] for each in ranked] if request.mbr else ranked

    def fill(self, request: SearchRequest) -> SearchRequest:
        """The request completed with the model's own settings, and checked."""
        vocab_size = len(self.tokenizers.target)
        filled = request.filled(self.config.decode, vocab_size)
        if filled.alternatives:
            check_vocabulary(filled.num, vocab_size, f"{filled.num} alternatives")
        if filled.beam:
            asked = f"{filled.beam} outputs of one search" if request.beam is None else f"beam = {filled.beam}"
            check_vocabulary(filled.beam, vocab_size, asked)
        return filled

    def intake(self, warn: Warn = warnings.warn) -> Intake:
        """Prepares texts for this model."""
        return Intake.of(self.config, self.tokenizers.source, self.facts, warn)

    def search(self, sources: list[list[int]], beam: int | None = None, n_best: int = 1) -> list[list[Hypothesis]]:
        """The n_best outputs for each source (a list of ids), in order."""
        return self.find(self.fill(SearchRequest.of(beam=beam, n_best=n_best)), [Part(ids) for ids in sources])

    def count_split(self, texts: Sequence[str]) -> int:
        """How many of them are translated in parts, as too long or longer than what the model has seen."""
        parts = self.intake(warn=lambda message: None).prepare(texts, range(1, len(texts) + 1))
        return sum(len(found) > 1 for found in parts)

    def open_first(self, request: SearchRequest, texts: list[list[Part]]) -> list[list[Hypothesis]]:
        """Alternatives of the first part of each text; the other parts follow each of them with their best output."""
        later = [part for parts in texts for part in parts[1:]]
        firsts = iter(self.find(request, [parts[0] for parts in texts if parts]))
        others = iter(self.find(replace(request, alternatives=None, n_best=1), later) if later else [])
        opened = [[next(firsts), *(next(others)[:1] * request.num for _ in parts[1:])] for parts in texts if parts]
        return [found for text in opened for found in text]

    def find(self, request: SearchRequest, parts: list[Part]) -> list[list[Hypothesis]]:
        """Search with the engine, or with the torch engine if this one does not support the request."""
        if "module" in self.__dict__:
            self.module.eval()  # its owner may be training it: an answer has no dropout
        lack = self.engine.lacks(request, parts)
        if not lack:
            return self.engine.find(request, parts)
        if lack not in self.said:
            self.said.add(lack)
            self.notice(f"the engine {self.engine.name} does not support {lack}; using torch (slower)")
        return self.reference.find(request, parts)

    def align(self, source: str, target: str | None = None) -> tuple[list[str], list[str], NDArray[Any]]:
        """Source pieces, target pieces and the (T,S) attention between them; both end in </s>, each row sums to 1.

        Without a target: the model's own translation.
        """
        import torch

        from seqloom.models.traced_attention import cross_attention

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
        """The ids of a text; UsageError if it is empty or too long to be read in one piece."""
        ids = encode_texts([text], tokenizer, self.config.data.normalise)[0]
        if not 1 <= len(ids) <= self.config.data.max_tokens:
            raise UsageError(f"{len(ids)} tokens; an alignment shows texts of 1 to {self.config.data.max_tokens}")
        return ids
