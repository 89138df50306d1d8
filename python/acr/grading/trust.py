"""Whether a resolved task is believed: what its tests said themselves in a second run, and what the patch brings along.

In that run (the trial) files that the patch may not speak for are put back as they were: those with tests, and what
configures the runner or is run at the start. `acr/observe/witness.py` is loaded before the runner and tells, signed, which
tests came to their end. A log that claims more than that is not believed. What is found is excused where a run
without the patch (the baseline) shows the same.
"""

from __future__ import annotations

import ast
import hashlib
import hmac
import json
import re
import secrets
import shlex
from collections import Counter
from pathlib import Path

from acr import patch_doubts, verdict
from acr.grading.parsers import ERROR, FAILED, PASSED, SKIPPED, XFAIL
from acr.grading.rules import END, FAIL_TO_PASS, PASS_TO_PASS, START, expected, outcomes, read_log, report
from acr.packing import pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LISTED = 8
MAX_BODY = 8192
MADE = "*"  # before the names of tests that functions made
# Paths, from the top of the tree.
TEST_FILES = r"(^|/)(test_[^/]*|[^/]*_test|tests|conftest)\.py$|(^|/)tests/|^(test|testing)/"
_PUT_BACK = re.compile(
    TEST_FILES + r"|(^|/)(conftest|sitecustomize|usercustomize)\.[^/]*$|\.(pth|pyc|pyo|so|pyd)$|(^|/)__pycache__/"
    r"|(^|/)[^/]*\.(egg|dist)-info(/|$)|(^|/)(entry_points\.txt|\.?pytest\.ini|tox\.ini|setup\.(cfg|py)|pyproject\.toml"
    r"|\.pytest\.toml|pytest\.toml|\.coveragerc|\.gitattributes|\.gitmodules|[^/]*\.egg-link)$|^\.git/|^bin/"
)
_HEADERS = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)|^(?:rename|copy) (?:from|to) (.+)$", re.MULTILINE)
_LOOKS_FOR_TESTS = re.compile(
    r"(?:asks how it is run|depends on what is imported).*`.*(?i:py_?test|unittest|\bnose\b|\btests?\b|_tests?\b|\btest_).*`"
)
_GRADER = re.compile(rb"SWEBENCH|eval\.sh|/testbed|PYTEST_[A-Z]+|>>>>> |END_OF_TEST_PATCH")
_OUTCOME_LINE = re.compile(rb"[\"'](?:PASSED |[^\"']* \.\.\. ok|[^\"']*::\w+ PASSED)")
_PARTS = ("_channel", "_assertions", "_tests", "_writer", "")
_IMPORTS = re.compile(r"^from acr\.[\w.]+ import (?:\([^)]*\)|.*)$", re.MULTILINE)
_FRAME = re.compile(rb"\x1e([0-9a-f]{32})([^\x1e]*)\x1e")
_EXIT_CODE = re.compile(r">>>>> Test Exit Code:\s*(-?\d+)")


# ---- The trial -------------------------------------------------------------------------------------------------------


def trial(argument: bytes) -> bytes:
    """Script, patch, what it changed ("f path" or "l path" a line; l: a link) -> folder of the witness, key, script, witness,
    changed paths, paths that are put back; the latter a path a line.
    """
    script, patch, listed = (field.decode("utf-8", "replace") for field in unpack(argument))
    found = dict(line.split(" ", 1)[::-1] for line in listed.splitlines() if " " in line)
    found.update((path, "f") for path in named_in(patch) if path not in found)
    commands = tools_of(script)
    back = [path for path, kind in found.items() if kind == "l" or path in commands or _PUT_BACK.search(path)]
    folder = f"/tmp/{secrets.token_hex(6)}"
    given = {"folder": folder, "pattern": TEST_FILES, "changed": sorted(found), "name": f"@{secrets.token_hex(6)}"}
    fields = [folder, secrets.token_hex(32), watched(script, folder), f"GIVEN = {given!a}\n{witness()}"]
    return pack(at.encode("utf-8", "replace") for at in [*fields, _lines(sorted(found)), _lines(sorted(back))])


def witness() -> str:
    """The text of the witness: its files one after the other, which import nothing of each other there."""
    folder = Path(__file__).parent.parent / "observe"
    texts = [(folder / f"witness{part}.py").read_text("utf-8") for part in _PARTS]
    return "\n".join(_IMPORTS.sub("", text) for text in texts)


def _lines(paths: list[str]) -> str:
    return "".join(f"{path}\n" for path in paths)


