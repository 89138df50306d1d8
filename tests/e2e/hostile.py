"""Helpers for tests with hostile input: runs of the sample and how they end; damaged repositories and folders."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import runs
from host import Host, Result
from loopback import Failure, LoopbackOpenAI

# A module with one bug, and answers that fix the bug in one round.
TINY = {"app.py": "def half(n):\n    return n // 3\n"}
_LOCATION = {"file": "app.py", "method": "half", "intended_behavior": "halve"}
_EDIT = "<file>app.py</file>\n<original>    return n // 3</original>\n<patched>    return n // 2</patched>"
TINY_ANSWERS: list[dict[str, Any]] = [
    {"agent": "search", "content": "The bug is in half."},
    {"agent": "extract", "content": json.dumps({"API_calls": [], "bug_locations": [_LOCATION]})},
    {"agent": "patch", "content": f"```\n{_EDIT}\n```"},
]

Arguments = list[object]


def sample_run(repo: object, out: Path, model: str = "") -> Arguments:
    """The arguments of a run of the sample's issue; `model` defaults to the sample's script."""
    return runs.arguments(repo, out, model=model)


def tiny_run(repo: object, out: object, script: Path) -> Arguments:
    """The arguments of a run on a repository of TINY."""
    issue, model = "half(4) is 1", f"script:{script}"
    return ["run", "--repo", repo, "--issue-text", issue, "--model", model, "--out", out, "--verify=never"]


def write_script(path: Path, lines: Iterable[dict[str, Any]] = TINY_ANSWERS) -> Path:
    """Write a script file with these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def whole_stacks() -> dict[str, str]:
    """An environment in which sanitizers can distinguish libgit2's leaks from the program's (tests/lsan.supp)."""
    options = os.environ.get("ASAN_OPTIONS", "")
    return {"ASAN_OPTIONS": f"{options}:fast_unwind_on_malloc=0"}


PASSING = ("time", "request_id")  # a server numbers its requests, including those of a killed run


def without_passing(value: Any) -> Any:
    """A JSON value without the members that vary between requests."""
    if isinstance(value, dict):
        return {n: without_passing(v) for n, v in value.items() if n not in PASSING}
    return [without_passing(v) for v in value] if isinstance(value, list) else value


def journal_of(folder: Path) -> list[Any]:
    """The records of a run folder, without members that vary between runs."""
    lines = (folder / "journal.jsonl").read_bytes().splitlines()
    return [without_passing(json.loads(line)) for line in lines]


def outcome(folder: Path) -> tuple[Any, ...]:
    """Everything that must not depend on how often a run was stopped: patch, journal, other files."""
    artifacts = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted((folder / "attempt_0").rglob("*"))
        if path.is_file()
    }
    names = ("patch.diff", "cost.json", "selected_patch.json")
    result = json.loads((folder / "result.json").read_bytes())
    result.pop("experiments", None)
    return (
        [record for record in journal_of(folder) if not is_drawn(record)],
        artifacts,
        [(folder / n).read_bytes() for n in names],
        re.sub(r"\d+ experiments agree", "experiments agree", json.dumps(result)),
    )


def is_drawn(record: dict[str, Any]) -> bool:
    """Whether the record is of an experiment, whose random values the host draws again if they were not recorded."""
    record.pop("n", None)
    return record["event"] == "random" or "experiment" in record["request"]


def take_back(folder: Path, records: int) -> None:
    """Reset a finished run folder to the time when its journal had that many records."""
    journal, meta = folder / "journal.jsonl", folder / "meta.json"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:records]))
    shutil.rmtree(folder / "attempt_0")
    for name in ("patch.diff", "cost.json", "selected_patch.json", "result.json"):
        (folder / name).unlink()
    meta.write_text(json.dumps(json.loads(meta.read_bytes()) | {"state": "ready"}))


def strays(*folders: Path) -> list[Path]:
    """The temporary files that a run has left in these trees."""
    return [p for folder in folders for p in folder.rglob(".acr-*")]


def state_of(folder: Path) -> str:
    """The state in a run folder's meta.json."""
    return json.loads((folder / "meta.json").read_bytes())["state"]


def deep_digest(path: Path) -> dict[str, tuple[Any, ...]]:
    """Mode, owner, size, mtime and ctime in ns, inode and content of everything below a folder. Reading changes none of these."""
    found: dict[str, tuple[Any, ...]] = {}
    for folder, folders, names in os.walk(os.fsencode(path)):
        for name in [b".", *folders, *names]:
            entry = os.path.join(folder, name)
            at = os.lstat(entry)
            content: object = None
            if stat.S_ISREG(at.st_mode):
                with open(entry, "rb") as file:
                    content = hash(file.read())
            elif stat.S_ISLNK(at.st_mode):
                content = os.readlink(entry)
            times = (at.st_mtime_ns, at.st_ctime_ns, at.st_ino, at.st_nlink)
            found[os.fsdecode(entry)] = (at.st_mode, at.st_uid, at.st_size, *times, content)
    return found


def stop_in_call(host: Host, server: LoopbackOpenAI, number: int, arguments: Arguments, signal: int) -> Result:
    """Start a run on a server, send it a signal while its model call `number` (from 0) is waiting, and wait for the run's end."""
    server.fail(Failure("hang"), at=number)
    before = len(server.requests)
    child = host.start(*arguments, env=server.environment)
    server.wait_for(before + number + 1 - _answered(server, number))
    child.send_signal(signal)
    out, err = child.communicate(timeout=60)
    return Result([str(a) for a in arguments], child.returncode, out, err, 0)


def _answered(server: LoopbackOpenAI, number: int) -> int:
    """The number of answers before `number` that were given before this run."""
    return min(server.position, number)


def mounted(target: Path, *arguments: str) -> Iterator[Path]:
    """Mount something on a folder, yield the folder, unmount. Skips the test without the permission."""
    target.mkdir(exist_ok=True)
    command = ["mount", *arguments, str(target)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a file system of its own")
    try:
        yield target
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)


@contextlib.contextmanager
def small_disk(target: Path, kilobytes: int) -> Iterator[Path]:
    """A folder on a file system of that size."""
    yield from mounted(target, "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs")


def grow(disk: Path, kilobytes: int) -> None:
    """Resize a small disk."""
    options = f"remount,size={kilobytes}k"
    subprocess.run(["mount", "-o", options, str(disk)], check=True)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """A folder in which nothing can be written."""
    folder.mkdir(exist_ok=True)
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    for _ in mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield folder
