"""Recorded search calls, and what a commit says about the identifiers they look for.

Where an identifier occurs and where it is defined is read with `git grep -w` and Python's `ast`,
without the program that is judged.
"""

from __future__ import annotations

import ast
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tasks
import trees
from changes import is_test_file

Place = tuple[str, str, str]  # file, class, function; "" for none
Names = dict[str, list[tuple[str, int]]]  # name -> (class around it, line) of each place
NAME_ARGUMENTS = ("method_name", "class_name", "code_str")
_WORD = re.compile(r"[^\W\d]\w*")
_DEFINES = re.compile(r"^\s*(?:async\s+def|def|class)\s+(\w+)")


@dataclass(frozen=True)
class Call:
    """One call of one task, as often as it was recorded. `found` is None where nobody kept it."""

    instance_id: str
    name: str
    arguments: tuple[tuple[str, str], ...]
    answered: bool
    found: frozenset[Place] | None
    times: int = 1

    @property
    def text(self) -> str:
        """The call as a model writes it, on one line."""
        values = ", ".join(repr(value) for _, value in self.arguments)
        return f"{self.name}({values})"

    @property
    def subject(self) -> str:
        """The argument that names what is looked for."""
        return next((v for k, v in self.arguments if k in NAME_ARGUMENTS), "")

    @property
    def identifier(self) -> str:
        """The last identifier of the subject, of a name without its parameters; "" if none."""
        text = self.subject
        if "code_str" not in dict(self.arguments):
            text = text.split("(", 1)[0] or text
        words = _WORD.findall(text)
        return words[-1] if words else ""

    @property
    def is_text(self) -> bool:
        """Whether the call looks for text, not for a symbol."""
        return "code_str" in dict(self.arguments)


def _places(found: list[list[str | None]] | None) -> frozenset[Place] | None:
    if found is None:
        return None
    return frozenset((f or "", c or "", m or "") for f, c, m in found)


def _merged(old: Call | None, new: Call) -> Call:
    """One call for two of the same; places that were kept win over places that were not."""
    if old is None:
        return new
    found = old.found if old.found is not None else new.found
    if old.found is not None and new.found is not None:
        found = old.found | new.found
    answered = old.answered or new.answered
    return Call(
        old.instance_id, old.name, old.arguments, answered, found, old.times + 1
    )


def load_calls(path: Path) -> list[Call]:
    """Every recorded call, each once a task, in the order of the file. Errors: DataError."""
    calls: dict[tuple[Any, ...], Call] = {}
    try:
        for run in tasks.rows(path):
            for row in (row for turn in run["tool_calls"] for row in turn):
                call = Call(
                    run["instance_id"],
                    row["func_name"],
                    tuple(row["arguments"].items()),
                    bool(row["call_ok"]),
                    _places(row["found"]),
                )
                key = (call.instance_id, call.name, call.arguments)
                calls[key] = _merged(calls.get(key), call)
    except KeyError as error:
        raise tasks.DataError(f"cannot read {path}: {error}") from error
    return list(calls.values())


@dataclass(frozen=True)
class Definition:
    """One `def`, `class` or assignment of an identifier; `owner` is the class around it, or ""."""

    path: str
    owner: str
    line: int
    text: str


@dataclass
class Commit:
    """One commit of a repository, asked with git; answers are kept."""

    repository: Path
    commit: str
    _uses: dict[str, dict[str, int]] = field(default_factory=dict)
    _trees: dict[str, ast.Module | None] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _tables: dict[str, tuple[Names, Names]] = field(default_factory=dict)

    def _git(self, *arguments: str) -> bytes:
        command = ["git", "-c", "safe.directory=*", "-C", str(self.repository)]
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            check=False,
            env=trees.environment(),
        )
        if done.returncode not in (0, 1):
            raise trees.GitError(done.stderr.decode("utf-8", "replace").strip())
        return done.stdout

    def uses(self, identifier: str) -> dict[str, int]:
        """Path -> number of lines that hold the identifier as a word, text files of any type."""
        if identifier not in self._uses:
            out = self._git(
                *("grep", "-I", "-w", "-F", "-c", "-z", "-e", identifier, self.commit)
            )
            rows = (r.split("\0") for r in out.decode("utf-8", "replace").splitlines())
            self._uses[identifier] = {
                name.split(":", 1)[1]: int(count) for name, count in rows
            }
        return self._uses[identifier]

    def outside_tests(self, identifier: str) -> list[str]:
        """The non-test files of any type that hold the identifier as a word."""
        return [path for path in self.uses(identifier) if not is_test_file(path)]

    def text(self, path: str) -> str:
        """The content of a file."""
        if path not in self._texts:
            raw = self._git("cat-file", "blob", f"{self.commit}:{path}")
            self._texts[path] = raw.decode("utf-8", "replace")
        return self._texts[path]

    def definitions(self, identifier: str) -> list[Definition]:
        """Its `def` and `class` statements outside tests, else its top-level assignments."""
        paths = [p for p in self.outside_tests(identifier) if p.endswith(".py")]
        found = [d for p in paths for d in self._in_file(p, identifier, False)]
        if found:
            return found
        return [d for p in paths for d in self._in_file(p, identifier, True)]

    def inner_functions(self, path: str, function: str) -> set[str]:
        """Names of the functions defined inside the functions of that name in a Python file."""
        tree = self._tree(path) if function and path.endswith(".py") else None
        outer = [n for n in ast.walk(tree) if _is_function(n)] if tree else []
        return {
            inner.name
            for node in outer
            if node.name == function
            for inner in ast.walk(node)
            if _is_function(inner) and inner is not node
        }

    def _tree(self, path: str) -> ast.Module | None:
        """The file parsed, or None where it cannot be."""
        if path not in self._trees:
            try:
                self._trees[path] = ast.parse(self.text(path))
            except (SyntaxError, ValueError, RecursionError):
                self._trees[path] = None
        return self._trees[path]

    def _in_file(
        self, path: str, identifier: str, assigned: bool
    ) -> list[Definition]:
        if path not in self._tables:
            tree = self._tree(path)
            self._tables[path] = _table(tree) if tree else _by_text(self.text(path))
        rows = self._tables[path][assigned].get(identifier, [])
        lines = self.text(path).splitlines() if rows else []
        return [Definition(path, owner, n, lines[n - 1].strip()) for owner, n in rows]


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _fill(node: ast.AST, owner: str, inside: bool, tables: tuple[Names, Names]) -> None:
    """Add what is defined below a node; `inside` a function nothing counts as assigned."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        inner, within = owner, inside
        if _is_function(child) or isinstance(child, ast.ClassDef):
            tables[0].setdefault(child.name, []).append((owner, child.lineno))
            within = inside or _is_function(child)
            inner = child.name if isinstance(child, ast.ClassDef) else owner
        for target in [] if inside else _targets(child):
            if isinstance(target, ast.Name):
                tables[1].setdefault(target.id, []).append((owner, child.lineno))
        _fill(child, inner, within, tables)


def _table(tree: ast.Module) -> tuple[Names, Names]:
    """The `def` and `class` statements of a file, and its assignments outside functions, by name."""
    tables: tuple[Names, Names] = ({}, {})
    _fill(tree, "", False, tables)
    return tables


def _by_text(text: str) -> tuple[Names, Names]:
    """The same of a file that cannot be parsed, as far as single lines tell."""
    names: Names = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _DEFINES.match(line):
            names.setdefault(match[1], []).append(("", number))
    return names, {}
