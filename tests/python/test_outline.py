"""acr.outline: rows of unusual files, and of the standard library, compared with a slower analysis of the same files."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import sysconfig
import tokenize
from pathlib import Path

import pytest
from acr.outline import outline

Rows = list[list[str]]


def rows(source: bytes | str) -> Rows:
    text = outline(source.encode() if isinstance(source, str) else source).decode()
    assert text == "" or text.endswith("\n")
    return [line.split("\t") for line in text.splitlines()]


def of_kind(source: bytes | str, kind: str) -> Rows:
    return [row[1:] for row in rows(source) if row[0] == kind]


def message(source: bytes | str) -> tuple[int, str]:
    found = rows(source)
    assert [row[0] for row in found].count("X") == 1
    assert found[0][0] == "X" and len(found[0]) == 3
    return int(found[0][1]), found[0][2]


def test_empty_files_have_no_rows() -> None:
    assert outline(b"") == b""
    assert outline(b"# nothing\n\n") == b""
    assert outline(b"\xef\xbb\xbf") == b""


def test_class_row_counts_decorators_and_keeps_bases_as_written() -> None:
    source = "@one\n@two(\n  3)\nclass A(B, c.D[int], *E, f(1), metaclass=M):\n    x = 1\n"
    assert of_kind(source, "C") == [["A", "1", "4", "4", "5", "B\x1fc.D[int]\x1f*E\x1ff(1)"]]


def test_header_ends_at_the_colon_not_at_the_docstring() -> None:
    source = 'def f(\n    a: "x:y" = {1: 2},  # a: b\n    *,\n    b,  # c: d\n) -> "q:":  # e\n    """doc"""\n'
    assert of_kind(source, "D") == [["f", "1", "1", "5", "6"]]


@pytest.mark.parametrize(
    ("source", "sig_last", "last"),
    [
        ("def f(): return 1\n", 1, 1),
        ("def f(\n): return 1\n", 2, 2),
        ("def f(a=lambda: 0, b=d[1:2]):\n    pass\n", 1, 2),
        ("def f(a, /, b, *c,\n      **d\n      ):\n\n\n    pass\n", 3, 6),
        ("def f(a): # :\n\n    # :\n    pass\n", 1, 4),
        ("def f \\\n  (a) \\\n  :\n    pass\n", 3, 4),
        ("def f() -> (\n    int  # :\n):\n    @g\n    def h(): pass\n", 3, 5),
        ("def é(a='é', b='ü:'): # ü:\n    pass\n", 1, 2),
        ("async def f(\n  a): await b\n", 2, 2),
        ("class A: pass\n", 1, 1),
        ("class A(\n  B\n):\n  pass\n", 3, 4),
        ("class A(metaclass=M,\n  k=1):\n  'doc'\n", 2, 3),
        ("class A(\n): x = 1; y = 2\n", 2, 2),
        ("def f(\n): x = [1,\n2]; \\\n  y = 2\n", 2, 4),
        ("def f():\\\n    pass\n", 1, 2),
    ],
)
def test_lines_of_headers(source: str, sig_last: int, last: int) -> None:
    row = next(row for row in rows(source) if row[0] in "CD")
    assert (int(row[4]), int(row[5])) == (sig_last, last)


def test_columns_are_right_in_other_encodings() -> None:
    source = "# -*- coding: latin-1 -*-\ndef f(a='éééééé'): #:\n    pass\n".encode("latin-1")
    assert of_kind(source, "D") == [["f", "2", "2", "2", "3"]]
    assert of_kind(b"\xef\xbb\xbfdef f(a='\xc3\xa9'):\n\n  pass\n", "D") == [["f", "1", "1", "1", "3"]]


def test_latin_1_without_cookie_is_read_as_latin_1() -> None:
    assert of_kind(b"# caf\xe9\nclass A(B):\n    n\xe9 = '\xe9'\n", "C") == [["A", "2", "2", "2", "3", "B"]]
    line, text = message(b"# caf\xe9\nclass A(:\n")
    assert (line, text) == (2, "invalid syntax")


def test_unknown_cookie_is_read_as_latin_1_too() -> None:
    assert of_kind(b"# coding: no-such\nx = 1\n", "A") == [["x", "2", "2", ""]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    source = end.join(
        ["import a", "class A(", "    B):", "    '''doc", "    '''", "    def f(self):", "        pass", ""]
    )
    assert [row[1:6] for row in rows(source)[1:]] == [["A", "2", "2", "3", "7"], ["A.f", "6", "6", "6", "7"]]


def test_form_feeds_do_not_end_lines() -> None:
    source = "x = 1\n\f\nclass A:\n    \f\n    def f(self): pass\n\x0b"
    assert [row[2] for row in rows(source.rstrip("\x0b"))] == ["1", "3", "5"]


def test_bodies_of_all_statements_are_descended_in_order() -> None:
    source = """
