"""The fault table: all rows, and the plays of a server that has all rows."""

from __future__ import annotations

from . import rows_answers, rows_failures, rows_servers, rows_streams
from .play import Play
from .table import Scenario

SCENARIOS: tuple[Scenario, ...] = (*rows_streams.ROWS, *rows_failures.ROWS, *rows_answers.ROWS, *rows_servers.ROWS)


def all_plays() -> dict[str, tuple[Play, ...]]:
    """The plays of every row, by the name of the row's model; rows with the same model share the plays of the first row."""
    plays: dict[str, tuple[Play, ...]] = {}
    for row in SCENARIOS:
        if row.plays:
            plays.setdefault(row.model or row.name, row.plays)
    return plays
