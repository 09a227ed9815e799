"""Compare translation speed in one run: Seqloom, CTranslate2 called directly, Hugging Face and a plain loop, in turn.

    python benchmarks/translate_speed.py runs/transformer test.en [--recurrent runs/rnn] [--fast runs/fast]
        [--references test.de] [--threads 2] [--rounds 3] [--one 200] [--beams 1 5] [--only SYSTEM ...]

Copies the folders and converts the copies. All Transformer systems run the same weights. Reports for each system and
beam: sentences/s in batches (best and range of the rounds), p50 and p95 in ms over `--one` sentences translated one at
a time, BLEU (tokenizer 13a) if there are references, and how many outputs differ from those of the first system; then
cold start (process start to first translation) and peak memory of a process that translates the whole file.

seqloom fp32, int8     Translator.translate on engine/, from text to text
ctranslate2 fp32, int8 the same engine/ called directly, inter_threads = threads, intra_threads = 1: tokens in and out
hugging face           generate() of the exported folder, batches of 64 sorted by length, from text to text
seqloom recurrent      fp32, int8: a recurrent model on its engine/ (ONNX Runtime), from text to text
plain loop             a recurrent model: padded batches of 64 in the order of the file, the model's own step, until the
                       last row has ended; greedy search, or the same with one row per hypothesis
"""

import argparse
import gzip
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Translate = Callable[[list[str], int], object]
BATCH = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transformer", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--references", type=Path, help="reference translations for BLEU")
    parser.add_argument("--recurrent", type=Path)
    parser.add_argument("--fast", type=Path, help="a folder whose engine/ is ready: the recipe fast")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", type=int, default=200, help="sentences translated one at a time")
    parser.add_argument("--lines", type=int, default=0, help="use only this many lines of the text; 0 = all")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--only", nargs="+", help="run only these systems")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    texts = read(options.text)[: options.lines or None]
    if options.child:
        run_child(options.child, options.transformer, texts, options.threads)
        return
    with tempfile.TemporaryDirectory() as name:
        systems, folders = prepare(options, Path(name))
        results = measure(systems, texts, options)
        add_quality(results, systems, texts, options)
        results |= {
            f"{label}, processes": processes(folder, options) for label, folder in folders.items() if label in systems
        }
    print(json.dumps(results, indent=1))