if a:
    def f1(): pass
elif b:
    class C1: pass
else:
    def f2(): pass
try:
    def f3(): pass
except E:
    def f4(): pass
else:
    def f5(): pass
finally:
    def f6(): pass
with a:
    def f7(): pass
for a in b:
    def f8(): pass
else:
    def f9(): pass
while a:
    async def f10():
        async with a:
            def g1(): pass
        async for a in b:
            class G2: x = 1
"""
    names = [row[1] for row in rows(source)]
    assert names == [
        *("f1", "C1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f10.g1", "f10.G2", "f10.G2.x")
    ]


@pytest.mark.skipif(sys.version_info < (3, 10), reason="match is newer than this Python")
def test_match_cases_are_descended() -> None:
    source = "match a:\n    case 1:\n        def f(): pass\n    case [x, *y] if (z := x):\n        def g(): pass\n"
    assert [row[1] for row in rows(source)] == ["f", "g"]


def test_assignments_and_aliases() -> None:
    source = """
Matrix = MutableMatrix = dense.Mutable
a, (b, [c, *d]) = x.y, z
e, f = f, e
one: int = two
three: int
o.attr = s[1] = 4
g += 1
class A:
    __rmul__ = __mul__
    field: T
    if x:
        h = 1
    def m(self):
        local = 1
def f():
    local = 2
"""
    assert [(row[0], row[3]) for row in of_kind(source, "A")] == [
        ("Matrix", "dense.Mutable"),
        ("MutableMatrix", "dense.Mutable"),
        ("a", "x.y"),
        ("b", ""),
        ("c", ""),
        ("d", ""),
        ("e", "f"),
        ("f", "e"),
        ("one", "two"),
        ("three", ""),
        ("A.__rmul__", "__mul__"),
        ("A.field", ""),
        ("A.h", ""),
    ]


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ('"one"', ["one"]),
        ('("a",\n "b")', ["a", "b"]),
        ('["a", *more, "b c", 1, name]', ["a"]),
        ('{"a": "what it is", **more}', ["a"]),
        ("other.__slots__", []),
    ],
)
def test_slots_are_members(value: str, names: list[str]) -> None:
    found = of_kind(f"class A:\n __slots__ = {value}\n__slots__ = 'no'\n", "A")
    assert [row[0] for row in found] == ["A.__slots__", *(f"A.{name}" for name in names), "__slots__"]
    assert [int(row[1]) for row in found] == sorted(int(row[1]) for row in found)


def test_imports() -> None:
    source = """
import a.b, c as d
from . import e
from ..f.g import (h,
    i as j)
from k import *
try:
    import l
except ImportError: pass
def f():
    import not_here
