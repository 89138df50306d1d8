"""Compares two requests field by field."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from .differences import MEANT, Meant


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, leaf) of every leaf: "body.messages[0].role"; empty objects and lists are leaves."""
    if isinstance(value, dict) and value:
        for key in value:
            yield from flatten(value[key], f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for at, item in enumerate(value):
            yield from flatten(item, f"{path}[{at}]")
    else:
        yield path, value


def differences(sdk: dict[str, Any], ours: dict[str, Any]) -> dict[str, str]:
    """Each difference, named as in the rows of MEANT -> both values in words."""
    theirs, own = dict(flatten(sdk)), dict(flatten(ours))
    found = {f"-{path}": f"sdk {theirs[path]!r}" for path in theirs.keys() - own.keys()}
    found |= {f"+{path}": f"ours {own[path]!r}" for path in own.keys() - theirs.keys()}
    for path in theirs.keys() & own.keys():
        same_kind = type(theirs[path]) is type(own[path])
        if not same_kind or theirs[path] != own[path]:
            found[path] = f"sdk {theirs[path]!r}, ours {own[path]!r}"
    return dict(sorted(found.items()))


def row_for(client: str, what: str) -> Meant | None:
    """The row that lists this difference as intended."""
    for row in MEANT:
        if fnmatchcase(client, row.client) and fnmatchcase(what, row.what):
            return row
    return None
