"""The user's repository stays unchanged, to the inode and the nanosecond, whichever verb runs or is killed in it."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Host, Result, kill
from hostile import TINY, Arguments, deep_digest, sample_run, strays, tiny_run, write_script
from repos import Repo
from runs import ISSUE, SAMPLE, SCRIPT

Run = Callable[..., Result]
Make = Callable[..., Repo]
VERBS = ["run", "run at HEAD", "search", "search at HEAD", "patch", "index", "replay", "swe-bench"]


def _spoil(repo: Repo) -> None:
    """Make the tree as dirty as possible: every kind of file and change, and an index between both states."""
    root = repo.path
    seasonal = root / "brookbill" / "tariffs" / "seasonal.py"
    repo.write({"brookbill/staged.py": "x = 1\n", ".gitignore": "*.log\nbuild/\n"})
    repo.git("add", "brookbill/staged.py", ".gitignore")
    repo.write({"brookbill/staged.py": "x = 2\n", "untracked.py": "y = 1\n"})
    repo.write({"noise.log": "ignored\n", "build/lib.py": "z = 1\n", "README.md": None})
    seasonal.write_bytes(seasonal.read_bytes() + b"\n# mine\n")
    (root / "tool.py").write_text("#!/usr/bin/env python3\n")
    (root / "tool.py").chmod(0o755)
    (root / "inside").symlink_to("brookbill")
    (root / "outside").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    (root / "dangling.py").symlink_to("nowhere.py")
    os.mkfifo(root / "pipe.py")
    (root / "empty folder").mkdir()
    (root / "no mode.py").write_text("secret = 1\n")
    (root / "no mode.py").chmod(0 if os.geteuid() == 0 else 0o400)
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9 \n\t'\".py")).write_text("w = 1\n")
    repo.git("config", "core.fsmonitor", "touch called-by-git")
    repo.git("config", "filter.trap.clean", "touch called-by-git")
    repo.git("config", "core.untrackedCache", "true")
    repo.write({".git/info/attributes": "*.py filter=trap\n"})
    hook = root / ".git" / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch called-by-git\n")
    hook.chmod(0o755)
    os.utime(seasonal, ns=(1, 1))  # its entry in the index is out of date


@pytest.fixture
def dirty(sample_repo: Repo) -> Repo:
    """The sample with a tree that is as dirty as possible."""
    _spoil(sample_repo)
    return sample_repo


def _dataset(folder: Path, repo: Repo, commit: str) -> Arguments:
    """The arguments of a benchmark with one task, whose repository is `repo`."""
    row = {"instance_id": "a__b-1", "repo": "a/b", "base_commit": commit}
    row["problem_statement"] = ISSUE.read_text(encoding="utf-8")
    folder.mkdir()
    (folder / "tasks.json").write_text(json.dumps([row]))
    (folder / "a__b").symlink_to(repo.path)
    model = ["--model", f"script:{SCRIPT}", "--out", folder / "out"]
    return ["--dataset", folder / "tasks.json", "--repos", folder, *model]


@pytest.fixture
def commands(host: Host, dirty: Repo, tmp_path: Path) -> dict[str, Arguments]:
    """For each verb, the arguments of a run on the dirty sample."""
    host.run(*sample_run(dirty, tmp_path / "done")).check()
    answer = tmp_path / "done" / "attempt_0" / "patch_raw_2.md"
    calls = ['search_class("Tariff")', 'search_code(" = ")', 'get_code_around_line("tool.py", 1, 3)']
    head = dirty.git("rev-parse", "HEAD")
    return {
        "run": sample_run(dirty, tmp_path / "out"),
        "run at HEAD": [*sample_run(dirty, tmp_path / "out at HEAD"), "--rev", "HEAD"],
        "search": ["search", "--repo", dirty, *calls],
        "search at HEAD": ["search", "--repo", dirty, "--rev", "HEAD", *calls],
        "patch": ["patch", "--repo", dirty, answer],
        "index": ["index", "--repo", dirty],
        "replay": ["replay", tmp_path / "done"],
        "swe-bench": ["swe-bench", *_dataset(tmp_path / "bench", dirty, head)],
    }


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_leaves_a_dirty_repository_as_it_is(
    host: Host, dirty: Repo, commands: dict[str, Arguments], verb: str
) -> None:
    """Twice, from outside and from inside the tree; no program of the user's configuration is started."""
    before = deep_digest(dirty.path)
    for folder in (None, dirty.path):
        result = host.run(*commands[verb], cwd=folder)
        assert result.exit in (0, 1) and b"called" not in result.stderr, result.told()
    assert deep_digest(dirty.path) == before