def named_in(patch: str) -> Iterator[str]:
    """The paths that a patch names, also of what it removes."""
    for old, other in _HEADERS.findall(patch):
        path = (old or other).strip('"')
        if path != "/dev/null" and ".." not in path.split("/") and not path.startswith("/"):
            yield path


def tools_of(script: str) -> set[str]:
    """The files of the tree that the test command names first."""
    command = script.split(START)[-1].split(END)[0].splitlines()
    words = [word for line in command[1:2] for word in line.split()]
    return {word.removeprefix("./") for word in words if "/" in word and not word.startswith(("/", "-"))}


def watched(script: str, folder: str) -> str:
    """The script, whose first Python after the mark of its tests loads the witness and takes the key."""
    place = shlex.quote(folder)
    load = [
        f'export PYTHONPATH={place}"${{PYTHONPATH:+:$PYTHONPATH}}"',
        f'export PYTHONHASHSEED="${{PYTHONHASHSEED:-{secrets.randbelow(4_000_000_000) + 1}}}"',  # else sympy starts another
        f"cat <&7 >{place}/key; exec 7<&-",
    ]
    lines = script.split("\n")
    at = next((number for number, line in enumerate(lines) if START in line), len(lines))
    return "\n".join([*lines[:at], *load, *lines[at:]])


# ---- What it gave ----------------------------------------------------------------------------------------------------


class Run:
    """A run of the tests: its log, and what the witness said."""

    def __init__(self, row: dict, rules: int, log: bytes, told: bytes, key: bytes) -> None:
        text = read_log(log)
        self.found = outcomes(text, row, rules) or {}
        self.is_resolved = report(row, "a patch", text, rules)[row["instance_id"]]["resolved"]
        code = _EXIT_CODE.search(text)
        self.exit_code = int(code[1]) if code else None
        self.ended: Counter[tuple[str, str]] = Counter()  # (file, name) of tests that came to their end
        self.raised: Counter[tuple[str, str]] = Counter()
        self.given_up: Counter[tuple[str, str]] = Counter()  # of those raised: by pytest.xfail and the like
        self.files: dict[str, int] = {}  # files with tests that were read, and how many tests
        self.names: dict[str, set[str]] = {}  # of the tests of each
        self.doctests: set[tuple[str, str]] = set()
        self.numbers: set[int] = set()
        self.is_ended = False
        self.odd: dict[tuple[str, ...], None] = {}
        lines = [line for line in text.split(START)[-1].split(END)[0].splitlines() if line.startswith((PASSED, FAILED))]
        self.claims = Counter(line.split()[1] for line in lines if len(line.split()) > 1)
        for body in bodies(told, key):
            self._take(body)
        if len(self.numbers) != max(self.numbers, default=0):
            self.odd["gap",] = None
        if self.files and not self.is_ended:
            self.odd["unended",] = None

    def _take(self, body: tuple) -> None:
        number, kind, *rest = body
        self.numbers.add(number)
        if kind in ("ok", "raised"):
            path, name, error, *is_made = rest
            key = path, name.split(".")[-1]
            if is_made:
                key = path, f"{MADE}{key[1]}"
            if kind == "ok":
                self.ended[key] += 1
            elif not error.startswith("hypothesis."):
                self.raised[key] += 1
                self.given_up[key] += error.startswith("_pytest.outcomes.")
        elif kind == "module":
            self.files[rest[0]] = rest[1]
        elif kind == "names":
            self.names.setdefault(rest[0], set()).update(rest[1])
        elif kind == "doctest":
            self.doctests.add((rest[0], rest[1]))
        elif kind == "end":
            self.is_ended = True
        else:
            self.odd[tuple(str(at) for at in body[1:])] = None

    def conflict(self, test: str) -> str:
        """Why the claim that a test passed is not believed, or "": "unseen", "raised", "skipped", "lost"."""
        outcome = self.found.get(test)
        if outcome not in (PASSED, XFAIL, SKIPPED):
            return ""
        if outcome == SKIPPED:
            return "skipped"
        file, name = place_of(test)
        if self._is_doctest(test, file):
            return ""
        stem = self._stem(file, name)
        keys = [key for key in {*self.ended, *self.raised} if key[1] == stem]
        keys = [key for key in keys if is_same(file, key[0])] or keys
        good = self._like(file, stem, (PASSED, XFAIL))
        bad = self._like(file, stem, (FAILED, ERROR, SKIPPED, XFAIL))
        ended, raised = (sum(counts[key] for key in keys) for counts in (self.ended, self.raised))
        if outcome == XFAIL:
            return "given up" if any(self.given_up[key] for key in keys) else "" if raised or ended else "unseen"
        if not ended:
            return "raised" if raised else "unseen"
        return "raised" if raised > bad else "" if ended + raised >= good else "unseen"

    def _stem(self, file: str, name: str) -> str:
        """What a test is called in the text of its file: its own name, or that of what it was made of."""
        known = {at for path, names in self.names.items() if is_same(file, path) for at in names}
        known = known or {at for names in self.names.values() for at in names}
        if name in known:
            return name
        if any(key[1] == MADE + name for key in {*self.ended, *self.raised}):
            return MADE + name
        return max((at for at in known if name.startswith(f"{at}_")), key=len, default=name)

    def _is_doctest(self, test: str, file: str) -> bool:
        """Whether it is a doctest that was run: its outcome is the log's."""
        name = test.partition("::")[2]
        return any(name == known and is_same(file, path) for path, known in self.doctests)

    def _like(self, file: str, stem: str, outcomes_wanted: tuple[str, ...]) -> int:
        places = [place_of(test) for test, outcome in self.found.items() if outcome in outcomes_wanted]
        return sum(at[0] == file and self._stem(*at) == stem for at in places)


