"""A bucket of an S3-compatible server: objects appear whole, are written once, and are checked when they are read.

Every call is bounded: a server that fails, is slow, breaks off or changes bytes is asked again a few times, and then
the caller gets an error that says so.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog

from app.core import calls, errors, signing
from app.core.calls import Answer, Body, Patience

PART_BYTES = 64 * 2**20  # larger files travel in parts of this size
MOST_DELETED = 1000  # keys of one request
SUM = "x-amz-meta-sha256"  # each object carries the hash of its bytes
log = structlog.get_logger("c2s.store")


class Missing(Exception):
    """There is no such object."""


@dataclass(frozen=True)
class Entry:
    """An object as a listing shows it."""

    key: str
    bytes: int
    modified: float


@dataclass(frozen=True)
class Place:
    """Where a bucket is; keys lie below `prefix`, which is empty or ends with a slash."""

    endpoint: str
    bucket: str
    prefix: str = ""

    @classmethod
    def parse(cls, url: str, endpoint: str, region: str) -> "Place":
        """The place that `s3://bucket/prefix` means."""
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        clean = prefix.strip("/")
        return cls(
            (endpoint or f"https://s3.{region}.amazonaws.com").rstrip("/"),
            bucket,
            f"{clean}/" if clean else "",
        )


class Bucket:
    """The objects of one place."""

    def __init__(
        self,
        place: Place,
        who: signing.Credentials,
        *,
        patience: Patience | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self._place, self._part_bytes = place, part_bytes
        self._line = calls.Line(place.endpoint, who, patience or Patience())
        self._only_new: dict[str, str] = {"if-none-match": "*"}

    def close(self) -> None:
        """Let the connections go."""
        self._line.close()

    def answers(self) -> None:
        """Ask once whether the bucket can be reached; `Unavailable` if not."""
        if self._line.ask("HEAD", f"/{self._place.bucket}", tries=1).status != 200:
            raise errors.Unavailable("the store cannot be reached, or there is no such bucket")

    def make(self) -> None:
        """Make the bucket, unless there is one."""
        path = f"/{self._place.bucket}"
        if self._line.ask("HEAD", path, tries=1).status != 200:
            self._done(self._line.ask("PUT", path, tries=1), path, 200)

    def put(self, key: str, source: Path | bytes, sha256: str) -> None:
        """Write a new object; one that exists stays as it is, and must hold the same bytes."""
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        if isinstance(source, Path) and size > self._part_bytes:
            answer = self._put_parts(key, source, size, sha256)
        else:
            body = Body.of(source) if isinstance(source, bytes) else Body.part(source, 0, size)
            answer = self._create("PUT", key, {}, {SUM: sha256}, body)
        if answer.status == 412:
            if self.sha256(key) != sha256:  # else: our own first try, whose answer was lost, or a twin's
                raise errors.Conflict(f"{key} exists already and holds other bytes")
            return
        self._done(answer, key, 200)

    def get(self, key: str, target: Path, *, sha256: str) -> None:
        """Bring an object to a new file, which has the expected bytes or does not exist."""
        answer = self._line.fetch(self._path(key), target, sha256=sha256)
        self._found(answer, key)

    def read(self, key: str) -> bytes:
        """The bytes of a small object, checked against the hash that it carries."""
        answer = self._line.read(self._path(key), sum_header=SUM)
        return self._found(answer, key).content

    def exists(self, key: str) -> bool:
        """Whether there is such an object."""
        return self._done(self._line.ask("HEAD", self._path(key)), key, 200, 404).status == 200

    def sha256(self, key: str) -> str | None:
        """The hash that an object carries; None: there is no such object, or it carries none."""
        answer = self._line.ask("HEAD", self._path(key))
        if answer.status == 404:
            return None
        return self._done(answer, key, 200).headers.get(SUM)

    def list(self, prefix: str) -> Iterator[Entry]:
        """All objects whose key begins so."""
        query = {"list-type": "2", "prefix": self._place.prefix + prefix}
        while True:
            page = self._page(query)
            for found in re.findall(r"<Contents>(.*?)</Contents>", page, re.DOTALL):
                key = html.unescape(_field(found, "Key")).removeprefix(self._place.prefix)
                modified = datetime.fromisoformat(_field(found, "LastModified")).timestamp()
                yield Entry(key, int(_field(found, "Size")), modified)
            if _field(page, "IsTruncated") != "true":
                return
            query["continuation-token"] = html.unescape(_field(page, "NextContinuationToken"))

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are gone already do not matter."""
        left = list(keys)
        while left:
            batch, left = left[:MOST_DELETED], left[MOST_DELETED:]
            named = "".join(
                f"<Object><Key>{html.escape(self._place.prefix + key)}</Key></Object>" for key in batch
            )
            body = Body.of(f"<Delete><Quiet>true</Quiet>{named}</Delete>".encode())
            answer = self._ask_bucket("POST", {"delete": ""}, body)
            if "<Error>" in answer.text:
                raise errors.Unavailable("the store did not delete everything that it was asked to")

    def unfinished(self) -> Iterator[tuple[str, str, float]]:
        """Uploads in parts that have not ended: key, number and beginning."""
        page = self._page({"uploads": "", "prefix": self._place.prefix})
        for found in re.findall(r"<Upload>(.*?)</Upload>", page, re.DOTALL):
            key = html.unescape(_field(found, "Key")).removeprefix(self._place.prefix)
            began = datetime.fromisoformat(_field(found, "Initiated")).timestamp()
            yield key, html.unescape(_field(found, "UploadId")), began

    def abort(self, key: str, upload: str) -> None:
        """Forget the parts of an upload."""
        self._line.ask("DELETE", self._path(key), {"uploadId": upload})

    def _put_parts(self, key: str, source: Path, size: int, sha256: str) -> Answer:
        begun = self._done(self._line.ask("POST", self._path(key), {"uploads": ""}, {SUM: sha256}), key, 200)
        upload = html.unescape(_field(begun.text, "UploadId"))
        try:
            tags = [
                self._put_part(key, source, start, min(self._part_bytes, size - start), upload)
                for start in range(0, size, self._part_bytes)
            ]
            named = "".join(
                f"<Part><PartNumber>{number}</PartNumber><ETag>{html.escape(tag)}</ETag></Part>"
                for number, tag in enumerate(tags, start=1)
            )
            whole = Body.of(f"<CompleteMultipartUpload>{named}</CompleteMultipartUpload>".encode())
            answer = self._create("POST", key, {"uploadId": upload}, {}, whole)
            if answer.status == 404 and self.sha256(key) == sha256:  # our first try landed unheard
                return Answer(412, {}, b"")
            if answer.status == 200 and "<Error>" in answer.text:
                raise errors.Unavailable(f"the store could not put {key} together")
        except BaseException:
            self.abort(key, upload)
            raise
        if answer.status != 200:
            self.abort(key, upload)
        return answer

    def _put_part(self, key: str, source: Path, start: int, size: int, upload: str) -> str:
        query = {"partNumber": str(start // self._part_bytes + 1), "uploadId": upload}
        answer = self._line.ask("PUT", self._path(key), query, {}, Body.part(source, start, size))
        return str(self._done(answer, key, 200).headers.get("etag", ""))

    def _create(
        self, method: str, key: str, query: Mapping[str, str], headers: Mapping[str, str], body: Body
    ) -> Answer:
        """Write unless there is something; servers that cannot promise that are asked without it."""
        answer = self._line.ask(method, self._path(key), query, {**headers, **self._only_new}, body)
        if answer.status == 501 and self._only_new:
            self._only_new = {}
            answer = self._line.ask(method, self._path(key), query, headers, body)
        return answer

    def _page(self, query: Mapping[str, str]) -> str:
        return self._ask_bucket("GET", query, None).text

    def _ask_bucket(self, method: str, query: Mapping[str, str], body: Body | None) -> Answer:
        answer = self._line.ask(method, f"/{self._place.bucket}", query, {}, body)
        return self._done(answer, self._place.bucket, 200)

    def _path(self, key: str) -> str:
        return signing.quote(f"/{self._place.bucket}/{self._place.prefix}{key}")

    def _found(self, answer: Answer, key: str) -> Answer:
        if answer.status == 404 and "NoSuchBucket" not in answer.text:
            raise Missing(key)
        return self._done(answer, key, 200)

    def _done(self, answer: Answer, what: str, *wanted: int) -> Answer:
        if answer.status in wanted:
            return answer
        code = _field(answer.text, "Code")
        log.warning("store_refused", what=what, status=answer.status, code=code)
        if answer.status == 507 or "Full" in code or "Quota" in code:
            raise errors.StoreFull("the store behind the service is full")
        raise errors.Unavailable(f"the store answered {answer.status} {code}".rstrip())


def _field(text: str, name: str) -> str:
    """The content of an element; the answers are flat and our keys plain, so there is nothing to parse."""
    found = re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return found.group(1) if found else ""
