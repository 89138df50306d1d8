"""A version of a file of Python code, and on which of its lines it differs from the version before.

Two functions of the same place and tree are unchanged, however a diff aligns their lines; one that differs has a
changed line even where lines were only taken away or moved.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EQUAL = 20  # times that a line may stand in a version for the alignment to begin at it
MAX_PAIRS = 200_000  # pairs of such lines; beyond, all between the common beginning and end differs

_Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = {"__import__", "importlib.import_module", "importlib.__import__"}
BY_TEXT = {"getattr", "setattr", "delattr", "hasattr"}


class Code:
    """A parsed version: its lines, its functions and classes, and what its names were imported as.

    Raises what `ast.parse` raises.
    """

    def __init__(self, source: bytes) -> None:
        self.lines = source.splitlines()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(source)
        self.owner = [""] * (len(self.lines) + 2)  # by line: the path of the innermost function or class
        self.scopes: list[tuple[tuple[str, int], ast.AST]] = []  # ((path, number among those of this path), node)
        self._names: dict[str, str] = {}  # a local name: the dotted name that it was imported as
        self._bound: set[str] = set()
        self._counters: set[str] = set()  # names that run over a range
        self._find_scopes()
        for node in ast.walk(self.tree):
            self._bind(node)

    def _find_scopes(self) -> None:
        waiting, found = [("", self.tree)], []
        while waiting:
            path, node = waiting.pop()
            for child in ast.iter_child_nodes(node):
                inner = f"{path}.{child.name}" if isinstance(child, _Scope) else path
                if inner is not path:
                    lines = _span(child)
                    self.owner[lines.start : lines.stop] = [inner] * len(lines)
                    found.append((lines.start, inner, child))
                waiting.append((inner, child))
        seen: Counter[str] = Counter()
        for _, path, node in sorted(found, key=lambda at: at[0]):
            self.scopes.append(((path, seen[path]), node))
            seen[path] += 1

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for local, name in imported(node):
                if local == name or local not in self._names:
                    self._names[local] = name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in self._names:
            self._names.update((at.id, self._names[node.value.id]) for at in node.targets if isinstance(at, ast.Name))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._bound.add(node.id)
        elif isinstance(node, _Scope):
            self._bound.add(node.name)
        elif isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Call):
            if isinstance(node.target, ast.Name) and self.dotted(node.iter.func) == "range":
                self._counters.add(node.target.id)
        elif isinstance(node, ast.arg):
            self._bound.add(node.arg)

    def dotted(self, node: ast.AST) -> str:
        """`a.b` of an expression that names something, as it was imported; "?" for a part that only a run knows."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, "?" if node.id in self._bound else node.id)
        if isinstance(node, ast.Attribute):
            return f"{self.dotted(node.value)}.{node.attr}"
        if isinstance(node, ast.Call) and node.args:
            if self.imports(node):
                return text(node.args[0]) or "?"
            if isinstance(node.func, ast.Name) and node.func.id in BY_TEXT and len(node.args) > 1:
                return f"{self.dotted(node.args[0])}.{text(node.args[1]) or '?'}"
        return "?"

    def imports(self, node: ast.Call) -> bool:
        """Whether a call imports the module that its first argument names."""
        return bool(node.args) and self.dotted(node.func) in _IMPORTS

    def is_number(self, node: ast.AST) -> bool:
        """Whether an expression is a number other than 0, or counts over a range."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int and node.value != 0
        return isinstance(node, ast.Name) and node.id in self._counters


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """(local name, dotted name) of what an import binds; a relative one begins with a dot."""
    for at in node.names:
        if isinstance(node, ast.ImportFrom):
            yield at.asname or at.name, f"{'.' * node.level}{node.module or ''}.{at.name}"
        elif at.asname:
            yield at.asname, at.name
        else:
            yield at.name.split(".")[0], at.name.split(".")[0]


def text(node: ast.AST) -> str | None:
    """The text that an expression of constant texts gives, also one in pieces; None for others."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [text(node.left), text(node.right)]
    elif isinstance(node, ast.JoinedStr):
        parts = [text(at.value if isinstance(at, ast.FormattedValue) else at) for at in node.values]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        separator = text(node.func.value)
        items = node.args[0].elts if node.args and isinstance(node.args[0], (ast.List, ast.Tuple)) else [node]
        parts = [text(at) if at is not node else None for at in items]
        return None if separator is None or None in parts else separator.join(parts)
    else:
        return None
    return None if None in parts else "".join(parts)


