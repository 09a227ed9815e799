"""What a rung makes of the test set, kept as scores.json in its folder: the same weights are never measured twice."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec
from seqloom.evaluate.metrics import (
    Measurement,
    bleu_metric,
    error_rate,
    exact_match,
    measure_sacrebleu,
    sacrebleu_metric,
)
from seqloom.evaluate.report import make_report
from seqloom.evaluate.significance import compare
from seqloom.evaluate.testset import Item, fingerprint
from seqloom.runtime.folder import WEIGHTS, read_config, read_facts
from seqloom.runtime.translator import Translator
from seqloom.train.durable import replace_file
from seqloom.workflows.evaluate import Say, read_items, split_warning, translate_items
from seqloom.workflows.seen import count_seen, seen_warning

FILE, FORMAT = "scores.json", 2
SEARCHES = {"beam": 5, "greedy": 1}  # the first is what rungs are compared by
Scores = dict[str, Any]


@dataclass(frozen=True)
class TestSet:
    name: str
    items: list[Item]
    hash: str

    @property
    def references(self) -> list[tuple[str, ...]]:
        return [item.references for item in self.items]


def read_test(pairs: str, columns: str | None, config: Config, allow_loss: bool, say: Say) -> TestSet:
    """Read before anything is trained: hours later is too late for a wrong name."""
    items, _ = read_items(CorpusSpec.parse(pairs, columns), config.data, allow_loss, say)
    return TestSet(pairs, items, fingerprint(items))


def score_rung(folder: Path, test: TestSet, say: Say) -> Scores:
    """{"beam": report with outputs, "greedy": ...}; found in the folder, or translated now and kept there."""
    if known := known_scores(folder, test):
        return known
    translator = Translator.load(folder, threads=read_config(folder).train.threads)  # as it was trained
    language = translator.config.data.target_lang
    encoded = translator.tokenizers.source.encode_batch([item.source for item in test.items])
    seen = count_seen(folder, encoded)
    scores: Scores = {"format": FORMAT, "test_hash": test.hash, "weights": file_hash(folder / WEIGHTS)}
    scores |= {"target_lang": language, "seen_in_training": seen}
    for name, beam in SEARCHES.items():
        say(f"translating {len(test.items):,} test sentences, {name} search")
        outputs = translate_items(translator, test.items, beam, say)
        about = {"beam": beam, "search": outputs.search, "outputs": outputs.texts}
        about["sentences_per_second"] = len(test.items) / outputs.seconds
        warnings = [*seen_warning(seen, len(test.items)), *split_warning(translator, test.items)]
        report = make_report(test.items, outputs.texts, target_lang=language, about=about, warnings=warnings)
        scores[name] = report.to_json()
    write_scores(folder, scores)
    return scores


def differences(folder: Path, scores: Scores, other: str, others: Scores, test: TestSet) -> dict[str, Any]:
    """This rung minus the other, metric by metric, with interval and p; kept in the folder until either changes."""
    language, (main, *_) = scores["target_lang"], SEARCHES
    key = {"rung": other, "weights": others["weights"], "search": others[main]["search"]}
    known = scores.get("against", {})
    if all(known.get(name) == value for name, value in key.items()):
        return dict(known["differences"])
    ours, theirs = (measure_main(one[main]["outputs"], test, language) for one in (scores, others))
    found = {name: dataclasses.asdict(difference) for name, difference in compare(ours, theirs).items()}
    scores["against"] = {**key, "differences": found}
    write_scores(folder, scores)
    return found


def measure_main(outputs: Sequence[str], test: TestSet, language: str) -> dict[str, Measurement]:
    """The metrics that rungs are compared by."""
    found = {
        "bleu": measure_sacrebleu(bleu_metric(language), outputs, test.references),
        "chrf": measure_sacrebleu(sacrebleu_metric("CHRF"), outputs, test.references),
        "exact_match": exact_match(outputs, test.references),
        "token_error_rate": error_rate(outputs, test.references, str.split, "tok:space"),
    }
    return {name: measurement for name, measurement in found.items() if measurement is not None}


def known_scores(folder: Path, test: TestSet) -> Scores:
    """Those in the folder, if they are of its weights and settings and this test set; else empty."""
    saved = read_scores(folder)
    if saved.get("format") != FORMAT or saved.get("test_hash") != test.hash:
        return {}
    finished = (folder / WEIGHTS).is_file() and read_facts(folder).get("finished")
    if not finished or saved.get("weights") != file_hash(folder / WEIGHTS):
        return {}
    return saved if all(searched_so(folder, beam, saved[name]["search"]) for name, beam in SEARCHES.items()) else {}


def searched_so(folder: Path, beam: int, search: dict[str, Any]) -> bool:
    """Whether these options are what the folder's settings ask for today; only the beam is the ladder's own."""
    wanted = {**dataclasses.asdict(read_config(folder).decode), "beam": beam}
    return all(search[name] == option for name, option in wanted.items() if name in search)


def read_scores(folder: Path) -> Scores:
    """Empty when there are none, or none that can be read: they are made anew then."""
    try:
        saved = json.loads((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return saved if isinstance(saved, dict) else {}


def write_scores(folder: Path, scores: Scores) -> None:
    replace_file(folder / FILE, json.dumps(scores, ensure_ascii=False, indent=1, allow_nan=False).encode())


def file_hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
