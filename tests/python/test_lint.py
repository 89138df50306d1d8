"""acr.lint: what compiles, and which pylint errors are new; with the real pylint."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from acr import lint
from acr.fields import pack, unpack

BEFORE = b"""import os
from . import other
import pkg


class A:
    def f(self):
        return undefined_one
"""


def new(*files: tuple[str, bytes | None, bytes]) -> int:
    fields = [x for path, before, after in files for x in (path.encode(), b"" if before is None else b"+" + before, after)]
    return int(lint.new_errors(pack(fields)))


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
    assert lint.compiles(pack([b"a/b.py", source])) == said


def test_deep_expressions_do_not_compile_and_do_not_crash() -> None:
    assert lint.compiles(pack([b"a.py", b"x = " + b"-" * 50_000 + b"1"])) != b""
    assert lint.compiles(pack([b"a.py", b"x = " + b"1+" * 50_000 + b"1"])) != b""


def test_errors_that_only_moved_are_not_new() -> None:
    assert new(("pkg/a.py", BEFORE, b"\n\n\n" + BEFORE)) == 0


def test_each_new_error_counts() -> None:
    after = BEFORE + b"\n    def g(self):\n        return undefined_two + self.nothing\n"
    assert new(("pkg/a.py", BEFORE, after)) == 2
    assert new(("pkg/a.py", BEFORE, BEFORE.replace(b"os\n", b"os\n\nundefined_one\n"))) == 1


def test_errors_that_went_are_not_counted_against_others() -> None:
    assert new(("pkg/a.py", BEFORE, BEFORE.replace(b"undefined_one", b"undefined_two"))) == 1
    assert new(("pkg/a.py", BEFORE, BEFORE.replace(b"undefined_one", b"1"))) == 0


def test_new_files_count_with_all_their_errors() -> None:
    assert new(("pkg/a.py", BEFORE, BEFORE), ("pkg/new.py", None, b"x = no_such\ny = nor_such\n")) == 2


def test_the_rest_of_the_repository_is_not_missed() -> None:
    source = b"from .gone import thing\nfrom pkg import name\nimport pkg\nimport no.such\n\npkg.anything(thing, name, no)\n"
    assert new(("pkg/sub/a.py", b"", source)) == 0


def test_files_see_each_other() -> None:
    one = b"def made():\n    return 1\n"
    good = b"from pkg import one\n\none.made()\n"
    assert new(("pkg/one.py", one, one), ("pkg/two.py", None, good)) == 0
    assert new(("pkg/one.py", one, one), ("pkg/two.py", None, good.replace(b"made", b"unmade"))) == 1


def test_an_edited_file_is_read_again() -> None:
    good, bad = b"def f():\n    return 1\n", b"def f():\n    return nothing\n"
    assert [new(("pkg/a.py", good, text)) for text in (good, bad, good, bad, good)] == [0, 1, 0, 1, 0]


def test_a_file_that_does_not_parse_is_one_error() -> None:
    assert new(("a.py", b"x = 1\n", b"x = (\n")) == 1


def test_names_that_mean_something_to_pylint() -> None:
    for path in ("-rn.py", "--help/x.py", "types.py", "CVS/a.py", ".#a.py", "with space/ü.py", "a.b/c.py", "__init__.py"):
        assert new((path, b"import types\nx = types\n", b"import types\nx = types\ny = no_such\n")) == 1, path


def test_options_of_the_repository_do_not_count() -> None:
    trap = b"[MAIN]\ninit-hook=raise SystemExit\n"
    assert new(("pylintrc", trap, trap), ("pyproject.toml", b"", trap), ("a.py", b"", b"x = no_such\n")) >= 1


@pytest.mark.parametrize("path", ["../a.py", "/a.py", "a/../../b.py", ""])
def test_paths_that_leave_the_folder_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a path in a repository"):
        new((path, b"", b"x = 1\n"))


def test_nothing_is_left_behind() -> None:
    path, out, environ, cwd = list(sys.path), sys.stdout, dict(os.environ), Path.cwd()
    new(("pkg/a.py", BEFORE, BEFORE))
    assert (sys.path, sys.stdout, dict(os.environ), Path.cwd()) == (path, out, environ, cwd)
    assert not list(Path(tempfile.gettempdir()).glob("acr-lint-*/pkg"))
    assert not list(Path(tempfile.gettempdir()).glob(f"acr-no-pylint-home-{os.getpid()}*"))


def test_fields_round_trip_and_damage_is_refused() -> None:
    fields = [b"", b"a", b"\0" * 300]
    assert unpack(pack(fields)) == fields
    assert unpack(b"") == []
    for cut in (1, 8, 9, 20):
        with pytest.raises(ValueError, match="cut off"):
            unpack(pack(fields)[:-cut] if cut < 20 else pack(fields)[:20])
