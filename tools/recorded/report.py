"""Markdown tables over the results of replay_runs.py; pure functions of the result objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = "dict[str, Any]"
EXPECTED_SECONDS = 10.0
SLOWEST = 5
MAX_CELL = 240


def progress_line(done: int, total: int, row: Row) -> str:
    """One line for stderr after each run."""
    parts = [f"[{done}/{total}]", row["instance_id"], row["run"], row.get("kind", "")]
    if "exit" in row:
        parts += [f"exit {row['exit']}", f"{row['seconds']:.1f} s"]
    return " ".join(parts)


def expectations_met(row: Row) -> bool:
    """Whether an --expect run ended as a run may end, and stderr names no unmet expectation."""
    return row.get("exit") in (0, 1) and not row["unmet"]


def table(heads: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """A markdown table; cells are cut at MAX_CELL characters and made safe for one line."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [" ".join(str(cell).replace("|", "\\|").split())[:MAX_CELL] for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _count(rows: list[Row], field: str, *values: Any) -> int:
    return sum(1 for row in rows if row.get(field) in values)


def _totals(name: str, rows: list[Row]) -> list[Any]:
    ran = [row for row in rows if "exit" in row]
    odd = [row for row in ran if row["exit"] not in (0, 1)]
    none = [row for row in ran if row["kind"] == "none"]
    both_none = sum(1 for row in none if row["recorded_none"])
    slowest = max((row["seconds"] for row in ran), default=0.0)
    return [
        *(name, len(rows), len(rows) - len(ran)),
        *(_count(ran, "exit", 0), _count(ran, "exit", 1), len(odd)),
        *(
            _count(ran, "kind", "same"),
            _count(ran, "kind", "other"),
            len(none),
            both_none,
        ),
        f"{slowest:.1f}",
    ]


def totals_table(rows: list[Row]) -> str:
    """Per repository: how many runs, exits, comparisons, and the slowest run in seconds."""
    heads = "repository|runs|not run|exit 0|exit 1|exit other|same|other|none".split("|")
    heads += ["of none: recorded none too", "slowest s"]
    repos = sorted({row["repo"] for row in rows})
    lines = [_totals(repo, [row for row in rows if row["repo"] == repo]) for repo in repos]
    return table(heads, [*lines, _totals("**all**", rows)])


def differing(rows: list[Row]) -> list[Row]:
    """The runs whose outcome is not the recorded one."""
    ran = [row for row in rows if "exit" in row]
    return [
        row
        for row in ran
        if row["exit"] not in (0, 1) or row["kind"] == "other" or (row["kind"] == "none") != bool(row["recorded_none"])
    ]


def _differing_table(rows: list[Row]) -> str:
    heads = [
        "task",
        "run",
        "exit",
        "outcome",
        "difference",
        "statuses, stderr",
        "recorded then",
    ]
    lines = [
        [
            *(row["instance_id"], row["run"], row["exit"], row["kind"]),
            *(row.get("why", ""), row.get("reason", "")),
            ", ".join(row["recorded_statuses"]),
        ]
        for row in rows
    ]
    return table(heads, lines)


def _broken_properties(rows: list[Row]) -> list[list[str]]:
    return [
        [row["instance_id"], row["run"], name, message]
        for row in rows
        for name, message in row.get("properties", {}).items()
        if message
    ]


def _properties_part(rows: list[Row]) -> list[str]:
    checked = [row for row in rows if "properties" in row]
    if not checked:
        return []
    broken = _broken_properties(checked)
    diffs = sum(1 for row in checked if "git" in row["properties"])
    parts = [f"Properties: {len(checked)} runs checked ({diffs} diffs), {len(broken)} broken."]
    return parts + ([table(["task", "run", "property", "what"], broken)] if broken else [])


def _expect_part(rows: list[Row]) -> list[str]:
    asked = [row for row in rows if row["mode"].startswith("strict") and "exit" in row]
    if not asked:
        return []
    unmet = [row for row in asked if not expectations_met(row)]
    met = len(asked) - len(unmet)
    parts = [f"Expectations: met in {met} of {len(asked)} runs ({percent(met, len(asked))})."]
    lines = [[r["instance_id"], r["run"], r["exit"], r["unmet"] or r["stderr_tail"]] for r in unmet]
    return parts + ([table(["task", "run", "exit", "message"], lines)] if lines else [])


def percent(part: int, whole: int) -> str:
    """A share as text with one digit; "-" of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _grade_line(name: str, rows: list[Row]) -> list[Any]:
    able = [r for r in rows if not r["graded"]["why"].startswith("no environment")]
    again = sum(1 for r in able if r["graded"]["resolved"])
    return [name, len(rows), len(able), again, percent(again, len(able))]


def _grade_part(rows: list[Row]) -> list[str]:
    graded = [row for row in rows if "graded" in row]
    if not graded:
        return []
    repos = sorted({row["repo"] for row in graded})
    lines = [_grade_line(repo, [r for r in graded if r["repo"] == repo]) for repo in repos]
    heads = ["repository", "recorded as resolved", "graded", "resolved again", "share"]
    parts = [table(heads, [*lines, _grade_line("**all**", graded)])]
    missed = [r for r in graded if not r["graded"]["resolved"]]
    rest = [[r["instance_id"], r["run"], r["kind"], r["graded"]["why"]] for r in missed]
    return parts + ([table(["task", "run", "change", "why not"], rest)] if rest else [])


def _slowest_part(rows: list[Row]) -> list[str]:
    ran = sorted((r for r in rows if "exit" in r), key=lambda r: -r["seconds"])
    if not ran:
        return []
    late = sum(1 for r in ran if r["seconds"] > EXPECTED_SECONDS)
    names = [f"{r['instance_id']} {r['run']} {r['seconds']:.1f} s" for r in ran[:SLOWEST]]
    return [f"Over {EXPECTED_SECONDS:.0f} s: {late}. Slowest: {', '.join(names)}."]


def summary(rows: list[Row]) -> str:
    """All tables, as markdown; parts that were not asked for are left out."""
    parts = [totals_table(rows), *_slowest_part(rows)]
    unlike = differing(rows)
    if unlike:
        parts += [
            f"{len(unlike)} runs differ from the recorded outcome:",
            _differing_table(unlike),
        ]
    parts += [*_properties_part(rows), *_expect_part(rows), *_grade_part(rows)]
    return "\n\n".join(parts)
