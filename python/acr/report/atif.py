"""ATIF 1.7, Harbor's format of trajectories: a run as steps with tool calls, observations, metrics and costs.

Unlike a page, a trajectory keeps every text whole. The first step is the issue; then come the messages and answers of each
model call, in the journal's order. A round's search calls belong to the answer that asked for them, and the message with
their results is their observation: its parts, joined, are that message. A script or command that was run is a step without
a model. The last step submits the patch.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timezone
from typing import Any

from acr import layout
from acr.layout import numbers
from acr.report.plain import load, member, number_of, rows_of, text_of
from acr.report.story import Run, cost_of

VERSION = "ATIF-v1.7"
WHOLE = 1 << 40  # no text is shortened
_RESULT = re.compile(r"^(?=Result of .+:$)", re.MULTILINE)
Row = dict[str, Any]


def _exact(value: Any) -> str:
    """A journal's text, unchanged except for invalid Unicode."""
    text = value if isinstance(value, str) else text_of(value, WHOLE)
    return text.encode("utf-8", "replace").decode()


def _given(**fields: Any) -> Row:
    return {name: value for name, value in fields.items() if value not in (None, "", {}, [])}


def _count(usage: Any, *names: str) -> int | None:
    """The sum of some counts; None if the provider stated none of them."""
    found = [count for name in names if isinstance(count := member(usage, name), int) and count >= 0]
    return sum(found) if found else None


def _called(step: Row, number: int, calls: list[tuple[Any, Row]], results: list[str]) -> Row:
    """Adds tool calls and their results; if their numbers differ, no result is assigned to a call."""
    names = [f"call_{number}_{at}" for at in range(1, len(calls) + 1)]
    step["tool_calls"] = [
        {"tool_call_id": name, "function_name": _exact(function), "arguments": arguments}
        for name, (function, arguments) in zip(names, calls)
    ]
    ids = [{"source_call_id": name} for name in names] if len(names) == len(results) else [{}] * len(results)
    step["observation"] = {"results": [{**one, "content": text} for one, text in zip(ids, results)]}
    return step


