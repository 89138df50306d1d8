"""Measures the private anonymous memory of a process and all its descendants, sampled while they run.

The kernel's `Pss_Anon` counts each anonymous page once among the processes that share it. File pages, which the kernel
can drop at any time, do not count.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from timing import TIMEOUT_SECONDS, BenchError, Command

INTERVAL_SECONDS = 0.003
_ANON = re.compile(rb"^Pss_Anon:\s+(\d+) kB", re.MULTILINE)
_PRIVATE = re.compile(rb"^Private_Dirty:\s+(\d+) kB", re.MULTILINE)


def family(pid: int) -> list[int]:
    """The ids of the process and its present descendants."""
    found = [pid]
    for parent in found:
        try:
            tasks = list(Path(f"/proc/{parent}/task").iterdir())
            children = [(task / "children").read_text() for task in tasks]
        except OSError:
            continue
        found += [int(child) for text in children for child in text.split()]
    return found


def anonymous_kib(pid: int) -> int:
    """The anonymous memory of one process in KiB; 0 if the process has ended.

    Errors: BenchError if the kernel does not report it.
    """
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError as error:
        raise BenchError(f"cannot read the memory of a process: {error}") from error
    found = _ANON.search(text) or _PRIVATE.search(text)
    return int(found[1]) if found else 0


def peak_kib(command: Command) -> int:
    """The largest observed total while the process ran, in KiB. Errors: BenchError."""
    null = subprocess.DEVNULL
    process = subprocess.Popen(command.argv, env=command.env, stdin=subprocess.PIPE, stdout=null, stderr=null)
    assert process.stdin
    process.stdin.write(command.stdin)
    process.stdin.close()
    peak, end = 0, time.monotonic() + TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < end:
        peak = max(peak, sum(anonymous_kib(pid) for pid in family(process.pid)))
        time.sleep(INTERVAL_SECONDS)
    if process.poll() is None:
        process.kill()
    command.check(process.wait(), b"")
    return peak
