"""Tests of tools/recorded/run_real_model.py: what is read from a run's folder, and what makes the whole fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "recorded"))

import run_real_model  # noqa: E402
from host import Outcome  # noqa: E402
from tasks import Task  # noqa: E402

TASK = Task("a__b-1", "a/b", "0" * 40, "1", "It is wrong.", "", "", (), ())


def record(answer: dict[str, Any], event: str = "model") -> dict[str, Any]:
    """A record of a journal."""
    return {"event": event, "request": {}, "answer": answer}


def overflow(**more: Any) -> dict[str, Any]:
    """A record of a call that did not fit."""
    return record({"error": {"class": "context_overflow", "message": "too long", **more}})


def write_run(folder: Path, records: list[dict[str, Any]]) -> None:
    """A run folder as far as it is read."""
    search = folder / "attempt_0" / "search"
    search.mkdir(parents=True)
    text = "".join(json.dumps(r) + "\n" for r in records)
    (folder / "journal.jsonl").write_text(text, "utf-8")
    (search / "tool_call_layers.json").write_text("[[], []]", "utf-8")
    (folder / "attempt_0" / "patch_raw_1.md").write_text("nothing", "utf-8")


def facts(folder: Path, run: Outcome, again: Outcome) -> dict[str, Any]:
    """The row of a run with an answer, a refusal, what was not sent, and a linter's record."""
    records = [record({"finish": "stop"}), overflow(window=4096), overflow(sent=False)]
    write_run(folder, [*records, record({}, "lint")])
    return run_real_model.facts_of(TASK, run, again, folder)


def test_facts_of_a_run(tmp_path: Path) -> None:
    run = Outcome(1, 2.0, b"", "index\nacr-host run: no patch (NO_PATCH)")
    row = facts(tmp_path, run, Outcome(1, 1.0, b"", ""))
    assert (row["calls"], row["overflows"], row["overflows_sent"]) == (1, 2, 1)
    assert (row["searched"], row["patch_answers"], row["located"]) == (2, 1, False)
    assert row["ended"] and row["replayed"] and row["windows"] == [4096]
    assert row["reason"] == "acr-host run: no patch (NO_PATCH)"


def test_crash_and_another_replay_are_told(tmp_path: Path) -> None:
    row = facts(tmp_path, Outcome(-11, 2.0, b"", ""), Outcome(0, 1.0, b"diff", ""))
    assert not row["ended"] and not row["replayed"]
    assert "  0 of 1 ended by itself" in run_real_model.table([row])
    assert "  1 of 1 reached the patch writer" in run_real_model.table([row])