def _name(file: Any) -> str:
    """A path as in the program's JSON, even if it is not UTF-8."""
    return file if isinstance(file, str) else os.fsdecode(base64.b64decode(file["base64"]))


def test_the_dirty_tree_is_what_was_worked_on(host: Host, commands: dict[str, Arguments]) -> None:
    """Otherwise, the previous test could pass because nothing was read."""
    rows = host.run(*commands["search"], "--json").rows()
    files = {_name(place["file"]) for row in rows for place in row["results"]}
    assert {"untracked.py", "brookbill/staged.py", "tool.py"} <= files
    assert not files & {"build/lib.py", "dangling.py", "pipe.py"}


def test_apply_changes_the_file_it_says_and_no_other(host: Host, dirty: Repo, tmp_path: Path) -> None:
    """Times of its folder change, too, because a new file replaces the old one."""
    before = deep_digest(dirty.path)
    result = host.run(*sample_run(dirty, tmp_path / "out"), "--apply").check()
    after = deep_digest(dirty.path)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    folder = dirty.path / "brookbill" / "tariffs"
    assert changed == {str(folder / "seasonal.py"), f"{folder}/."} | {str(folder)}
    assert b"brookbill/tariffs/seasonal.py" in result.stdout


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The folder for the run's temporary files, as the environment names it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield {"TMPDIR": str(folder)}


def _kill_in(host: Host, arguments: Arguments, seconds: float, changes: dict[str, str]) -> bool:
    """Start, kill after that time; return whether it was still running."""
    child = host.start(*arguments, env=changes)
    time.sleep(seconds)
    alive = child.poll() is None
    kill(child)
    return alive


def _kill_verbs(host: Host, commands: dict[str, Arguments], times: int, out: Path, changes: dict[str, str]) -> int:
    """Kill run, search and index in turn at random moments; return how many kills hit a running one."""
    chance, kills = random.Random(6), 0
    seconds = {v: host.run(*commands[v], env=changes).seconds for v in ("search", "index")}
    seconds["run"] = host.run(*commands["run"], env=changes).seconds
    for number in range(20 * times):
        verb = ("run", "search", "index")[number % 3]
        if verb == "run" and number % 2:
            shutil.rmtree(out, ignore_errors=True)
        kills += _kill_in(host, commands[verb], chance.uniform(0, seconds[verb]), changes)
        if kills == times:
            break
    return kills


def _look(host: Host, folder: Path) -> set[str]:
    """The contents of a folder, without the program's empty one, and of HOME without the cache."""
    home = [str(p) for p in host.home.rglob("*") if host.home / "cache" not in [p, *p.parents]]
    return {*home, *(str(p) for p in folder.rglob("*"))} - {str(folder / f"acr-host-{os.geteuid()}")}


def _clean_up(host: Host, commands: dict[str, Arguments], changes: dict[str, str]) -> None:
    """Run in a new folder, because a run that was killed at its very end left a finished one, which would only be read.
    First wait for children that were just starting: until their program begins, they hold their parent's locks, and
    the next run leaves locked files alone.
    """
    for place in Path(changes["TMPDIR"]).glob("acr-host-*/tmp-*"):
        opened = os.open(place, os.O_RDONLY)
        fcntl.flock(opened, fcntl.LOCK_EX)
        os.close(opened)
    host.run(*commands["run at HEAD"], env=changes).check()


