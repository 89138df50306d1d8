"""Reads a run's journal as a list of steps for people; of many steps, only the first and the last ones are kept."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from acr.report.plain import line_of, load, member, number_of, rows_of, text_of

KEPT = 150  # number of steps that are kept at each end
MESSAGES = 8  # maximum messages of one step
LINE = 500  # maximum characters of one line of output
MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_FILES, MAX_LINE_NUMBER = 40, 1_000_000

_STAGES = {"execution": "executions", "tests": "tests", "sbfl": "sbfl"}  # event -> the stage that its time belongs to
_SHOWN = re.compile(r"<file>([^<\n]{1,300})</file>|^ {0,9}(\d{1,7}) ", re.MULTILINE)


@dataclass
class Step:
    """An event from outside the run. `parts`: (who, text) in order."""

    number: int
    kind: str
    title: str
    stage: str
    wall_ms: int
    parts: list[tuple[str, str]] = field(default_factory=list)
    experiment: str = ""  # the experiment for which a script ran, with the script or the patch altered


@dataclass
class Journal:
    """`left_out`: steps between the first and the last ones; `stages`: name -> [calls, ms, microusd]; `shown`: file ->
    line -> how often the search agent has seen it; `commands`: (a patch's SHA-256, command) -> its last exit code."""

    steps: list[Step] = field(default_factory=list)
    left_out: int = 0
    stages: dict[str, list[int]] = field(default_factory=dict)
    shown: dict[str, Counter[int]] = field(default_factory=dict)
    commands: dict[tuple[str, str], int] = field(default_factory=dict)


def _note_shown(text: str, shown: dict[str, Counter[int]]) -> None:
    """Count the lines that a search result shows."""
    lines: Counter[int] | None = None
    for found in _SHOWN.finditer(text):
        if found[1] and (found[1] in shown or len(shown) < MAX_FILES):
            lines = shown.setdefault(found[1], Counter())
        elif found[1]:
            lines = None
        elif lines is not None and len(lines) < 20_000 and 0 < int(found[2]) <= MAX_LINE_NUMBER:
            lines[int(found[2])] += 1


def _model_step(number: int, record: dict[str, Any]) -> Step:
    request, answer = record.get("request"), record.get("answer")
    agent = line_of(member(request, "agent"), 40)
    turn = number_of(member(request, "round"))
    title = f"{agent}{f', round {turn}' if turn else ''}"
    step = Step(number, "model", title, line_of(member(request, "conversation"), 80), 0)
    for message in rows_of(member(request, "messages"), MESSAGES):
        step.parts.append((line_of(message.get("role"), 20), text_of(message.get("content"))))
    error = member(answer, "error")
    step.parts.append(("failure", text_of(error)) if error else ("answer", text_of(member(answer, "content"))))
    return step


def _execution_step(number: int, record: dict[str, Any]) -> Step:
    request, answer = record.get("request"), record.get("answer")
    what = "script" if member(request, "test") else "command"
    how = "with the patch" if member(request, "patch") else "without a patch"
    watched = ", watched" if member(request, "watched") is True else ""
    ended = member(answer, "exit")
    made = line_of(member(request, "experiment"), 40)
    if made:
        what, how = "experiment", f"“{made}”"
    title = f"{what} {how}{watched}: " + (f"exit {line_of(ended, 10)}" if ended is not None else "no exit code")
    step = Step(number, "execution", title, "executions", 0, experiment=made)
    for name in ("error", "limit", "signal"):
        if member(answer, name):
            step.parts.append((name, text_of(member(answer, name))))
    if member(request, "command"):
        step.parts.append(("command", text_of(member(request, "command"))))
    for name in ("stdout", "stderr"):
        if text := text_of(member(answer, name)):
            lines = (line if len(line) <= LINE else f"{line[:LINE]}…" for line in text.split("\n"))
            step.parts.append((name, "\n".join(lines)))
    return step


def _step(number: int, record: dict[str, Any]) -> Step:
    event = line_of(record.get("event"), 40)
    if event == "model":
        return _model_step(number, record)
    if event == "execution":
        return _execution_step(number, record)
    return Step(number, event, event, "", 0, [("answer", text_of(record.get("answer"), 2000))])


def _note(record: dict[str, Any], stage: str, journal: Journal) -> int:
    """Add an event to the sums of its stage; return its milliseconds."""
    ms = number_of(member(record, "time", "wall_ms"))
    cost = number_of(member(record, "answer", "usage", "cost_picousd")) // 1_000_000
    if stage and (stage in journal.stages or len(journal.stages) < 200):
        sums = journal.stages.setdefault(stage, [0, 0, 0])
        journal.stages[stage] = [sums[0] + 1, sums[1] + ms, sums[2] + cost]
    command, ended = member(record, "request", "command"), member(record, "answer", "exit")
    if command and isinstance(ended, int) and len(journal.commands) < 1000:
        journal.commands[line_of(member(record, "request", "patch"), 64), text_of(command)] = ended
    if member(record, "request", "agent") == "search":
        for message in rows_of(member(record, "request", "messages"), MESSAGES):
            content = message.get("content")
            if isinstance(content, str):
                _note_shown(content[:400_000], journal.shown)
    return ms


def read_journal(data: bytes | None) -> Journal:
    """The steps in a journal's bytes; damaged lines are skipped."""
    journal = Journal()
    lines = (data or b"").split(b"\n")
    count = sum(1 for line in lines if line)
    for at, line in enumerate(lines):
        record = load(line) if 0 < len(line) <= MAX_LINE_BYTES else None
        if not isinstance(record, dict):
            continue
        is_kept = at < KEPT or at >= count - KEPT
        event = line_of(record.get("event"), 40)
        stage = (
            line_of(member(record.get("request"), "conversation"), 80) if event == "model" else _STAGES.get(event, "")
        )
        stage = re.sub(r"(_\d+)+$", "", stage)
        ms = _note(record, stage, journal)
        if is_kept:
            step = _step(at, record)
            step.wall_ms = ms
            journal.steps.append(step)
        else:
            journal.left_out += 1
    return journal
