"""Runs a command where it can change nothing: what a faulty program deletes, fills or kills is its own.

usage: unshare --mount --pid --ipc --net --fork --kill-child --mount-proc python3 walls.py WORK [VARIABLE...] -- COMMAND...

All file systems are read-only. /tmp, /var/tmp, /var/cache, /dev/shm and /run are new, in memory and of bounded size; in the new /tmp
what lies below WORK, and what the named variables name, is where it was, read-only, but for the folder WORK/written. The
command is among processes and on a loopback interface of its own; memory and processes are bounded by control groups
where they can be made (version 1), address space everywhere. When it ends, all that it started is ended by the kernel.
"""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import struct
import subprocess
import sys
from pathlib import Path

NO_WALLS = 97  # the exit code where they cannot be put up: nothing was run
MEMORY_BYTES = 6 << 30
ADDRESS_SPACE_BYTES = 16 << 30  # sanitizers are run without it
PROCESSES = 2000
HIDDEN = {"/tmp": "4g", "/var/tmp": "1g", "/var/cache": "64m", "/dev/shm": "2g", "/run": "64m"}
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def mount(*arguments: str) -> None:
    """Mount, or end with what mount says."""
    done = subprocess.run(["mount", "-n", *arguments], capture_output=True, check=False, text=True)
    if done.returncode:
        print(f"walls.py: mount {' '.join(arguments)}: {done.stderr.strip()}", flush=True)
        sys.exit(NO_WALLS)


def mount_points() -> list[str]:
    """Where something is mounted, in the order of mounting."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def hide(work: Path, kept: list[Path]) -> None:
    """Make the file systems what the text above says."""
    mount("--make-rprivate", "/")
    stage = work / "stage"
    stage.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={HIDDEN['/tmp']},mode=1777", "tmpfs", str(stage))
    for path in [work, *kept]:
        if path.is_relative_to("/tmp"):
            there = stage / path.relative_to("/tmp")
            there.mkdir(parents=True, exist_ok=True)
            mount("--bind", str(path), str(there))
            mount("-o", "remount,bind,ro", str(there))
    written = stage / (work / "written").relative_to("/tmp")
    mount("--bind", str(work / "written"), str(written))
    for point in dict.fromkeys(mount_points()):
        if not point.startswith(("/proc", "/sys", "/tmp/", str(stage))):
            mount("-o", "remount,bind,ro", point)
    mount("--move", str(stage), "/tmp")
    for folder, size in HIDDEN.items():
        if folder != "/tmp" and Path(folder).is_dir():
            mount("-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", folder)


def bound() -> None:
    """Limit memory, processes and core files."""
    for controller, limits in (
        ("memory", {"memory.limit_in_bytes": MEMORY_BYTES}),
        ("pids", {"pids.max": PROCESSES}),
    ):
        group = Path("/sys/fs/cgroup", controller, os.environ["ACR_FAULTS_GROUP"])
        if group.is_dir():
            for name, value in limits.items():
                (group / name).write_text(str(value), encoding="ascii")
            (group / "cgroup.procs").write_text("0", encoding="ascii")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not os.environ.get("ASAN_OPTIONS"):
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))


def raise_loopback() -> None:
    """Let 127.0.0.1 be reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack_from("16sH", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | _IFF_UP))


def main(arguments: list[str]) -> int:
    """Run the command; its exit code."""
    split = arguments.index("--")
    variables = [os.environ[name] for name in arguments[1:split] if os.environ.get(name)]
    hide(Path(arguments[0]), [Path(value) for value in variables])
    bound()
    raise_loopback()
    os.environ["TMPDIR"] = "/tmp"
    child = subprocess.Popen(arguments[split + 1 :], cwd="/tmp")
    while True:  # this is process 1 there: it also reaps what others leave
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
