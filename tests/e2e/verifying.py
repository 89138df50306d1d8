"""Helpers for tests of verification: a project with one bug, model answers that prove its fix, the sandboxes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from host import Host, Result
from hostile import TINY, journal_of, outcome, take_back, write_script
from repos import Repo, make_repo
from runs import contents, journal, read_json
from sandboxes import missing_bubblewrap

Line = dict[str, Any]

ISSUE = "half(4) is 1, it should be 2"
WRONG = "    return n // 3\n"
RED = "AssertionError: half(4) is 1"
# Fails while half(4) is not 2.
SCRIPT = "from app import half\n\nassert half(4) == 2, f'half(4) is {half(4)}'\n"
RIGHT, HALF_RIGHT = "    return n // 2\n", "    return n - n // 2 if n == 4 else n // 3\n"
OTHER = "    return n // 5\n"

YES_YES, YES_NO, NO_YES, NO_NO = ("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")


def line(agent: str, content: str, *expect: str) -> Line:
    """A line of a script; `expect` must occur in the newest messages of the request."""
    made: Line = {"agent": agent, "content": content}
    return made | ({"expect": list(expect)} if expect else {})


def guard(answer: str = "yes", *expect: str) -> Line:
    """The answer whether the issue can be reproduced."""
    return line("reproducible", json.dumps({"reproducible": answer, "why": "because"}), *expect)


def test_line(script: str, *expect: str) -> Line:
    """A reproducer."""
    return line("test", f"It calls the function.\n\n```python\n{script}```\n", *expect)


test_line.__test__ = False  # type: ignore[attr-defined]


def review(
    decisions: tuple[str, str], *expect: str, patch_advice: str = "mend the patch", test_advice: str = "mend the test"
) -> Line:
    """The reviewer's judgement of patch and test."""
    said = {
        "patch-correct": decisions[0],
        "test-correct": decisions[1],
        "patch-analysis": "about the patch",
        "patch-advice": patch_advice if decisions[0] == "no" else "",
        "test-analysis": "about the test",
        "test-advice": test_advice if decisions[1] == "no" else "",
    }
    return line("review", json.dumps(said), *expect)


def search(*expect: str) -> list[Line]:
    """A retrieval of one round that finds the function."""
    where = {"file": "app.py", "method": "half", "intended_behavior": "halve"}
    found = json.dumps({"API_calls": [], "bug_locations": [where]})
    return [line("search", "The bug is in half.", *expect), line("extract", found)]


def patch(after: str = RIGHT, *expect: str, before: str = WRONG) -> Line:
    """An answer that replaces the function's body (or another text)."""
    edit = f"<file>app.py</file>\n<original>{before}</original>\n<patched>{after}</patched>"
    return line("patch", f"```\n{edit}\n```", *expect)


# Scripts that reproduce nothing: one passes, one fails for another reason.
PASSING, FAILING = "import app\n", "from app import no_such_name\n"
# A run that leads directly to a verified patch.
STRAIGHT: list[Line] = [guard(), test_line(SCRIPT), *search(), patch(), review(YES_YES)]


def has_bubblewrap() -> bool:
    """Whether bubblewrap works here."""
    return missing_bubblewrap() is None


def need_bubblewrap() -> None:
    """Skip the test if there is no isolation."""
    why = missing_bubblewrap()
    if why:
        pytest.skip(why)


def sandbox_options() -> list[str]:
    """The isolated sandbox if there is one; the loops are the same without it."""
    return [] if has_bubblewrap() else ["--sandbox", "plain"]


