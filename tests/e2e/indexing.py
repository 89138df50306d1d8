"""Helpers for tests of index and cache: search calls, row counts, the workers of a run, generated histories."""

from __future__ import annotations

import base64
import contextlib
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

from host import SLOWNESS, Host, Result
from repos import Repo, make_repo

# In sanitizer builds, workers have no memory limit, and crashes end differently.
SANITIZED = SLOWNESS > 1
# The maximum size of an answer, and of a JSON line with an answer.
MAX_OUTPUT = 64 * 1024
# The files that a cache folder may have if no process is creating a database.
CACHE_FILES = {"outlines.sqlite" + end for end in ("", "-journal", "-lock")}
# Counts of `index --json` that are equal however often, and by however many workers, the index is built.
COUNTS = ("entries", "files", "symbols", "unparsable")
TIMES = ("snapshot_ms", "cache_ms", "outline_ms", "decode_ms", "index_ms")
MEMORY = ("peak_memory_kib", "worker_peak_memory_kib")


def eight_calls(cls: str = "C", method: str = "f", file: str = "a.py") -> list[str]:
    """One of each search call."""
    code = f"def {method}"
    return [
        f"search_class({cls!r})",
        f"search_class_in_file({cls!r}, {file!r})",
        f"search_method({method!r})",
        f"search_method_in_file({method!r}, {file!r})",
        f"search_method_in_class({method!r}, {cls!r})",
        f"search_code({code!r})",
        f"search_code_in_file({code!r}, {file!r})",
        f"get_code_around_line({file!r}, 1, 3)",
    ]


def search(host: Host, repo: object, calls: list[str], *options: object, timeout: float = 60) -> Result:
    """The answers as JSON lines: one per call, each of limited size; exit code 0 if all have code, else 1."""
    result = host.run("search", "--repo", repo, "--json", *options, *calls, timeout=timeout)
    rows = result.rows()
    assert [row["call"] for row in rows] == calls, result.told()
    result.check(0 if all(row["ok"] for row in rows) else 1)
    for row in rows:
        assert 0 < len(row["output"].encode()) <= MAX_OUTPUT, row["call"]
        assert row["results"] or not row["ok"], row["call"]
    return result


def index(host: Host, repo: object, *options: object, timeout: float = 60) -> dict[str, Any]:
    """The output of `index --json`: one object with plausible numbers."""
    result = host.run("index", "--repo", repo, "--json", *options, timeout=timeout).check()
    (row,) = result.rows()
    verbose = {"unparsable_files"} if "--verbose" in options else set()
    assert set(row) == {*COUNTS, "parsed", "cached", *TIMES, *MEMORY} | verbose
    assert all(row[name] >= 0 for name in set(row) - verbose)
    assert row["files"] <= row["entries"] and row["parsed"] + row["cached"] <= row["files"]
    assert row["cache_ms"] + row["outline_ms"] + row["decode_ms"] <= row["index_ms"] + 3
    return row


def counts(row: dict[str, Any]) -> dict[str, int]:
    """The counts that must be equal in two indexes of the same files."""
    return {name: row[name] for name in COUNTS}


def _name(value: str | dict[str, str]) -> bytes:
    """A file name from JSON, where it is text, or base64 if it is not UTF-8."""
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def reasons(row: dict[str, Any]) -> dict[str, str]:
    """File -> why it is searched as plain text."""
    return {os.fsdecode(_name(entry["file"])): entry["reason"] for entry in row["unparsable_files"]}


# ---- Workers ----


def workers(host: Host) -> list[int]:
    """The ids of the outlining processes that runs of this host have started, alive or not."""
    sessions, found = host.sessions(), []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and b"\0outline-worker\0" in Path("/proc", name, "cmdline").read_bytes():
                if int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[3]) in sessions:
                    found.append(int(name))
    return found


def processor_seconds(pid: int) -> float:
    """The CPU seconds of a process; 0 if it has ended."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(what: Callable[[], Any], seconds: float = 60 * SLOWNESS) -> Any:
    """The first answer that is true. Errors: AssertionError after that time."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def busy_worker(host: Host, seconds: float = 0.5 if SANITIZED else 0.25) -> int:
    """Wait for a worker that has worked so long that it must have a file."""
    return wait_until(lambda: next((p for p in workers(host) if processor_seconds(p) >= seconds), 0))


def all_gone(host: Host) -> bool:
    """Whether all workers end soon."""
    wait_until(lambda: not workers(host), 10 * SLOWNESS)
    return True


# ---- The cache ----


def cache_file(host: Host) -> Path:
    """The cache file of a host."""
    return host.home / "cache" / "acr-host" / "outlines.sqlite"


def check_cache(host: Host) -> int:
    """Check that the folder has only a valid database and its files; return the number of rows."""
    path = cache_file(host)
    assert {entry.name for entry in path.parent.iterdir()} <= CACHE_FILES
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return database.execute("SELECT count(*) FROM outline").fetchone()[0]


# ---- Repositories ----


def module(number: int, state: int, methods: int = 20) -> str:
    """A module with a class, functions and an alias; its content depends on `state`."""
    body = "".join(f"    def m{n}_{state}(self, a={n}):\n        return a + {number}\n\n" for n in range(methods))
    return (
        f"import os\n\nclass C{number}(Base):\n{body}\n"
        f"def shared(x):\n    return C{number}, {state}\n\nAlias{number} = C{number}\n"
    )


def history(path: Path, files: int, commits: int) -> tuple[Repo, list[str]]:
    """A repository in which each commit changes a quarter of the files; returns its commits, oldest first."""
    repo = make_repo(path, {f"pkg{n % 7}/mod{n}.py": module(n, 0) for n in range(files)})
    made = [repo.head]
    for state in range(1, commits):
        changed = range(state % 4, files, 4)
        made.append(repo.commit({f"pkg{n % 7}/mod{n}.py": module(n, state) for n in changed}))
    return repo, made


def slow_module(lines: int = 75_000 if SANITIZED else 150_000) -> str:
    """A module that takes several times as long to outline as `busy_worker` waits, with a class at its end."""
    return "x = 1\n" * lines + "class Slow:\n    def crawl(self):\n        return 1\n"


def limited(command: str) -> Callable[..., list[str]]:
    """The beginning of a command line that runs the rest after a shell command such as `ulimit -n 32`."""
    return lambda *rest: ["sh", "-c", f'{command}; exec "$@"', "sh", *map(str, rest)]


def run_command(host: Host, command: list[str], timeout: float = 60, **options: Any) -> Result:
    """Run any command in a host's environment."""
    begun = time.monotonic()
    done = subprocess.run(
        command, env=host.environment({}), capture_output=True, timeout=timeout, check=False, **options
    )
    return Result(command, done.returncode, done.stdout, done.stderr, time.monotonic() - begun)


@contextlib.contextmanager
def untouched(repo: Repo) -> Iterator[None]:
    """Check that nothing below the repository changes meanwhile, not even a time stamp."""
    from hostile import deep_digest

    before = deep_digest(repo.path)
    yield
    assert deep_digest(repo.path) == before
