"""Outlines one Python file as flat rows: classes, functions, methods, assignments, imports.

native/index/index.h defines the row format. The walk enters only bodies of statements, never expressions, so it costs
little beside parsing. A process may be started for a single small file, so `ast` and `tokenize` are loaded only for
files that need them.
"""

from __future__ import annotations

import _ast
import gc
import io
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

MAX_MESSAGE = 300  # maximum characters of the reason in an X row
MAX_INDENTED = 4 * 1024 * 1024  # size of the largest file that is outlined by its indentation
_STRINGS = (
    r"\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)|'''(?:[^\\]|\\.)*?(?:'''|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*"
)
TREE_BYTES_PER_BYTE = 1024  # memory that parsing needs at most per byte of source: `1,` needs 470, `{a}` in f"" 660

_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\", "\x1f": "\\u", "\0": "\ufffd"})


def outline(source: bytes) -> bytes:
    """Return the rows of one file (UTF-8, one a line).

    A file that cannot be parsed gives an X row, and its classes and functions by their indentation.

    Never raises because of the contents of `source`. Raises MemoryError if a process with more memory might give other
    rows.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _outline(source)
    except SyntaxError as error:
        return _failed(error.lineno or 1, error.msg) + _by_indentation(source)
    except ValueError as error:  # the source has null bytes
        return _failed(1, str(error))
    except RecursionError:
        return _failed(1, "nested too deeply")
    except MemoryError:
        pass  # releases the rows made so far
    finally:
        if collecting:
            gc.enable()
    return _out_of_memory(source)


def _out_of_memory(source: bytes) -> bytes:
    """The row of a file that is too deep for the parser: a MemoryError, at the same depth everywhere."""
    try:
        bytes(TREE_BYTES_PER_BYTE * len(source))  # requests this memory without touching it
    except MemoryError:
        raise MemoryError("too deep or too large for the parser") from None
    return _failed(1, "too deep for the parser")


def _outline(source: bytes) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree, utf8 = _parse(source)
    walk = _Walk(utf8)
    walk.body(tree.body, "", "m")
    return "".join(walk.rows).encode("utf-8", "backslashreplace")


def _parse(source: bytes) -> tuple[_ast.Module, Callable[[], bytes]]:
    """Parse; also return a function that gives the text in UTF-8, because the tree's columns count its bytes."""
    try:
        return _tree(source), lambda: _as_utf8(source)
    except SyntaxError:
        if _decodes(source):
            raise
    text = source.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    return _tree(text), lambda: text.encode("utf-8")