def is_same(file: str, path: str) -> bool:
    """Whether a file that a log names, maybe in part, is the one at a path."""
    return file.endswith(path) or path.endswith(file)


def place_of(test: str) -> tuple[str, str]:
    """File (may be empty) and function of a test's id."""
    head = test.split("[", 1)[0].split(" ", 1)[0]
    file, *_, name = ["", *head.split("::")] if "::" not in head else head.split("::")
    return file, name.split(".")[-1]


def bodies(told: bytes, key: bytes) -> Iterator[tuple]:
    """What bears the signature, each once."""
    seen: set[int] = set()
    for mac, body in _FRAME.findall(told):
        digest = hashlib.blake2b(body, key=key, digest_size=16).hexdigest()
        if len(body) > MAX_BODY or not hmac.compare_digest(digest.encode(), mac):
            continue
        number, *rest = ast.literal_eval(body.decode("ascii"))
        if number not in seen:
            seen.add(number)
            yield (number, *rest)


def files_of(told: bytes, word: bytes) -> bytes:
    """The changed files, as of `patch_doubts.find`, from what the trial printed behind its word."""
    sides: dict[bytes, list[bytes]] = {}
    mark = re.compile(b"\n" + re.escape(word) + rb" (before|after) (\d+|none) ([^\n]*)\n")
    at = 0
    while found := mark.search(told, at):
        side, size, path = found.groups()
        at = found.end() + (0 if size == b"none" else int(size))
        text = b"" if size == b"none" else b"+" + told[found.end() : at]
        sides.setdefault(path, [b"", b""])[side == b"after"] = text
    return pack(part for path, two in sides.items() for part in (path, *two))


# ---- The judgement ---------------------------------------------------------------------------------------------------

_SAID = {
    "foreign": "the test {1} of {0} was called by other code than the runner's",
    "twice": "{0} was run more than once, with other names",
    "rewritten": "{0} was written to while the tests ran",
    "rebound": "the name {1} of {0} was made to stand for something else while the tests ran",
    "replaced": "{0} was replaced while the tests ran",
    "reach": "the patched function {2} of {1} uses {0} while the tests run",
    "shadow": "a file of the patch takes precedence over the module {0}",
    "agrees": "objects of the class {0} equal anything",
    "lost": "the tests gave too many reports",
    "gap": "reports of the tests were lost",
    "unended": "the tests' process was ended before its end",
    "broken": "the tests' operands cannot be examined ({0})",
    "asserts": "the assertion {0}, which the tests call, is the patch's",
    "passed": "in {0} {1} passes what it must not",
}
_CLAIMED = {
    "unseen": "the log says that {} passed, but its test did not run to its end",
    "raised": "the log says that {} passed, but its test failed",
    "skipped": "{} was skipped",
    "given up": "{} was declared to be expected to fail while it ran",
}


