"""DeepL's document translation: a file is uploaded, its status asked for, and the result downloaded once."""

import hmac
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from seqloom.serve.deepl import Formality, choose_glossary
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.file_translation import FileWish, begin_file, ending_of
from seqloom.serve.files import File
from seqloom.serve.finding import Wanted
from seqloom.serve.libre_files import as_download
from seqloom.serve.messages import FileName, Said, Target, UploadedFile
from seqloom.serve.refusal import Refusal, busy
from seqloom.serve.service import Service
from seqloom.serve.translation import AUTO

LOOK = 1.0  # seconds that a status waits for the end: a client that has to ask again sleeps for seconds


class DocumentRequest(Said, kw_only=True):
    file: UploadedFile
    target_lang: Target
    source_lang: Target = ""
    filename: FileName = ""
    formality: Formality | None = None
    glossary_id: Annotated[str, Meta(description="the id of a glossary")] | None = None
    output_format: Annotated[str, Meta(description="the ending of the file, which stays")] | None = None


class DocumentHandle(Struct):
    document_id: str
    document_key: str


class OneDocument(Said, kw_only=True):
    document_id: Annotated[str, Meta(description="the id of a document")]
    document_key: Annotated[str, Meta(description="the key that came with the id")]


class DocumentStatus(Struct, kw_only=True):
    document_id: str
    status: str  # translating, done or error
    seconds_remaining: int | UnsetType = UNSET
    billed_characters: int | UnsetType = UNSET
    error_message: str | UnsetType = UNSET


async def upload(service: Service, said: DocumentRequest) -> DocumentHandle:
    ending = ending_of(said.filename)
    if said.output_format and "." + said.output_format.lower() != ending:
        raise Refusal(400, f"output_format must be {ending[1:]}: files keep their format here.")
    glossary = choose_glossary(service, said)
    wanted = Wanted.of(service.search)
    wish = FileWish(said.filename, said.file, said.source_lang or AUTO, said.target_lang, wanted, glossary)
    file = begin_file(service, wish)
    return DocumentHandle(file.id, file.key)


def find_file(service: Service, said: OneDocument) -> File:
    file = service.files.kept.get(said.document_id)
    if file is None or not hmac.compare_digest(file.key.encode(), said.document_key.encode()):
        raise Refusal(404, "There is no document with this id and key; documents are deleted once they are downloaded.")
    return file


async def status(service: Service, said: OneDocument) -> DocumentStatus:
    file = find_file(service, said)
    await service.files.wait(file, LOOK)
    if file.refusal is not None:
        return DocumentStatus(document_id=file.id, status="error", error_message=file.refusal.sentence)
    if file.running:
        return DocumentStatus(document_id=file.id, status="translating", seconds_remaining=file.seconds_left)
    return DocumentStatus(document_id=file.id, status="done", billed_characters=file.characters)


async def download(service: Service, said: OneDocument) -> Response:
    file = find_file(service, said)
    if file.running:
        raise busy("The document is not translated yet.")
    service.files.drop(file)
    if file.refusal is not None:
        raise file.refusal
    return as_download(file)


ONE = "/v2/document/{document_id}"
ENDPOINTS = [
    Endpoint("POST", "/v2/document", "Translate a document, as DeepL does", upload, DocumentHandle, DocumentRequest),
    Endpoint("POST", ONE, "How far a document is", status, DocumentStatus, OneDocument, statuses=(404,)),
    Endpoint(
        "POST", ONE + "/result", "Download a document; then it is deleted", download, bytes, OneDocument,
        statuses=(404, 504),
    ),
]  # fmt: skip
