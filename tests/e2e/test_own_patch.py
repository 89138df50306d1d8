"""`acr-host verify`: proves the user's own patch by the user's own script, without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from host import Host, Result
from hostile import TINY
from repos import Repo, digest, make_repo
from runs import read_json
from verifying import HALF_RIGHT, OTHER, PASSING, RIGHT, SCRIPT, WRONG, has_bubblewrap, sandbox_options, verified

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="bubblewrap does not work here")
NONE, USAGE, ENVIRONMENT = 1, 2, 3
TESTS = """import unittest

from app import half


class AppTest(unittest.TestCase):
    def test_six(self):
        self.assertEqual(half(6), 2)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """TINY with a test that asserts the bug, a script outside, and the right change in the working tree."""
    made = make_repo(tmp_path / "repo", TINY | {"tests/__init__.py": "", "tests/test_app.py": TESTS})
    (tmp_path / "script.py").write_text(SCRIPT)
    change(made, RIGHT)
    return made


def change(repo: Repo, after: str) -> None:
    """Put another body into the function of the committed file."""
    repo.write({"app.py": TINY["app.py"].replace(WRONG, after)})


def verify(host: Host, repo: Repo, *more: object, script: object = "../script.py", **options: object) -> Result:
    """Verify in the working tree."""
    return host.run("verify", "--script", script, *sandbox_options(), *more, cwd=repo, timeout=240, **options)


def test_changes_of_the_working_tree_are_verified(host: Host, repo: Repo, tmp_path: Path) -> None:
    """With the same verdict, result and table as a run; the run can be replayed, reported and turned into a request."""
    before, out = digest(Path(repo)), tmp_path / "out"
    result = verify(host, repo, "--out", out, "-v").check()
    assert verified(result).startswith("yes (the script fails without the patch and passes with it; ")
    assert digest(Path(repo)) == before and (out / "patch.diff").read_text() == repo.git("diff", "--full-index") + "\n"
    saved = read_json(out / "result.json")
    table = saved["experiments"]["table"]
    names = [row.split("  ")[0] for row in result.out.splitlines() if row[0] != " "]
    assert [row["experiment"] for row in table] == [name.removesuffix(", without the patch") for name in names]
    assert names.count("rewritten") == names.count("rewritten, without the patch") == 1
    assert f"changed: {table[0]['changed']}; expected: {table[0]['expected']}" in result.out
    assert "failed at the changed assertion (line " in result.out and saved["cost"]["calls"] == 0
    again = host.run("replay", out, env={"PATH": "/nonexistent"}).check()
    assert again.stdout == (out / "patch.diff").read_bytes()
    request = json.loads(host.run("pr", out, "--dry-run", "--json").check().out)
    assert "reproducer: `reproduced` (exit 1) without the patch, `passed` with it" in request["body"]
    assert "no model was used" in request["body"] and "Assisted-by" not in json.dumps(request)
    assert json.loads(verify(host, repo, "--out", out, "--json").check().out)["verdict"] == "verified"


@pytest.mark.parametrize(
    ("after", "script", "options", "words"),
    [
        pytest.param(RIGHT, PASSING, [], "no (the script could not be used: without the patch, the script exits with 0; it must fail with an AssertionError)", marks=pytest.mark.full),
        (RIGHT, "import app\n\ndef test_six():\n    assert 6 == 7\n", [], "no (the script could not be used: without the patch, the script exits with 0; it must fail with an AssertionError; does it call its test functions?)"),
        (RIGHT, "assert (\n", [], "no (the script could not be used: without the patch, the script is not valid Python: SyntaxError: '(' was never closed (line 1)"),
        (OTHER, SCRIPT, [], "no (with the patch, line 3 of the script raises AssertionError: half(4) is 0)"),
        ("    import sys\n    return 2 if sys.argv else 1\n", SCRIPT, [], "no (the patch is not plain code"),
        (RIGHT, SCRIPT, ["--regressions"], "no (the patch breaks tests that passed: tests.test_app.AppTest.test_six"),
    ],
)  # fmt: skip
def test_an_unproved_patch_ends_with_1(
    host: Host, repo: Repo, tmp_path: Path, after: str, script: str, options: list[str], words: str
) -> None:
    """The last line says why."""
    change(repo, after)
    (tmp_path / "script.py").write_text(script)
    assert verified(verify(host, repo, *options).check(NONE)).startswith(words)


