"""Runs the program on a pty whose output a small terminal emulator (pyte) shows; records the screen each time the program is about to redraw it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from host import Host, kill

ROWS = 300  # so many that nothing scrolls away
_WIPE = re.compile(rb"(?=\r(?:\x1b\[\d+A)?\x1b\[K\x1b\[C\x1b\[J\r)")


@dataclass(frozen=True)
class Shown:
    """The output to a terminal: the exit code, the bytes, the lines on the screen each time before the block was erased, and the lines at the end."""

    exit: int
    raw: bytes
    views: list[list[str]]
    lines: list[str]


def _lines(screen: Any) -> list[str]:
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _watch(raw: bytes, columns: int) -> tuple[list[list[str]], list[str]]:
    pyte = pytest.importorskip("pyte", reason="python3-pyte is not installed")
    screen = pyte.Screen(columns, ROWS)
    stream = pyte.ByteStream(screen)
    views = []
    for number, piece in enumerate(_WIPE.split(raw)):
        if number:
            views.append(_lines(screen))
        stream.feed(piece)
    return views, _lines(screen)


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def on_screen(
    host: Host,
    *args: object,
    columns: int = 80,
    env: Mapping[str, str | None] | None = None,
    meanwhile: Callable[[Callable[[bytes], None]], None] | None = None,
) -> Shown:
    """Run the program to its end with all three streams on a new terminal. `meanwhile(press)` is called once the
    program has written something; press(b"\x03") is Ctrl-C."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    streams = {"stdin": slave, "stdout": slave, "stderr": slave, "preexec_fn": _own_terminal}
    child = host.start(*args, env={"TERM": "xterm-256color", **(env or {})}, **streams)
    os.close(slave)
    raw = b""
    try:
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the last process with the terminal open has ended
                break
            if not piece:
                break
            raw += piece
            if meanwhile:
                meanwhile(lambda keys: None if os.write(master, keys) else None)
                meanwhile = None
        code = child.wait(60)
    finally:
        kill(child)
        os.close(master)
    return Shown(code, raw, *_watch(raw, columns))
