"""LibreTranslate's file translation: a file goes in, the address of the translated file comes out."""

from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from seqloom.serve.endpoint import Endpoint
from seqloom.serve.file_translation import FileWish, begin_file
from seqloom.serve.files import File
from seqloom.serve.finding import Wanted
from seqloom.serve.limits import ADDRESS
from seqloom.serve.messages import FileName, Said, Source, Target, UploadedFile
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Service

PLACE = "/download_file"


class FileRequest(Said, kw_only=True):
    file: UploadedFile
    source: Source
    target: Target
    filename: FileName = ""


class FileAnswer(Struct):
    translatedFileUrl: str  # noqa: N815


class DownloadRequest(Said, kw_only=True):
    name: Annotated[str, Meta(description="the last part of translatedFileUrl")]


async def translate_file(service: Service, said: FileRequest) -> FileAnswer:
    wish = FileWish(said.filename, said.file, said.source, said.target, Wanted.of(service.search))
    file = begin_file(service, wish)
    await service.files.finish(file)
    return FileAnswer(f"{ADDRESS.get()()}{PLACE}/{file.id}.{file.name}")


async def download(service: Service, said: DownloadRequest) -> Response:
    """The file: it is kept until its time is over, so that a download that broke off can be repeated."""
    file = service.files.kept.get(said.name.partition(".")[0])
    if file is None or file.result is None or said.name != f"{file.id}.{file.name}":
        raise Refusal(404, "There is no such file; translated files are deleted after some minutes.")
    return as_download(file)


def as_download(file: File) -> Response:
    """The result, as a type that no browser shows: it is a stranger's page at an address of this server."""
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return Response(file.result, headers=headers, media_type="application/octet-stream")


ENDPOINTS = [
    Endpoint(
        "POST", "/translate_file", "Translate a file", translate_file, FileAnswer, FileRequest, patient=True,
        statuses=(504,),
    ),
    Endpoint(
        "GET", PLACE + "/{name}", "Download a translated file", download, bytes, DownloadRequest,
        statuses=(404,), keyless=True,
    ),
]  # fmt: skip
