"""Packs lists of byte strings into one byte string, to pass several arguments or results to and from C.

Each field is its length (8 bytes, little-endian) and its bytes. runtime/py/byte_fields.c does the same in C.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LENGTH = 8


def pack(fields: Iterable[bytes]) -> bytes:
    """Join fields to one byte string."""
    return b"".join(len(field).to_bytes(_LENGTH, "little") + field for field in fields)


def unpack(data: bytes) -> list[bytes]:
    """Split a byte string that `pack` made. Raises ValueError if `data` is no such byte string."""
    fields = []
    at = 0
    while at < len(data):
        start = at + _LENGTH
        at = start + int.from_bytes(data[at:start], "little")
        if start > len(data) or at > len(data):
            raise ValueError("the list of fields is truncated")
        fields.append(data[start:at])
    return fields
