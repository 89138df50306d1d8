"""A verified run that is killed at any point can be resumed with the same result, and its sandbox leaves nothing behind."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from host import SLOWNESS, kill
from hostile import outcome, strays, take_back
from repos import digest
from verifying import (
    HALF_RIGHT,
    NO_NO,
    OTHER,
    RIGHT,
    SCRIPT,
    YES_NO,
    YES_YES,
    Case,
    Line,
    added,
    case,
    guard,
    need_bubblewrap,
    patch,
    processes,
    review,
    search,
    test_line,
    verified,
)

__all__ = ["case"]

MARKER = "87.1357"  # how long a process that the script leaves behind sleeps, in seconds
LEAVES = f"import subprocess\nsubprocess.Popen(['sleep', '{MARKER}'], start_new_session=True)\n" + SCRIPT
CHECK = "python3 -c 'import app, sys; sys.exit(app.half(9) != 4)'"

#: A run that takes each way once: nothing, a test that fails otherwise, both refused, the test refused, the validation.
LINES: list[Line] = [
    *[guard(), test_line("import app\n"), test_line(LEAVES.replace("== 2", "== 3")), *search(), patch(OTHER)],
    *[review(NO_NO), patch(HALF_RIGHT), test_line(LEAVES.replace("== 2", "== 5")), review(YES_NO), test_line(LEAVES)],
    *[review(YES_YES), patch(RIGHT), review(YES_YES)],
]


@pytest.fixture
def finished(case: Case) -> Case:
    """A case whose newest run took all these paths without interruption."""
    need_bubblewrap()
    result = case.run(LINES, "--validate", CHECK).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes (reproducer_4.py ")
    assert len(case.records("execution")) >= 10
    return case


def _again(finished: Case, out: Path) -> list[object]:
    """The command of the finished run with another folder."""
    return [out if word == finished.out else word for word in finished.command]


def _nothing_left(case: Case) -> None:
    """No process of the script, mount or temporary file is left, and the repository is unchanged."""
    until = time.monotonic() + 30 * SLOWNESS
    while processes(MARKER) and time.monotonic() < until:
        time.sleep(0.02)
    assert processes(MARKER) == []
    assert str(case.folder) not in Path("/proc/self/mounts").read_text()
    assert [*strays(case.folder, case.host.home), *case.host.home.rglob("tmp-*")] == []


@pytest.mark.parametrize("every", [30, pytest.param(1, marks=pytest.mark.full)])
def test_from_each_of_its_records_it_goes_on_to_the_same_end(finished: Case, every: int) -> None:
    """Starts from all of the journal's records, or some of them; recorded steps are not repeated."""
    copy, whole = finished.folder / "copy", finished.out
    before = digest(finished.repo.path)
    records = (whole / "journal.jsonl").read_bytes().count(b"\n")
    for number in range(0, records, every):
        shutil.copytree(whole, copy)
        take_back(copy, number)
        result = finished.host.run(*_again(finished, copy)).check()
        assert outcome(copy) == outcome(whole), f"after {number} records\n{result.told()}"
        shutil.rmtree(copy)
    assert digest(finished.repo.path) == before
    _nothing_left(finished)


def test_killed_after_each_of_its_records_it_goes_on_to_the_same_end(finished: Case) -> None:
    """Kills one run whenever its journal has ten more records, so during the next step."""
    out, before = finished.folder / "killed", digest(finished.repo.path)
    records = (finished.out / "journal.jsonl").read_bytes().count(b"\n")
    kills = 0
    command = _again(finished, out)
    for number in range(1, records, 10):
        child = finished.host.start(*command)
        _wait_for(out / "journal.jsonl", number)
        kills += child.poll() is None
        kill(child)
    assert kills > records // 20
    finished.host.run(*command).check()
    assert outcome(out) == outcome(finished.out)
    assert finished.host.run("replay", out).check().stdout == (out / "patch.diff").read_bytes()
    assert digest(finished.repo.path) == before
    _nothing_left(finished)


def _wait_for(path: Path, records: int) -> None:
    until = time.monotonic() + 60 * SLOWNESS
    while not path.is_file() or path.read_bytes().count(b"\n") < records:
        assert time.monotonic() < until, "the run does not get there"
        time.sleep(0.002)


def test_killed_in_an_execution_it_leaves_nothing(case: Case) -> None:
    """Once another run has begun, neither the script's children nor its files remain."""
    need_bubblewrap()
    slow = f"import subprocess\nsubprocess.run(['sleep', '{MARKER}'])\n"
    command = case.arguments([guard(), test_line(slow)])
    child = case.host.start(*command)
    until = time.monotonic() + 60 * SLOWNESS
    while not processes(MARKER):
        assert time.monotonic() < until, "the script is not run"
        time.sleep(0.02)
    child.kill()
    child.wait()
    while processes(MARKER) and time.monotonic() < until:
        time.sleep(0.02)
    assert processes(MARKER) == [] and case.records("execution") == []
    case.run([guard(), test_line(SCRIPT), *search(), patch(), review(YES_YES)]).check()
    _nothing_left(case)