def processes(marker: str) -> list[str]:
    """Command lines of which a word is the marker, which is never so in the program's own; all if the marker is empty."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if marker.encode() in words:
            found.append(b" ".join(words).decode("utf-8", "replace"))
    return found


@dataclass
class Case:
    """Runs on a repository of TINY, each in its own folder, with scripted model answers."""

    host: Host
    repo: Repo
    folder: Path
    options: list[str] = field(default_factory=sandbox_options)
    count: int = 0
    command: list[object] = field(default_factory=list)

    def arguments(self, lines: Iterable[Line], *more: object, verb: str = "run") -> list[object]:
        """The command of a new run; `out` is then its folder."""
        self.count += 1
        script = write_script(self.folder / f"script_{self.count}.jsonl", lines)
        common = ["--repo", self.repo, "--issue-text", ISSUE, "--model", f"script:{script}"]
        self.command = [verb, *common, "--out", self.out, *self.options, *more]
        return self.command

    @property
    def out(self) -> Path:
        """The folder of the newest run."""
        return self.folder / f"out_{self.count}"

    @property
    def attempt(self) -> Path:
        """Its first attempt."""
        return self.out / "attempt_0"

    def run(self, lines: Iterable[Line], *more: object, verb: str = "run", **options: Any) -> Result:
        """Run to the end."""
        return self.host.run(*self.arguments(lines, *more, verb=verb), **options)

    def records(self, event: str) -> list[Any]:
        """The journal's records of one kind."""
        return [record for record in journal(self.out) if record["event"] == event]

    def asked(self, agent: str) -> list[Any]:
        """The requests of a role, in order."""
        calls = [r for r in journal(self.out) if r["event"] == "model"]
        return [r["request"] for r in calls if r["request"]["agent"] == agent]

    def files(self, pattern: str) -> list[str]:
        """The names of files of the first attempt."""
        return sorted(path.name for path in self.attempt.glob(pattern))

    def execution(self, patch_number: int, test_number: int) -> Any:
        """execution_PATCH_TEST.json of the first attempt."""
        return read_json(self.attempt / f"execution_{patch_number}_{test_number}.json")

    def selected(self) -> Any:
        """selected_patch.json."""
        return read_json(self.out / "selected_patch.json")


@pytest.fixture
def case(host: Host, tmp_path: Path) -> Case:
    """Runs on a repository of TINY and a module that has the name of a Python module."""
    files = {**TINY, "platform.py": 'raise ImportError("not this one")\n'}
    return Case(host, make_repo(tmp_path / "repo", files), tmp_path)


def verified(result: Result) -> str:
    """Whether a run reports its patch as verified, and why: "yes (…)" or "no (…)"."""
    said = re.findall(r"(?m)^acr-host \S+: (verified: yes|validated: yes|verified: no) (\(.*\))$", result.err)
    assert len(said) == 1, result.told()
    return f"{'yes' if said[0][0] == 'verified: yes' else 'no'} {said[0][1]}"


def added(result: Result) -> list[str]:
    """The lines that the patch adds."""
    return [text[1:] + "\n" for text in result.out.splitlines() if text.startswith("+    ")]


def rejected(case: Case, result: Result) -> list[str]:
    """The lines added by a patch that review or validation rejected: it is only in the folder, and the exit code is 1."""
    assert (result.exit, result.stdout) == (1, b""), result.told()
    assert read_json(case.out / "result.json")["verdict"] == "refused"
    text = (case.out / "patch.diff").read_text("utf-8")
    return [line[1:] + "\n" for line in text.splitlines() if line.startswith("+    ")]


def check_repeated(case: Case, records: int) -> None:
    """Check that a replay, which cannot run code, and the run resumed after that many records, have the same result."""
    whole = outcome(case.out)
    case.host.run("replay", case.out, env={"PATH": "/nonexistent"}).check()
    take_back(case.out, records)
    case.host.run(*case.command).check()
    assert outcome(case.out) == whole


def files_of(out: Path) -> Any:
    """The contents of a run folder, without times."""
    return journal_of(out), {n: text for n, text in contents(out).items() if n not in ("lock", "journal.jsonl")}


def check_same_files(case: Case, records: int) -> None:
    """Like `check_repeated`, but keeps all files in place: each must stay unchanged."""
    whole, path = files_of(case.out), case.out / "journal.jsonl"
    case.host.run("replay", case.out, env={"PATH": "/nonexistent"}).check()
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:records]), "utf-8")
    (case.out / "meta.json").write_text(json.dumps(read_json(case.out / "meta.json") | {"state": "ready"}), "utf-8")
    case.host.run(*case.command).check()
    assert files_of(case.out) == whole
