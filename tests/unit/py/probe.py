"""What the tests of runtime/py call: functions that answer, raise, hang and misbehave."""

from __future__ import annotations

import sys
import time

from acr.deadline import Deadline


def echo(argument: bytes) -> bytes:
    """Give the argument back."""
    return argument


def facts(argument: bytes) -> bytes:
    """How the interpreter was started, one fact a line."""
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
    """A number that differs from start to start where hashes are random."""
    return str(hash(argument.decode())).encode()


def search_path(argument: bytes) -> bytes:
    """sys.path, one entry a line."""
    return "\n".join(sys.path).encode()


def raise_value(argument: bytes) -> bytes:
    """Raise with the argument as text."""
    raise ValueError(argument.decode())


def raise_plain(argument: bytes) -> bytes:
    """Raise without a text."""
    raise KeyError


def raise_silent(argument: bytes) -> bytes:
    """Raise what cannot be shown."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    raise Mute


def raise_surrogate(argument: bytes) -> bytes:
    """Raise a text that is no UTF-8."""
    raise ValueError("a\udc80b")


def raise_exit(argument: bytes) -> bytes:
    """Leave."""
    sys.exit(3)


def raise_interrupt(argument: bytes) -> bytes:
    """Raise what a terminal's Ctrl-C would."""
    raise KeyboardInterrupt


def raise_syntax(argument: bytes) -> bytes:
    """Compile what does not compile."""
    compile("x = 1\ny = )\n", "odd.py", "exec")
    return b""


def raise_import(argument: bytes) -> bytes:
    """Import what is not there."""
    import no_such_module_anywhere  # noqa: F401

    return b""


def raise_memory(argument: bytes) -> bytes:
    """Ask for more memory than there is."""
    return bytes(1 << 62)


def recurse(argument: bytes) -> bytes:
    """Call itself for ever."""
    return recurse(argument)


def not_bytes(argument: bytes) -> str:
    """Give the wrong type."""
    return "text"


def spin(argument: bytes) -> bytes:
    """Never end."""
    while True:
        pass


def spin_for(argument: bytes) -> bytes:
    """Be busy for that many milliseconds."""
    end = time.monotonic() + int(argument) / 1000
    while time.monotonic() < end:
        pass
    return b"done"


def spin_careless(argument: bytes) -> bytes:
    """Never end, and catch what ordinary code catches."""
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


def spin_swallowing(argument: bytes) -> bytes:
    """Swallow the deadline once, then answer as if nothing had been."""
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
    """Wait in C code, where no exception comes through, for that many milliseconds."""
    time.sleep(int(argument) / 1000)
    return b"slept"