class _Steps:
    """The steps of a run, in order. `last`: the newest answer of each attempt's retrieval, whose calls are run."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.steps: list[Row] = []
        self.last: dict[str, Row] = {}
        self.layers: dict[str, list[Any]] = {}
        for path, data in files.items():
            folder, _, name = path.partition("/")
            if numbers(layout.ATTEMPT, folder) and name == layout.SEARCH + layout.TOOL_CALLS:
                found = load(data)
                self.layers[folder] = found[:] if isinstance(found, list) else []

    def add(self, source: str, message: str, **fields: Any) -> Row:
        step = {"step_id": len(self.steps) + 1, "source": source, "message": message, **_given(**fields)}
        self.steps.append(step)
        return step

    def take_message(self, attempt: str, message: Row) -> None:
        """Add a sent message: a step, or the observation of the calls that it answers."""
        role, text = message.get("role"), _exact(message.get("content"))
        parts = [at for at in _RESULT.split(text) if at]
        layers, step = self.layers.get(attempt), self.last.get(attempt)
        if role == "user" and len(parts) > 1 and layers and step and "tool_calls" not in step:
            calls = [at for at in rows_of(layers.pop(0)) if isinstance(at.get("arguments"), dict)]
            told = [(at.get("func_name"), at["arguments"]) for at in calls]
            _called(step, step["step_id"], told, ["".join(parts[:2]), *parts[2:]])
        elif role == "assistant":
            self.add("agent", text, is_copied_context=True)
        else:
            self.add("system" if role == "system" else "user", text)

    def take_model(self, record: Row) -> None:
        request, answer, spent = record.get("request"), record.get("answer"), member(record, "time")
        conversation = text_of(member(request, "conversation"))
        attempt, _, name = conversation.partition("/")
        for message in rows_of(member(request, "messages"), WHOLE):
            self.take_message(attempt if name == "search" else "", message)
        usage, ended = member(answer, "usage"), number_of(member(spent, "ended_s"))
        picousd = _count(usage, "cost_picousd")
        step = self.add(
            "agent", _exact(member(answer, "content")), model_name=_exact(member(request, "model")),
            llm_call_count=1, reasoning_content=_exact(member(answer, "reasoning")),
            timestamp=datetime.fromtimestamp(ended, timezone.utc).isoformat() if 0 < ended < 1 << 36 else None,
            metrics=_given(prompt_tokens=_count(usage, "input", "cached", "written"),
                           completion_tokens=_count(usage, "output"), cached_tokens=_count(usage, "cached"),
                           cost_usd=None if picousd is None else picousd / 1e12),
            extra=_given(agent=_exact(member(request, "agent")), round=number_of(member(request, "round")) or None,
                         conversation=conversation, wall_ms=number_of(member(spent, "wall_ms")),
                         finish=_exact(member(answer, "finish")), error=_exact(member(answer, "error"))),
        )  # fmt: skip
        if name == "search" or name.startswith("extract"):
            self.last[attempt] = step

    def take_execution(self, record: Row) -> None:
        request, answer = record.get("request"), record.get("answer")
        names = ("command", "test", "patch", "experiment", "repeat")
        arguments = _given(**{name: _exact(member(request, name)) for name in names})
        ended = {name: member(answer, name) for name in ("exit", "signal", "limit", "error")}
        extra = _given(wall_ms=number_of(member(record, "time", "wall_ms")), **ended)
        step = self.add("agent", "", llm_call_count=0, extra=extra)
        output = _exact(member(answer, "stdout")) + _exact(member(answer, "stderr"))
        _called(step, step["step_id"], [("execute", arguments)], [output])

    def take(self, record: Row) -> None:
        event = record.get("event")
        if event == "model":
            self.take_model(record)
        elif event == "execution":
            self.take_execution(record)
        else:
            step = self.add("system", _exact(event))
            step["observation"] = {"results": [{"content": _exact(record.get("answer"))}]}


def steps_of(run: Run, files: dict[str, bytes]) -> list[Row]:
    """The steps of a run; damaged lines of the journal are skipped."""
    made = _Steps(files)
    made.add("user", (files.get(layout.ISSUE) or b"").decode("utf-8", "replace"))
    for line in (files.get(layout.JOURNAL) or b"").split(b"\n"):
        record = load(line)
        if isinstance(record, dict):
            made.take(record)
    step = made.add("agent", run.why, llm_call_count=0, extra={"verdict": run.verdict, "status": run.status})
    if patch := (files.get(layout.PATCH) or b"").decode("utf-8", "replace"):
        _called(step, step["step_id"], [("submit", {"patch": patch})], [run.verdict])
    return made.steps


def render_atif(run: Run, files: dict[str, bytes], version: str) -> Row:
    """The trajectory as JSON values."""
    steps, cost = steps_of(run, files), cost_of(run)
    sent = cost["input_tokens"] + cost["cached_tokens"] + cost["written_tokens"]
    return {
        "schema_version": VERSION,
        "session_id": f"{run.name.rpartition('/')[2]}-{hashlib.sha256(files.get(layout.JOURNAL) or b'').hexdigest()[:12]}",
        "agent": {"name": "acr-host", "version": version, **_given(model_name=run.models[0] if run.models else "")},
        "steps": steps,
        "final_metrics": {
            "total_prompt_tokens": sent, "total_completion_tokens": cost["output_tokens"],
            "total_cached_tokens": cost["cached_tokens"], "total_cost_usd": cost["cost_microusd"] / 1e6,
            "total_steps": len(steps),
        },
        "extra": _given(verdict=run.verdict, why=run.why, status=run.status, error=run.error, commit=run.commit),
    }  # fmt: skip
