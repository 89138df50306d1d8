"""The literature's way, in plain Python: dictionaries from ast at the start, files read again for text.

usage: plain_search.py FOLDER; reads calls from stdin, prints `ready` when the dictionaries are made,
then for each call one line of JSON: {"ok", "output"}. It is a peer to measure against, so it is
written as one would write it without a thought of speed, and does less than the program.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Callable, NamedTuple

SHOWN = 3
CONTEXT = 3


class Place(NamedTuple):
    """Lines of a file, from 1, both included."""

    file: str
    first: int
    last: int


class PlainSearch:
    """Answers symbol calls from dictionaries, and text calls by going through all files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = sorted(str(p.relative_to(root)) for p in root.rglob("*.py"))
        self.classes: dict[str, list[Place]] = defaultdict(list)
        self.methods: dict[str, dict[str, list[Place]]] = defaultdict(dict)
        self.functions: dict[str, list[Place]] = defaultdict(list)
        for name in self.files:
            self._add_file(name)

    def _add_file(self, name: str) -> None:
        try:
            tree = ast.parse((self.root / name).read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._add_class(name, node)
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[node.name].append(_place(name, node))

    def _add_class(self, name: str, node: ast.ClassDef) -> None:
        self.classes[node.name].append(_place(name, node))
        for inner in ast.walk(node):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found = self.methods[node.name].setdefault(inner.name, [])
                found.append(_place(name, inner))

    def search_class(self, class_name: str) -> list[Place]:
        """Where classes of that name are."""
        return self.classes.get(class_name, [])

    def search_class_in_file(self, class_name: str, file_name: str) -> list[Place]:
        """The same in files whose path ends so."""
        return _in_file(self.search_class(class_name), file_name)

    def search_method(self, method_name: str) -> list[Place]:
        """Where functions and methods of that name are."""
        found = list(self.functions.get(method_name, []))
        for methods in self.methods.values():
            found += methods.get(method_name, [])
        return found

    def search_method_in_file(self, method_name: str, file_name: str) -> list[Place]:
        """The same in files whose path ends so."""
        return _in_file(self.search_method(method_name), file_name)

    def search_method_in_class(self, method_name: str, class_name: str) -> list[Place]:
        """The methods of that name in classes of that name."""
        return self.methods.get(class_name, {}).get(method_name, [])

    def search_code(self, code_str: str) -> list[Place]:
        """The lines that hold the text, with three around each, file after file."""
        return [place for name in self.files for place in self._text(name, code_str)]

    def search_code_in_file(self, code_str: str, file_name: str) -> list[Place]:
        """The same in files whose path ends so."""
        names = [name for name in self.files if name.endswith(file_name)]
        return [place for name in names for place in self._text(name, code_str)]

    def get_code_around_line(self, file_name: str, line_number: int, window_size: int) -> list[Place]:
        """The lines around one of the files whose path ends so."""
        names = [name for name in self.files if name.endswith(file_name)]
        first = max(1, line_number - window_size)
        return [Place(name, first, line_number + window_size) for name in names]

    def _text(self, name: str, wanted: str) -> list[Place]:
        text = (self.root / name).read_text(encoding="utf-8", errors="replace")
        found = []
        for match in re.finditer(re.escape(wanted), text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Place(name, max(1, line - CONTEXT), line + CONTEXT))
        return found

    def show(self, place: Place) -> str:
        """The code of a place."""
        text = (self.root / place.file).read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines(keepends=True)[place.first - 1 : place.last]
        return f"<file>{place.file}</file>\n<code>\n{''.join(lines)}</code>\n"

    def answer(self, text: str) -> dict[str, object]:
        """The answer to one call, such as `search_class("A")`. Errors: ValueError, where it is not a call."""
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError(f"no call: {text}")
        arguments = [ast.literal_eval(argument) for argument in call.args]
        method: Callable[..., list[Place]] = getattr(self, call.func.id)
        found = method(*arguments)
        shown = "".join(self.show(place) for place in found[:SHOWN])
        return {"ok": bool(found), "output": f"Found {len(found)}.\n{shown}"}


def _place(name: str, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Place:
    return Place(name, node.lineno, node.end_lineno or node.lineno)


def _in_file(places: list[Place], file_name: str) -> list[Place]:
    return [place for place in places if place.file.endswith(file_name)]


def main() -> None:
    """Make the dictionaries, then answer."""
    search = PlainSearch(Path(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(search.answer(line.strip())), flush=True)


if __name__ == "__main__":
    main()
