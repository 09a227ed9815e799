"""Translates the file of a client: read, taken apart, translated with the texts of other requests, and put together."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from seqloom.errors import DataError
from seqloom.runtime.sentences import split_sentences
from seqloom.serve.documents import READERS, Piece, read_document, to_translate, write_document
from seqloom.serve.files import File
from seqloom.serve.finding import Found, Wanted
from seqloom.serve.glossary import Glossary
from seqloom.serve.limits import Limits
from seqloom.serve.marks import Segment
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Model, Service
from seqloom.serve.translation import AUTO, guess_source, named_languages

ENDINGS = [*READERS]
ODD = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_NAME = 60
SAMPLE = 5_000  # characters by which the language of a file is detected
MOST_PARTS = 10  # parts of a file, such as tags and blank lines, per text that it may have


@dataclass(frozen=True, slots=True)
class FileWish:
    """A file, and what a client asks for, in any protocol."""

    name: str
    content: bytes
    source: str
    target: str
    wanted: Wanted
    glossary: Glossary | None = None


def begin_file(service: Service, wish: FileWish) -> File:
    """Start the translation of a file; refused at once if it cannot be one of the kinds that are read."""
    ending = ending_of(wish.name)
    text = read_text(wish.content)
    source, target = named_languages(service, wish.source, wish.target)
    if source not in (AUTO, target):
        service.model(source, target)  # refuse a wrong pair of languages first

    async def work(file: File) -> bytes:
        async with service.files.reading:
            pieces = await asyncio.to_thread(read_pieces, text, ending, service.limits, wish.glossary)
        asked = to_translate(pieces)
        file.texts, file.characters = len(asked), sum(len(segment.text) for segment in asked)
        model = await asyncio.to_thread(choose_model, service, asked, source, target)
        if model is None:
            return wish.content
        found = await ask_in_turns(model, asked, wish.wanted, service.limits.texts, file)
        service.metrics.characters.labels(model.name).inc(file.characters)
        async with service.files.reading:
            return (await asyncio.to_thread(write_document, pieces, found)).encode()

    return service.files.begin(result_name(wish.name, ending, target), work)


def ending_of(name: str) -> str:
    ending = "." + name.rpartition(".")[2].lower()
    if ending not in READERS or "." not in name:
        raise Refusal(400, f"The name of the file must end with one of {', '.join(ENDINGS)}.")
    return ending


def result_name(name: str, ending: str, target: str) -> str:
    """film.srt in French is film_fr.srt; odd characters become _, so that the name fits into an address."""
    stem = ODD.sub("_", name[: -len(ending)].replace("\\", "/").rpartition("/")[2])[:LONGEST_NAME]
    return f"{stem or 'file'}_{ODD.sub('_', target)}{ending}"


def read_text(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"The file is not text in UTF-8 (byte {error.start:,}); convert it first.") from None
    if "\0" in text:
        raise Refusal(400, "The file is not text: it has a NUL character, like archives and pictures.")
    if not text.strip():
        raise Refusal(400, "The file is empty.")
    return text


def read_pieces(text: str, ending: str, limits: Limits, glossary: Glossary | None) -> list[Piece]:
    """The parts of a file; refused if it has too many, or a sentence that is too long."""
    pieces: list[Piece] = []
    texts = 0
    try:
        for piece in read_document(text, ending):
            for part in fitting(piece, limits, glossary):
                pieces.append(part)
                texts += part.segment.translate
                if texts > limits.file_texts or len(pieces) > MOST_PARTS * limits.file_texts:
                    raise Refusal(400, f"The file has more than {limits.file_texts:,} texts; send it in parts.")
    except DataError:
        raise Refusal(400, f"The file is not valid {ending[1:].upper()}.") from None
    return pieces


def fitting(piece: Piece, limits: Limits, glossary: Glossary | None) -> Iterable[Piece]:
    """A piece with the marks of the glossary, and a long text as its sentences."""
    segments: Iterable[Segment] = [piece.segment] if glossary is None else glossary.apply([piece.segment])
    for segment in segments:
        if not segment.translate or len(segment.text) <= limits.characters:
            yield replace(piece, segment=segment)
        else:
            yield from (replace(piece, segment=part) for part in sentences_of(segment, limits.characters))


def sentences_of(segment: Segment, most: int) -> Iterator[Segment]:
    """A long text as segments of whole sentences; refused if one of them is too long, or if there are tags in it."""
    sentences = [] if segment.marks else split_sentences(segment.text)
    if not sentences or max(map(len, sentences)) > most:
        raise Refusal(400, f"The file has a sentence of more than {most:,} characters; break it into lines.")
    for sentence in sentences:
        bare = sentence.rstrip()
        yield Segment(bare, translate=bool(bare))
        yield Segment(sentence[len(bare) :], translate=False)


def choose_model(service: Service, asked: Sequence[Segment], source: str, target: str) -> Model | None:
    """The model for the language of the file; None if it is in the target language already."""
    if source == AUTO:
        source = guess_source(service, sample_of(asked), target).language
    return None if source == target else service.model(source, target)


def sample_of(asked: Sequence[Segment]) -> str:
    texts, length = list[str](), 0
    for segment in asked:
        texts.append(segment.text[:SAMPLE])
        length += len(texts[-1])
        if length >= SAMPLE:
            break
    return "\n".join(texts)


async def ask_in_turns(model: Model, asked: Sequence[Segment], wanted: Wanted, at_once: int, file: File) -> list[Found]:
    """The translations, a few texts at a time: in between, other requests have their turn.

    Texts with markup are requests of their own, because their words are aligned.
    """
    found: dict[int, Found] = {}
    for marked in (False, True):
        own = [number for number, segment in enumerate(asked) if bool(segment.marks) == marked]
        how = replace(wanted, alignment=marked)
        for start in range(0, len(own), at_once):
            numbers = own[start : start + at_once]
            found |= zip(numbers, await ask_patiently(model, [asked[each].text for each in numbers], how), strict=True)
            file.done += len(numbers)
    return [found[number] for number in range(len(asked))]


async def ask_patiently(model: Model, texts: Sequence[str], wanted: Wanted) -> list[Found]:
    """Ask a model; as long as its queue is full, or it is loaded again, wait and try again."""
    while True:
        try:
            return await model.ask(texts, wanted)
        except Refusal as refusal:
            if refusal.status not in (429, 503):
                raise
            await asyncio.sleep(float((refusal.headers or {}).get("Retry-After", 1)))
