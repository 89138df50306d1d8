"""acr.same_change: which patches count as the same change."""

from __future__ import annotations

import pytest
from acr import same_change
from acr.byte_fields import pack

BODY = b"def f(x):\n    return x + 1\n"


def key(after: bytes | None, path: bytes = b"a.py") -> bytes:
    """The key of a patch of one file."""
    return same_change.key(pack([path, b"+", b"" if after is None else b"+" + after]))


@pytest.mark.parametrize(
    "after",
    [
        BODY,
        b"def f( x ):  # why\n\n    return (x\n            + 1)\n",
        b"# -*- coding: utf-8 -*-\ndef f(x): return x+1\n",
        BODY.replace(b"\n", b"\r\n"),
    ],
)
def test_the_same(after: bytes) -> None:
    assert key(after) == key(BODY)


@pytest.mark.parametrize(
    "after",
    [
        b"def f(x):\n    return 1 + x\n",
        b"def f(x):\n    'Adds.'\n    return x + 1\n",
        b"def f(x:\n",
        b"def f(x: \n",
        b"\0",
        b"",
        None,
    ],
)
def test_another(after: bytes | None) -> None:
    assert key(after) != key(BODY)


def test_what_is_no_code_is_compared_as_it_is() -> None:
    assert key(b"x = 1\n", b"a.txt") != key(b"x =  1\n", b"a.txt")
    assert key(b"def f(x:\n") != key(b"def f(x: \n")
    assert key(BODY, b"a.py") != key(BODY, b"b.py")
    deep = b"x = " + b"(" * 5000 + b")" * 5000
    assert key(deep) == key(deep)
