"""What the tests of workers call in one: functions that say what they may do, hang and misbehave."""

from __future__ import annotations

import importlib
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def echo(argument: bytes) -> bytes:
    """Give the argument back."""
    return argument


def pid(argument: bytes) -> bytes:
    """The number of this process."""
    return b"%d" % os.getpid()


def write(argument: bytes) -> bytes:
    """Write a file into the working folder; where that is."""
    Path("file").write_bytes(argument)
    return os.fsencode(tempfile.gettempdir() if tempfile.gettempdir() == os.getcwd() else "elsewhere")


def hang(argument: bytes) -> bytes:
    """Never answer."""
    while True:
        time.sleep(1)


def crash(argument: bytes) -> bytes:
    """End the process."""
    os._exit(3)


def hold(argument: bytes) -> bytes:
    """Take more memory than there may be."""
    return b"x" * (1 << 33)


def attacks(package_dir: bytes) -> bytes:
    """Try what a worker must not be able to; the names of what worked."""
    worked = _worked(package_dir)
    planted = Path("zipapp.py")
    planted.write_text("raise SystemExit('planted')\n")
    sys.path.insert(0, os.getcwd())
    importlib.invalidate_caches()
    if importlib.import_module("zipapp").__file__ == str(planted.resolve()):
        worked.append("import")
    return ", ".join(worked).encode()


def outline_attacks(package_dir: bytes) -> bytes:
    """The same in place of an outline, where no folder is writable: the program that runs, and what worked."""
    return ", ".join([os.path.basename(os.readlink("/proc/self/exe")), *_worked(package_dir)]).encode()


def _worked(package_dir: bytes) -> list[str]:
    """The attacks that worked, and the variables that are not the worker's own."""
    tries: dict[str, Callable[[], object]] = {
        "fork": os.fork,
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "socket": socket.socket,
        "unix socket": lambda: socket.socket(socket.AF_UNIX),
        "kill": lambda: os.kill(os.getppid(), 0),
        "the host's environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "a file outside": lambda: Path("/etc/passwd").read_bytes(),
        "a list outside": lambda: os.listdir("/tmp"),
        "write outside": lambda: tempfile.mkstemp(dir="/tmp"),
        "write to the package": lambda: Path(os.fsdecode(package_dir), "acr", "new.py").write_bytes(b""),
        "a long file": lambda: Path("long").write_bytes(bytes(1 << 27)),
    }
    worked = [name for name, attack in tries.items() if _works(attack)]
    own = {"HOME", "TMPDIR", "LC_CTYPE"}
    return worked + [name for name in os.environ if name not in own and not name.startswith("MALLOC_")]


def _works(attack: Callable[[], object]) -> bool:
    try:
        attack()
    except (OSError, RuntimeError):
        return False
    return True
