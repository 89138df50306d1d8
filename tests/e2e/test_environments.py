"""--environment: the environment of a benchmark project, for work on a checkout of that project."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import verifying
from fewer import usually
from host import ROOT, Host
from repos import Repo, make_repo
from setups import make_environment, packages_of
from verifying import guard, line, test_line

sys.path.append(str(ROOT / "python"))
from acr.grading import environments  # noqa: E402

USAGE, BROKEN = 2, 3
SYMPY = {
    "sympy/__init__.py": "",
    "sympy/core/basic.py": "def half(n):\n    return n // 2\n",
    "sympy/release.py": '__version__ = "1.8.dev"\n',
    "test_half.py": "import unittest\nimport only_here\n\n\nclass T(unittest.TestCase):\n    def test_half(self):\n        pass\n",
}
# Fails because of a value in the environment's module.
SCRIPT = "import only_here\nassert not only_here.found, 'half(1) is 0'\n"
needs_bubblewrap = pytest.mark.skipif(not verifying.has_bubblewrap(), reason="no bubblewrap")


@pytest.fixture
def checkout(tmp_path: Path) -> Repo:
    """A checkout whose files identify it as sympy."""
    return make_repo(tmp_path / "fork", SYMPY)


def make_sympy(cache: Path) -> Path:
    """The environment of sympy 1.7; its Python can import `only_here`."""
    recipes = environments.built_in_recipes()
    (recipe,) = [at for at in recipes if at["repo"] == "sympy/sympy" and "1.7" in at["versions"]]
    python = make_environment(cache, recipe)
    (packages_of(python) / "only_here.py").write_text("found = True\n")
    return python


@needs_bubblewrap
@pytest.mark.parametrize("name", usually(["auto", "sympy/sympy@1.7"], ["auto", "sympy", "sympy/sympy@1.7"]))
def test_code_runs_in_the_environment_of_a_recipe(host: Host, checkout: Repo, tmp_path: Path, name: str) -> None:
    """All code of a run runs there; the run folder records the environment, and resumes."""
    python = make_sympy(tmp_path / "cache")
    script, out = tmp_path / "answers.jsonl", tmp_path / "out"
    script.write_text("".join(json.dumps(line) + "\n" for line in [guard(), test_line(SCRIPT)]))
    words = ["reproduce", "--repo", checkout, "--issue-text", "half", "--model", f"script:{script}", "--out", out]
    for _ in range(2):
        result = host.run(*words, "--environment", name, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}).check()
        assert result.out == SCRIPT, result.told()
        version = "1.7" if "@" in name else "1.8"
        assert f"--environment: sympy/sympy@{version}, with Python 3.9" in result.err
    meta = json.loads((out / "meta.json").read_text())
    assert (meta["place"], meta["options"]["python"]) == ("environment", str(python))
    host.run("replay", out).check()
    words = ["tests", "--repo", checkout, "--test-cmd", "python -m unittest", "--environment", name, "--json"]
    (row,) = host.run(*words, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}).check().rows()
    assert (row["command"], row["counts"]["passed"]) == ("python -m unittest discover", 1)


@needs_bubblewrap
def test_a_broken_environment_is_said(host: Host, checkout: Repo, tmp_path: Path) -> None:
    """A missing package, runner, test or Python, or a Python that does not run, is never a silent pass."""
    python = make_sympy(tmp_path / "cache")
    edit = "<file>sympy/core/basic.py</file><original>n // 2</original><patched>n / 2</patched>"
    place = '{"API_calls": [], "bug_locations": [{"file": "sympy/core/basic.py", "method": "half"}]}'
    lines = [line("search", "half"), line("extract", place), line("patch", edit)]
    script = tmp_path / "answers.jsonl"
    script.write_text("".join(json.dumps(at) + "\n" for at in lines))
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYENV_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def compare(command: str, code: int, said: str) -> None:
        out = tmp_path / f"out{len(list(tmp_path.glob('out*')))}"
        words = ["run", "--repo", checkout, "--issue-text", "half", "--model", f"script:{script}", "--out", out]
        words += ["--environment", "auto", "--verify=never", "--regressions", "--test-cmd", command]
        result = host.run(*words, env=env, timeout=120).check(code)
        assert said in result.err.splitlines()[-1 if code else -2], result.told()
        if not code:
            assert said in json.loads((out / "result.json").read_text())["tests"]["why"]

    (module,) = python.parents[1].glob("lib/*/site-packages/only_here.py")
    module.unlink()
    compare("python -m unittest", 0, "No module named 'only_here'")
    compare("python -m pytest", BROKEN, "pytest")
    compare("true", BROKEN, "the command runs no tests")
    python.unlink()
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    compare("python -m unittest", BROKEN, "is a script")
    python.unlink()
    if not any(Path(at, "python3.9").exists() for at in ("/usr/bin", "/bin")):
        compare(
            "python -m unittest",
            BROKEN,
            "--environment: sympy/sympy@1.8: python3.9 is neither in the PATH nor in pyenv",
        )


def test_recipes_that_cannot_be_used(host: Host, checkout: Repo, tmp_path: Path) -> None:
    """Each causes one line: an unknown recipe or project, contradictory options, an environment that cannot be made."""
    other = make_repo(tmp_path / "other", {"a.py": "a = 1\n"})
    for repo, words, said in (
        (checkout, ["nowhere"], "there is no recipe 'nowhere'"),
        (checkout, ["sympy@9.9"], "there is no recipe 'sympy@9.9'; versions of sympy/sympy: 1.0, "),
        (other, ["auto"], "this is not a checkout of a project with a recipe"),
        (checkout, ["auto", "--setup", "true"], "leave out --dataset, --setup"),
        (checkout, ["auto", "--python", "python3"], "give --environment or --python, not both"),
    ):
        host.run("tests", "--repo", repo, "--environment", *words).one_line(USAGE, said)
    empty = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYENV_ROOT": str(tmp_path / "pyenv")}
    command = ["tests", "--repo", checkout, "--environment", "auto"]
    if not (Path("/usr/bin/python3.9").exists() or Path("/usr/local/bin/python3.9").exists()):
        host.run(*command, env=empty | {"PATH": "/usr/bin:/bin"}).one_line(
            BROKEN, "python3.9 is neither in the PATH nor in pyenv"
        )
    made = tmp_path / "pyenv" / "versions" / "3.9.1" / "bin" / "python"
    made.parent.mkdir(parents=True)
    made.write_text('#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
    made.chmod(0o755)
    if verifying.has_bubblewrap():
        no_index = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
        result = host.run(*command, env=empty | no_index).check(BROKEN)
        assert "--environment: sympy/sympy@1.8: cannot create the environment of Python 3.9: No matching " in result.err
        assert "mpmath" in result.err and "ERROR:" not in result.err