def _tree(source: bytes | str) -> _ast.Module:
    return compile(source, "<unknown>", "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)


def _decodes(source: bytes) -> bool:
    """Whether the bytes are text in the encoding that the file declares (or in UTF-8)."""
    try:
        source.decode(_encoding(source))
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return False
    return True


def _as_utf8(source: bytes) -> bytes:
    source = source.removeprefix(b"\xef\xbb\xbf")
    if source.isascii():
        return source
    encoding = _encoding(source)
    return source if encoding.startswith("utf-8") else source.decode(encoding).encode("utf-8")


def _encoding(source: bytes) -> str:
    """The encoding that the file declares, or UTF-8. Raises SyntaxError."""
    import tokenize

    return tokenize.detect_encoding(io.BytesIO(source).readline)[0]


def _failed(line: int, message: str) -> bytes:
    text = _escape(message[:MAX_MESSAGE]) or "cannot be parsed"
    return f"X\t{max(line, 1)}\t{text}\n".encode("utf-8", "backslashreplace")


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


def _by_indentation(source: bytes) -> bytes:
    """Find classes and functions by lines that begin with their keywords, and by the indentation."""
    import re

    if len(source) > MAX_INDENTED:
        return b""
    text = source.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = re.sub(_STRINGS, lambda match: "\n\0" * match[0].count("\n"), text, flags=re.DOTALL).split("\n")
    header = re.compile(r"\s*(?:async\s+def|def|(class))\s+(\w+)")
    rows: list[list[str | int]] = []
    around: list[tuple[int, int]] = []  # indentation, number of the row
    depth = last = first = 0
    open_header = False
    for number, line in enumerate(lines, 1):
        begins = depth == 0 and not line.startswith("\0") and bool(line.strip())
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        while begins and around and around[-1][0] >= indent:
            rows[around.pop()[1]][5] = last
        found = header.match(line) if begins else None
        if found:
            prefix = f"{rows[around[-1][1]][1]}." if around else ""
            around.append((indent, len(rows)))
            kind = "C" if found[1] else "D"
            rows.append([kind, prefix + found[2], first or number, number, number, number])
        if begins:
            first = (first or number) if line.lstrip().startswith("@") else 0
        last = number if line.strip("\0 \t\r\f") else last
        depth = max(0, depth + len(re.findall(r"[([{]", line)) - len(re.findall(r"[)\]}]", line)))
        if around and not begins and rows[-1][4] == number - 1 and open_header:
            rows[-1][4] = number
        open_header = depth > 0 and (found is not None or (not begins and open_header))
    for _, row in around:
        rows[row][5] = last
    for row in rows:  # a header that is never closed ends with the last line that is not empty
        row[4] = min(int(row[4]), int(row[5]))
    return "".join("\t".join(map(str, row)) + _bases(lines, row) + "\n" for row in rows).encode()


def _bases(lines: list[str], row: list[str | int]) -> str:
    """The last field of a class's row: the bases that are plain names."""
    import re

    if row[0] != "C":
        return ""
    text = " ".join(lines[int(row[3]) - 1 : int(row[4])])
    found = re.search(r"class\s+\w+\s*(?:\[.*?\])?\s*\((.*)\)\s*:", text)
    parts = [part.strip() for part in found[1].split(",")] if found else []
    return "\t" + "\x1f".join(part for part in parts if re.fullmatch(r"[A-Za-z_][\w.]*", part))


class _Walk:
    """Collects rows. `scope` is one letter: m for module, c for class, f for function."""

    def __init__(self, utf8: Callable[[], bytes]) -> None:
        self.rows: list[str] = []
        self._utf8 = utf8
        self._lines: list[bytes] | None = None

    def body(self, statements: list[_ast.stmt], prefix: str, scope: str) -> None:
        """Add the rows of a body and of all bodies in it. `prefix` is empty or ends in a dot."""
        nodes = statements[:]
        for node in nodes:  # grows while it is read
            if type(node) in _BLOCKS:
                for block in _BLOCKS[type(node)](node):
                    nodes += block
        wanted = _DEFS if scope == "f" else _DEFS_AND_SIMPLE
        found = [node for node in nodes if type(node) in wanted]
        if len(nodes) > len(statements):
            found.sort(key=lambda node: (node.lineno, node.col_offset))
        for node in found:
            if type(node) in _DEFS:
                self._define(node, prefix)
            else:
                self._simple(node, prefix, scope)

    def _define(self, node: _ast.AST, prefix: str) -> None:
        qualname = prefix + node.name
        lines = f"{qualname}\t{_first_line(node)}\t{node.lineno}\t{self._sig_last(node)}\t{node.end_lineno}"
        if type(node) is _ast.ClassDef:
            bases = "\x1f".join([_escape(_written(base)) for base in node.bases])
            self.rows.append(f"C\t{lines}\t{bases}\n")
            self.body(node.body, qualname + ".", "c")
        else:
            self.rows.append(f"D\t{lines}\n")
            self.body(node.body, qualname + ".", "f")

    def _simple(self, node: _ast.stmt, prefix: str, scope: str) -> None:
        if isinstance(node, (_ast.Import, _ast.ImportFrom)):
            self.rows += _imports(node)
            return
        for name, value in _assigned(node):
            self.rows.append(f"A\t{prefix}{name}\t{node.lineno}\t{node.end_lineno}\t{value}\n")
            if name == "__slots__" and scope == "c":
                self.rows.extend(f"A\t{prefix}{slot}\t{first}\t{last}\t\n" for slot, first, last in _slots(node))

    def _sig_last(self, node: _ast.AST) -> int:
        """The line of the colon that ends the header."""
        line, first = node.lineno, node.body[0]
        body_line = _first_line(first)
        if body_line == line or (body_line == line + 1 and self._text(body_line)[: first.col_offset].isspace()):
            return line
        column = node.col_offset
        for part in _header_parts(node):
            line, column = max((line, column), (part.end_lineno, part.end_col_offset))
        return line if line >= body_line else self._colon(line, column, body_line)

    def _colon(self, line: int, column: int, body_line: int) -> int:
        """The first line from (line, column) on with a colon outside a comment; there is no string in between."""
        for number in range(line, body_line):
            if b":" in self._text(number)[column:].split(b"#", 1)[0]:
                return number
            column = 0
        return body_line

    def _text(self, line: int) -> bytes:
        if self._lines is None:
            self._lines = self._utf8().splitlines()
        return self._lines[line - 1]


_DEFS = frozenset({_ast.ClassDef, _ast.FunctionDef, _ast.AsyncFunctionDef})
_DEFS_AND_SIMPLE = _DEFS | frozenset(
    getattr(_ast, name) for name in ("Assign", "AnnAssign", "TypeAlias", "Import", "ImportFrom") if hasattr(_ast, name)
)
# Yields the lists of statements in a compound statement and its parts.
_BLOCKS: dict[type[_ast.AST], Callable[[Any], tuple[list[_ast.stmt], ...]]] = {
    getattr(_ast, name): blocks
    for names, blocks in (
        (("If", "For", "AsyncFor", "While"), lambda node: (node.body, node.orelse)),
        (("With", "AsyncWith", "ExceptHandler", "match_case"), lambda node: (node.body,)),
        (("Try", "TryStar"), lambda node: (node.body, node.handlers, node.orelse, node.finalbody)),
        (("Match",), lambda node: (node.cases,)),
    )
    for name in names
    if hasattr(_ast, name)
}


def _first_line(node: _ast.stmt) -> int:
    """The first line of a statement, including decorators."""
    if type(node) in _DEFS and node.decorator_list:
        return min(node.lineno, node.decorator_list[0].lineno)
    return node.lineno


def _header_parts(node: _ast.AST) -> list[_ast.AST]:
    """The nodes of a statement's header; the last of them ends the header."""
    parts = list(getattr(node, "type_params", ())[-1:])
    if isinstance(node, _ast.ClassDef):
        return parts + node.bases[-1:] + node.keywords[-1:]
    if node.returns is not None:
        return [node.returns]
    args = node.args
    parts += args.posonlyargs[-1:] + args.args[-1:] + args.defaults[-1:] + args.kwonlyargs[-1:]
    return parts + [part for part in (args.vararg, args.kwarg, *args.kw_defaults[-1:]) if part is not None]


def _dotted(node: _ast.AST | None) -> str:
    """`a.b.c` for names and attributes of names, otherwise the empty text."""
    parts = []
    while isinstance(node, _ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, _ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def _written(node: _ast.expr) -> str:
    """A base class as written."""
    if dotted := _dotted(node):
        return dotted
    import ast

    return ast.unparse(node)


def _assigned(node: _ast.stmt) -> Iterator[tuple[str, str]]:
    """(name, dotted value or empty) for each plain name that the statement assigns or declares."""
    if isinstance(node, _ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value)
    elif isinstance(node, _ast.AnnAssign):
        yield from _pairs(node.target, node.value)
    else:  # type X = Y
        yield from _pairs(node.name, node.value)


def _pairs(target: _ast.expr, value: _ast.expr | None) -> Iterator[tuple[str, str]]:
    if isinstance(target, _ast.Name):
        yield target.id, _dotted(value)
    elif isinstance(target, _ast.Starred):
        yield from _pairs(target.value, None)
    elif isinstance(target, (_ast.Tuple, _ast.List)):
        values: list[_ast.expr | None] = [None] * len(target.elts)
        both = [*target.elts, *getattr(value, "elts", ())]
        if isinstance(value, (_ast.Tuple, _ast.List)) and len(value.elts) == len(target.elts):
            if not any(isinstance(part, _ast.Starred) for part in both):
                values = list(value.elts)
        for part, its_value in zip(target.elts, values):
            yield from _pairs(part, its_value)


def _slots(node: _ast.stmt) -> Iterator[tuple[str, int, int]]:
    """(name, first line, last line) of each attribute that `__slots__ = ...` declares by constants."""
    value = getattr(node, "value", None)
    parts = value.keys if isinstance(value, _ast.Dict) else getattr(value, "elts", [value])
    for part in parts:
        if isinstance(part, _ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
            yield part.value, part.lineno, part.end_lineno or part.lineno


def _imports(node: _ast.Import | _ast.ImportFrom) -> Iterator[str]:
    for alias in node.names:
        line = getattr(alias, "lineno", node.lineno)
        local = alias.asname or alias.name
        if isinstance(node, _ast.Import):
            yield f"I\t{local}\t{line}\t{alias.name}\t\n"
        else:
            module = "." * node.level + (node.module or "")
            yield f"I\t{local}\t{line}\t{module}\t{alias.name}\n"
