"""The scores of a rung on the test set, stored as scores.json in its folder so that they are measured only once."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.evaluation.records import Say, read_items
from seqloom.evaluation.report import make_report, unit_of
from seqloom.evaluation.seen_in_training import count_seen, seen_warning
from seqloom.evaluation.translations import split_warning, translate_items
from seqloom.files.durable import hash_file, replace_file
from seqloom.files.reading import STATE, read_json
from seqloom.ladder.document import ComparedWith, Scores, SearchOptions, SearchScores, to_text
from seqloom.metrics.measures import (
    Measurement,
    bleu_metric,
    error_rate,
    exact_match,
    measure_sacrebleu,
    sacrebleu_metric,
)
from seqloom.metrics.significance import METHOD, Difference, compare
from seqloom.metrics.testset import Item, fingerprint
from seqloom.runtime.folder import WEIGHTS, read_config, read_facts
from seqloom.runtime.translator import Translator

FILE, FORMAT = "scores.json", 2
BLEU_WORDS = 4
SEARCHES = {"beam": 5, "greedy": 1}  # rungs are compared by the first


@dataclass(frozen=True)
class TestSet:
    name: str
    items: list[Item]
    hash: str

    @property
    def references(self) -> list[tuple[str, ...]]:
        return [item.references for item in self.items]


def read_test(pairs: str, columns: str | ReadAs | None, config: Config, allow_loss: bool, say: Say) -> TestSet:
    """Read the test set before anything is trained: a wrong file name must not fail hours later."""
    items, _ = read_items(CorpusSpec.parse(pairs, columns), config.data, allow_loss, say)
    return TestSet(pairs, items, fingerprint(items))


def choose_metric(test: TestSet) -> str:
    """What rungs are compared by: BLEU, or exact match where BLEU tells little.

    That is for single words (spelling to sound), and for answers of fewer words than the four in a row that BLEU
    counts (dates). Scripts without spaces between words have long answers too.
    """
    answers = [known[0] for known in test.references]
    short = unit_of(answers) == "letters" or (
        unit_of(answers) == "words" and median(len(answer.split()) for answer in answers) < BLEU_WORDS
    )
    return "exact_match" if short or unit_of([item.source for item in test.items]) == "letters" else "bleu"


def score_rung(folder: Path, test: TestSet, say: Say) -> Scores:
    """Return the scores stored in the folder; if there are none, translate the test set and store them."""
    if known := known_scores(folder, test):
        return known
    translator = Translator.load(
        folder, threads=read_config(folder).train.threads
    )  # the number that it was trained with
    language = translator.config.data.target_lang
    encoded = translator.tokenizers.source.encode_batch([item.source for item in test.items])
    seen = count_seen(folder, encoded)
    searched = {}
    for name, beam in SEARCHES.items():
        say(f"translating {len(test.items):,} test sentences, {name} search")
        outputs = translate_items(translator, test.items, beam, say)
        about = {"beam": beam, "search": outputs.search, "outputs": outputs.texts}
        about["sentences_per_second"] = len(test.items) / outputs.seconds
        warnings = [*seen_warning(seen, len(test.items)), *split_warning(translator, test.items)]
        report = make_report(test.items, outputs.texts, target_lang=language, about=about, warnings=warnings)
        searched[name] = msgspec.convert(report.to_json(), SearchScores)
    scores = Scores(
        format=FORMAT, test_hash=test.hash, weights=hash_file(folder / WEIGHTS), target_lang=language,
        seen_in_training=seen, beam=searched["beam"], greedy=searched["greedy"],
    )  # fmt: skip
    replace_file(folder / FILE, to_text(scores))
    return scores


def differences(folder: Path, scores: Scores, other: str, others: Scores, test: TestSet) -> dict[str, Difference]:
    """Return this rung's scores minus the other's, with interval and p; stored until one of the two changes."""
    known = scores.against
    same = (other, others.weights, others.beam.search, METHOD)
    if known and (known.rung, known.weights, known.search, known.method) == same:
        return known.differences
    ours, theirs = (measure_main(one.beam.outputs or [], test, scores.target_lang) for one in (scores, others))
    found = compare(ours, theirs)
    scores.against = ComparedWith(
        rung=other, weights=others.weights, search=others.beam.search, differences=found, method=METHOD
    )
    replace_file(folder / FILE, to_text(scores))
    return found


def measure_main(outputs: Sequence[str], test: TestSet, language: str) -> dict[str, Measurement]:
    """Measure the metrics by which rungs are compared."""
    found = {
        "bleu": measure_sacrebleu(bleu_metric(language), outputs, test.references),
        "chrf": measure_sacrebleu(sacrebleu_metric("CHRF"), outputs, test.references),
        "exact_match": exact_match(outputs, test.references),
        "token_error_rate": error_rate(outputs, test.references, str.split, "tok:space"),
    }
    return {name: measurement for name, measurement in found.items() if measurement is not None}


def known_scores(folder: Path, test: TestSet) -> Scores | None:
    """Return the scores in the folder, if they belong to its weights and settings and to this test set."""
    saved = read_scores(folder)
    if saved is None or saved.format != FORMAT or saved.test_hash != test.hash:
        return None
    finished = (folder / WEIGHTS).is_file() and read_facts(folder).finished
    if not finished or saved.weights != hash_file(folder / WEIGHTS):
        return None
    searches = {"beam": saved.beam.search, "greedy": saved.greedy.search}
    return saved if all(searched_so(folder, beam, searches[name]) for name, beam in SEARCHES.items()) else None


def searched_so(folder: Path, beam: int, search: SearchOptions) -> bool:
    """Whether these search options are still those of the folder's settings; only the beam is set by the ladder."""
    wanted = {**dataclasses.asdict(read_config(folder).decode), "beam": beam}
    return all(search[name] == option for name, option in wanted.items() if name in search)


def read_scores(folder: Path) -> Scores | None:
    """Read scores.json; None if it is missing or cannot be read, so that the scores are measured again."""
    try:
        return msgspec.convert(read_json(folder / FILE, STATE), Scores)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
