"""How a run of a script ended: its exit and the tracebacks on its standard error."""

from __future__ import annotations

import re

_FRAME = re.compile(r'[ |]*File "(.*)", line (\d+)')
_START = "Traceback (most recent call last):"
MAX_SHOWN = 120  # characters of a line that a table repeats


class Traceback:
    """One traceback: its frames as (file, line), outermost first, and the line that names the exception."""

    def __init__(self, rows: list[str]) -> None:
        self.frames: list[tuple[str, int]] = []
        self.last = ""
        for row in rows:
            frame = _FRAME.match(row)
            if frame:
                self.frames.append((frame[1], int(frame[2])))
            elif row.strip(" |") and not row.lstrip("|").startswith(("  ", " |")):
                self.last = row
                break

    @property
    def error(self) -> str:
        """The exception's name without its module."""
        return self.last.partition(":")[0].split(".")[-1].strip()

    def lines(self, file: str) -> list[int]:
        return [line for name, line in self.frames if name == file or name.endswith("/" + file)]


class Outcome:
    """How a run ended. `file`: the script's name in tracebacks; `ended`: no limit and no signal stopped the run."""

    def __init__(self, code: int, ended: bool, err: bytes, out: bytes, file: str) -> None:
        self.code, self.ended, self.file = code, ended, file
        self.err, self.out = err.decode("utf-8", "replace"), out.decode("utf-8", "replace")
        rows = [row.rstrip() for row in self.err.split("\n")]
        starts = [at for at, row in enumerate(rows) if row.endswith(_START)]
        self.tracebacks = [Traceback(rows[at + 1 :]) for at in starts]

    @property
    def passed(self) -> bool:
        return self.ended and self.code == 0

    @property
    def failed(self) -> bool:
        return self.ended and self.code != 0

    def assertion(self) -> Traceback | None:
        """The last traceback of an AssertionError that passes through the script."""
        found = [at for at in self.tracebacks if at.error == "AssertionError" and at.lines(self.file)]
        return found[-1] if found and self.failed else None

    def says(self, word: str) -> bool:
        """Whether the script failed with an exception that contains the word."""
        return self.failed and (word in self.err or word in self.out)

    def describe(self, changed_line: str = "") -> str:
        """`changed_line`: the line of the user's script that the experiment changed, e.g. "line 4"."""
        if not self.ended:
            return "hit a limit or was ended by a signal"
        if self.passed:
            return "the script passed"
        through = [at for at in self.tracebacks if at.lines(self.file)] or self.tracebacks
        if not through:
            return f"exit {self.code} without a traceback"
        lines = through[-1].lines(self.file)
        if lines and re.fullmatch("AssertionError: [a-z]{16}", through[-1].last):  # raised by an added line
            return "failed at the changed assertion" + (f" ({changed_line} of the script)" if changed_line else "")
        where = f" (line {lines[-1]})" if lines else ""
        return f"failed with {through[-1].last[:MAX_SHOWN] or 'an error'}{where}"
