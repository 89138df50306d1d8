#!/usr/bin/env python3
"""Replay the recorded search calls through `acr-host search` and judge the answers.

Each task is one process on the task's commit, its calls on stdin. A call is answered when the code
shown holds its last identifier as a word and, where a definition of that exists outside tests, that
definition (the one in the named file or class where there is one). Prints markdown: of the calls
that were answered then and of those that were not, how many are answered now; of the places found
then, how many are contained in ours; each loss with its reason.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Iterable

import called
import report
import tasks
import trees
from called import Call, Commit, Definition, Place
from changes import is_test_file
from host import Host
from tasks import Places, Task

UNKNOWN = "there is no call"
MAX_PLACES = 1000
_BLOCK = re.compile(
    r"<file>([^\n]*?)</file>(?:\n[^\n]*)?\n<code>\n(.*?)</code>", re.DOTALL
)
_NUMBERED = re.compile(r"^(\d+) ?(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What the program said to one call."""

    ok: bool
    output: str
    places: frozenset[Place]
    listed: int

    def holds(self, place: Place) -> bool:
        """Whether a place is among ours; one without class and function stands for its file."""
        file, klass, function = place
        if not klass and not function:
            return any(ours[0] == file for ours in self.places)
        return any(
            (f, m) == (file, function) and klass in (c, c.split(".")[-1])
            for f, c, m in self.places
        )

    def code(self) -> dict[tuple[str, int], str]:
        """(file, line) -> the text shown for it."""
        return {
            (path, int(number)): text
            for path, block in _BLOCK.findall(self.output)
            for number, text in _NUMBERED.findall(block)
        }


@dataclass(frozen=True)
class Judged:
    """One call, what is true of the commit, and how it is answered. `lost`: places not found."""

    call: Call
    uses: int
    uses_in_tests: int
    defined: bool
    ok: bool
    word: bool
    definition: bool
    lost: tuple[tuple[Place, str], ...]
    known: bool = True

    @property
    def answered(self) -> bool:
        """Code with the identifier is shown, and its definition where there is one."""
        return self.ok and self.word and (self.definition or not self.defined)

    @property
    def only_in_tests_then(self) -> bool:
        """Whether what was found then lay in test files alone."""
        if self.call.found:
            return all(is_test_file(place[0]) for place in self.call.found)
        return self.uses == 0

    @property
    def why(self) -> str:
        """One phrase for a call that is not answered."""
        if not self.known:
            return UNKNOWN
        if not self.ok:
            return "nothing shown"
        return "definition not shown" if self.word else "identifier not in the code"


def in_scope(call: Call, found: list[Definition]) -> list[Definition]:
    """Those in the file and class that the call names, else all."""
    named = dict(call.arguments)
    file, owner = named.get("file_name"), named.get("class_name")
    if call.name in ("search_class", "search_class_in_file"):
        owner = None
    kept = found
    if file:
        tail = "/" + file.strip("/").lower()
        kept = [d for d in kept if ("/" + d.path.lower()).endswith(tail)]
    if owner:
        kept = [d for d in kept if d.owner == owner.split(".")[-1]]
    return kept or found


def why_lost(place: Place, answer: Answer, commit: Commit) -> str:
    """Why a place found then is not among ours, as far as the answer and the commit tell."""
    file, klass, function = place
    ours = [p for p in answer.places if p[0] == file]
    if any(p[2] in commit.inner_functions(file, function) for p in ours):
        return "ours names the function inside it"
    if any(p[2] == function and not klass for p in ours):
        return "class left out then"
    if answer.listed >= MAX_PLACES:
        return f"beyond the {MAX_PLACES} places that an answer lists"
    if any(p[2] == function for p in ours):
        return "another class of the file: " + ", ".join(sorted({p[1] for p in ours}))
    what = "other places of the file" if ours else "file not among the places"
    return f"{what} ({answer.listed} places, ok {answer.ok})"


