"""Tells which Python the program embeds, and whether pylint is installed for it."""

from __future__ import annotations

import json
import platform
import sys
from importlib import metadata

from acr.imports import add_site_packages


def describe(_: bytes) -> bytes:
    """JSON: {"python": version, "prefix": folder, "pylint": version or null}."""
    before = list(sys.path)
    add_site_packages()
    try:
        pylint: str | None = metadata.version("pylint")
    except metadata.PackageNotFoundError:
        pylint = None
    finally:
        sys.path[:] = before
    told = {"python": platform.python_version(), "prefix": sys.base_prefix, "pylint": pylint}
    return json.dumps(told).encode()
