"""AWS Signature Version 4, as S3 wants it: who we are and what we send, bound together by a key nobody else has."""

import hashlib
import hmac
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

NOTHING = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Credentials:
    """An access key; its secret never appears in a log or a message."""

    key_id: str
    secret: str
    region: str

    def __repr__(self) -> str:
        return f"Credentials({self.key_id[:4]}..., {self.region})"


@dataclass(frozen=True)
class Call:
    """A request as it will be sent; `sha256` is that of its body."""

    method: str
    host: str
    path: str  # as in the URL: quoted
    query: str  # as `query_string` gives it
    headers: Mapping[str, str]
    sha256: str = NOTHING


def quote(path: str) -> str:
    """A key as part of a URL."""
    return urllib.parse.quote(path, safe="/-_.~")


def query_string(parameters: Mapping[str, str]) -> str:
    """Parameters in the order and spelling that signatures are made of."""
    pairs = sorted(
        (urllib.parse.quote(k, safe="-_.~"), urllib.parse.quote(v, safe="-_.~"))
        for k, v in parameters.items()
    )
    return "&".join(f"{name}={value}" for name, value in pairs)


def signed(call: Call, who: Credentials, *, at: datetime | None = None) -> dict[str, str]:
    """The headers to send: those of the call, and who signed them when."""
    moment = (at or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    headers = {name.lower(): value.strip() for name, value in call.headers.items()}
    headers |= {"host": call.host, "x-amz-date": moment, "x-amz-content-sha256": call.sha256}
    names = ";".join(sorted(headers))
    canonical = "\n".join(
        [
            call.method,
            call.path,
            call.query,
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            call.sha256,
        ]
    )
    scope = f"{moment[:8]}/{who.region}/s3/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{who.secret}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    signature = _mac(key, f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}").hex()
    proof = f"Credential={who.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return headers | {"authorization": f"AWS4-HMAC-SHA256 {proof}"}


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
