"""What a run folder's files say of the run, as one value that all formats are made from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from acr import layout
from acr.layout import numbers
from acr.report import journal
from acr.report.difftext import FileDiff, parse
from acr.report.plain import decode, line_of, load, member, number_of, rows_of, text_of

MAX_PATCH = 400_000  # characters
VERDICTS = ("verified", "validated", "unverified", "refused", "none")


@dataclass
class Attempt:
    """Of one attempt: bug locations, tries with their edits, scripts, executions, reviews, all as their files say."""

    number: int
    locations: list[dict[str, Any]] = field(default_factory=list)
    tries: list[dict[str, Any]] = field(default_factory=list)
    scripts: dict[int, str] = field(default_factory=dict)
    executions: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)


@dataclass
class Run:
    """Texts are visible and bounded; `patch` is as it was written, unless it is too long or not UTF-8."""

    verdict: str
    why: str
    status: str
    error: str
    issue: str
    patch: str
    models: list[str]
    version: str
    commit: str
    name: str
    cost: dict[str, Any]
    selected: tuple[int, int] | None
    attempts: list[Attempt]
    journal: journal.Journal
    unread: str  # a line for each file that could not be read
    is_exact: bool  # the patch is whole, and as it was written
    tests: Any  # of result.json: the project's own tests, before and after; None: they were not run

    @property
    def title(self) -> str:
        """The issue's first line."""
        return line_of(next((line for line in self.issue.splitlines() if line.strip()), self.name or "run"), 160)

    @property
    def files(self) -> list[FileDiff]:
        return parse(self.patch)

    def attempt(self) -> Attempt | None:
        """The attempt that the patch is of, else the last one."""
        wanted = self.selected[0] if self.selected else None
        found = [each for each in self.attempts if each.number == wanted]
        return (found or self.attempts[-1:] or [None])[0]

    def locations(self) -> list[dict[str, Any]]:
        """The places of the bug, without what is only their context."""
        attempt = self.attempt()
        return [row for row in (attempt.locations if attempt else []) if row.get("role") == "bug"]

    def evidence(self) -> tuple[int, dict[str, Any], dict[str, Any]] | None:
        """The script's number and its executions without and with the patch that was selected."""
        attempt = self.attempt()
        if not attempt or not self.selected:
            return None
        pairs = [
            (test, attempt.executions[(0, test)], with_patch)
            for (patch, test), with_patch in sorted(attempt.executions.items())
            if patch == self.selected[1] and (0, test) in attempt.executions
        ]
        return pairs[-1] if pairs else None


def _indented(value: Any) -> Any:
    try:
        return json.dumps(value, indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _add(attempt: Attempt, name: str, data: bytes) -> None:
    if name == layout.SEARCH + layout.LOCATIONS:
        attempt.locations = rows_of(load(data))
    elif name == layout.EXTRACT_STATUS:
        attempt.tries = rows_of(load(data))
    elif script := numbers(layout.REPRODUCER, name):
        attempt.scripts[script[0]] = decode(data)
    elif pair := numbers(layout.EXECUTION, name):
        found = load(data)
        attempt.executions[(pair[0], pair[1])] = found if isinstance(found, dict) else {}
    elif numbers(layout.REVIEW, name):
        attempt.reviews += rows_of([load(data)])
    elif numbers(layout.VALIDATION, name) or numbers(layout.REGRESSION, name):
        attempt.others[line_of(name, 60)] = text_of(_indented(load(data)))


def _attempts(files: dict[str, bytes]) -> list[Attempt]:
    found: dict[int, Attempt] = {}
    for path, data in files.items():
        folder, _, name = path.partition("/")
        if name and (number := numbers(layout.ATTEMPT, folder)):
            _add(found.setdefault(number[0], Attempt(number[0])), name, data)
    return [found[number] for number in sorted(found)]


def _selected(files: dict[str, bytes]) -> tuple[int, int] | None:
    name = member(load(files.get(layout.SELECTED)), "selected")
    found = numbers(f"{layout.ATTEMPT}/{layout.EXTRACTED}", name)
    return (found[0], found[1]) if found else None


def run_of(files: dict[str, bytes]) -> Run:
    """The story of a run folder from its files, by their names in it."""
    result, meta = load(files.get(layout.RESULT)), load(files.get(layout.META))
    options = member(meta, "options")
    models = member(options, "model")
    verdict = member(result, "verdict")
    diff = files.get(layout.PATCH) or b""
    patch = diff[: MAX_PATCH * 4].decode("utf-8", "replace")[:MAX_PATCH]
    name = member(options, "instance_id") or member(options, "repo")
    return Run(
        verdict=verdict if verdict in VERDICTS else "none",
        why=line_of(member(result, "why"), 1000),
        status=line_of(member(result, "status"), 60),
        error=line_of(member(result, "error"), 1000) if result else "the run is not over: it has no result yet",
        issue=decode(files.get(layout.ISSUE), 40_000),
        patch=patch,
        unread=decode(files.get("(unread)"), 4000),
        is_exact=patch.encode() == diff,
        tests=member(result, "tests"),
        models=[line_of(each, 200) for each in models[:20]] if isinstance(models, list) else [],
        version=line_of(member(meta, "version"), 40),
        commit=line_of(member(meta, "snapshot", "commit"), 64),
        name=line_of(name, 200),
        cost=load(files.get(layout.COST)) or {},
        selected=_selected(files),
        attempts=_attempts(files),
        journal=journal.read(files.get(layout.JOURNAL)),
    )


def cost_of(run: Run) -> dict[str, int]:
    """What the run used in all."""
    total = member(run.cost, "total")
    names = ("calls", "input_tokens", "cached_tokens", "written_tokens", "output_tokens", "cost_microusd", "retries")
    return {name: number_of(member(total, name)) for name in names}
