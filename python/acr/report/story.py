"""Reads a run folder's files into one value, from which all formats are made."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from acr import layout
from acr.layout import numbers
from acr.report import journal
from acr.report.parse_diff import FileDiff, parse
from acr.report.plain import clip, count_of, decode, line_of, load, member, number_of, rows_of, text_of, usd

MAX_PATCH = 400_000  # characters
MAX_TESTS = 20  # maximum tests of a kind that are named
_GRADING = "(grading)/"
COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)  # the hints of an issue template
SCRIPT_VERDICTS = ("reproduced", "not_reproduced")  # for `reproduce`, which judges no patch
# A verdict in result.json -> the words for people, as runtime/verbs/run_result.c prints them.
VERDICTS = {name: name for name in ("verified", "validated", "unverified", "refused", "reproduced")} | {
    "none": "no patch",
    "not_reproduced": "not reproduced",
}

# Results of a script in files -> the words for people.
RESULTS = {
    "reproduced": "the script fails and shows the issue",
    "passed": "the script passes",
    "broken": "the script fails in another way",
}
# Names of conversations, without their attempt -> the words for people.
_STAGES = {
    "reproducible": "check of the issue",
    "test": "reproducer",
    "extract": "bug locations",
    "regression": "review of broken tests",
    "select": "choice of the patch",
    "executions": "runs of code",
    "tests": "the project's tests",
    "sbfl": "lines that failing tests run",
    "random": "random numbers",
    "lint": "pylint",
}
# Lists in regression_N.json -> the words for people.
_KINDS = {
    "regressions": "broken by the patch",
    "unconfirmed": "broken, but not confirmed",
    "expected": "broken, as the issue asks",
    "fixed": "fixed",
    "unstable": "flaky",
    "removed": "removed",
    "skipped": "skipped",
}
_STATUSES = {
    "APPLICABLE_PATCH": "the patch can be applied",
    "NO_PATCH": "the model wrote no edit",
    "RAW_PATCH_BUT_UNPARSED": "the model's edits could not be read",
    "RAW_PATCH_BUT_UNMATCHED": "the model's edits quote code that is missing or occurs several times",
    "MATCHED_BUT_BREAKS_SYNTAX": "the edits break the syntax",
    "MATCHED_BUT_EMPTY_DIFF": "the edits change nothing",
    "MATCHED_BUT_EMPTY_ORIGIN": "an edit does not say what it replaces",
}


def verdict_of(result: object) -> str:
    """A result's verdict, a key of VERDICTS; for `reproduce`, whether there is a script."""
    if isinstance(result, dict) and "script" in result:
        return SCRIPT_VERDICTS[not result["script"]]
    verdict = member(result, "verdict")
    return verdict if verdict in list(VERDICTS) else "none"


def kind_of(outcome: str) -> str:
    """The colour class of an outcome of a run, a grading or an audit."""
    good = ("resolved", "verified", "validated", "reproduced", "sound")
    undecided = ("unverified", "doubted", "flaky", "incomplete", "late", "unfinished")
    return "good" if outcome in good else "warn" if outcome in undecided else "bad"


def error_of(result: object) -> Any:
    """Why a run failed, from its result; older results have a text in place of an object with a message."""
    return member(result, "error", "message") or member(result, "error")


def status_words(status: str) -> str:
    """An extract status in words; an unknown one stays unchanged."""
    return _STATUSES.get(status, status)


def stage_words(path: str) -> str:
    """A stage of the journal, such as "attempt_0/review", in words; attempts after the first are named."""
    folder, _, name = path.rpartition("/")
    attempt = numbers(layout.ATTEMPT, folder)
    return (f"attempt {attempt[0] + 1}: " if attempt and attempt[0] else "") + _STAGES.get(name, name)


@dataclass(frozen=True)
class Place:
    """A place of the bug. `lines`: first and last, 0 if it has none; `level`: how it was found, such as "method and class"."""

    file: str
    klass: str
    func: str
    lines: tuple[int, int]
    level: str
    behavior: str
    code: str

    @property
    def name(self) -> str:
        return ".".join(filter(None, (self.klass, self.func)))

    @property
    def span(self) -> str:
        return f"lines {self.lines[0]} to {self.lines[1]}" if self.lines[0] else ""


@dataclass(frozen=True)
class Execution:
    """An execution of a script. `exit`: None if there was no exit code."""

    result: str
    exit: int | None
    limit: str
    why: str
    output: str


@dataclass
class Attempt:
    """One attempt: places of the bug, tries with their edits, scripts by number, executions by patch (0: none) and
    script, and reviews (tries and reviews as in their files)."""

    number: int
    places: list[Place] = field(default_factory=list)
    tries: list[dict[str, Any]] = field(default_factory=list)
    scripts: dict[int, str] = field(default_factory=dict)
    executions: dict[tuple[int, int], Execution] = field(default_factory=dict)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)