def read(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def prepare(options: argparse.Namespace, work: Path) -> tuple[dict[str, Translate], dict[str, Path]]:
    """Return all systems as functions of texts and beam, and the folders for the cold-start processes."""
    import torch

    from seqloom.formats.check_engine import EngineOptions
    from seqloom.formats.export_ctranslate2 import make_ctranslate2_engine
    from seqloom.formats.export_onnx import make_onnx_engine
    from seqloom.runtime.folder import open_run, read_config
    from seqloom.runtime.translator import Translator
    from seqloom.workflows.export import export

    torch.set_num_threads(options.threads)
    systems: dict[str, Translate] = {}
    folders = {}
    for precision in ("fp32", "int8"):
        folder = folders[f"seqloom {precision}"] = copy(options.transformer, work / precision)
        make_ctranslate2_engine(open_run(folder), EngineOptions(precision == "int8", items=[]), print_to_error)
        systems[f"seqloom {precision}"] = seqloom(Translator.load(folder, options.threads))
        systems[f"ctranslate2 {precision}"] = direct(folder, options.threads)
    export(options.transformer, "hf", work / "hf", tell=print_to_error)
    systems["hugging face"] = hugging_face(work / "hf", read_config(options.transformer).decode.length_penalty)
    if options.fast:
        folders["seqloom fast"] = options.fast
        systems["seqloom fast"] = seqloom(Translator.load(options.fast, options.threads))
    for precision in ("fp32", "int8") if options.recurrent else ():
        name = f"seqloom recurrent {precision}"
        folder = folders[name] = copy(options.recurrent, work / f"recurrent-{precision}")
        make_onnx_engine(open_run(folder), EngineOptions(precision == "int8", items=[]), print_to_error)
        translator = Translator.load(folder, options.threads)
        systems[name] = seqloom(translator)
        systems.setdefault("plain loop", plain_loop(translator))
    return {name: system for name, system in systems.items() if not options.only or name in options.only}, folders


def copy(folder: Path, into: Path) -> Path:
    """Copy a model folder without engine/, checkpoints and store."""
    ignored = shutil.ignore_patterns("engine", "checkpoints", "store", "tensorboard", "lock")
    return Path(shutil.copytree(folder, into, ignore=ignored))


def seqloom(translator) -> Translate:
    return lambda texts, beam: translator.translate(texts, beam)


def direct(folder: Path, threads: int) -> Translate:
    import ctranslate2

    from seqloom.runtime.folder import open_run

    model = ctranslate2.Translator(str(folder / "engine"), inter_threads=threads, intra_threads=1)
    run = open_run(folder)
    tokenizer, penalty = run.tokenizers.source, run.config.decode.length_penalty
    tokens = tokenizer.tokens()
    known: dict[str, list[list[str]]] = {}

    def translate(texts: list[str], beam: int) -> object:
        key = "\n".join(texts)
        if key not in known:  # tokenising is not part of the measurement
            known[key] = [[*(tokens[index] for index in ids), "</s>"] for ids in tokenizer.encode_batch(texts)]
        return model.translate_batch(
            known[key], beam_size=beam, max_batch_size=BATCH, min_decoding_length=0, max_decoding_length=200,
            length_penalty=penalty,
        )  # fmt: skip

    return translate


def hugging_face(folder: Path, penalty: float) -> Translate:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def translate(texts: list[str], beam: int) -> list[str]:
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = [""] * len(texts)
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            inputs = tokenizer([texts[place] for place in places], return_tensors="pt", padding=True)
            inputs.pop("token_type_ids", None)
            with torch.inference_mode():
                written = model.generate(**inputs, num_beams=beam, max_length=201, length_penalty=penalty)
            for place, text in zip(places, tokenizer.batch_decode(written, skip_special_tokens=True), strict=True):
                found[place] = text
        return found

    return translate


def plain_loop(translator) -> Translate:
    """The simplest loop: padded batches, the model's own step, until the last row has ended."""
    import torch

    from seqloom.models.api import select_rows
    from seqloom.text.vocabulary import BOS, EOS, PAD

    model, tokenizers = translator.model, translator.tokenizers

    def decode(ids: list[list[int]], beam: int) -> list[list[int]]:
        src = torch.nn.utils.rnn.pad_sequence([torch.tensor([*row, EOS]) for row in ids], True, PAD)
        memory, rows = model.encode(src, src != PAD), len(ids)
        state, limit = model.start(memory, beam), 2 * src.shape[1] + 50
        written = torch.full((rows * beam, 1), BOS)
        total = torch.zeros(rows, beam)
        total[:, 1:] = -torch.inf
        done = torch.zeros(rows, beam, dtype=torch.bool)
        first = torch.arange(rows)[:, None] * beam
        for _ in range(limit):
            hidden, state = model.step(written[:, -1:], state, memory)
            log_probs = model.project(hidden[:, 0]).log_softmax(-1).view(rows, beam, -1)
            log_probs = log_probs.masked_fill(done[..., None], -torch.inf)
            log_probs[..., PAD] = torch.where(done, 0.0, -torch.inf)
            total, places = (total[..., None] + log_probs).flatten(1).topk(beam)
            parents, tokens = places // log_probs.shape[-1], places % log_probs.shape[-1]
            every = (first + parents).flatten()
            written = torch.cat([written[every], tokens.flatten()[:, None]], 1)
            done = done.gather(1, parents) | (tokens == EOS)
            if done.all():
                break
            state = select_rows(state, every)
        return [row.tolist() for row in written.view(rows, beam, -1)[:, 0]]

    def translate(texts: list[str], beam: int) -> list[str]:
        ids = tokenizers.source.encode_batch(texts)
        with torch.inference_mode():
            found = [row for start in range(0, len(ids), BATCH) for row in decode(ids[start : start + BATCH], beam)]
        return [tokenizers.target.decode(row) for row in found]

    return translate


def measure(systems: dict[str, Translate], texts: list[str], options: argparse.Namespace) -> dict[str, dict]:
    results: dict[str, dict] = {}
    few = texts[:: max(1, len(texts) // options.one)][: options.one]
    for beam in options.beams:
        speeds: dict[str, list[float]] = {name: [] for name in systems}
        waits: dict[str, list[float]] = {name: [] for name in systems}
        for translate in systems.values():
            translate(texts[:8], beam)  # warm up
        for _ in range(options.rounds):
            for name, translate in systems.items():
                began = time.perf_counter()
                translate(texts, beam)
                speeds[name].append(len(texts) / (time.perf_counter() - began))
                print_to_error(f"  beam {beam}, {name}: {speeds[name][-1]:.1f} sentences/s")
        for text in few:  # each text goes through all systems in turn, so that other work slows them all alike
            for name, translate in systems.items():
                began = time.perf_counter()
                translate([text], beam)
                waits[name].append(1000 * (time.perf_counter() - began))
        for name in systems:
            cuts = statistics.quantiles(waits[name], n=20) if len(few) > 1 else waits[name] * 19
            results[f"{name}, beam {beam}"] = {
                "sentences_per_second": round(max(speeds[name]), 1),
                "range": [round(min(speeds[name]), 1), round(max(speeds[name]), 1)],
                "one_p50_ms": round(statistics.median(waits[name]), 2),
                "one_p95_ms": round(cuts[18], 2),
            }
    return results


def add_quality(
    results: dict[str, dict], systems: dict[str, Translate], texts: list[str], options: argparse.Namespace
) -> None:
    """Add BLEU and differing outputs for the systems that return text (CTranslate2 called directly returns tokens)."""
    from sacrebleu import corpus_bleu

    references = read(options.references)[: len(texts)] if options.references else None
    for beam in options.beams:
        first = next(iter(systems.values()))(texts, beam)
        for name, translate in systems.items():
            outputs = translate(texts, beam)
            if not all(isinstance(output, str) for output in outputs):
                continue
            found = results[f"{name}, beam {beam}"]
            found["not_as_the_first"] = sum(ours != theirs for ours, theirs in zip(first, outputs, strict=True))
            if references:
                found["bleu"] = round(corpus_bleu(outputs, [references]).score, 2)


def processes(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure the cold start of the command (best of five) and the peak memory for the whole text."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as one:
        one.write("a man is riding a bicycle .\n")
        one.flush()
        times = []
        for _ in range(5):
            began = time.perf_counter()
            words = [sys.executable, "-m", "seqloom", "translate", str(folder), one.name]
            subprocess.run(words, check=True, capture_output=True)
            times.append(time.perf_counter() - began)
    words = [sys.executable, __file__, str(folder), str(options.text), "--child", "seqloom"]
    child = subprocess.run([*words, "--threads", str(options.threads)], check=True, capture_output=True, text=True)
    return {"cold_start_seconds": round(min(times), 3), "peak_memory_mb": round(float(child.stdout), 1)}


def run_child(system: str, folder: Path, texts: list[str], threads: int) -> None:
    from seqloom.runtime.translator import Translator

    Translator.load(folder, threads).translate(texts)
    # Not ru_maxrss: a child process inherits its parent's value.
    status = Path("/proc/self/status").read_text("utf-8")
    print(next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")))


def print_to_error(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
