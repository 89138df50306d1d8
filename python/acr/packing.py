"""Lists of byte strings as one byte string: how arguments and results with several parts cross the border to C.

Each field is its length (8 bytes, little-endian) and its bytes. runtime/py/packing.c is the other side.
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
    """Split what `pack` joined. Raises ValueError when `data` is not such a string."""
    fields = []
    at = 0
    while at < len(data):
        start = at + _LENGTH
        at = start + int.from_bytes(data[at:start], "little")
        if start > len(data) or at > len(data):
            raise ValueError("fields are cut off")
        fields.append(data[start:at])
    return fields