@dataclass
class Run:
    """The story of a run. Texts are visible and limited; `patch` is unchanged, unless it is too long or not UTF-8."""

    verdict: str
    why: str
    status: str
    error: str
    is_over: bool  # there is a result
    is_running: bool  # its process is alive
    issue: str
    patch: str
    files: list[FileDiff]
    models: list[str]
    commit: str
    changes: str  # the uncommitted changes with which the run began; "": none
    name: str
    cost: dict[str, Any]
    selected: tuple[int, int] | None
    choice: str  # why that patch was selected; "": nothing was compared
    compared: list[dict[str, Any]]  # the rows of selected_patch.json
    attempts: list[Attempt]
    journal: journal.Journal
    unread: str  # a line for each unreadable file
    is_exact: bool  # the patch is complete and unchanged
    folder: str  # the run folder's path; "": not known
    repo: str  # the repository that the patch is for
    tests: Any  # from result.json: the project's own tests, before and after; None: they were not run
    has_history: bool  # the model could search git's history
    validate: str  # the user's command that a patch must pass; "": none
    patch_sha256: str
    experiments: Any  # from result.json: the experiments behind the verdict; None: none were made
    grading: dict[str, bytes]  # files of the grading of the patch; its "name"; "log": the path of the tests' output

    @property
    def said(self) -> str:
        """The verdict in the words that the terminal shows, without its reason."""
        return VERDICTS[self.verdict] if self.is_over else "running" if self.is_running else "not finished"

    @property
    def base(self) -> str:
        """The commit from which the run began, and the uncommitted changes; "" without a commit."""
        return f"{self.commit} with {self.changes}" if self.commit and self.changes else self.commit

    @property
    def test_log(self) -> str:
        """The path of the output of the tests that graded the patch, from the run's folder; "" if there is none."""
        return line_of(decode(self.grading.get("log"), 4000), 4000)

    @property
    def title(self) -> str:
        """The issue's first line with text, without Markdown's marks of a heading."""
        lines = (line.strip().lstrip("#").strip() for line in self.issue.splitlines())
        return line_of(next((line for line in lines if line), self.name or "run"), 160)

    def attempt(self) -> Attempt | None:
        """The attempt that wrote the patch, else the last attempt."""
        wanted = self.selected[0] if self.selected else None
        found = [each for each in self.attempts if each.number == wanted]
        return (found or self.attempts[-1:] or [None])[0]

    @property
    def script(self) -> str:
        """The script that `reproduce` wrote; "" if it wrote none, or if the run made a patch."""
        attempt = self.attempt()
        return attempt.scripts[max(attempt.scripts)] if attempt and self.verdict == "reproduced" else ""

    @property
    def validation(self) -> str:
        """How the user's command ended with the patch; "" if it did not run with the patch."""
        ended = self.journal.commands.get((self.patch_sha256, self.validate))
        return (
            "" if ended is None else "passes with the patch" if ended == 0 else f"fails with the patch (exit {ended})"
        )

    @property
    def places(self) -> list[Place]:
        attempt = self.attempt()
        return attempt.places if attempt else []

    def evidence(self) -> tuple[int, Execution, Execution] | None:
        """The script's number and its executions without and with the patch that was selected."""
        attempt = self.attempt()
        if not attempt or not self.selected:
            return None
        ran = attempt.executions
        tests = [test for patch, test in sorted(ran) if patch == self.selected[1] and (0, test) in ran]
        return (tests[-1], ran[(0, tests[-1])], ran[(self.selected[1], tests[-1])]) if tests else None


def _compared_tests(found: Any) -> str:
    """The project's tests with a patch, compared with those without: how many of each kind, and the first ones."""
    lines = [f"{line_of(member(found, 'command'))}: {number_of(member(found, 'compared'))} compared"]
    for kind, words in _KINDS.items():
        tests = member(found, kind)
        if isinstance(tests, list) and tests:
            named = ", ".join(line_of(test) for test in tests[:MAX_TESTS]) + ", …" * (len(tests) > MAX_TESTS)
            lines.append(f"{len(tests)} {words}: {named}")
    return "\n".join(lines)


def _place(row: dict[str, Any]) -> Place:
    return Place(
        file=line_of(row.get("file"), 1000), klass=line_of(row.get("class"), 200),
        func=line_of(row.get("func"), 200), lines=(number_of(row.get("start")), number_of(row.get("end"))),
        level=line_of(row.get("level"), 30).replace("+", " and "), behavior=text_of(row.get("intended_behavior"), 4000).strip(),
        code=text_of(row.get("code")),
    )  # fmt: skip


def _execution(found: Any) -> Execution:
    exit_code = member(found, "exit")
    return Execution(
        result=line_of(member(found, "result"), 40),
        exit=number_of(exit_code) if isinstance(exit_code, int) else None,
        limit=line_of(member(found, "limit"), 40), why=line_of(member(found, "why"), 600),
        output=text_of(member(found, "stdout")) + text_of(member(found, "stderr")),
    )  # fmt: skip