def judge(argument: bytes) -> bytes:
    """Row (JSON), rules, paths that were put back; log, standard error, key of the trial, and its word; the first three of the
    baseline, or nothing -> JSON {"resolved", "why", "evidence", "weak"}, or nothing: the baseline is needed.
    """
    raw_row, rules, raw_back, log, told, key, word, *base = unpack(argument)
    row, back = json.loads(raw_row), raw_back.decode("utf-8", "replace").splitlines()
    run = Run(row, int(rules), log, told, key)
    baseline = Run(row, int(rules), *base) if base else None
    barred, shown = doubts(files_of(told, word), {path.encode() for path in back})
    evidence = [*(f"put back for the second run: {path}" for path in back[:MAX_LISTED]), *barred, *shown]
    against, odd, is_weak = [*_against(row, run, back)], [*_odd(row, run)], not run.files
    if not against and (odd or is_weak) and baseline is None:
        return pack([])
    asked = [*_odd(row, baseline)] if baseline else []
    reasons = [*against, *(text for text in odd if text not in asked and not against), *barred]
    reasons += [*_weakly(run, baseline, shown)] if is_weak and not reasons else []
    evidence += odd if against else []
    result = {"resolved": not reasons, "why": _why(reasons), "evidence": list(dict.fromkeys([*reasons, *evidence]))}
    return pack([json.dumps({**result, "weak": is_weak}).encode()])


def _why(reasons: list[str]) -> str | None:
    more = f" (and {len(reasons) - 1} more reasons)" if len(reasons) > 1 else ""
    return reasons[0] + more if reasons else None


def _against(row: dict, run: Run, back: list[str]) -> Iterator[str]:
    """Tests that do not pass in the trial."""
    tests = [*expected(row, FAIL_TO_PASS), *expected(row, PASS_TO_PASS)]
    if run.is_resolved:
        return
    failing = [test for test in tests if run.found.get(test) not in (PASSED, XFAIL, SKIPPED)]
    shown = ", ".join(failing[:3]) + (f" and {len(failing) - 3} more" if len(failing) > 3 else "")
    if back:
        yield f"without its changes to {', '.join(back[:3])} these fail: {shown or 'all tests'}"
    else:
        yield f"run again, these fail: {shown or 'all tests'}"


def _odd(row: dict, run: Run) -> Iterator[str]:
    """What is wrong with a run whose log is good, in the order of its weight."""
    if run.files:
        for key in (FAIL_TO_PASS, PASS_TO_PASS):
            for test in expected(row, key):
                why = run.conflict(test)
                if why:
                    yield _CLAIMED[why].format(test)
    for kind, *rest in run.odd:
        if kind in _SAID:
            yield _SAID[kind].format(*rest)


def _weakly(run: Run, baseline: Run | None, shown: list[str]) -> Iterator[str]:
    """What speaks against a run in which no test was seen: there is its exit code, and what the patch says."""
    if baseline and baseline.files:
        yield "the log says that tests passed, but no test was run"
    if run.exit_code:
        yield f"the test command ended with {run.exit_code}"
    yield from (f"{test} has more than one outcome in the log" for test, n in run.claims.items() if n > 1)
    yield from shown


def doubts(files: bytes, back: set[bytes]) -> tuple[list[str], list[str]]:
    """(what in a patch decides against it, what a person should look at); files that are put back decide nothing."""
    fields = unpack(files)
    triples = [*zip(fields[::3], fields[1::3], fields[2::3])]
    kept = [at for at in triples if at[0] not in back]
    found = json.loads(unpack(patch_doubts.find(pack(part for at in kept for part in at)))[0])
    others = json.loads(unpack(patch_doubts.find(pack(part for at in triples if at not in kept for part in at)))[0])
    decided = [*verdict.decisive(found), *(text for text in found["told"] if _LOOKS_FOR_TESTS.search(text))]
    decided += [text for path, before, after in kept if path.endswith(b".py") for text in _words(path, before, after)]
    shown = [text for at in (found, others) for kind in ("barred", "told") for text in at[kind]]
    return list(dict.fromkeys(decided))[:MAX_LISTED], [text for text in shown if text not in decided]


def _words(path: bytes, before: bytes, after: bytes) -> Iterator[str]:
    old = set(before[1:].splitlines())
    for number, line in enumerate(after[1:].splitlines(), 1):
        if line not in old and (_GRADER.search(line) or _OUTCOME_LINE.search(line)):
            shown = line.strip()[:80].decode("utf-8", "replace")
            yield f"the patch has words of runners and graders: `{shown}` ({path.decode('utf-8', 'replace')}:{number})"


def tests(argument: bytes) -> bytes:
    """Row (JSON), rules, log -> JSON [{test that must pass now: whether it did}, {test that must go on passing: likewise}]."""
    raw_row, rules, log = unpack(argument)
    row = json.loads(raw_row)
    found = outcomes(read_log(log), row, int(rules)) or {}
    keys = (FAIL_TO_PASS, PASS_TO_PASS)
    return pack(
        [json.dumps([{at: found.get(at) in (PASSED, XFAIL) for at in expected(row, key)} for key in keys]).encode()]
    )
