"""acr.reproducer_doubts on the scripts of tests/cases/verdict: honest ones, and ones that prove nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from acr import reproducer_doubts
from acr.packing import unpack

CASES = sorted((Path(__file__).parents[1] / "cases" / "verdict").glob("*.txt"))


def sections(path: Path) -> dict[str, str]:
    """The parts of a case by their headings; what stands before the first is called "words"."""
    parts, name = {"words": ""}, "words"
    for line in path.read_text("utf-8").splitlines(keepends=True):
        if line.startswith("=== "):
            name = line[4:].strip()
            parts[name] = ""
        else:
            parts[name] += line
    return parts


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_script(path: Path) -> None:
    case = sections(path)
    doubts = [field.decode() for field in unpack(reproducer_doubts.find(case["script"].encode()))]
    assert doubts == case["doubts"].splitlines()
    assert case["words"].startswith(path.stem.split("_")[0] + ": ")


def test_there_are_cases_of_both_kinds() -> None:
    kinds = [path.stem.split("_")[0] for path in CASES]
    assert kinds.count("honest") >= 80 and kinds.count("forged") >= 200
