"""From what the user named to checked, tokenised pairs; every pair that is not used is accounted for."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec, parse_mix, spool_stdin, usable_pairs
from seqloom.data.doctor import examine
from seqloom.data.prepare import prepare, wanted_data_hash
from seqloom.data.store import Store
from seqloom.errors import DataError
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.train.progress import make_progress
from seqloom.workflows.resume import check_same_data

Tell = Callable[[str], None]


def gather_corpora(
    pairs: str | Path | Sequence[str | Path], mix: Sequence[str], columns: str | None, folder: Path
) -> list[CorpusSpec]:
    """The corpora: those given plainly with weight 1, those of --mix with theirs; standard input is spooled first."""
    names = [str(pairs)] if isinstance(pairs, (str, Path)) else [str(name) for name in pairs]
    plain = [spool_stdin(folder, columns) if name == "-" else CorpusSpec.parse(name, columns) for name in names]
    return plain + [parse_mix(name, columns) for name in mix]


def gather_data(
    folder: Path,
    specs: Sequence[CorpusSpec],
    valid_specs: Sequence[CorpusSpec],
    config: Config,
    tokenizer: Path | None,
    allow_loss: bool,
    tell: Tell,
    quiet: bool,
) -> tuple[Tokenizers, Store, Store]:
    """(tokenizers, training store, validation store), checked and built, or found as an earlier start left them."""
    facts = folder / "run.json"  # is there once the data was ready
    if facts.exists():
        tokenizers = Tokenizers.load(tokenizer or folder)
        wanted = wanted_data_hash(folder / "store", specs, tokenizers, config.data, config.train.seed, valid_specs)
        check_same_data(folder, json.loads(facts.read_text("utf-8"))["data_hash"], wanted)
    else:
        refuse_bad_data(specs, valid_specs[0] if valid_specs else None, config, allow_loss, tell)
        tokenizers = Tokenizers.load(tokenizer) if tokenizer else learn_tokenizers(specs, config, tell, quiet)
        tokenizers.save(folder)
    with make_progress("encoding", unit="pair", quiet=quiet) as progress:
        stores = prepare(
            folder / "store", specs, tokenizers, config.data, config.train.seed, valid_specs, progress.update
        )
    tell(f"training: {stores[0].account.render()}")
    if stores[1].held_out:
        tell(f"validation: no --valid given, so {len(stores[1]):,} of these pairs are held out")
    else:
        tell(f"validation: {stores[1].account.render()}")
    return tokenizers, *stores


def refuse_bad_data(
    specs: Sequence[CorpusSpec], valid: CorpusSpec | None, config: Config, allow_loss: bool, tell: Tell
) -> None:
    """The doctor's look at every corpus: hard faults end the run here, before anything is built."""
    for spec in specs:
        report = examine(spec, config.data, valid=valid, allow_loss=allow_loss)
        if report.hard:
            raise DataError(f"{report.render()}\n`seqloom doctor {spec.name}` shows all; nothing was trained.")
        if report.findings:
            tell(report.render())


def learn_tokenizers(specs: Sequence[CorpusSpec], config: Config, tell: Tell, quiet: bool) -> Tokenizers:
    text = config.text

    def texts(*sides: str) -> Iterator[str]:
        with make_progress(f"learning {text.tokenizer} tokens", unit="pair", quiet=quiet) as progress:
            for spec in specs:
                for number, pair in enumerate(usable_pairs(spec, config.data)):
                    if number % 10_000 == 0:
                        progress.update(number)
                    if "source" in sides:
                        yield pair.source
                    if "target" in sides:
                        yield pair.targets[0]

    if text.joint:
        both = learn_tokenizer(text.tokenizer, texts("source", "target"), text.vocab_size)
        tell(f"tokenizer: {text.tokenizer}, {len(both):,} tokens for both sides")
        return Tokenizers(both, both)
    source = learn_tokenizer(text.tokenizer, texts("source"), text.vocab_size)
    target = learn_tokenizer(text.tokenizer, texts("target"), text.vocab_size)
    tell(f"tokenizer: {text.tokenizer}, {len(source):,} source and {len(target):,} target tokens")
    return Tokenizers(source, target)
