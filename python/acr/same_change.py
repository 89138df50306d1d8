"""Finds changes that are equal except for whitespace, comments and line breaks."""

from __future__ import annotations

import ast
import hashlib

from acr.byte_fields import unpack


def key(files: bytes) -> bytes:
    """A digest of the files that a patch produces; Python files are compared by their syntax trees.

    `files` is packed as path, before, after for each file; a missing side is empty, an existing one b"+" and its bytes.
    """
    parts = unpack(files)
    whole = hashlib.sha256()
    for path, after in zip(parts[::3], parts[2::3]):
        normal = b"-" if not after else b"+" + _normal(path, after[1:])
        for part in (path, normal):
            whole.update(b"%d:" % len(part) + part)
    return whole.hexdigest().encode()


def _normal(path: bytes, source: bytes) -> bytes:
    if not path.endswith(b".py"):
        return source
    try:
        return ast.dump(ast.parse(source)).encode("utf-8", "surrogatepass")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