"""
    assert of_kind(source, "I") == [
        ["a.b", "2", "a.b", ""],
        ["d", "2", "c", ""],
        ["e", "3", ".", "e"],
        ["h", "4", "..f.g", "h"],
        ["j", "5" if sys.version_info >= (3, 10) else "4", "..f.g", "i"],
        ["*", "6", "k", "*"],
        ["l", "8", "l", ""],
    ]


def test_fields_are_escaped() -> None:
    (row,) = of_kind("class A(f'{x}\\t\t', B['\\\\']): pass\n", "C")
    assert "\\t" in row[5]
    assert len(row[5].split("\x1f")) == 2


@pytest.mark.parametrize(
    "source",
    [
        b"print 'python 2'\n",
        b"class A:\n    def f(self):\n  pass\n",
        b"def f(:\n",
        b"x = 0777\n",
        b"'''never closed\n",
        b"# coding: utf-16\nx = 1\n\xff\n(",
        b"x = 1\n\0\n",
        b"\0",
        b"\xff\xfe\x00\x01",
        b"if 1:\n\tx = 1\n        y = 2\n",
    ],
)
def test_what_cannot_be_parsed_has_a_row_with_the_reason(source: bytes) -> None:
    line, text = message(source)
    assert line >= 1
    assert text


def test_what_cannot_be_parsed_is_outlined_by_its_indentation() -> None:
    source = (
        'class Long[T](Base, x=1):\n    """doc\nclass No:\n    """\n\n    @deco(\n        1)\n    def m(self,\n          a):\n'
        '        s = """\nzero\n"""\n        return s  # class Nor:\n\n    async def n(self):\n        def inner():\n'
        "            pass\n        return inner\n\nx = 2 3\ndef f(): return 2\n"
    )
    assert rows(source)[1:] == [
        ["C", "Long", "1", "1", "1", "18", "Base"],
        ["D", "Long.m", "6", "8", "9", "13"],
        ["D", "Long.n", "15", "15", "15", "18"],
        ["D", "Long.n.inner", "16", "16", "16", "17"],
        ["D", "f", "21", "21", "21", "21"],
    ]
    assert rows("def x(:\n\n") == [["X", "1", "invalid syntax"], ["D", "x", "1", "1", "1", "1"]]


def test_syntax_error_names_its_line() -> None:
    assert message("x = 1\ny = (\nz = 2 3\n")[0] in (2, 3)


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 50_000 + ")" * 50_000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "+".join(["1"] * 50_000),
        "x = " + "[" * 50_000,
        "x = " + ".a".join(["b"] * 50_000),
        "".join(" " * depth + "if 1:\n" for depth in range(200)) + " " * 200 + "pass",
    ],
)
def test_nesting_beyond_the_parser_is_a_reason_not_a_crash(source: str) -> None:
    _, text = message(source)
    assert "deep" in text or "nested" in text or "indentation" in text or "never closed" in text


def in_little_memory(source: str, limit: int) -> str:
    """The result for a file with an expression in a process with this much address space."""
    program = (
        "import resource, sys; from acr.outline import outline\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n"
        f"try: print(outline({source}))\n"
        "except MemoryError as error: print('no memory:', error)\n"
    )
    package = str(Path(__file__).parents[2] / "python")
    done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": package}, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")
def test_rows_do_not_depend_on_the_memory_there_is() -> None:
    """A file that a process with more memory might parse is an error, which is not cached; a file that none can parse is a row."""
    dense, deep, limit = "b'x = [' + b'1,' * 500_000 + b']'", "b'x = ' + b'not ' * 20_000 + b'1'", 300 << 20
    assert in_little_memory(dense, limit) == "no memory: too deep or too large for the parser\n"
    assert in_little_memory(deep, limit) == str(b"X\t1\ttoo deep for the parser\n") + "\n"
    assert in_little_memory(dense, 4 * limit) == str(b"A\tx\t1\t1\t\n") + "\n"


def test_a_chain_of_thousands_of_elifs_is_descended_or_refused() -> None:
    source = "if a:\n    pass\n" + "elif b:\n    def f(): pass\n" * 3_000
    found = rows(source)
    assert [row[0] for row in found] == ["X"] or len(found) == 3_000


def test_as_many_statements_as_lines() -> None:
    source = "x = 1\n" * 200_000
    assert outline(source.encode()).count(b"\n") == 200_000


def test_garbage_collection_is_left_as_it_was() -> None:
    import gc

    outline(b"x = (")
    assert gc.isenabled()
    gc.disable()
    try:
        outline(b"x = 1")
        assert not gc.isenabled()
    finally:
        gc.enable()


def stdlib_files() -> list[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    names = ["*.py", "asyncio/*.py", "unittest/*.py", "concurrent/futures/*.py", "xml/*/*.py"]
    return sorted(path for name in names for path in root.glob(name))


def headers_by_tokens(source: bytes) -> dict[tuple[str, int], int]:
    """(name, line of def or class) -> line of the header's colon, from a scan of all tokens."""
    found = {}
    tokens = [
        t for t in tokenize.tokenize(io.BytesIO(source).readline) if t.type not in (tokenize.NL, tokenize.COMMENT)
    ]
    for i, token in enumerate(tokens):
        if token.type != tokenize.NAME or token.string not in ("def", "class"):
            continue
        depth = 0
        for j in range(i, len(tokens)):
            after = tokens[j]
            depth += (after.string in "([{" and after.type == tokenize.OP) - (
                after.string in ")]}" and after.type == tokenize.OP
            )
            if after.string == ":" and depth == 0 and after.type == tokenize.OP:
                found[tokens[i + 1].string, tokens[i + 1].start[0]] = after.start[0]
                break
    return found


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in (1, 2, 3))])
def test_standard_library_agrees_with_all_tokens_and_all_nodes(part: int) -> None:
    files = stdlib_files()[part::4]
    assert len(files) > 30
    checked = 0
    for path in files:
        source = path.read_bytes()
        by_tokens = headers_by_tokens(source)
        outlined = rows(source)
        found = [row for row in outlined if row[0] in "CD"]
        for row in found:
            assert by_tokens[row[1].rpartition(".")[2], int(row[3])] == int(row[4]), (path, row)
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, kinds)]
        assert sorted((n.name, n.lineno, n.end_lineno) for n in nodes) == sorted(
            (row[1].rpartition(".")[2], int(row[3]), int(row[5])) for row in found
        )
        firsts = [int(row[2]) for row in outlined]
        assert firsts == sorted(firsts)
        checked += len(found)
    assert checked > 500
