"""acr.lint with the real pylint: which version adds fewer errors."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acr import lint
from acr.byte_fields import pack, unpack

BEFORE = b"""import os
from . import other
import pkg


class A:
    def f(self):
        return undefined_one
"""


CLEAR = lint._clear_caches


@pytest.fixture(autouse=True)
def fixture_no_clearing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clearing takes several times as long as linting a few lines, so tests of other things keep the modules of earlier
    lints, as the versions of one batch do."""
    monkeypatch.setattr(lint, "_clear_caches", lambda: None)


def judge(*files: tuple[str, bytes | None, tuple[bytes, ...]]) -> list[list[int | None]]:
    """For each file, how many more errors each version has than the best version."""
    fields: list[bytes] = []
    for path, before, versions in files:
        fields += [path.encode(), b"" if before is None else b"+" + before, b"%d" % len(versions), *versions]
    lines = lint.lint(pack(fields)).decode().splitlines()
    return [[None if n == "?" else int(n) for n in line.split()] for line in lines]


def new(*files: tuple[str, bytes | None, bytes]) -> int:
    """The number of new errors in each second text, compared with the first."""
    judged = judge(*[(path, before, (before or b"", after)) for path, before, after in files])
    assert all(line[0] == 0 for line in judged)
    return sum(line[1] for line in judged if line[1] is not None)


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
    source = (
        b"from .gone import thing\nfrom pkg import name\nimport pkg\nimport no.such\n\npkg.anything(thing, name, no)\n"
    )
    assert new(("pkg/sub/a.py", b"", source)) == 0


def test_files_see_each_other() -> None:
    one = b"def made():\n    return 1\n"
    good = b"from pkg import one\n\none.made()\n"
    assert new(("pkg/one.py", one, one), ("pkg/two.py", None, good)) == 0
    assert new(("pkg/one.py", one, one), ("pkg/two.py", None, good.replace(b"made", b"unmade"))) == 1


@pytest.mark.parametrize("clear", [CLEAR, lambda: None], ids=["cleared", "kept"])
def test_an_edited_file_is_read_again(monkeypatch: pytest.MonkeyPatch, clear: Callable[[], None]) -> None:
    monkeypatch.setattr(lint, "_clear_caches", clear)
    good, bad = b"def f():\n    return 1\n", b"def f():\n    return nothing\n"
    assert [new(("pkg/a.py", good, text)) for text in (good, bad, good, bad, good)] == [0, 1, 0, 1, 0]


def test_a_file_that_does_not_parse_is_one_error() -> None:
    assert new(("a.py", b"x = 1\n", b"x = (\n")) == 1


def test_names_that_mean_something_to_pylint() -> None:
    paths = ["-rn.py", "--help/x.py", "types.py", "CVS/a.py", ".#a.py", "with space/ü.py", "a.b/c.py", "__init__.py"]
    before, after = b"import types\nx = types\n", b"import types\nx = types\ny = no_such\n"
    assert judge(*[(path, before, (before, after)) for path in paths]) == [[0, 1]] * len(paths)


def test_options_of_the_repository_do_not_count() -> None:
    trap = b"[MAIN]\ninit-hook=raise SystemExit\n"
    assert judge(
        ("pylintrc", trap, (trap,)), ("pyproject.toml", b"", (trap,)), ("a.py", b"", (b"x = 1\n", b"x = no_such\n"))
    ) == [[0], [0], [0, 1]]


def test_the_best_version_of_each_file() -> None:
    good, bad, worse = (BEFORE + more for more in (b"x = 1\n", b"x = no_such\n", b"x = no_such + nor_such\n"))
    assert judge(("pkg/a.py", BEFORE, (bad, worse, good)), ("pkg/b.py", None, (worse, bad))) == [[1, 2, 0], [1, 0]]
    assert judge(("pkg/a.py", BEFORE, (bad, bad.replace(b"no_such", b"nor_such")))) == [[0, 0]]


def test_a_file_with_one_version_is_only_there_to_be_imported() -> None:
    one = b"def made():\n    return no_such\n"
    uses = b"from pkg import one\n\none.made()\n"
    assert judge(("pkg/one.py", one, (one,)), ("pkg/two.py", None, (uses.replace(b"made", b"gone"), uses))) == [
        [0],
        [1, 0],
    ]


def counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record the paths of each later run of pylint."""
    runs: list[list[str]] = []
    real = lint._run

    def run(paths: list[str]) -> list[object]:
        runs.append([Path(path).name for path in paths])
        return real(paths)

    monkeypatch.setattr(lint, "_run", run)
    return runs


def test_versions_that_say_the_same_are_not_linted(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = counted_runs(monkeypatch)
    assert judge(("a.py", None, (b"x = (1,\n  no_such)\n", b"x = (1,\n      no_such)\n"))) == [[0, 0]]
    assert runs == []


def test_each_text_is_linted_once_and_the_old_one_only_where_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = counted_runs(monkeypatch)
    assert judge(("a.py", b"", (b"x = 1\n", b"x = 2\n")), ("b.py", b"", (b"x = 1\n", b"x = no_such\n"))) == [
        [0, 0],
        [0, 1],
    ]
    assert runs == [["a.py", "b.py"], ["a.py", "b.py"], ["b.py"]]


def test_caches_are_cleared_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    cleared = []
    monkeypatch.setattr(lint, "_clear_caches", lambda: (cleared.append(1), CLEAR()))
    new(("a.py", b"", b"x = no_such\n"), ("b.py", b"", b"x = no_such\n"))
    assert len(cleared) == 1


def breaking_visit(fails: Callable[[], None]) -> Callable[..., None]:
    """A method of a pylint checker that fails if a text asks for it."""
    from pylint.checkers.variables import VariablesChecker

    real = VariablesChecker.visit_name

    def visit_name(self: VariablesChecker, node: Any) -> None:
        if node.name == "breaks_pylint":
            fails()
        real(self, node)

    return visit_name


def raise_(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("error", [ValueError("a bug"), RecursionError("deep"), AttributeError("x"), MemoryError()])
def test_where_pylint_breaks_on_a_version_nothing_is_known_of_its_file(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    visit_name = breaking_visit(lambda: raise_(error))
    monkeypatch.setattr("pylint.checkers.variables.VariablesChecker.visit_name", visit_name)
    judged = judge(("a.py", b"", (b"x = 1\n", b"x = breaks_pylint\n")), ("b.py", b"", (b"x = 1\n", b"x = no_such\n")))
    assert judged == [[None, None], [0, 1]]


def test_where_pylint_breaks_on_the_text_before_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    visit_name = breaking_visit(lambda: raise_(ValueError("a bug")))
    monkeypatch.setattr("pylint.checkers.variables.VariablesChecker.visit_name", visit_name)
    assert judge(("a.py", b"x = breaks_pylint\n", (b"x = no_such\n", b"x = 1\n"))) == [[None, None]]


def test_what_pylint_lets_out_comes_out_and_the_next_run_is_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr("pylint.lint.pylinter.PyLinter.check", lambda *_: sys.exit(32))
        new(("a.py", b"", b"x = no_such\n"))
    assert new(("a.py", b"", b"x = no_such\n")) == 1


def test_fields_that_promise_more_are_refused() -> None:
    with pytest.raises(ValueError, match="fewer fields"):
        lint.lint(pack([b"a.py", b"", b"2", b"x = 1\n"]))


@pytest.mark.parametrize("path", ["../a.py", "/a.py", "a/../../b.py", ""])
def test_paths_that_leave_the_folder_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a path in a repository"):
        new((path, b"", b"x = no_such\n"))


def test_nothing_is_left_behind() -> None:
    path, out, environ, cwd = list(sys.path), sys.stdout, dict(os.environ), Path.cwd()
    new(("pkg/a.py", BEFORE, BEFORE))
    assert (sys.path, sys.stdout, dict(os.environ), Path.cwd()) == (path, out, environ, cwd)
    assert not list(Path(tempfile.gettempdir()).glob("acr-lint-*/pkg"))


def test_what_pylint_keeps_is_nowhere() -> None:
    new(("a.py", b"", b"x = no_such\n"))
    assert sys.modules["pylint.constants"].PYLINT_HOME == "/dev/null/pylint"


def test_fields_round_trip_and_damage_is_refused() -> None:
    fields = [b"", b"a", b"\0" * 300]
    assert unpack(pack(fields)) == fields
    assert unpack(b"") == []
    for cut in (1, 8, 9, 20):
        with pytest.raises(ValueError, match="truncated"):
            unpack(pack(fields)[:-cut] if cut < 20 else pack(fields)[:20])
