"""run_and_reap.py COMMAND...: runs a test, kills the processes that it leaves running, and fails if there were any.

Orphaned processes become children of this one (Linux), so none can escape: the server of a fixture that failed, the
helper of a container engine, a command in a new session. The exit code is the test's, or 1. Temporary files are in
`$ACR_MEMORY`, a folder in memory, unless `$ACR_ON_DISK` is set. If `$ACR_TIMES` names a file, each test appends a line
to it: elapsed, user and system seconds of all its processes, and its command.

This program starts for each test, so it avoids modules that take longer to load than it runs (subprocess, tempfile,
shutil, pathlib, glob).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_SECONDS = 15  # for processes that are just ending
LEFT_OVER = 1
SKIPPED = 77


def reap() -> None:
    """Forget children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def threads_of(pid: int) -> list[str]:
    """The threads of a process; none if it has ended."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def descendants() -> list[int]:
    """All descendants of this process, each before its children."""
    found = [os.getpid()]
    for pid in found:
        for thread in threads_of(pid):
            try:
                with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as pids:
                    found += map(int, pids.read().split())
            except OSError:
                continue  # it has just ended
    return found[1:]


def command_of(pid: int) -> str:
    """A process's command line, for a report."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as words:
            return words.read().replace("\0", " ").strip()
    except OSError:
        return "(ended)"


def left_over() -> list[str]:
    """Kill the processes that still run after some time; return one line for each."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (pids := descendants()) and time.monotonic() < until:
        time.sleep(0.02)
        reap()
    told = [f"{pid} {command_of(pid)}" for pid in pids]
    until = time.monotonic() + PATIENCE_SECONDS
    while pids and time.monotonic() < until:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)
        reap()
        pids = descendants()
    return told


def note_times(path: str, begun: float, command: list[str]) -> None:
    """Append a line about a test that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.monotonic() - begun
    with open(path, "a", encoding="utf-8") as times:
        times.write(f"{wall:.2f} {used.ru_utime:.2f} {used.ru_stime:.2f} {' '.join(command)}\n")


def temporary_folder(parent: str) -> str:
    """Create a folder for the test's temporary files; like /tmp, other users may enter its parents."""
    folder = os.path.join(parent, f"tmp-{os.getpid()}")  # a patch may ask whether it runs below a "/tmp"
    os.mkdir(folder)
    os.chmod(folder, 0o1777)
    os.environ["TMPDIR"] = folder
    return folder


def remove(folder: str) -> None:
    """Remove as much of the folder as possible."""
    quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    os.waitpid(os.posix_spawnp("rm", ["rm", "-rf", folder], os.environ, file_actions=quiet), 0)


def main(command: list[str]) -> int:
    """Run the command; return its exit code, or 1 if it left processes running."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("run_and_reap.py: orphans cannot be adopted here")
    memory = "" if os.environ.get("ACR_ON_DISK") else os.environ.get("ACR_MEMORY")
    folder = temporary_folder(memory) if memory else ""
    begun = time.monotonic()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    try:
        # Python ignores these two signals.
        test = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    except OSError as error:
        sys.exit(f"run_and_reap.py: {command[0]}: {error.strerror}")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the test gets SIGINT too, and ends by itself
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == test:
            break
    code = os.waitstatus_to_exitcode(status)
    told = left_over()
    for line in told:
        print(f"left running by this test: {line}", flush=True)
    if folder:
        remove(folder)
    if times := os.environ.get("ACR_TIMES"):
        note_times(times, begun, command)
    if code < 0:
        print(f"the test was ended by signal {-code}", flush=True)
        return 128 - code
    return LEFT_OVER if told and code in (0, SKIPPED) else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
