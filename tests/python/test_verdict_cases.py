"""Judges the pairs of tests/cases/verdict by the program's experiments, without a sandbox."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from acr import reproducer_doubts
from acr.byte_fields import unpack
from verdict_runs import Texts, verdict

CASES = sorted((Path(__file__).parents[1] / "cases" / "verdict").glob("*.txt"))


def sections(path: Path) -> dict[str, str]:
    """The parts of a case, by heading; the part before the first heading is called "words"."""
    parts, name = {"words": ""}, "words"
    for line in path.read_text("utf-8").splitlines(keepends=True):
        if line.startswith("=== "):
            name = line[4:].strip()
            parts[name] = ""
        else:
            parts[name] += line
    return parts


def side(case: dict[str, str], *headings: str) -> Texts:
    """The files of the last of these headings that lists any."""
    return {
        name.split(" ", 1)[1]: text.encode() for at in headings for name, text in case.items() if name.startswith(at)
    }


def doubts_of(script: str) -> list[str]:
    return [field.decode() for field in unpack(reproducer_doubts.find(script.encode()))]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_script(path: Path) -> None:
    case = sections(path)
    assert doubts_of(case["script"]) == case["doubts"].splitlines()
    assert case["words"].startswith(path.stem.split("_")[0] + ": ")


def _verdict(path: Path) -> None:
    case = sections(path)
    why, table = verdict(case["script"], side(case, "before "), side(case, "before ", "after "), path.stem)
    proven = not why and not doubts_of(case["script"])
    assert proven == path.stem.startswith(("honest", "weak")), (why, table)


def _usual(path: Path) -> bool:
    return zlib.crc32(path.stem.encode()) % 16 == 0


@pytest.mark.parametrize("path", [at for at in CASES if _usual(at)], ids=lambda path: path.stem)
def test_verdict(path: Path) -> None:
    _verdict(path)


@pytest.mark.full
@pytest.mark.parametrize("path", [at for at in CASES if not _usual(at)], ids=lambda path: path.stem)
def test_verdict_of_the_others(path: Path) -> None:
    _verdict(path)


def test_there_are_cases_of_both_kinds() -> None:
    kinds = [path.stem.split("_")[0] for path in CASES]
    assert kinds.count("honest") >= 100 and kinds.count("forged") >= 150