def test_kills_leave_the_repository_and_no_temporary_files(
    host: Host, dirty: Repo, commands: dict[str, Arguments], tmp_path: Path, places: dict[str, str]
) -> None:
    """Nothing remains in HOME or the repository; the next run removes files from the program's folder of temporary
    files.
    """
    before = deep_digest(dirty.path)
    assert _kill_verbs(host, commands, 16, tmp_path / "out", places) == 16
    assert deep_digest(dirty.path) == before
    host.run(*commands["run"], env=places).check()
    _clean_up(host, commands, places)
    assert _look(host, Path(places["TMPDIR"])) == set()
    assert strays(tmp_path / "out") == []


# ---- Kinds of repository ------------------------------------------------------------------------


def _bare(repo: Repo, path: Path) -> Path:
    repo.git("clone", "-q", "--bare", str(repo), str(path))
    return path


def _worktree(repo: Repo, path: Path) -> Path:
    repo.git("worktree", "add", "-q", str(path))
    return path


def _packed(repo: Repo, path: Path) -> Path:
    repo.git("gc", "-q")
    return repo.path


def _borrowing(repo: Repo, path: Path) -> Path:
    repo.git("clone", "-q", "--shared", str(repo), str(path))
    return path


def _plain(repo: Repo, path: Path) -> Path:
    shutil.copytree(repo.path, path, ignore=shutil.ignore_patterns(".git"))
    return path


def _within(repo: Repo, path: Path) -> Path:
    return repo.path / "brookbill"


def _locked(repo: Repo, path: Path) -> Path:
    (repo.path / ".git" / "index.lock").write_text("")
    return repo.path


def _without_index(repo: Repo, path: Path) -> Path:
    (repo.path / ".git" / "index").unlink()
    return repo.path


KINDS: list[Callable[[Repo, Path], Path]] = [
    *(_bare, _worktree, _packed, _borrowing, _plain, _within, _locked, _without_index)
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_repository_is_left_as_it_is(
    host: Host, sample_repo: Repo, tmp_path: Path, kind: Callable[[Repo, Path], Path]
) -> None:
    """The repository, and the one from which its objects come."""
    path = kind(sample_repo, tmp_path / "other")
    before = deep_digest(path), deep_digest(sample_repo.path)
    host.run(*sample_run(path, tmp_path / "out"), "--trust-git-links").check()  # one repository borrows its objects
    host.run("search", "--repo", path, "--trust-git-links", 'search_class("Tariff")').check()
    assert (deep_digest(path), deep_digest(sample_repo.path)) == before


def test_apply_in_a_folder_without_git(host: Host, tmp_path: Path) -> None:
    """Immediately, and later from the finished folder."""
    script = write_script(tmp_path / "s.jsonl")
    for later in (False, True):
        folder = tmp_path / f"plain{later}"
        folder.mkdir()
        (folder / "app.py").write_text(TINY["app.py"])
        arguments = tiny_run(folder, tmp_path / f"out{later}", script)
        if later:
            host.run(*arguments).check()
        host.run(*arguments, "--apply").check()
        assert (folder / "app.py").read_text() == "def half(n):\n    return n // 2\n"
        assert os.listdir(folder) == ["app.py"]


@pytest.mark.parametrize("later", [False, True])
def test_apply_in_a_linked_worktree_writes_there(host: Host, make_repo: Make, tmp_path: Path, later: bool) -> None:
    """The patch is not written to the main worktree."""
    repo, script = make_repo(TINY), write_script(tmp_path / "s.jsonl")
    linked = _worktree(repo, tmp_path / "linked")
    arguments, before = (tiny_run(linked, tmp_path / "out", script), deep_digest(repo.path))
    if later:
        host.run(*arguments).check()
    host.run(*arguments, "--apply").check()
    assert "n // 2" in (linked / "app.py").read_text()
    assert deep_digest(repo.path) == before


def test_apply_in_a_bare_repository_is_refused(host: Host, make_repo: Make, tmp_path: Path) -> None:
    """A bare repository has no tree to write to; the error comes before a model call."""
    bare = _bare(make_repo(TINY), tmp_path / "bare")
    script = write_script(tmp_path / "s.jsonl")
    result = host.run(*tiny_run(bare, tmp_path / "out", script), "--apply")
    result.one_line(2, "--apply")
    assert not (tmp_path / "out").exists()


# ---- Strange trees ------------------------------------------------------------------------------


def _json(host: Host, repo: Any, *calls: str, **options: Any) -> list[Any]:
    """The answers to some calls."""
    return host.run("search", "--repo", repo, "--json", *calls, **options).rows()


def test_many_tiny_files_and_deep_folders(host: Host, make_repo: Make) -> None:
    """Twenty thousand files, and a file below 150 nested folders."""
    deep = "/".join(["d"] * 150) + "/deep.py"
    repo = make_repo({deep: "deepest = 1\n", "app.py": "x = 1\n"})
    for number in range(20_000):
        folder = repo.path / f"many{number % 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}.txt").write_text("")
    [row] = _json(host, repo, 'search_code("deepest")')
    assert row["results"][0]["file"] == deep


