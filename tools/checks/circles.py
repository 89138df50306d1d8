"""Rejects circles inside a room: headers that include each other, and .c files that call each other in a circle.

usage: circles.py [ROOT]; one line per circle, exit 1 if there is one. A .c file depends on another of its room if it
names a function that the other file defines and exports; a table of functions counts, a call through a pointer does
not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import c_code
import source

# The files of an accepted circle, relative to the root -> the reason.
ALLOWED: dict[frozenset[str], str] = {}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
Graph = dict[str, set[str]]


def include_graph(root: Path) -> Graph:
    """Header -> headers of the same folder that it includes."""
    graph: Graph = {}
    for side in ("native", "runtime"):
        for path in source.files(root / side, ".h"):
            inside = path.relative_to(root)
            for name in _INCLUDE.findall(source.without_comments(source.read(path))):
                included = inside.parent / Path(name).name
                if name in (included.name, f"{inside.parent.name}/{included.name}") and (root / included).is_file():
                    graph.setdefault(str(inside), set()).add(str(included))
    return graph


def call_graph(files: list[c_code.File]) -> Graph:
    """.c file -> .c files of the same folder whose exported functions it names."""
    owner = {
        (file.path.parent, function.name): str(file.path)
        for file in files
        if file.path.suffix == ".c"
        for function in file.functions
        if not function.static
    }
    graph: Graph = {}
    for file in files:
        if file.path.suffix == ".c":
            named = {owner.get((file.path.parent, word)) for word in set(c_code.WORD.findall(file.code))}
            graph[str(file.path)] = {other for other in named if other and other != str(file.path)}
    return graph


def circles(graph: Graph) -> Iterator[list[str]]:
    """The groups of nodes that can reach each other, each sorted."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for node in graph.get(waiting.pop(), set()) - seen:
                seen.add(node)
                waiting.append(node)
        return seen

    reached = {node: reach(node) for node in graph}
    found = {frozenset(other for other in reached[node] if node in reached.get(other, set())) for node in graph}
    yield from (sorted(circle) for circle in found if circle)


def check(root: Path) -> Iterator[str]:
    """All findings."""
    for what, graph in (("include", include_graph(root)), ("call", call_graph(c_code.program(root)))):
        for circle in circles(graph):
            if frozenset(circle) not in ALLOWED:
                yield f"{circle[0]}: {what} each other in a circle: {' '.join(Path(path).name for path in circle)}"


if __name__ == "__main__":
    source.run(check)
