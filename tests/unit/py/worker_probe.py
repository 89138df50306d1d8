"""Functions that the tests call in a worker: they report what they may do, hang or misbehave."""

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
    """Return the argument."""
    return argument


def pid(argument: bytes) -> bytes:
    """Return the id of this process."""
    return b"%d" % os.getpid()


def write(argument: bytes) -> bytes:
    """Write a file into the working folder, and return that folder."""
    Path("file").write_bytes(argument)
    return os.fsencode(tempfile.gettempdir() if tempfile.gettempdir() == os.getcwd() else "elsewhere")


def hang(argument: bytes) -> bytes:
    """Never return."""
    while True:
        time.sleep(1)


def crash(argument: bytes) -> bytes:
    """End the process."""
    os._exit(3)


def hold(argument: bytes) -> bytes:
    """Allocate more memory than is allowed."""
    return b"x" * (1 << 33)


def attacks(package_dir: bytes) -> bytes:
    """Try what a worker must not be able to do; return the names of the attempts that succeeded."""
    worked = _worked(package_dir)
    planted = Path("zipapp.py")
    planted.write_text("raise SystemExit('planted')\n")
    sys.path.insert(0, os.getcwd())
    importlib.invalidate_caches()
    if importlib.import_module("zipapp").__file__ == str(planted.resolve()):
        worked.append("import")
    return ", ".join(worked).encode()


def outline_attacks(package_dir: bytes) -> bytes:
    """The same for a worker that outlines, in which no folder is writable: the running program, and the successful attempts."""
    return ", ".join([os.path.basename(os.readlink("/proc/self/exe")), *_worked(package_dir)]).encode()


def _worked(package_dir: bytes) -> list[str]:
    """Return the attempts that succeeded, and the environment variables that a worker should not have."""
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