def read(source: bytes | None) -> Code | None:
    """A version, or None of one that does not exist or cannot be parsed."""
    try:
        return None if source is None else Code(source)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return None


def compare(before: bytes | None, after: bytes) -> tuple[set[int], Code | None, Code | None]:
    """(lines, the parsed versions) of a file before and after.

    `lines` are those of `after`, from 1, that differ; of lines that were taken away, the neighbours in the same
    function or class. Of a version that cannot be parsed nothing but its lines is compared.
    """
    old, new = (before or b"").splitlines(), after.splitlines()
    lines, gaps = _differing(old, new)
    earlier, later = read(before), read(after)
    for gone, around in gaps:
        if later is None:
            lines.update(around)
        elif earlier is not None:
            owners = {earlier.owner[at] for at in gone if old[at - 1].strip()}
            lines.update(at for at in around if later.owner[at] in owners)
    if later is not None and before is not None:
        _correct(lines, earlier, later)
    return lines, earlier, later


def ranges(lines: set[int]) -> list[list[int]]:
    """Lines as [first, last], in order."""
    found: list[list[int]] = []
    for line in sorted(lines):
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def _differing(old: list[bytes], new: list[bytes]) -> tuple[set[int], list[tuple[range, list[int]]]]:
    """Lines of `new` that differ, and (lines of `old`, those of `new` around the gap) of what is only missing."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    times = Counter(b)
    if sum(times[line] for line in a if times[line] <= MAX_EQUAL) > MAX_PAIRS:
        opcodes = [("replace", 0, len(a), 0, len(b))]
    else:
        opcodes = difflib.SequenceMatcher(lambda line: times[line] > MAX_EQUAL, a, b, autojunk=False).get_opcodes()
    lines: set[int] = set()
    gaps = []
    for kind, i1, i2, j1, j2 in opcodes:
        if kind in ("replace", "insert"):
            lines.update(range(start + j1 + 1, start + j2 + 1))
        elif kind == "delete":
            around = [at for at in (start + j1, start + j1 + 1) if 1 <= at <= len(new)]
            gaps.append((range(start + i1 + 1, start + i2 + 1), around))
    return lines, gaps


def _correct(lines: set[int], before: Code | None, after: Code) -> None:
    """Takes out functions and classes that are the same, and marks the own line of those that differ elsewhere."""
    twins = dict(before.scopes) if before else {}
    count = Counter(path for path, _ in twins)
    kept = Counter(path for (path, _), _ in after.scopes)
    marked: set[int] = set()
    for (path, number), node in reversed(after.scopes):  # inner ones first
        twin, inside = twins.get((path, number)), _span(node)
        if twin is not None and count[path] == kept[path] and _same(after, node, before, twin):
            lines.difference_update(inside)
        elif twin is None or count[path] != kept[path] or header(node) != header(twin):
            marked.add(node.lineno)
        elif members(twin) - members(node) or (lines.isdisjoint(inside) and marked.isdisjoint(inside)):
            marked.add(node.lineno)
    lines |= marked


def _same(after: Code, node: ast.AST, before: Code, twin: ast.AST) -> bool:
    """Whether two functions or classes are equal but for comments and layout."""
    mine, theirs = (
        code.lines[_span(at).start - 1 : _span(at).stop - 1] for code, at in ((after, node), (before, twin))
    )
    return mine == theirs or _dump(node) == _dump(twin)


def _span(node: ast.AST) -> range:
    first = min([node.lineno, *(at.lineno for at in node.decorator_list)])
    return range(first, node.end_lineno + 1)


def header(node: ast.AST) -> list[str]:
    """What a class is made from, or a function wrapped in."""
    parts = [*node.decorator_list, *getattr(node, "bases", ()), *getattr(node, "keywords", ())]
    return [_dump(at) for at in parts]


def _dump(node: ast.AST) -> str:
    """A tree as text; one that is too deep equals no other."""
    try:
        return ast.dump(node)
    except RecursionError:
        return str(id(node))


def members(node: ast.AST) -> set[str]:
    """Names that the statements of a body bind."""
    names = {at.name for at in node.body if isinstance(at, _Scope)}
    stored = (at for line in node.body if isinstance(line, (ast.Assign, ast.AnnAssign)) for at in ast.walk(line))
    return names | {at.id for at in stored if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Store)}