def test_names_that_are_hard_to_show_stay_on_one_line(host: Host, make_repo: Make) -> None:
    """Names with a line feed, a tab, an escape, tags, or bytes that are not UTF-8."""
    repo = make_repo({"app.py": "x = 1\n"})
    names = [b"a\nb.py", b"a\tb.py", b"\x1b[31m.py", b"<code>&.py", b"\xff\xfe.py", b"-rf.py"]
    for name in names:
        with open(os.path.join(os.fsencode(repo.path), name), "w") as file:
            file.write("odd = 1\n")
    [row] = _json(host, repo, 'search_code("odd = 1")')
    assert len(row["results"]) == len(names)
    plain = host.run("search", "--repo", repo, 'search_code("odd = 1")').check()
    assert b"\x1b" not in plain.stdout, plain.told()


def test_files_that_are_large_or_no_text(host: Host, make_repo: Make) -> None:
    """100 MB of Python, one long line, NUL bytes, only line feeds, nothing."""
    repo = make_repo({"app.py": "def here():\n    pass\n", "empty.py": "", "nul.py": b"x = '\0'\n"})
    repo.write({"line.py": b"x = '" + b"a" * 5_000_000 + b"'\n", "feeds.py": b"\n" * 3_000_000})
    with open(repo.path / "large.py", "wb") as file:
        file.writelines(b"z = 2\n" * 174_763 for _ in range(100))
        file.write(b"y = 1\n")
    rows = _json(host, repo, 'search_method("here")', 'search_code("y = 1")', timeout=120)
    assert rows[0]["ok"] and len(json.dumps(rows[1])) < 100_000
    [place] = rows[1]["results"]
    assert (place["file"], place["func"]) == ("large.py", None)


def test_a_tree_that_changes_while_it_is_read_is_no_crash(host: Host, make_repo: Make) -> None:
    """Files vanish, become folders and links, and grow."""
    repo = make_repo({f"p/m{n}.py": f"v{n} = 1\n" * 50 for n in range(300)})
    chance = random.Random(8)
    for _ in range(3):
        child = host.start("index", "--repo", repo)
        while child.poll() is None:
            path = repo.path / "p" / f"m{chance.randrange(300)}.py"
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            elif path.is_symlink() or chance.random() < 0.5:
                path.unlink(missing_ok=True)
                chance.choice([lambda p: p.mkdir(), lambda p: p.symlink_to("/etc/passwd")])(path)
            else:
                path.write_text("w = 1\n" * chance.randrange(500))
            time.sleep(0.0005)  # leaves a processor to the index, whose reads take longer
        _, err = child.communicate()
        assert child.returncode in (0, 3) and len(err.splitlines()) <= 1, err


def test_the_sample_of_this_program_was_not_written_to() -> None:
    """The tests above work on copies."""
    assert not strays(SAMPLE) and not (SAMPLE / "repo" / ".git").exists()
