"""Chooses the parameters with which a test runs by default, one for each path through the program; `tools/check --full` runs the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def usually(few: Collection[Any], parameters: Iterable[Any], ids: Callable[[Any], str] | None = None) -> list[Any]:
    """The parameters in order; those that are not in `few` are marked `full`."""
    return [
        pytest.param(each, marks=() if each in few else pytest.mark.full, id=ids(each) if ids else None)
        for each in parameters
    ]
