"""The pairs of tests/cases/verdict, judged as the program does: each script run without and with its patch, plainly and
watched, by this Python; no sandbox is in between."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from acr import reproducer_doubts, verdict
from acr.packing import pack, unpack

CASES = sorted((Path(__file__).parents[1] / "cases" / "verdict").glob("*.txt"))
PLAIN = ["reproducer.py"]


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


def sides(case: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """path -> text before and after; what only stands before is not changed."""
    paths = {name.split(" ", 1)[1] for name in case if name.startswith(("before ", "after "))}
    before = {path: case.get(f"before {path}") for path in paths}
    return {path: (before[path], case.get(f"after {path}", before[path])) for path in paths}


def run(folder: Path, arguments: list[str], given: str, seed: str) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        input=given.encode(),
        capture_output=True,
        timeout=120,
    )


def lay(tree: Path, texts: dict[str, str]) -> Path:
    """A new tree of these files."""
    tree.mkdir()
    for path, text in texts.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, "utf-8")
    return tree


def doubts_of(script: str) -> list[str]:
    return [field.decode() for field in unpack(reproducer_doubts.find(script.encode()))]


def _field(text: str | None) -> bytes:
    return b"" if text is None else b"+" + text.encode()


def reasons_against(case: dict[str, str], folder: Path) -> list[str]:
    """Why a case is not verified; none if it is."""
    script, files = case["script"], sides(case)
    exits, reports, shown = [], [], False
    # Without `site`, which takes time; with it where the script calls the `exit` that it brings.
    python = [] if re.search(r"(?<![.\w])(?:exit|quit)\(", script) else ["-S"]
    for side in (0, 1):
        texts = {path: two[side] or "" for path, two in files.items() if two[side] is not None}
        plain = run(lay(folder / f"plain_{side}", {**texts, "reproducer.py": script}), [*python, *PLAIN], "", "0")
        tree = lay(folder / f"watched_{side}", texts)
        code, given, tag, key = unpack(verdict.begin(pack([script.encode(), b"twice" if side else b""])))
        watched = run(tree, [*python, "-c", code.decode()], given.decode(), "random")
        reports.append(verdict.end(pack([tag, key, watched.stderr])))
        shown = shown or b"AssertionError" in plain.stderr
        exits.append((plain.returncode == 0, watched.returncode == 0))
    changed = {path: two for path, two in files.items() if two[0] != two[1]}
    patch = pack(field for path, two in changed.items() for field in (path.encode(), *map(_field, two)))
    judged = [at.decode() for at in unpack(verdict.judge(pack([script.encode(), *reports, patch])))]
    ended = [] if exits == [(False, False), (True, True)] else [f"ended otherwise: {exits}"]
    unseen = [] if shown else ["no AssertionError on standard error"]
    return [*doubts_of(script), *judged, *ended, *unseen]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_script(path: Path) -> None:
    case = sections(path)
    assert doubts_of(case["script"]) == case["doubts"].splitlines()
    assert case["words"].startswith(path.stem.split("_")[0] + ": ")


def _verdict(path: Path, folder: Path) -> None:
    reasons = reasons_against(sections(path), folder)
    if path.stem.startswith(("honest", "weak")):
        assert reasons == []
    else:
        assert reasons != []


def _usual(path: Path) -> bool:
    return zlib.crc32(path.stem.encode()) % 4 == 0


@pytest.mark.parametrize("path", [at for at in CASES if _usual(at)], ids=lambda path: path.stem)
def test_verdict(path: Path, tmp_path: Path) -> None:
    _verdict(path, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("path", [at for at in CASES if not _usual(at)], ids=lambda path: path.stem)
def test_verdict_of_the_others(path: Path, tmp_path: Path) -> None:
    _verdict(path, tmp_path)


def test_there_are_cases_of_both_kinds() -> None:
    kinds = [path.stem.split("_")[0] for path in CASES]
    assert kinds.count("honest") >= 220 and kinds.count("forged") >= 440
