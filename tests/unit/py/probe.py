"""Functions that the tests of runtime/py call: they return, raise, hang or misbehave."""

from __future__ import annotations

import sys
import time

from acr.deadline import Deadline


def echo(argument: bytes) -> bytes:
    """Return the argument."""
    return argument


def facts(argument: bytes) -> bytes:
    """Describe how the interpreter was started, one fact per line."""
    shown = [
        sys.flags.isolated,
        sys.flags.utf8_mode,
        sys.dont_write_bytecode,
        sys.executable,
        sys.getfilesystemencoding(),
        sys.flags.hash_randomization,
        "site" in sys.modules,
        "pylint" in sys.modules,
    ]
    return "\n".join(map(str, shown)).encode()


def hash_of_text(argument: bytes) -> bytes:
    """Return a number that varies between starts if hashes are random."""
    return str(hash(argument.decode())).encode()


def search_path(argument: bytes) -> bytes:
    """Return sys.path, one entry per line."""
    return "\n".join(sys.path).encode()


def raise_value(argument: bytes) -> bytes:
    """Raise with the argument as text."""
    raise ValueError(argument.decode())


def raise_plain(argument: bytes) -> bytes:
    """Raise without a text."""
    raise KeyError


def raise_silent(argument: bytes) -> bytes:
    """Raise an exception that cannot be shown."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    raise Mute


def raise_surrogate(argument: bytes) -> bytes:
    """Raise with a text that is not UTF-8."""
    raise ValueError("a\udc80b")


def raise_exit(argument: bytes) -> bytes:
    """Exit."""
    sys.exit(3)


def raise_interrupt(argument: bytes) -> bytes:
    """Raise the exception of Ctrl-C."""
    raise KeyboardInterrupt


def raise_syntax(argument: bytes) -> bytes:
    """Compile invalid code."""
    compile("x = 1\ny = )\n", "odd.py", "exec")
    return b""


def raise_import(argument: bytes) -> bytes:
    """Import a missing module."""
    import no_such_module_anywhere  # noqa: F401

    return b""


def raise_memory(argument: bytes) -> bytes:
    """Request more memory than there is."""
    return bytes(1 << 62)


def recurse(argument: bytes) -> bytes:
    """Recurse forever."""
    return recurse(argument)


def not_bytes(argument: bytes) -> str:
    """Return the wrong type."""
    return "text"


def spin(argument: bytes) -> bytes:
    """Never return."""
    while True:
        pass


def spin_for(argument: bytes) -> bytes:
    """Use the CPU for that many milliseconds."""
    end = time.monotonic() + int(argument) / 1000
    while time.monotonic() < end:
        pass
    return b"done"


def spin_careless(argument: bytes) -> bytes:
    """Never return, and catch `Exception`."""
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


def spin_swallowing(argument: bytes) -> bytes:
    """Swallow the deadline once, then return normally."""
    try:
        while True:
            pass
    except BaseException:
        return b"half"


def spin_stubborn(argument: bytes) -> bytes:
    """Swallow the deadline three times."""
    for _ in range(3):
        try:
            while True:
                pass
        except Deadline:
            pass
    while True:
        pass


def sleep(argument: bytes) -> bytes:
    """Wait for that many milliseconds in C code, which no exception can interrupt."""
    time.sleep(int(argument) / 1000)
    return b"slept"