def _add(attempt: Attempt, name: str, data: bytes) -> None:
    if name == layout.SEARCH + layout.LOCATIONS:
        attempt.places = [_place(row) for row in rows_of(load(data)) if row.get("role") == "bug"][:100]
    elif name == layout.EXTRACT_STATUS:
        attempt.tries = rows_of(load(data))
    elif script := numbers(layout.REPRODUCER, name):
        attempt.scripts[script[0]] = decode(data)
    elif pair := numbers(layout.EXECUTION, name):
        attempt.executions[(pair[0], pair[1])] = _execution(load(data))
    elif numbers(layout.REVIEW, name):
        attempt.reviews += rows_of([load(data)])
    elif judged := numbers(layout.REGRESSION, name):
        attempt.others[f"the project's tests with patch {judged[0]}"] = _compared_tests(load(data))


def _attempts(files: dict[str, bytes]) -> list[Attempt]:
    found: dict[int, Attempt] = {}
    for path, data in files.items():
        folder, _, name = path.partition("/")
        if name and (number := numbers(layout.ATTEMPT, folder)):
            _add(found.setdefault(number[0], Attempt(number[0])), name, data)
    return [found[number] for number in sorted(found)]


def _selected(files: dict[str, bytes]) -> tuple[int, int] | None:
    if member(load(files.get(layout.META)), "verb") == "verify":
        return 0, 1  # its only patch, which attempt 0 judged
    name = member(load(files.get(layout.SELECTED)), "selected")
    found = numbers(f"{layout.ATTEMPT}/{layout.EXTRACTED}", name)
    return (found[0], found[1]) if found else None


def _uncommitted(found: Any) -> str:
    """ "uncommitted changes in 2 files (a.py, b.py)"; "" if there are none."""
    count, files = number_of(member(found, "count")), member(found, "files")
    named = [line_of(path, 200) for path in files[:10]] if isinstance(files, list) else []
    more = [f"{count - len(named)} more"] if count > len(named) else []
    return f"uncommitted changes in {count_of(count, 'file')} ({', '.join([*named, *more])})" if count else ""


def run_of(files: dict[str, bytes]) -> Run:
    """The story of a run folder, from its files by name."""
    result, meta = load(files.get(layout.RESULT)), load(files.get(layout.META))
    if error_of(result) and error_of(result) == member(result, "why"):
        result |= {"why": None}  # it is shown once, as the error
    chosen = load(files.get(layout.SELECTED))
    options = member(meta, "options")
    models = member(options, "model")
    verdict, stop = verdict_of(result), clip(decode(files.get(layout.ERROR), 4000).strip(), 1000)
    is_script, is_running = verdict in SCRIPT_VERDICTS, layout.LIVE in files
    diff = files.get(layout.PATCH) or b""
    patch = diff[: MAX_PATCH * 4].decode("utf-8", "replace")[:MAX_PATCH]
    name = member(options, "instance_id") or member(options, "repo")
    return Run(
        is_over=bool(result), is_running=is_running, verdict=verdict, why=line_of(member(result, "why"), 1000),
        status="" if is_script else line_of(member(result, "status"), 60),
        error=text_of(error_of(result), 1000) if result else "" if is_running
        else f"the run stopped: {stop}" if stop else "the run has no result yet",
        issue=COMMENT.sub("", decode(files.get(layout.ISSUE), 40_000)), patch=patch, files=parse(diff.decode("utf-8", "replace")),
        unread=decode(files.get("(unread)"), 4000), is_exact=patch.encode() == diff, tests=member(result, "tests"),
        experiments=member(result, "experiments"), has_history=member(meta, "search_history") is True,
        validate=text_of(member(options, "validate")),
        patch_sha256=hashlib.sha256(diff).hexdigest(),
        folder=decode(files.get("(folder)"), 4000), repo=line_of(member(options, "repo"), 4000),
        models=[line_of(each, 200) for each in models[:20]] if isinstance(models, list) else [],
        commit=line_of(member(meta, "snapshot", "commit"), 64), changes=_uncommitted(member(meta, "snapshot", "changes")),
        name=line_of(name, 200), cost=load(files.get(layout.COST)) or ({"total": member(load(files[layout.LIVE]), "spent")} if is_running else {}), selected=_selected(files),
        choice=line_of(member(chosen, "choice"), 400), compared=rows_of(member(chosen, "candidates"), 200),
        grading={at.removeprefix(_GRADING): data for at, data in files.items() if at.startswith(_GRADING)},
        attempts=_attempts(files), journal=journal.read_journal(files.get(layout.JOURNAL)),
    )  # fmt: skip


def cost_of(run: Run) -> dict[str, int]:
    """The usage and cost of the run."""
    total = member(run.cost, "total")
    names = (
        *("calls", "input_tokens", "cached_tokens", "written_tokens", "output_tokens", "cost_microusd", "retries"),
        *("unknown_cost_calls", "charged_microusd"),
    )
    return {name: number_of(member(total, name)) for name in names}


def cost_words(cost: dict[str, int]) -> str:
    """What the answers cost, and what counts against ceilings if that is more."""
    unknown, charged = cost["unknown_cost_calls"], cost["charged_microusd"]
    known = "cost unknown" if unknown and unknown == cost["calls"] else usd(cost["cost_microusd"])
    if 0 < unknown < cost["calls"]:
        known += f" and {count_of(unknown, 'call')} of unknown cost"
    return known + (f", {usd(charged)} charged" if charged > cost["cost_microusd"] else "")
