"""Quotes foreign text in Markdown as code, without mentions or commands for forges; breaks up words that close issues."""

from __future__ import annotations

import re
from typing import Any

from acr.report.plain import line_of, shortened

# Words that close an issue on GitHub, Gitea or GitLab, which has the most words and also closes Jira's issues.
_CLOSING = re.compile(
    r"((?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)(?:\s*:\s*|\s+)(?:issues?\s+)?)"
    r"(?=[\w./-]*[#!]\d|https?:|[A-Za-z][A-Za-z0-9_]*-\d)(\S+)",
    re.IGNORECASE,
)
# Phrases anywhere in a commit's message that make CI systems skip the commit.
_SKIPPING = re.compile(r"\[((?:skip|no)[ _-][\w -]+|[\w -]+[ _-]skip)\]|\*\*\*(NO_CI)\*\*\*", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>~@&-])")


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it unchanged."""
    return _SPECIAL.sub(r"\\\1", text)


def disarmed(text: str) -> str:
    """The text, in which no word before an issue's number closes that issue."""
    return _CLOSING.sub(r"\1[\2]", text)


def plain_line(value: Any, limit: int) -> str:
    """Foreign text as one line outside code, changed so that forges find no mention, issue or command in it."""
    line = _SKIPPING.sub(r"(\1\2)", line_of(value, limit * 4))
    return re.sub(
        r"(?<=[@#])(?=\w)|(?<=!)(?=\d)|(?<=GH-)(?=\d)", " ", disarmed(shortened(line, limit)).replace("://", ": //")
    )


def code(value: Any, limit: int = 300) -> str:
    """Foreign text as one line of code."""
    line = disarmed(line_of(value, limit)) or "-"
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    blank = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{blank}{line}{blank}{ticks}"


def block(kind: str, text: str) -> str:
    """Foreign text as a block of code; no line of it begins with a slash, as commands of GitLab do."""
    shown = re.sub(r"(?m)^/", " /", disarmed(text)).rstrip()
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    return f"{fence}{kind}\n{shown}\n{fence}\n"


def markdown_table(rows: list[list[str]], longest: int) -> str:
    """The first row is the head; of each cell, at most `longest` characters are shown."""
    head, *each = ([escaped(plain_line(shortened(cell, longest), 300)) for cell in row] for row in rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *each])


def aligned(rows: list[list[str]]) -> list[str]:
    """The lines of the same table as plain text."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)) for row in rows]
