"""Private anonymous memory of a process and all its descendants together, sampled while they run.

The kernel's `Pss_Anon` counts each anonymous page once among those who share it; file pages, which
the kernel can drop at any time, do not count.
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
    """The process and all its descendants that are there now."""
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
    """The anonymous memory of one process in KiB; 0 where it is gone.

    Errors: BenchError where the kernel does not tell.
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
    """The largest sum that was seen while the process ran, in KiB. Errors: BenchError."""
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
