"""The program never imports code of a repository or of a model's answer: every module that it could import would write
a marker and end the process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

import pytest
from fewer import usually
from host import Host, Result
from repos import Repo
from runs import write_script

RunHost = Callable[..., Result]
MakeRepo = Callable[..., Repo]

# Modules that pylint and its imports search for, installed here or not.
INSTALLED = [
    "_distutils_hack", "astroid", "attr", "dateutil", "dill", "gi", "isort", "lazy_object_proxy", "logilab", "mccabe",
    "numpy", "pip", "pkg_resources", "platformdirs", "pylint", "setuptools", "sitecustomize", "six", "tomli", "tomlkit",
    "typing_extensions", "usercustomize", "wrapt",
]  # fmt: skip
NAMES = sorted({*sys.stdlib_module_names, *INSTALLED, "acr"})
SHAPES = "class Circle:\n    def area(self):\n        r = self.r\n        a = r\n"
# pylint searches for used modules, and loads compiled ones, some of which import more.
USED = [
    "_zoneinfo",
    "_decimal",
    "_json",
    "_pickle",
    "_elementtree",
    "_ssl",
    "zoneinfo",
    "typing",
    "setuptools",
    "distutils.core",
]
USES = "".join(f"import {name}\nprint({name}.some)\n" for name in USED)
# The reading that starts in the first column would be in the class, where `r` is unknown: only pylint notices.
EDIT = "<file>{0}</file>\n<original>\n        a = r\n</original>\n<patched>\n    a = r * 2\n</patched>\n"
IN_METHOD = b"\n+        a = r * 2\n"


@pytest.fixture(name="marker")
def fixture_marker(tmp_path: Path) -> Path:
    """The file that an import would write."""
    return tmp_path / "marker"


def trap(marker: Path, name: str) -> str:
    """A module that records its import, or ends the process if it cannot."""
    return f"import posix\nposix.write(posix.open({str(marker)!r}, 65, 0o600), b'{name} ')\nposix._exit(77)\n{SHAPES}"


@pytest.fixture(name="repo")
def fixture_repo(make_repo: MakeRepo, marker: Path) -> Repo:
    """A repository in which each name is a package in one folder and a module in the other."""
    files: dict[str, str | bytes] = {"shapes.py": USES + SHAPES, "src/shapes.py": USES + SHAPES}
    for name in NAMES:
        files[f"{name}/__init__.py"] = trap(marker, name)
        files[f"src/{name}.py"] = trap(marker, name)
    return make_repo(files)


def answers(folder: Path) -> list[Path]:
    """Answers that edit an ordinary file beside the traps, and the traps themselves."""
    targets = ["shapes.py", "src/shapes.py", "setuptools/__init__.py", "zoneinfo/__init__.py", "src/typing.py"]
    one, many = folder / "one.txt", folder / "many.txt"
    one.write_text(EDIT.format("src/shapes.py"), "utf-8")
    many.write_text("".join(EDIT.format(target) for target in targets), "utf-8")
    return [one, many]


@pytest.mark.parametrize("place", usually([""], ["", "src"]))
def test_the_verbs_import_nothing(host: Host, repo: Repo, tmp_path: Path, marker: Path, place: str) -> None:
    """The program may start in the folder of the traps, and Python's variables may name that folder."""
    folder = repo.path / place
    where = {"cwd": folder, "env": {"PYTHONPATH": str(folder), "PYTHONHOME": str(folder), "PYTHONSTARTUP": "os.py"}}
    host.run("index", "--repo", repo, **where).check()
    found = host.run("search", "--repo", repo, "search_method('area')", **where).check()
    assert b"results for area" in found.stdout
    for answer in answers(tmp_path):
        done = host.run("patch", "--repo", repo, answer, **where).check()
        # pylint answered; if it had imported a trap, the process would have ended.
        assert done.stdout.count(IN_METHOD) == answer.read_text("utf-8").count("<file>")
    assert not marker.exists()


def test_a_run_imports_nothing(run_host: RunHost, repo: Repo, tmp_path: Path, marker: Path) -> None:
    """The answer edits the traps. Nothing is verified, because the sandbox would run the traps."""
    script = write_script(
        tmp_path / "script.jsonl",
        [
            {"agent": "search", "content": "The bug is in Circle.area."},
            {"agent": "extract", "content": '{"API_calls": [], "bug_locations": [{"method": "area"}]}'},
            {"agent": "patch", "content": answers(tmp_path)[-1].read_text("utf-8")},
        ],
    )
    options = ["--repo", repo, "--issue-text", "Too small.", "--model", script, "--out", tmp_path / "out"]
    done = run_host("run", "--verify=never", *options, cwd=repo.path).check()
    assert done.stdout.count(IN_METHOD) == 5
    assert not marker.exists()