def lost_places(
    call: Call, answer: Answer, commit: Commit
) -> tuple[tuple[Place, str], ...]:
    """The places found then outside tests that are not among ours, each with a reason."""
    theirs = [p for p in call.found or () if not is_test_file(p[0])]
    return tuple(
        (p, why_lost(p, answer, commit)) for p in sorted(theirs) if not answer.holds(p)
    )


def _bounded(word: str) -> str:
    """A pattern for the word, at whose ends that are word characters no other may follow."""
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    after = r"(?!\w)" if re.search(r"\w$", word) else ""
    return before + re.escape(word) + after


def judge(call: Call, answer: Answer, commit: Commit) -> Judged:
    """Judge one answer against the commit. Errors: GitError."""
    word = call.identifier or call.subject
    uses = commit.uses(word)
    outside = commit.outside_tests(word)
    definitions = commit.definitions(word) if call.identifier else []
    code = answer.code()
    pattern = re.compile(_bounded(word) if uses else re.escape(word))
    scoped = in_scope(call, definitions)
    return Judged(
        call=call,
        uses=sum(uses[path] for path in outside),
        uses_in_tests=sum(uses.values()) - sum(uses[path] for path in outside),
        defined=bool(definitions),
        ok=answer.ok,
        word=any(pattern.search(text) for text in code.values()),
        definition=any((d.path, d.line) in code for d in scoped),
        lost=lost_places(call, answer, commit),
        known=UNKNOWN not in answer.output,
    )


def answers_of(
    driver: Host, repository: Path, commit: str, calls: list[Call]
) -> list[Answer]:
    """The program's answers, one a call. Errors: RuntimeError."""
    arguments = ["search", "--json", "--repo", str(repository), "--rev", commit]
    text = "".join(call.text + "\n" for call in calls).encode("utf-8")
    return [
        Answer(
            row["ok"],
            row["output"],
            frozenset(
                (p["file"], p["class"] or "", p["func"] or "") for p in row["results"]
            ),
            len(row["results"]),
        )
        for row in driver.rows(arguments, len(calls), text)
    ]


def replay_task(
    driver: Host, places: Places, task: Task, calls: list[Call]
) -> list[Judged]:
    """Replay and judge the calls of one task; none where its repository is not there."""
    repository = tasks.repository_of(places, task)
    if repository is None:
        return []
    commit = Commit(repository, task.base_commit)
    answers = answers_of(driver, repository, task.base_commit, calls)
    return [judge(call, answer, commit) for call, answer in zip(calls, answers)]


def _line(judged: Judged) -> list[Any]:
    shown = f"{judged.uses} outside tests, {judged.uses_in_tests} in tests"
    return [judged.call.instance_id, judged.call.text, shown, judged.why]


def _count(name: str, rows: list[Judged], target: str) -> list[Any]:
    texts = [j for j in rows if j.call.is_text]
    now = sum(1 for j in rows if j.answered)
    loose = sum(1 for j in rows if j.ok and j.word)
    share = report.percent(now, len(rows))
    return [name, len(rows), now, share, loose, len(texts), target]


def answered_part(rows: list[Judged]) -> list[str]:
    """The first row's table and its losses."""
    known = [j for j in rows if j.known]
    then = [j for j in known if j.call.answered]
    tests = [j for j in then if j.only_in_tests_then]
    kept = [j for j in then if not j.only_in_tests_then]
    missed = [j for j in known if not j.call.answered]
    able = [j for j in missed if j.uses]
    groups = [
        ("answered then, outside tests", kept, ">= 99.5 %"),
        ("answered then, only in tests", tests, "-"),
        ("missed then, identifier in a non-test file", able, ">= 90 %"),
        ("missed then, identifier in no non-test file", _without(missed, able), "-"),
    ]
    heads = ["calls", "number", "answered now", "share"]
    heads += ["identifier shown", "of them text calls", "target"]
    parts = [report.table(heads, [_count(*group) for group in groups])]
    for name, group, _ in groups[:3]:
        losses = [_line(j) for j in group if not j.answered]
        if losses:
            parts += [f"Not answered now, {name}:"]
            parts += [report.table(["task", "call", "identifier occurs", "now"], losses)]
    other = len(rows) - len(known)
    return parts + [f"{other} calls are of a kind that this program does not have."]


