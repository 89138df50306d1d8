"""Checks that the help of each verb fits on a screen.

usage: ACR_BINARY=build/release/acr-host help.py [ROOT]; one line per finding, exit 1 if there is one, 77 without a binary.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import source

MAX_LINES = 40  # without the examples at the end
MAX_COLUMNS = 120


def lines_of_help(binary: str, *verb: str) -> list[str]:
    """The output of `acr-host VERB --help`. Errors: CalledProcessError."""
    command = [binary, *verb, "--help"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


def check(_root: Path) -> Iterator[str]:
    """All findings."""
    binary = os.environ["ACR_BINARY"]
    overview = lines_of_help(binary)
    verbs = [match[1] for match in (re.match(r"  ([a-z][a-z-]+)  ", line) for line in overview) if match]
    if not verbs:
        yield "acr-host --help: names no verb"
    for verb in ([], *([verb] for verb in verbs)):
        shown = " ".join(["acr-host", *verb, "--help"])
        lines = lines_of_help(binary, *verb)
        count = lines.index("Examples:") - 1 if "Examples:" in lines else len(lines)
        if count > MAX_LINES:
            yield f"{shown}: has {count} lines, {MAX_LINES} are allowed"
        for line in lines:
            if len(line) > MAX_COLUMNS:
                yield f"{shown}: {len(line)} columns, {MAX_COLUMNS} are allowed: {line.strip()[:60]}"


if __name__ == "__main__":
    if not os.access(os.environ.get("ACR_BINARY", ""), os.X_OK):
        source.skip("no acr-host at $ACR_BINARY")
    sys.argv = sys.argv[:2]
    source.run(check)
