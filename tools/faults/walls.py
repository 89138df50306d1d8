"""Runs a command that can change nothing outside: a faulty program can only delete, fill or kill what belongs to it.

usage: unshare --mount --pid --ipc --net --fork --kill-child --mount-proc python3 walls.py WORK [VARIABLE...] --
COMMAND...

All file systems are read-only. /tmp, /var/tmp, /var/cache, /dev/shm and /run are new, in memory, and limited in size.
In the new /tmp, the contents of WORK and of the paths in the named variables are where they were, read-only except for
the folder WORK/written. The command has its own processes and loopback interface. Control groups (version 1), if
possible, limit memory and processes; the address space is always limited. When the command ends, the kernel kills
everything that it started.
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

NO_WALLS = 97  # exit code if the walls cannot be set up, so that nothing ran
MEMORY_BYTES = 6 << 30
ADDRESS_SPACE_BYTES = 16 << 30  # not for sanitizers
PROCESSES = 2000
HIDDEN = {"/tmp": "4g", "/var/tmp": "1g", "/var/cache": "64m", "/dev/shm": "2g", "/run": "64m"}
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def mount(*arguments: str) -> None:
    """Mount, or exit with mount's message."""
    done = subprocess.run(["mount", "-n", *arguments], capture_output=True, check=False, text=True)
    if done.returncode:
        print(f"walls.py: mount {' '.join(arguments)}: {done.stderr.strip()}", flush=True)
        sys.exit(NO_WALLS)


def mount_points() -> list[str]:
    """The mount points, in the order of mounting."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def hide(work: Path, kept: list[Path]) -> None:
    """Set up the file systems as described above."""
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
    """Bring up the loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack_from("16sH", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | _IFF_UP))


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    split = arguments.index("--")
    variables = [os.environ[name] for name in arguments[1:split] if os.environ.get(name)]
    hide(Path(arguments[0]), [Path(value) for value in variables])
    bound()
    raise_loopback()
    os.environ["TMPDIR"] = "/tmp"
    child = subprocess.Popen(arguments[split + 1 :], cwd="/tmp")
    while True:  # process 1 must also reap orphaned processes
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
