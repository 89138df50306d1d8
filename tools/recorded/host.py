"""Drives the acr-host binary: one recorded run as a script, its replay, and what it left behind."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks import APPLICABLE, Places, Run, Task

TAIL_LINES = 8
MAX_KEPT = 32_000
MAX_REASON = 400
_UNMET = re.compile(r"\bexpect", re.IGNORECASE)
_STATUSES = ("NO_PATCH", "RAW_PATCH_BUT_", "MATCHED_BUT_", APPLICABLE)


@dataclass(frozen=True)
class Outcome:
    """One run of the binary. `exit` is its exit code, negative for a signal, None on time-out."""

    exit: int | None
    seconds: float
    stdout: bytes
    stderr: str

    @property
    def stderr_tail(self) -> str:
        """The last lines of stderr."""
        return "\n".join(self.stderr.splitlines()[-TAIL_LINES:])

    @property
    def unmet(self) -> str:
        """The first line of stderr that speaks of an expectation, "" where none does."""
        return next((n.strip() for n in self.stderr.splitlines() if _UNMET.search(n)), "")


@dataclass(frozen=True)
class Host:
    """The binary, how long it may take, and the folder for its cache."""

    binary: Path
    seconds: float
    cache: Path

    def call(self, arguments: list[str], offline: bool = False, stdin: bytes | None = None) -> Outcome:
        """Run the binary in a session of its own; `offline` cuts the network if it can."""
        command = [*(offline_prefix() if offline else []), str(self.binary), *arguments]
        env = os.environ | {"XDG_CACHE_HOME": str(self.cache), "LC_ALL": "C.UTF-8"}
        start = time.monotonic()
        child = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        late = False
        try:
            out, err = child.communicate(stdin, timeout=self.seconds)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
        code = None if late else child.returncode
        return Outcome(code, time.monotonic() - start, out, _kept(err))

    def rows(self, arguments: list[str], count: int, stdin: bytes | None = None) -> list[dict[str, Any]]:
        """The JSON objects that a verb prints, one a line, `count` in all. Errors: RuntimeError."""
        outcome = self.call(arguments, stdin=stdin)
        rows = [json.loads(line) for line in outcome.stdout.splitlines()]
        if outcome.exit not in (0, 1) or len(rows) != count:
            raise RuntimeError(f"exit {outcome.exit}: {outcome.stderr_tail}")
        return rows


def _kept(stderr: bytes) -> str:
    """The begin and the end of what was printed, MAX_KEPT bytes of each at most."""
    if len(stderr) > 2 * MAX_KEPT:
        stderr = stderr[:MAX_KEPT] + b"\n...\n" + stderr[-MAX_KEPT:]
    return stderr.decode("utf-8", "replace").strip()


@functools.cache
def offline_prefix() -> tuple[str, ...]:
    """The command words that cut the network, or () where this user may not."""
    for words in (("unshare", "-n"), ("unshare", "-r", "-n")):
        if shutil.which("unshare"):
            done = subprocess.run([*words, "true"], capture_output=True, check=False)
            if done.returncode == 0:
                return words
    return ()


def without_refused(script: bytes, run: Run) -> bytes:
    """The script without the patch answers before the last one that applied when it was recorded.

    They were refused then, by tests or because they did not fit the code; a replay that runs no
    tests, or fits what did not fit then, would stop there.
    """
    applied = [n for n, (status, _) in enumerate(run.patches) if status == APPLICABLE]
    accepted, kept, answer = (applied or [0])[-1], [], 0
    for line in script.splitlines(keepends=True):
        if json.loads(line)["agent"] == "patch":
            answer += 1
            if answer - 1 < accepted:
                continue
        kept.append(line)
    return b"".join(kept)


def write_inputs(places: Places, task: Task, run: Run, folder: Path, expect: bool, validated: bool) -> None:
    """Write issue.md and script.jsonl of a run into an empty `folder`.

    `validated` leaves out the answers that were refused then. Errors: CalledProcessError where the
    script cannot be made.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    text = task.problem_statement.encode("utf-8", "surrogateescape")
    (folder / "issue.md").write_bytes(text)
    command = [sys.executable, str(places.make_script), *(["--expect"] if expect else [])]
    command += [run.run, run.instance_id, str(places.recorded / "runs.jsonl")]
    script = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    script = without_refused(script, run) if validated else script
    (folder / "script.jsonl").write_bytes(script)


def run_arguments(repository: Path, task: Task, folder: Path) -> list[str]:
    """The arguments of `acr-host run` for inputs made by write_inputs."""
    return [
        *("run", "--repo", str(repository), "--rev", task.base_commit),
        *("--issue", str(folder / "issue.md")),
        *("--model", f"script:{folder / 'script.jsonl'}"),
        *("--out", str(folder / "out"), "--verify=never"),
    ]


def patch_of(folder: Path) -> bytes:
    """The bytes of the run's patch.diff, b"" where there is none."""
    path = folder / "out" / "patch.diff"
    return path.read_bytes() if path.is_file() else b""


def _statuses(value: Any) -> list[str]:
    """Every extract status in a JSON value, in order."""
    if isinstance(value, str):
        return [value] if value.startswith(_STATUSES) else []
    if isinstance(value, dict):
        value = list(value.values())
    return [s for item in value for s in _statuses(item)] if isinstance(value, list) else []


def _messages(value: Any) -> list[str]:
    """Every non-empty text under a "message" key in a JSON value, in order."""
    if isinstance(value, dict):
        own = value.get("message")
        rest = [m for item in value.values() for m in _messages(item)]
        return ([own] if isinstance(own, str) and own else []) + rest
    return [m for item in value for m in _messages(item)] if isinstance(value, list) else []


def extract_statuses(folder: Path) -> tuple[list[str], str]:
    """(statuses of the answers in order, last message or "") of attempt 0."""
    path = folder / "out" / "attempt_0" / "extract_status.json"
    try:
        value = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return [], ""
    messages = _messages(value)
    return _statuses(value), messages[-1] if messages else ""


def reason(folder: Path, outcome: Outcome) -> str:
    """One line on why a run ended as it did: its extract statuses, else the end of its stderr."""
    statuses, message = extract_statuses(folder)
    last = outcome.stderr_tail.splitlines()[-1] if outcome.stderr_tail else ""
    parts = [", ".join(statuses), " ".join(message.split())]
    if outcome.exit not in (0, 1) or not statuses:
        parts.append("time ran out" if outcome.exit is None else last)
    return "; ".join(p for p in parts if p)[:MAX_REASON]
