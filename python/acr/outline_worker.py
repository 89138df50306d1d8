"""The process that outlines files in the interpreter's own program (runtime/py/worker.c; messages: native/base/peer.h)."""

from __future__ import annotations

import struct
import sys

from acr.outline import outline

FRAMES = 3  # maximum number of calls by which the stack here is deeper than in libpython
_HEAD = struct.Struct("=II")
_READY, _REFUSED, _ANSWERED, _FAILED = range(1, 5)


def serve(fd: int, version: str) -> None:
    """Outline files until the socket is closed, unless this Python is not the `version` that the cache will name."""
    with open(fd, "rb") as questions, open(fd, "wb", closefd=False) as answers:

        def answer(reply: int, text: bytes) -> None:
            answers.write(_HEAD.pack(reply, len(text)) + text)
            answers.flush()

        if sys.version.split()[0] != version:
            return answer(_REFUSED, f"'{sys.executable}' and its library differ: finish the upgrade of Python".encode())
        sys.setrecursionlimit(sys.getrecursionlimit() + FRAMES)
        answer(_READY, b"")
        while head := questions.read(_HEAD.size):
            name_len, length = _HEAD.unpack(head)
            source = questions.read(name_len + length)[name_len:]
            try:
                answer(_ANSWERED, outline(source))
            except MemoryError as error:
                answer(_FAILED, f"MemoryError: {error}".encode())
