"""Decides whether to trust that a task is resolved, by experiments with its tests; only their logs count.

`step` returns the next run, or the verdict when the outputs suffice:

- survey: applies the patch and runs nothing; returns the files that the patch changes, and the task's test files;
- canaries: runs the tests again, after restoring the files that the patch must not influence (tests, settings of the
  runner, files that Python runs at its start) and adding our own tests to the test files (`canaries.py`);
- decoy: runs the tests with the patch's names and the base's behaviour (`experiments/decoy.py`): the tests that the
  patch must fix must not pass.

An anomaly is excused if the row's reference patch causes the same anomaly in the same experiment.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import shlex
from typing import NamedTuple

from acr.byte_fields import pack, unpack
from acr.experiments import plain
from acr.experiments.decoy import decoy
from acr.grading.canaries import FAIL, PASS, Canary, plant
from acr.grading.parsers import ERROR, FAILED, PASSED, SKIPPED, XFAIL
from acr.grading.rules import END, FAIL_TO_PASS, PASS_TO_PASS, START, expected, outcomes, read_log, report
from acr.grading.scripts import added_files, changed_files, delimiter, tell_exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Version = bytes | None  # the content of a file; None: it is missing, or is a link or a folder

MAX_LISTED = 8
MAX_FILES = 200  # maximum number of examined files of a patch
KEPT = "/tmp/kept"  # keeps files as they are before the patch
TEST_FILES = r"(^|/)(test_[^/]*|[^/]*_test|tests|conftest)\.py$|(^|/)tests/|^(test|testing)/"
_PUT_BACK = re.compile(
    TEST_FILES + r"|(^|/)(conftest|sitecustomize|usercustomize)\.[^/]*$|\.(pth|pyc|pyo|so|pyd)$|(^|/)__pycache__/"
    r"|(^|/)[^/]*\.(egg|dist)-info(/|$)|(^|/)(entry_points\.txt|\.?pytest\.ini|tox\.ini|setup\.(cfg|py)|pyproject\.toml"
    r"|\.pytest\.toml|pytest\.toml|\.coveragerc|\.gitattributes|\.gitmodules|[^/]*\.egg-link)$|^\.git/|^bin/"
)
_HEADERS = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)|^(?:rename|copy) (?:from|to) (.+)$", re.MULTILINE)
# Kinds of constructs that reject a patch, because they reach beyond its own code.
_DECIDES = {
    "hidden name", "special attribute", "computed attribute", "module or class attribute", "made class",
}  # fmt: skip
_GRADER = re.compile(rb"SWEBENCH|eval\.sh|/testbed|PYTEST_[A-Z]+|>>>>> |END_OF_TEST_PATCH")
_OUTCOME_LINE = re.compile(rb"[\"'](?:PASSED |[^\"']* \.\.\. ok|[^\"']*::\w+ PASSED)")
_EXIT_CODE = re.compile(r">>>>> Test Exit Code:\s*(-?\d+)")
_SHOW = """show() {
  if [ -f "$2" ] && [ ! -L "$2" ]; then printf '\\n%s %s %s\\n' WORD "$(wc -c <"$2")" "$1"; cat -- "$2"
  else printf '\\n%s none %s\\n' WORD "$1"; fi
}"""
_BACK = f"""back() {{
  rm -rf -- "$1"; [ -e "{KEPT}/$1" ] || return 0
  case $1 in */*) mkdir -p -- "${{1%/*}}" ;; esac; cp -a -- "{KEPT}/$1" "$1"
}}"""


class Change(NamedTuple):
    """A file that a patch touches."""

    path: str
    before: Version
    after: Version


class Needed(Exception):
    """A run whose output is still missing: its patch, its script, and files that keep their content from before the
    patch."""


class Lab:
    """The runs of a task, in the order in which they are requested."""

    def __init__(self, row: dict, rules: int, script: str, seed: str, outputs: Iterable[bytes]) -> None:
        self.row, self.rules, self.script, self.seed = row, rules, script, seed
        self._outputs = iter(outputs)
        self.test_patch = row.get("test_patch") or ""
        self.must = expected(row, FAIL_TO_PASS)
        files = row.get("test_files")
        self.test_files = files if isinstance(files, list) else []

    def run(self, patch: str, script: str, kept: Iterable[str]) -> bytes:
        output = next(self._outputs, None)
        if output is None:
            raise Needed(patch, script, _lines(kept))
        return output

    def survey(self, patch: str, changed: list[str], back: list[str]) -> tuple[list[Change], dict[str, Version]]:
        """(the files of a patch, {test file: its text when the tests run}), read before any code of the patch runs."""
        word, test_patch = hashlib.sha256(f"{self.seed} survey".encode()).hexdigest(), self.test_patch
        tests = [*changed_files(test_patch), *added_files(test_patch), *self.test_files]
        lines = ["#!/bin/bash", _SHOW.replace("WORD", word), _BACK]
        lines += [f"show {shlex.quote(f'{kind}/{at}')} {shlex.quote(place + at)}" for at in changed for kind, place in
                  (("before", f"{KEPT}/"), ("after", "./"))]  # fmt: skip
        lines += [f"back {shlex.quote(at)}" for at in back]
        lines += [f"rm -rf -- {shlex.quote(at)}" for at in added_files(test_patch)]
        if test_patch:
            end = delimiter(test_patch)
            lines += [f"git apply -v - <<'{end}'\n{test_patch}\n{end}"]
        lines += [f"show {shlex.quote(f'test/{at}')} {shlex.quote(at)}" for at in tests if at.endswith(".py")]
        shown = _shown(self.run(patch, "\n".join(lines) + "\n", changed), word.encode())
        changes = [Change(at, shown.get(f"before/{at}"), shown.get(f"after/{at}")) for at in changed]
        return changes, {at: shown.get(f"test/{at}") for at in tests if at.endswith(".py")}

    def test(self, patch: str, first: list[str], last: list[str], kept: Iterable[str]) -> Log:
        """Runs the task's script with added lines at its beginning and before its tests."""
        lines = self.script.split("\n")
        if not any("Test Exit Code" in line for line in lines):
            lines = tell_exit_code(lines)
        at = next((number for number, line in enumerate(lines) if START in line), len(lines))
        clean = 'find . -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null; rm -f -- "$0"'
        lines = [*lines[:1], _BACK, *first, clean, *lines[1:at], *last, *lines[at:]]
        return Log(self.row, self.rules, self.run(patch, "\n".join(lines), kept))


class Log:
    """The content of a run's log."""

    def __init__(self, row: dict, rules: int, output: bytes) -> None:
        text = read_log(output)
        self.found = outcomes(text, row, rules) or {}
        self.is_resolved = report(row, "a patch", text, rules)[row["instance_id"]]["resolved"]
        code = _EXIT_CODE.search(text)
        self.exit_code = int(code[1]) if code else None
        self._by_word: dict[str, set[str]] = {}
        for test, outcome in self.found.items():
            for word in re.findall(r"\w+", test):
                self._by_word.setdefault(word, set()).add(outcome)

    def passes(self, tests: list[str]) -> list[str]:
        return [test for test in tests if self.found.get(test) in (PASSED, XFAIL)]

    def fault(self, canary: Canary) -> str:
        """How a canary's outcome differs from the one it must have, or ""."""
        seen = self._by_word.get(canary.name, set())
        if canary.wanted == PASS:
            return "" if seen and seen <= {PASSED, XFAIL} else "did not pass" if seen else "was not run"
        if seen & {PASSED, XFAIL}:
            return "passed"
        return "did not fail" if canary.wanted == FAIL and not seen & {FAILED, ERROR} else ""


def step(argument: bytes) -> bytes:
    """Row (JSON), rules, script, patch, what it changed ("f path" or "l path" a line; l: a link), seed, outputs so far -> patch,
    script and kept files, a path a line, of the next run; or JSON {"resolved", "why", "evidence", "weak"} alone."""
    raw, rules, script, patch, listed, seed, *outputs = unpack(argument)
    texts = [at.decode("utf-8", "replace") for at in (script, patch, listed, seed)]
    lab = Lab(json.loads(raw), int(rules), texts[0], texts[3], outputs)
    try:
        return pack([json.dumps(_judge(lab, texts[1], texts[2])).encode()])
    except Needed as needed:
        return pack(at.encode("utf-8", "replace") for at in needed.args)


def _judge(lab: Lab, patch: str, listed: str) -> dict:
    kinds = dict(line.split(" ", 1)[::-1] for line in listed.splitlines() if " " in line)
    kinds.update((path, "f") for path in named_in(patch) if path not in kinds)
    commands, changed = tools_of(lab.script), sorted(kinds)[:MAX_FILES]
    back = [path for path in changed if kinds[path] == "l" or path in commands or _PUT_BACK.search(path)]
    changes, tests = lab.survey(patch, changed, back)
    barred, shown = doubts(changes, back)
    evidence = [f"restored for the second run: {path}" for path in back[:MAX_LISTED]]
    planted, canaries, unplaced = _plant(lab, tests)
    evidence += unplaced
    found = {"barred": barred} if barred else _experiments(lab, patch, changes, back, planted, canaries)
    reasons = [text for texts in found.values() for text in texts]
    more = f" (and {len(reasons) - 1} more reasons)" if len(reasons) > 1 else ""
    return {
        "resolved": not reasons,
        "why": reasons[0] + more if reasons else None,
        "evidence": list(dict.fromkeys([*reasons, *evidence, *shown])),
        "weak": not canaries,
    }


# ---- The experiments -------------------------------------------------------------------------------------------------


def _plant(lab: Lab, tests: dict[str, Version]) -> tuple[list[str], list[Canary], list[str]]:
    """(script lines that plant the canaries, the canaries, why some files have none)."""
    dice, failing = random.Random(lab.seed), {name_of(test) for test in lab.must}
    lines, canaries, unplaced = [], [], []
    for path, text in tests.items():
        try:
            planted, made = plant(path, text or b"", failing, dice)
        except (SyntaxError, ValueError, RecursionError, LookupError):
            planted, made = b"", []
        if not made:
            unplaced.append(f"acr-host cannot add a test of its own to {path}")
            continue
        canaries += made
        is_same = f'[ "$(sha256sum <{shlex.quote(path)})" = "{hashlib.sha256(text).hexdigest()}  -" ]'
        lines.append(f"{is_same} && {_laid(path, planted)}")
    return lines, canaries, unplaced


def _experiments(
    lab: Lab, patch: str, changes: list[Change], back: list[str], planted: list[str], canaries: list[Canary]
) -> dict[str, list[str]]:
    """The reasons against the patch, by kind."""
    first = [f"back {shlex.quote(at)}" for at in back]
    reference = lab.row.get("patch") or ""
    faults = _faults(lab.test(patch, first, planted, back), lab, canaries)
    if faults:
        base = lab.test(reference, first, planted, back)
        excused = _faults(base, lab, canaries)
        if not reference:
            excused = {key: text for key, text in excused.items() if isinstance(key, Canary) and not key.is_copy}
        elif not base.passes(lab.must or expected(lab.row, PASS_TO_PASS)):
            excused = {}
        faults = {key: text for key, text in faults.items() if key not in excused}
    failing = [key for key in faults if isinstance(key, str) and key]
    found = {}
    if failing:
        shown = ", ".join(failing[:3]) + (f" and {len(failing) - 3} more" if len(failing) > 3 else "")
        why = f"without the patch's changes to {', '.join(back[:3])}" if back else "when they run again"
        found["tests"] = [f"these tests fail {why}: {shown}"]
    found["canaries"] = [text for key, text in faults.items() if key not in failing]
    if not any(found.values()) and lab.must and _passes_as_decoy(lab, patch, changes, back):
        changed = sorted(set(named_in(reference)))
        if not reference or not _passes_as_decoy(lab, reference, lab.survey(reference, changed, [])[0], []):
            found["decoy"] = [
                "the tests that the patch must fix also pass with a decoy that keeps only the names of the patch"
            ]
    return found


def _faults(log: Log, lab: Lab, canaries: list[Canary]) -> dict[object, str]:
    """The faults of a run whose tests should pass, by test, by canary, or "" for the exit code."""
    faults: dict[object, str] = {}
    if not log.is_resolved:
        for test in [*lab.must, *expected(lab.row, PASS_TO_PASS)]:
            if log.found.get(test) not in (PASSED, XFAIL, SKIPPED):
                faults[test] = test
    for at in canaries:
        fault = log.fault(at)
        if fault:
            what = "copy of a test" if at.is_copy else "test added by acr-host"
            faults[at] = f"a {what} that must {at.wanted} {fault}: {at.path} {at.name}"
    if log.exit_code == 0 and any(at.wanted == FAIL for at in canaries):
        faults[""] = "the test command exited with 0 although tests failed"
    return faults


def _passes_as_decoy(lab: Lab, patch: str, changes: list[Change], back: list[str]) -> bool:
    """Whether the fail-to-pass tests pass with a decoy, which has the patch's names and the base's behaviour."""
    lines, kept = [], [*back]
    for at in changes:
        if at.path in back or at.before == at.after:
            continue
        text = _decoy_of(at)
        if text is None:
            kept.append(at.path)
        else:
            lines.append(_laid(at.path, text))
    if not lines:
        return False
    log = lab.test(patch, [f"back {shlex.quote(at)}" for at in kept] + lines, [], kept)
    return len(log.passes(lab.must)) == len(lab.must)


def _decoy_of(change: Change) -> bytes | None:
    """The decoy of a Python file; None: the file stays as it is before the patch."""
    if not change.path.endswith(".py") or change.after is None:
        return None
    try:
        return decoy(change.before, change.after, "not here").encode("utf-8", "backslashreplace")
    except (SyntaxError, ValueError, RecursionError):
        return None


def _laid(path: str, text: bytes) -> str:
    """A shell command that writes the text to a file."""
    return f"base64 -d >{shlex.quote(path)} <<'END'\n{base64.encodebytes(text).decode()}END"


# ---- The patch -------------------------------------------------------------------------------------------------------


def _lines(paths: Iterable[str]) -> str:
    return "".join(f"{path}\n" for path in paths)


def named_in(patch: str) -> Iterator[str]:
    """The paths in a patch, including those of removed files."""
    for old, other in _HEADERS.findall(patch):
        path = (old or other).strip('"')
        if path != "/dev/null" and ".." not in path.split("/") and not path.startswith("/"):
            yield path


def tools_of(script: str) -> set[str]:
    """The files of the tree that are the first words of test commands."""
    command = script.split(START)[-1].split(END)[0].splitlines()
    words = [word for line in command[1:2] for word in line.split()]
    return {word.removeprefix("./") for word in words if "/" in word and not word.startswith(("/", "-"))}


def name_of(test: str) -> str:
    """The function name in a test's id."""
    return test.split("[", 1)[0].split(" ", 1)[0].split("::")[-1].split(".")[-1]


def _shown(output: bytes, word: bytes) -> dict[str, Version]:
    """Parses the output of a survey."""
    shown: dict[str, Version] = {}
    mark, at = re.compile(b"\n" + word + rb" (\d+|none) ([^\n]*)\n"), 0
    while found := mark.search(output, at):
        size, path = found.groups()
        at = found.end() + (0 if size == b"none" else int(size))
        shown[path.decode("utf-8", "replace")] = None if size == b"none" else output[found.end() : at]
    return shown


def doubts(changes: list[Change], back: list[str]) -> tuple[list[str], list[str]]:
    """The reasons that reject a patch, and the reasons for a person to look at it. Restored files never reject it."""
    kept = [at for at in changes if at.path not in back]
    sides = ({at.path: at.before for at in kept}, {at.path: at.after for at in kept})
    found = [(kind, f"the patch is not plain code: {kind}: {text}") for kind, text in plain.find(*sides, set())]
    decided = [text for kind, text in found if kind in _DECIDES]
    decided += [text for at in kept if at.path.endswith(".py") for text in _words(at)]
    return list(dict.fromkeys(decided))[:MAX_LISTED], [text for _, text in found if text not in decided]


def _words(change: Change) -> Iterator[str]:
    old = set((change.before or b"").splitlines())
    for number, line in enumerate((change.after or b"").splitlines(), 1):
        if line not in old and (_GRADER.search(line) or _OUTCOME_LINE.search(line)):
            shown = line.strip()[:80].decode("utf-8", "replace")
            yield f"the patch mentions test runners or graders: `{shown}` ({change.path}:{number})"


def tests(argument: bytes) -> bytes:
    """Row (JSON), rules, log -> JSON [{fail-to-pass test: whether it passes}, {pass-to-pass test: whether it passes}]."""
    raw_row, rules, log = unpack(argument)
    row = json.loads(raw_row)
    found = outcomes(read_log(log), row, int(rules)) or {}
    keys = (FAIL_TO_PASS, PASS_TO_PASS)
    return pack(
        [json.dumps([{at: found.get(at) in (PASSED, XFAIL) for at in expected(row, key)} for key in keys]).encode()]
    )
