"""The Python that runs a project: the given one, that of the project's `.venv`, or the system's; acr-host prints which."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Callable

import packages
import pytest
import repos
import sandboxes
from repos import Repo
from sandboxes import Sandbox
from setups import BUBBLEWRAP, TREE, every, make_venv, owned


@pytest.fixture
def tmp_path(open_path: Path) -> Path:
    """A folder that the users of sandboxes may enter."""
    return open_path


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A project as a repository."""
    return repos.make_repo(tmp_path / "project", TREE)


def choice(box: Sandbox, repo: Path, *options: str) -> tuple[str, list[str]]:
    """The prefix of the Python that `python` is inside, and the line of `--verbose`."""
    code = "import sys; print(sys.prefix)"
    result = box.run(repo, "-v", *options, "--", "python3", "-c", code).check(0)
    return result.out.strip(), result.err.splitlines()


def test_the_systems_is_taken_where_there_is_no_other(box: Sandbox, repo: Repo) -> None:
    prefix, said = choice(box, repo.path)
    assert prefix == "/usr"
    assert said == ["acr-host exec: the Python is '/usr/bin/python3', the system's"]


@every(sandboxes.LOCAL)
def test_the_environment_in_the_working_tree_is_taken(box: Sandbox, repo: Repo) -> None:
    python = make_venv(repo.path / ".venv")
    owned(repo, box)
    prefix, said = choice(box, repo.path)
    assert prefix == str(repo.path / ".venv")
    assert said[0] == f"acr-host exec: the Python is '{python}', the environment of the working tree"


@every(sandboxes.LOCAL)
def test_a_python_outside_is_taken_as_given(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "some where" / "venv")
    owned(repo, box)
    prefix, said = choice(box, repo.path, "--python", str(python))
    assert prefix == str(python.parents[1])
    assert said[0] == f"acr-host exec: the Python is '{python}', as --python says"


@every(BUBBLEWRAP)
def test_it_is_bound_read_only(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    """The same holds for the user's own Python, in the working tree or elsewhere, and for its original."""
    for folder in (tmp_path / "venv", repo.path / ".venv"):
        python = make_venv(folder)
        owned(repo, box)
        if box.wrapper:
            sandboxes.give(folder, sandboxes.ORDINARY_USER)
        before = repos.digest(folder)
        code = f"open({str(folder / 'x')!r}, 'w')"
        for setup in ([], ["--setup", "true"]):
            options = ["--python", str(python), *setup]
            result = box.run(repo.path, *options, "--", "python", "-c", code).check(1)
            assert "Error: [Errno 30]" in result.err or "Error: [Errno 13]" in result.err
            box.run(repo.path, *options, "--", "sh", "-c", f"chmod 777 {folder}").check(1)
        assert repos.digest(folder) == before


def test_a_name_is_looked_up(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv")
    box.env["PATH"] = f"{python.parent}:{os.environ['PATH']}"
    assert choice(box, repo.path, "--python", "python3")[0] == str(tmp_path / "venv")


def test_an_environment_of_copies(box: Sandbox, repo: Repo, tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", "--copies")
    assert choice(box, repo.path, "--python", str(python))[0] == str(tmp_path / "venv")


def _elsewhere() -> str:
    """A Python that is installed outside /usr; skips the test if there is none."""
    found = packages.installed_pythons("3.*")
    if not found:
        pytest.skip("no Python is installed outside /usr (~/.pyenv/versions)")
    return str(found[-1])


@pytest.mark.parametrize("copies", [[], ["--copies"]], ids=["links", "copies"])
def test_what_an_environment_was_made_from_is_visible(
    box: Sandbox, repo: Repo, tmp_path: Path, copies: list[str]
) -> None:
    origin = _elsewhere()
    python = make_venv(tmp_path / "venv", *copies, python=origin)
    code = "import sys, json, ctypes; print(sys.prefix, sys.base_prefix)"
    for options in (["--python", str(python)], []):
        result = box.run(repo.path, *options, "--", "python3", "-c", code).check(0)
        expected = [str(tmp_path / "venv"), str(Path(origin).parents[1])] if options else ["/usr", "/usr"]
        assert result.out.split() == expected
    assert choice(box, repo.path, "--python", origin)[0] == str(Path(origin).parents[1])


WRONG: dict[str, str] = {
    "/nowhere/python": "does not exist",
    "no-such-python": "is not in the PATH",
    "{tmp}/text": "cannot be run",
    "{tmp}": "cannot be run",
    "{tmp}/dangling": "does not exist",
    "{tmp}/script": "is a script",
    "{tmp}/bin/tool": "is not inside an installed Python",
}


@pytest.mark.parametrize("given", WRONG)
def test_a_wrong_python_is_one_line(box: Sandbox, repo: Repo, tmp_path: Path, given: str) -> None:
    (tmp_path / "text").write_text("text")
    (tmp_path / "dangling").symlink_to("/nowhere/python")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "bin").mkdir()
    shutil.copy2("/bin/true", tmp_path / "bin" / "tool")
    path = given.format(tmp=tmp_path)
    box.run(repo.path, "--python", path, "--", "true").one_line(125, path, WRONG[given])
    box.run(repo.path, "--python", "/bin/true", "--", "true").one_line(2, "'/bin/true' is not a Python interpreter")


def _broken_link(folder: Path) -> str:
    python = make_venv(folder)
    python.unlink()
    python.symlink_to("/nowhere/python3")
    return "its Python is not executable"


def _no_settings(folder: Path) -> str:
    make_venv(folder)
    (folder / "pyvenv.cfg").unlink()
    return "it has no pyvenv.cfg"


def _no_origin(folder: Path) -> str:
    python = make_venv(folder, "--copies")
    (folder / "pyvenv.cfg").write_text("home = /nowhere/bin\n")
    return f"'{python}' is not inside an installed Python"


@pytest.mark.parametrize("spoil", [_broken_link, _no_settings, _no_origin], ids=lambda f: f.__name__[1:])
def test_an_environment_that_does_not_work_is_passed_over(
    box: Sandbox, repo: Repo, spoil: Callable[[Path], str]
) -> None:
    why = spoil(repo.path / ".venv")
    prefix, said = choice(box, repo.path)
    assert prefix == "/usr"
    assert said == [
        "acr-host exec: the Python is '/usr/bin/python3', the system's",
        f"acr-host exec: the '.venv' of the working tree is not used: {why}",
    ]


def test_an_environment_of_the_projects_own_files_is_not_trusted(box: Sandbox, repo: Repo) -> None:
    make_venv(repo.path / ".venv")
    repo.commit({}, "with an environment")
    prefix, said = choice(box, repo.path)
    assert prefix == "/usr"
    assert said[1].endswith("is not used: it belongs to the project itself")
    assert ".venv/bin" not in box.host.run("doctor", cwd=repo.path).out


def test_nor_is_one_in_a_folder_without_git(box: Sandbox, tmp_path: Path) -> None:
    """Without git, the user's files cannot be told from the project's."""
    folder = tmp_path / "folder"
    folder.mkdir()
    make_venv(folder / ".venv")
    prefix, said = choice(box, folder)
    assert prefix == "/usr"
    assert said[1].endswith("it may belong to the project, which is not a git repository; use --python if you trust it")


def test_a_python_does_not_show_the_whole_home(box: Sandbox, repo: Repo) -> None:
    """Mounting a Python that is installed into the home itself would expose the whole home."""
    home = box.host.home
    (home / "secret").write_text("secret")
    python = make_venv(home)
    box.run(repo.path, "--python", str(python), "--", "true").one_line(125, "your home folder")
