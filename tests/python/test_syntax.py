"""acr.syntax: which files compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from acr import syntax
from acr.byte_fields import pack

PACKAGES = Path(__file__).resolve().parents[2] / "python"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"x = 1\n", b""),
        (b"", b""),
        (b"return 1\n", b"line 1: 'return' outside function"),
        (b"x = 1\nx = (\n", b"line 2: '(' was never closed"),
        (b"x = 1\0", b"source code string cannot contain null bytes"),
        (b"# coding: latin-1\nx = '\xe9'\n", b""),
        (b"def f():\n    x = '\\d'\n    return x is 1\n", b""),
        (b"x = " + b"(" * 50_000 + b")" * 50_000, b"line 1: too many nested parentheses"),
    ],
)
def test_compiles(source: bytes, said: bytes) -> None:
    assert syntax.compiles(pack([b"a/b.py", source])) == said


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (b"a.json", b'{"a": 1}', b'{"a": 1,}'),
        (b"a.ipynb", b'{"cells": []}', b'{"cells": [}'),
        (b"pyproject.toml", b'a = "b"\n', b'a = "b\n'),
        (b"a.xml", b"<a/>", b"<a>"),
        (b"setup.cfg", b"[a]\nb = 1\n", b"b = 1\n"),
    ],
)
def test_data_files_are_read_by_the_standard_library(name: bytes, good: bytes, bad: bytes) -> None:
    assert syntax.compiles(pack([name, good])) == b""
    assert syntax.compiles(pack([name, bad])).startswith(b"not valid ")


def test_all_errors_of_a_file_are_listed() -> None:
    source = b"class A:\n    def f(self):\n        x = 2 3\n    def g(self:\n        pass\nreturn 1\n"
    said = syntax.compiles(pack([b"a.py", source])).decode().split("; ")
    assert [part.partition(":")[0] for part in said] == ["line 3", "line 4", "line 6"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python knows the syntax")
def test_newer_syntax_names_the_python_that_judged() -> None:
    said = syntax.compiles(pack([b"a.py", b"try:\n    pass\nexcept A, B:\n    pass\n"])).decode()
    assert f"parsed with Python {sys.version_info.major}.{sys.version_info.minor}" in said


def test_deep_expressions_do_not_compile_and_do_not_crash() -> None:
    assert syntax.compiles(pack([b"a.py", b"x = " + b"-" * 50_000 + b"1"])) != b""
    assert syntax.compiles(pack([b"a.py", b"x = " + b"1+" * 50_000 + b"1"])) != b""


def test_it_costs_no_imports() -> None:
    lines = ["import sys", f"sys.path.insert(0, {str(PACKAGES)!r})", "old = set(sys.modules)"]
    code = "\n".join([*lines, "import acr.syntax", "print(*set(sys.modules) - old)"])
    done = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) <= {"acr", "acr.syntax", "acr.byte_fields", "warnings", "__future__"}
