"""Measurements as rows, and how rows are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from timing import Comparison, Times


@dataclass(frozen=True)
class Row:
    """A line of the speed table. `value` is in `unit`; `target` is its maximum, None if there is none; `ours` and
    `peer` describe what was compared."""

    row: str
    what: str
    value: float
    unit: str
    target: float | None = None
    ours: str = ""
    peer: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.value <= self.target


def milliseconds(times: Times) -> str:
    """Median and minimum, as text."""
    return f"{times.median * 1e3:.1f} ({times.least * 1e3:.1f}) ms"


def ratio_row(row: str, what: str, found: Comparison, target: float | None, peer: str) -> Row:
    """A row for a comparison: the ratio of the medians, and next to it the ratios of the minima and of CPU time."""
    beside = f"minima x {found.least_ratio:.2f}, cpu x {found.cpu_ratio:.2f}"
    ours = f"{milliseconds(found.ours)}, {beside}"
    theirs = f"{peer}: {milliseconds(found.peer)}"
    return Row(row, what, found.ratio, "x", target, ours, theirs)


def _verdict(row: Row) -> str:
    """The last column."""
    return {None: "", True: "met", False: "NOT MET"}[row.met]


def _cells(row: Row) -> tuple[str, ...]:
    """The row as text, one string per column."""
    digits = 2 if row.unit == "x" else 1
    target = "" if row.target is None else f"<= {row.target:g} {row.unit}"
    value = f"{row.value:.{digits}f} {row.unit}"
    return (row.row, row.what, value, target, _verdict(row), row.ours, row.peer)


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded columns, so that the source is readable, too."""
    cells = [[cell.replace("|", "\\|") for cell in line] for line in [head, *lines]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    rule = ["-" * width for width in widths]
    padded = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |" for line in [cells[0], rule, *cells[1:]]
    ]
    return "\n".join(padded) + "\n"


def render(rows: Sequence[Row]) -> str:
    """The speed table."""
    head = ("row", "what", "value", "target", "", "ours: median (min)", "beside it")
    return markdown(head, [_cells(row) for row in rows])


def to_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as plain data, with the verdict."""
    return [asdict(row) | {"met": row.met} for row in rows]
