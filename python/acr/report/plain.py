"""Turns foreign values of any type into texts that can be shown: of limited length, without control characters."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

MAX_TEXT = 12_000  # maximum characters of one text on a page
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def load(data: bytes | None) -> Any:
    """The JSON in a file; None if it is missing or damaged."""
    try:
        return json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None


def clip(text: str, limit: int = MAX_TEXT) -> str:
    """The text, or its beginning and end around a line that says how many characters are missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters are left out …]\n{text[-half:]}"


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def visible(text: str) -> str:
    """Control characters, those that turn or hide text, and lone surrogates become "\\u" and digits; CRLF becomes LF."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def text_of(value: Any, limit: int = MAX_TEXT) -> str:
    """A value in foreign JSON as text: {"base64"} is decoded, other values than strings become JSON, None becomes ""."""
    if value is None:
        return ""
    if isinstance(value, dict) and set(value) == {"base64"} and isinstance(value["base64"], str):
        try:
            value = base64.b64decode(value["base64"]).decode("utf-8", "replace")
        except (ValueError, binascii.Error):
            value = ""
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False)
        except (ValueError, RecursionError):
            value = ""
    return visible(clip(value, limit))


def line_of(value: Any, limit: int = 300) -> str:
    """Like text_of, but as one line."""
    return " ".join(text_of(value, limit).split())


def decode(data: bytes | None, limit: int = MAX_TEXT) -> str:
    """A file's text."""
    return visible(clip((data or b"")[: limit * 64].decode("utf-8", "replace"), limit))


def number_of(value: Any) -> int:
    """A whole number of 0 or more; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def seconds_of(value: Any) -> float:
    """A time of 0 or more; 0 for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9 else 0.0


def member(value: Any, *path: str) -> Any:
    """A member of a member and so on; None if one is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def rows_of(value: Any, limit: int = 200) -> list[dict[str, Any]]:
    """The objects in a list, at most `limit`; none for anything else."""
    found = value if isinstance(value, list) else []
    return [row for row in found[:limit] if isinstance(row, dict)]


def count_of(count: int, noun: str) -> str:
    """ "1 call", "2 calls"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def usd(microusd: Any) -> str:
    """An amount as people write it."""
    return f"{number_of(microusd) / 1e6:.4f} USD" if number_of(microusd) else "0 USD"
