"""Rejects machine-specific or unfinished text: paths of home folders, and marks such as to-do notes.

usage: marks.py [ROOT]; one line per finding, exit 1 if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import source

_CODE = (".c", ".h", ".py", ".pyi", ".cmake", ".supp")
TEXT = (*_CODE, ".txt", ".md", ".json", ".ini", ".toml")
# The patterns are written so that they do not match this file. /home/me and /home/user are allowed as examples.
_HOMES = r"(?:ro{2}t|[h]ome/(?!(?:me|user)\b)\w+|[w]ork|[U]sers|[f]arm)/"
RULES = {
    re.compile(rf"(?<![\w.~}}/-])/{_HOMES}"): "a path of one machine",
    re.compile(r"\b(?:TO[D]O|FIX[M]E|X{3}|HA[C]K)\b"): "a mark of something undone",
}


def check(root: Path) -> Iterator[str]:
    """All findings."""
    for path in source.files(root):
        if path.suffix not in TEXT and not source.is_script(path):
            continue
        for number, line in enumerate(source.read(path).splitlines(), 1):
            for rule, what in RULES.items():
                match = rule.search(line)
                if match:
                    yield f"{path.relative_to(root)}:{number}: {match[0]!r} is {what}"


if __name__ == "__main__":
    source.run(check)
