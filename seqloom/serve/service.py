"""The served models by language pair, each with its queue and thread, and the limits of all requests."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.serve.allowed_hosts import Allowed
from seqloom.serve.batcher import MOST_STUCK, Batcher
from seqloom.serve.beside import place_beside
from seqloom.serve.continuing import Continuing
from seqloom.serve.fair_queue import seat
from seqloom.serve.files import Files
from seqloom.serve.finding import NO_OPTIONS, Find, Found, Wanted, make_find
from seqloom.serve.languages import UNNAMED, name_of, resolve
from seqloom.serve.limits import Limits
from seqloom.serve.metrics import Metrics
from seqloom.serve.named import Named, Single, find_with
from seqloom.serve.refusal import Refusal, busy
from seqloom.serve.uploads import Uploads
from seqloom.serve.worker import OneThread

if TYPE_CHECKING:
    from seqloom.explain.document import Explained
    from seqloom.runtime.translator import Translator
    from seqloom.serve.deepl_glossaries import Stored

MOST_EXPLAINING = 8  # requests per model: each takes up to seconds, and one runs at a time
MOST_EXPLAINING_EACH = 4  # of one client


@dataclass(frozen=True, slots=True)
class Pair:
    """A model before it is served: its languages, and the folder that messages name."""

    source: str
    target: str
    translator: "Translator"
    folder: str
    load: "Callable[[], Translator] | None" = None  # loads it again; None = keep it whatever happens


@dataclass(eq=False, slots=True)
class Model:
    name: str  # en-de
    source: str
    target: str
    translator: "Translator"
    batcher: Batcher
    beside: "dict[str, Translator]" = field(default_factory=dict)  # by name: they only explain
    reference: asyncio.Future[Any] | None = None  # the torch engine behind a fast one, loaded when needed
    explainer: OneThread = field(default_factory=lambda: OneThread("seqloom-explain"))
    left: list[OneThread] = field(default_factory=list)  # threads whose explaining did not end in time
    explaining: Counter[str] = field(default_factory=Counter)  # requests that wait for it or are answered, by client

    async def ask(self, texts: Sequence[str], wanted: Wanted) -> list[Found]:
        if wanted.beyond_fast_engines and self.translator.load_model is not None:
            await self.load_reference()
        return await self.batcher.ask(texts, wanted)

    async def explain(self, text: str, by: "Sequence[Translator]", **settings: Any) -> "Explained":
        """What these models do with a text, in the one thread for them; refused if too many texts wait."""
        with seat(self.explaining, MOST_EXPLAINING, MOST_EXPLAINING_EACH, "texts wait to be explained"):
            if self.translator in by and self.translator.load_model is not None:
                await self.load_reference()
            first, *others = by
            work = partial(first.explain, text, beside=others, strict=False, **settings)
            return await asyncio.get_running_loop().run_in_executor(self.thread_to_explain(), work)

    def thread_to_explain(self) -> OneThread:
        """The thread that explains; one that is stuck is left behind, and if several are, there is no other."""
        if self.explainer.seconds > self.batcher.limits.stuck:
            if sum(worker.busy for worker in self.left) >= MOST_STUCK:
                raise busy("Explaining takes too long at the moment; try again in a minute.")
            self.explainer.abandon()
            self.left = [worker for worker in (*self.left, self.explainer) if worker.busy]
            self.explainer = OneThread("seqloom-explain")
        return self.explainer

    async def load_reference(self) -> None:
        """Load the torch engine in a separate thread: it takes seconds, and other requests are answered meanwhile."""
        if self.reference is None:
            thread = OneThread("seqloom-reference")
            self.reference = asyncio.get_running_loop().run_in_executor(thread, getattr, self.translator, "reference")
            thread.shutdown()
        await asyncio.wait([self.reference])  # the search itself will report the error

    @property
    def busy(self) -> bool:
        """Whether one of its threads is working."""
        loading = self.reference is not None and not self.reference.done()
        return self.batcher.busy or any(worker.busy for worker in (self.explainer, *self.left)) or loading


@dataclass(eq=False)
class Service:
    pairs: Sequence[Pair]
    limits: Limits = field(default_factory=Limits)
    key: str | None = None
    search: SearchRequest = (
        NO_OPTIONS  # options that clients do not give; those missing here come from each model's settings
    )
    beside: Sequence[Pair] = ()  # models that are only explained, each beside a served one of the same languages
    singles: Sequence[Single] = ()  # models that do not translate
    metrics: Metrics = field(default_factory=Metrics)
    named: dict[str, Named] = field(default_factory=dict)  # these, by name
    models: dict[tuple[str, str], Model] = field(default_factory=dict)
    accepting: bool = False
    allowed: Allowed = field(default_factory=Allowed)  # hosts and web pages
    inside: int = 0  # requests that are being answered
    uploads: Uploads = field(init=False)
    files: Files = field(init=False)
    glossaries: dict[str, "Stored"] = field(default_factory=dict)  # by id

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.limits)
        self.files = Files(self.limits)
        check_pairs(self.pairs)
        check_names(self.pairs, self.singles)
        for pair in self.pairs:
            self.models[pair.source, pair.target] = self.make_model(pair)
        self.named = {single.name: self.make_named(single) for single in self.singles}
        place_beside(self.models, self.beside)

    def make_model(self, pair: Pair) -> Model:
        name = f"{pair.source}-{pair.target}"
        cut = self.metrics.cut.labels(name)

        def find_with_model(translator: "Translator") -> Find:
            return make_find(translator, warn=lambda message: cut.inc())

        def reload() -> Find:
            if pair.load is None:
                return model.batcher.find
            model.translator, model.reference = pair.load(), None
            return find_with_model(model.translator)

        batcher = self.make_batcher(name, find_with_model(pair.translator), reload)
        model = Model(name, pair.source, pair.target, pair.translator, batcher)
        return model

    def make_named(self, single: Single) -> Named:
        if single.shape == "continues":
            continuing = Continuing(single.answering, self.limits)  # type: ignore[arg-type]
            return Named(single.name, single.task, single.shape, single.answering, None, continuing)
        cut = self.metrics.cut.labels(single.name)

        def reload() -> Find:
            assert named.batcher is not None
            if single.load is None:
                return named.batcher.find
            named.answering = single.load()
            return find_with(single.shape, named.answering, lambda message: cut.inc())

        find = find_with(single.shape, single.answering, lambda message: cut.inc())
        batcher = self.make_batcher(single.name, find, reload)
        named = Named(single.name, single.task, single.shape, single.answering, batcher, None)
        return named

    def make_batcher(self, name: str, find: Find, reload: Callable[[], Find]) -> Batcher:
        texts, seconds = self.metrics.batch_texts.labels(name), self.metrics.search_seconds.labels(name)

        def measure(num_texts: int, took: float) -> None:
            texts.observe(num_texts)
            seconds.observe(took)

        batcher = Batcher(find, self.limits, measure, reload)
        self.metrics.queue.labels(name).set_function(lambda: len(batcher.queue.places))
        return batcher

    @property
    def batchers(self) -> list[Batcher]:
        named = [one.batcher for one in self.named.values() if one.batcher is not None]
        return [*(model.batcher for model in self.models.values()), *named]

    def start(self) -> None:
        for batcher in self.batchers:
            batcher.start()
        self.accepting = True

    def give_up(self) -> None:
        for batcher in self.batchers:
            batcher.give_up()

    async def stop(self) -> None:
        self.accepting = False
        await self.files.stop()
        for model in self.models.values():
            model.explainer.shutdown()
        for one in self.named.values():
            if one.continuing is not None:
                one.continuing.thread.shutdown()
        for batcher in self.batchers:
            await batcher.stop()

    @property
    def busy(self) -> bool:
        named: list[Model | Named] = [*self.models.values(), *self.named.values()]
        return any(model.busy for model in named)

    @property
    def ready(self) -> bool:
        return self.accepting and all(batcher.ready for batcher in self.batchers)

    @property
    def stuck(self) -> bool:
        """Whether a model does not answer and could not be loaded again: only a new process helps."""
        return any(batcher.stuck for batcher in self.batchers)

    @cached_property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(source for source, _ in self.models))

    @cached_property
    def targets(self) -> list[str]:
        return list(dict.fromkeys(target for _, target in self.models))

    @cached_property
    def languages(self) -> list[str]:
        return list(dict.fromkeys([*self.sources, *self.targets]))

    def name_of(self, code: str) -> str:
        """The English name of a language; a model without known languages is named by its folder."""
        if code not in UNNAMED:
            return name_of(code)
        folders = [pair.folder for pair in self.pairs if code in (pair.source, pair.target)]
        return f"{Path(folders[0]).resolve().name} ({'input' if code == UNNAMED[0] else 'output'})"

    def targets_of(self, source: str) -> list[str]:
        return [target for other, target in self.models if other == source]

    def sources_of(self, target: str) -> list[str]:
        return [source for source, other in self.models if other == target]

    def language(self, code: str, name: str) -> str:
        """The served language that a client means."""
        self.check_translates()
        found = resolve(code, self.languages)
        if found is None:
            raise Refusal(400, f"{name} is not a language that is served here; these are: {', '.join(self.languages)}.")
        return found

    def check_translates(self) -> None:
        if not self.models:
            raise Refusal(400, f"No model here translates; there are: {', '.join(self.named)}.")

    def model(self, source: str, target: str) -> Model:
        found = self.models.get((source, target))
        if found is None:
            known = ", ".join(model.name for model in self.models.values())
            raise Refusal(400, f"There is no model from {source} to {target} here; there are: {known}.")
        return found


def check_pairs(pairs: Sequence[Pair]) -> None:
    """Refuse two models for the same pair of languages."""
    seen: dict[tuple[str, str], Pair] = {}
    for pair in pairs:
        first = seen.setdefault((pair.source, pair.target), pair)
        if first is not pair:
            unnamed = " The settings of neither name its languages." if (pair.source, pair.target) == UNNAMED else ""
            raise UsageError(
                f"{first.folder} and {pair.folder} both translate {pair.source} to {pair.target}.{unnamed} "
                f"Name the languages: SOURCE-TARGET=FOLDER, for example en-de={pair.folder}. To see both in Look "
                f"inside: --beside {pair.folder}"
            )


def check_names(pairs: Sequence[Pair], singles: Sequence[Single]) -> None:
    """Refuse two models with one name."""
    seen = {f"{pair.source}-{pair.target}": pair.folder for pair in pairs}
    for single in singles:
        first = seen.setdefault(single.name, single.folder)
        if first is not single.folder:
            raise UsageError(
                f"{first} and {single.folder} are both named {single.name}. Name one of them: NAME=FOLDER, for "
                f"example {single.name}-2={single.folder}"
            )