def _without(rows: list[Judged], some: list[Judged]) -> list[Judged]:
    taken = {id(j) for j in some}
    return [j for j in rows if id(j) not in taken]


def _lost_line(judged: Judged) -> list[Any]:
    """One line for a call of which places are lost: how many for each reason, and the first."""
    call, reasons = judged.call, Counter(why for _, why in judged.lost)
    why = "; ".join(f"{why}: {n}" for why, n in reasons.most_common(3))
    of = sum(1 for p in call.found or () if not is_test_file(p[0]))
    first = " ".join(judged.lost[0][0])
    return [call.instance_id, call.text, f"{len(judged.lost)} of {of}", why, first]


def found_part(rows: list[Judged]) -> list[str]:
    """The second row's table: found sets contained, by kind of call, and each loss."""
    asked = [
        j
        for j in rows
        if j.known
        and any(not is_test_file(place[0]) for place in j.call.found or ())
    ]
    lines = []
    for name, kind in (("symbol calls", False), ("text calls", True)):
        group = [j for j in asked if j.call.is_text == kind]
        whole = sum(1 for j in group if not j.lost)
        lines.append([name, len(group), whole, report.percent(whole, len(group))])
    losses = [_lost_line(j) for j in asked if j.lost]
    heads = ["found sets, test places removed", "number", "contained", "share"]
    parts = [report.table(heads, lines)]
    if losses:
        parts += [report.table(["task", "call", "lost", "why", "first of them"], losses)]
    return parts


def summary(rows: list[Judged]) -> str:
    """Both tables, as markdown."""
    total = sum(j.call.times for j in rows)
    head = f"{total} recorded calls, {len(rows)} different ones a task."
    return "\n\n".join([head, *answered_part(rows), *found_part(rows)])


def _options() -> argparse.Namespace:
    return tasks.replay_parser(__doc__ or "", 300, "the calls of a task").parse_args()


def _by_task(calls: Iterable[Call], chosen: list[str]) -> dict[str, list[Call]]:
    grouped: dict[str, list[Call]] = {}
    for call in calls:
        if not chosen or call.instance_id in chosen:
            grouped.setdefault(call.instance_id, []).append(call)
    return grouped


def replay_all(args: argparse.Namespace, places: Places) -> list[Judged]:
    """Replay every chosen task, `jobs` at a time. Errors: DataError, RuntimeError."""
    known = tasks.load_tasks(places)
    grouped = _by_task(
        called.load_calls(places.recorded / "runs.jsonl"), args.instance
    )
    driver = Host(args.binary.resolve(), args.timeout, places.work / "cache")
    with ThreadPoolExecutor(places.jobs) as pool:
        done = pool.map(
            lambda item: replay_task(driver, places, known[item[0]], item[1]),
            grouped.items(),
        )
        return [judged for rows in done for judged in rows]


def _write(path: Path, rows: list[Judged]) -> None:
    with path.open("w", encoding="utf-8") as lines:
        for judged in rows:
            row = asdict(judged) | {"answered": judged.answered}
            row["call"] |= {"text": judged.call.text, "found": None}
            lines.write(json.dumps(row) + "\n")


def main() -> int:
    """Exit 0 if the tables were printed, whatever they say; 2 if the calls could not be replayed."""
    args = _options()
    try:
        places = tasks.places_of(args)
        rows = replay_all(args, places)
    except (tasks.DataError, trees.GitError, RuntimeError) as error:
        print(f"replay_calls: {error}", file=sys.stderr)
        return 2
    out = args.results or places.work / "results-calls.jsonl"
    _write(out, rows)
    print(summary(rows))
    print(f"\nresults: {out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
