#!/usr/bin/env python3
"""Runs recorded tasks through `acr-host run` with a small real model on this machine, and replays each run.

The model (`tests/servers/real_model.py`) is too small to fix anything: what is shown is that a run
ends by itself with a stated reason whatever a model says, that the patch writer is reached, how often
the context overflowed on the way, and that the journal gives the same bytes again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from host import Host, Outcome
from tasks import ROOT, DataError, Places, Task, find_repository, has_commit, load_tasks, places_of, replay_parser

sys.path.append(str(ROOT / "tests" / "servers"))

from rambling import RamblingModel  # noqa: E402
from real_model import RealModel, Unavailable  # noqa: E402

RUN_SECONDS = 1800.0
ANSWER_TOKENS = 160  # an answer's bound: the model would go on to the end of its context
STATED = {0: "a patch", 1: "no patch", 4: "a ceiling"}


def journal(folder: Path) -> list[dict[str, Any]]:
    """The records of a run folder."""
    path = folder / "journal.jsonl"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [json.loads(line) for line in text.splitlines()]


def model_facts(records: list[dict[str, Any]]) -> dict[str, Any]:
    """What the journal says of the model's calls."""
    calls = [r for r in records if r["event"] == "model"]
    errors = [r["answer"]["error"] for r in calls if "error" in r["answer"]]
    overflows = [e for e in errors if e["class"] == "context_overflow"]
    sent = [e for e in overflows if e.get("sent", True)]
    return {
        "calls": len(calls) - len(errors),
        "overflows": len(overflows),
        "overflows_sent": len(sent),
        "windows": sorted({e["window"] for e in overflows if "window" in e}),
        "finishes": sorted({r["answer"].get("finish") or "" for r in calls} - {""}),
    }


def searches(folder: Path) -> int:
    """How many rounds searched."""
    path = folder / "attempt_0" / "search" / "tool_call_layers.json"
    return len(json.loads(path.read_text("utf-8"))) if path.is_file() else 0


def facts_of(task: Task, run: Outcome, again: Outcome, folder: Path) -> dict[str, Any]:
    """What a run shows: the row of one task."""
    attempt = folder / "attempt_0"
    return {
        "instance_id": task.instance_id,
        "exit": run.exit,
        "reason": run.stderr.splitlines()[-1] if run.stderr else STATED.get(run.exit or 0, ""),
        "ended": run.exit in STATED,
        "seconds": round(run.seconds, 1),
        "searched": searches(folder),
        "located": (attempt / "search" / "bug_locations_after_process.json").is_file(),
        "patch_answers": len(list(attempt.glob("patch_raw_*.md"))),
        "replayed": again.exit == run.exit and again.stdout == run.stdout,
        **model_facts(journal(folder)),
    }


def run_task(host: Host, task: Task, repository: Path, model: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Run one task into an empty folder, and replay it without network."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    issue = folder / "issue.md"
    issue.write_text(task.problem_statement, encoding="utf-8")
    arguments = ["run", "--repo", str(repository), "--rev", task.base_commit]
    arguments += ["--issue", str(issue), "--model", model, "--rounds", str(rounds)]
    run = host.call([*arguments, "--out", str(folder / "out"), "--verbose", "--verify=never"])
    (folder / "stderr").write_text(run.stderr, encoding="utf-8")
    again = host.call(["replay", str(folder / "out")], offline=True)
    return facts_of(task, run, again, folder / "out")


def table(results: list[dict[str, Any]]) -> str:
    """The sums in a few lines."""
    n = len(results)
    rows = {
        "ended by itself with a stated reason": sum(r["ended"] for r in results),
        "reached the patch writer": sum(r["patch_answers"] > 0 for r in results),
        "through a shortened context": sum(r["overflows"] > 0 for r in results),
        "reached SEARCH": sum(r["searched"] > 0 for r in results),
        "reached located code": sum(r["located"] for r in results),
        "replayed to the same bytes": sum(r["replayed"] for r in results),
    }
    return "\n".join(f"{count:3} of {n} {what}" for what, count in rows.items())


def chosen_tasks(places: Places, wanted: list[str], count: int) -> list[tuple[Task, Path]]:
    """The tasks asked for, else the first `count` whose repository is here."""
    found = []
    for task in load_tasks(places).values():
        repository = find_repository(places.repos, task.repo)
        if wanted and task.instance_id not in wanted:
            continue
        if repository and has_commit(repository, task.base_commit):
            found.append((task, repository))
    return found if wanted else found[:count]


def model_of(args: argparse.Namespace) -> RealModel | RamblingModel:
    """The model that the options ask for, to be entered."""
    if args.rambling:
        return RamblingModel(args.window)
    return RealModel(args.window, args.answer_tokens, threads=args.threads)


def main() -> int:
    """Run the tasks; exit 0 if each ended by itself, reached the patch writer and replays."""
    parser = replay_parser(__doc__ or "", RUN_SECONDS, "one run")
    option = parser.add_argument
    option("--count", type=int, default=20, help="tasks, where none is named")
    option("--rounds", type=int, default=4, help="retrieval rounds")
    option("--window", type=int, default=4096, help="tokens of the model's context")
    option("--answer-tokens", type=int, default=ANSWER_TOKENS, help="bound of an answer")
    option("--threads", type=int, default=1, help="of the model; more than free cores is slow")
    option("--rambling", action="store_true", help="a cheap stand-in for the real model")
    args = parser.parse_args()
    results: list[dict[str, Any]] = []
    try:
        places = places_of(args)
        work = places.work / "real-model"
        work.mkdir(parents=True, exist_ok=True)
        host = Host(Path(args.binary).resolve(), args.timeout, work / "cache")
        with model_of(args) as server:
            os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-local"}
            output = args.results or work / "results.jsonl"
            with output.open("w", encoding="utf-8") as lines:
                for task, repository in chosen_tasks(places, args.instance, args.count):
                    folder = work / "runs" / task.instance_id
                    model = "openai/smollm2"
                    row = run_task(host, task, repository, model, args.rounds, folder)
                    results.append(row)
                    lines.write(json.dumps(row) + "\n")
                    lines.flush()
    except (DataError, Unavailable) as error:
        print(f"run_real_model.py: {error}", file=sys.stderr)
        return 3
    print(table(results))
    fine = all(r["ended"] and r["patch_answers"] and r["replayed"] for r in results)
    return 0 if results and fine else 1


if __name__ == "__main__":
    sys.exit(main())