def test_bytecode_is_made_for_a_script_before_it_runs(host: Host, repo: Repo, tmp_path: Path) -> None:
    """Outside the working tree; the script sees it, and it does not count as written by the script."""
    script = (
        "import os\n\nimport app\n\nassert app.half(6) == 3 and not os.path.exists(app.__cached__), 'has bytecode'\n"
    )
    (tmp_path / "script.py").write_text(script)
    verify(host, repo).check()  # a small project is compiled in each run
    large = make_repo(tmp_path / "large", TINY | {f"part_{n}.py": "" for n in range(60)})
    change(large, RIGHT)
    result = verify(host, large).check(NONE)
    assert verified(result) == "no (with the patch, line 5 of the script raises AssertionError: has bytecode)"
    assert not list(Path(large).rglob("*.pyc"))


def test_the_patch_is_what_the_user_names(host: Host, repo: Repo, tmp_path: Path) -> None:
    """A file or standard input, which applies to the working tree or to --rev; else the changes since --rev, without
    the script.
    """
    diff = repo.git("diff") + "\n"
    (tmp_path / "fix.diff").write_text(diff)
    verify(host, repo, "--patch", "../fix.diff").one_line(USAGE, "does not apply to 'app.py': hunk", "add --rev HEAD")
    verify(host, repo, "--patch", "-", "--rev", "HEAD", input=diff.encode()).check()
    assert "  app.py: Verify a patch with script.py" in host.run("runs", cwd=repo).check().out
    first = repo.head
    repo.write({"new/part.py": "x = 1\n", "script.py": SCRIPT})
    verify(host, repo, "--out", tmp_path / "out", script="script.py").check(NONE)  # a new module is not plain code
    verified_diff = (tmp_path / "out" / "patch.diff").read_text()
    assert "b/new/part.py" in verified_diff and "script.py" not in verified_diff
    repo.commit({"app.py": TINY["app.py"].replace(WRONG, RIGHT), "script.py": None, "new/part.py": None})
    verify(host, repo).one_line(USAGE, "the working tree has no changes since HEAD", "--rev")
    verify(host, repo, "--rev", first).check()


def test_a_command_accepts_what_the_script_cannot_prove(host: Host, repo: Repo) -> None:
    """With --validate, as in `run`."""
    change(repo, HALF_RIGHT)
    (Path(repo).parent / "script.py").write_text("from app import half\n\nassert half(4) != 1\n")
    said = verify(host, repo, "--validate", "python3 -c 'import app; assert app.half(4) == 2'").check().err
    assert "validated: yes (the --validate command succeeds with the patch; not verified: " in said


@pytest.mark.parametrize(
    ("code", "options", "words"),
    [
        (USAGE, {"script": "nosuch.py"}, "cannot open 'nosuch.py'"),
        (USAGE, {"script": "app.pyc"}, "is not UTF-8 text"),
        (ENVIRONMENT, {"env": {"PATH": "/nonexistent"}}, "code cannot be run here"),
    ],
)
def test_what_cannot_be_verified_is_said_in_one_line(
    host: Host, repo: Repo, code: int, options: dict[str, object], words: str
) -> None:
    """A script that cannot be read, and a machine that cannot run code."""
    repo.write({"app.pyc": b"\xff\xfe\0"})
    verify(host, repo, "-q", **options).one_line(code, words)


def test_a_folder_without_git_needs_a_patch(host: Host, tmp_path: Path) -> None:
    """Because nothing says what has changed."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "app.py").write_text(TINY["app.py"])
    (tmp_path / "script.py").write_text(SCRIPT)
    host.run("verify", "-s", "script.py", "--repo", "plain", cwd=tmp_path).one_line(
        USAGE, "is not a git repository", "--patch FILE"
    )
