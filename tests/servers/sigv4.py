"""Verifies AWS Signature Version 4; written from AWS's rules, independently of the program.

Every header except those that proxies change may be signed; `host`, `x-amz-date` and, if present, `content-type` and
`x-amz-security-token` must be signed.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
from urllib.parse import quote, unquote_to_bytes

from .dialect import Request

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)
_NEVER = ("authorization", "connection", "expect", "user-agent", "transfer-encoding")
MAX_SKEW_SECONDS = 300


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    """The key of a day."""
    key = _mac(b"AWS4" + secret.encode(), day)
    return _mac(_mac(_mac(key, region), service), "aws4_request")


def canonical_path(path: str) -> str:
    """The path as received, with each segment encoded once more."""
    return "/".join(quote(segment, safe="-._~") for segment in path.split("/")) or "/"


def canonical_query(query: str) -> str:
    """Names and values, decoded and encoded again, sorted by bytes."""
    pairs = []
    for part in query.split("&") if query else []:
        name, _, value = part.partition("=")
        pairs.append(tuple(quote(unquote_to_bytes(v), safe="-._~") for v in (name, value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def canonical_request(request: Request, names: list[str]) -> str:
    """The text whose hash is signed."""
    lines = [f"{n}:{','.join(' '.join(v.split()) for v in request.all(n))}\n" for n in names]
    body = hashlib.sha256(request.body).hexdigest()
    return "\n".join(
        (
            request.method,
            canonical_path(request.path),
            canonical_query(request.query),
            "".join(lines),
            ";".join(names),
            body,
        )
    )


def verify(
    request: Request,
    access: str,
    secret: str,
    token: str | None,
    region: str,
    service: str = "bedrock",
    now: datetime.datetime | None = None,
) -> str | None:
    """The error in a request's signature, in one line; None if it is correct. `now` is in UTC, without a zone."""
    match = _AUTHORIZATION.fullmatch(request.header("authorization") or "")
    if not match:
        return "Authorization is no signature"
    who, day, where, what, signed, signature = match.groups()
    if (who, where, what) != (access, region, service):
        return f"the scope is {who}/{where}/{what}"
    if request.header("x-amz-security-token") != token:
        return "X-Amz-Security-Token is not the session's"
    names = signed.split(";")
    if names != sorted(set(names)):
        return f"SignedHeaders is not sorted: {signed}"
    wanted = ["host", "x-amz-date"]
    wanted += [n for n in ("content-type", "x-amz-security-token") if request.header(n)]
    for name in wanted:
        if name not in names:
            return f"{name} is not signed"
    for name in names:
        if name in _NEVER or request.header(name) is None:
            return f"{name} is signed, and is not sent or may change on its way"
    date = request.header("x-amz-date") or ""
    wrong = _wrong_date(date, day, now)
    if wrong:
        return wrong
    hashed = hashlib.sha256(canonical_request(request, names).encode()).hexdigest()
    scope = f"{day}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashed}"
    right = _mac(signing_key(secret, day, region, service), text).hex()
    return None if hmac.compare_digest(right, signature) else "the signature is wrong"


def _wrong_date(date: str, day: str, now: datetime.datetime | None) -> str | None:
    try:
        when = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
    except ValueError:
        return f"X-Amz-Date is {date!r}"
    now = now or datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    if abs((now - when).total_seconds()) > MAX_SKEW_SECONDS:
        return f"X-Amz-Date is {date}, it is {now:%Y%m%dT%H%M%SZ}"
    return None if date.startswith(day) else "the scope's day is not X-Amz-Date's"
