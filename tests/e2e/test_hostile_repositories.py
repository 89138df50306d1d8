"""Hostile repositories, run folders, data sets and environments: each test asserts what must not happen."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import stat
import subprocess
import termios
from pathlib import Path
from typing import Callable

import planting
import pytest
from host import Host, Result, kill, wait_until_caught
from hostile import TINY, TINY_ANSWERS, deep_digest, take_back, tiny_run, write_script
from repos import Repo
from sandboxes import at_hand

USAGE, ENVIRONMENT, CEILING, INTERRUPTED = 2, 3, 4, 130
Run = Callable[..., Result]
Make = Callable[..., Repo]
SECRET = {"app.py": "def half(n):\n    return n // 3\n", "private.py": "SECRET = 'do not read'\n"}
HALF = 'search_method("half")'


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return write_script(tmp_path / "tiny.jsonl")


@pytest.fixture
def tiny(make_repo: Make) -> Repo:
    """A repository of TINY."""
    return make_repo(TINY, name="tiny")


# ---- The working tree is the folder that was named or found ----------------------------------------


def _worktree_setting(tiny: Repo, victim: Repo) -> Path:
    tiny.git("config", "core.worktree", str(victim.path))
    return tiny.path


def _worktree_above(tiny: Repo, victim: Repo) -> Path:
    tiny.git("config", "core.worktree", "../..")
    return tiny.path


def _included_setting(tiny: Repo, victim: Repo) -> Path:
    (tiny.path / ".git" / "more").write_text(f"[core]\n\tworktree = {victim.path}\n")
    tiny.git("config", "include.path", "more")
    return tiny.path


def _setting_of_one_worktree(tiny: Repo, victim: Repo) -> Path:
    tiny.git("config", "extensions.worktreeConfig", "true")
    (tiny.path / ".git" / "config.worktree").write_text(f"[core]\n\tworktree = {victim.path}\n")
    return tiny.path


def _linked_back(tiny: Repo, victim: Repo) -> Path:
    linked = tiny.path.parent / "linked"
    tiny.git("worktree", "add", "-q", str(linked))
    (tiny.path / ".git" / "worktrees" / "linked" / "gitdir").write_text(f"{victim.path}/.git\n")
    return linked


def _git_folder_named(tiny: Repo, victim: Repo) -> Path:
    tiny.git("config", "core.worktree", str(victim.path))
    return tiny.path / ".git"


def _git_folder_elsewhere(tiny: Repo, victim: Repo) -> Path:
    """Its git folder is a link to the victim's git folder, which lies beside the victim's files."""
    (tiny.path / ".git").rename(tiny.path.parent / "old git")
    (tiny.path / ".git").symlink_to(victim.path / ".git")
    return tiny.path


LEADING = [
    *(_worktree_setting, _worktree_above, _included_setting, _setting_of_one_worktree),
    *(_linked_back, _git_folder_named, _git_folder_elsewhere),
]


@pytest.mark.parametrize("lead", LEADING, ids=lambda lead: lead.__name__)
def test_nothing_is_read_or_written_outside_of_the_folder(
    run_host: Run, tiny: Repo, make_repo: Make, script: Path, tmp_path: Path, lead: Callable[[Repo, Repo], Path]
) -> None:
    victim = make_repo(SECRET, name="victim")
    (victim.path / "untracked.py").write_text("UNTRACKED = 'nor this'\n")
    path = lead(tiny, victim)
    before = deep_digest(victim.path)
    for name in ("SECRET", "UNTRACKED"):
        found = run_host("search", "--repo", path, f'search_code("{name}")')
        assert b"do not read" not in found.stdout and b"nor this" not in found.stdout, found.told()
    run_host(*tiny_run(path, tmp_path / "out", script), "--apply")
    assert deep_digest(victim.path) == before


def test_a_setting_that_leads_elsewhere_does_not_hide_the_folder(
    run_host: Run, tiny: Repo, make_repo: Make, script: Path, tmp_path: Path
) -> None:
    """The named folder is searched and fixed."""
    _worktree_setting(tiny, make_repo(SECRET, name="victim"))
    run_host("search", "--repo", tiny.path, HALF).check()
    run_host(*tiny_run(tiny.path, tmp_path / "out", script), "--apply").check()
    assert "n // 2" in (tiny.path / "app.py").read_text()


def test_submodules_are_worked_on_by_their_git_file(
    run_host: Run, tiny: Repo, make_repo: Make, script: Path, tmp_path: Path
) -> None:
    """Their git folder is in the enclosing repository, and names them by core.worktree."""
    around = make_repo({"README": "around\n"}, name="around")
    around.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tiny.path), "parts/sub")
    sub = around.path / "parts" / "sub"
    run_host("search", "--repo", sub, HALF).check()
    (sub / "new.py").write_text("def new_here():\n    pass\n")
    assert b"new_here" in run_host("search", "--repo", sub, 'search_method("new_here")').check().stdout
    run_host(*tiny_run(sub, tmp_path / "out", script), "--apply").check()
    assert "n // 2" in (sub / "app.py").read_text()


def test_a_git_folder_that_was_moved_away_is_worked_on_by_its_git_file(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """The repository is as git init --separate-git-dir leaves it; it also works from a subfolder. The git folder does
    not name the tree, so it must be trusted.
    """
    tiny.git("init", "-q", "--separate-git-dir", str(tmp_path / "apart"))
    (tiny.path / "within").mkdir()
    run_host("search", "--repo", tiny.path / "within", HALF).one_line(ENVIRONMENT, "--trust-git-links")
    run_host("search", "--repo", tiny.path / "within", "--trust-git-links", HALF).check()
    run_host(*tiny_run(tiny.path, tmp_path / "out", script), "--trust-git-links", "--apply").check()
    assert "n // 2" in (tiny.path / "app.py").read_text()


# ---- Objects ---------------------------------------------------------------------------------------


def _exec_cat(run_host: Run, repo: Repo) -> Result:
    return run_host("exec", "--repo", repo, "--rev", "HEAD", "--sandbox", at_hand(), "--", "cat", "app.py")


def test_a_blob_whose_id_lies_reaches_no_other_repository(run_host: Run, tiny: Repo, make_repo: Make) -> None:
    """Two repositories with equal trees share a cached copy, whose contents must match their ids."""
    evil = make_repo(TINY, name="evil")
    blob = evil.git("rev-parse", "HEAD:app.py")
    planting.lie(evil, blob, "blob", b"import evil_marker\n")
    assert evil.git("rev-parse", "HEAD^{tree}") == tiny.git("rev-parse", "HEAD^{tree}")
    poisoned = _exec_cat(run_host, evil)
    assert poisoned.exit == 125 and b"evil_marker" not in poisoned.stdout, poisoned.told()
    honest = _exec_cat(run_host, tiny)
    assert honest.stdout == TINY["app.py"].encode(), honest.told()


def test_a_blob_whose_id_lies_gives_no_other_repository_its_outline(run_host: Run, tiny: Repo, make_repo: Make) -> None:
    """Outlines are cached by blob id, for all repositories."""
    evil = make_repo(TINY, name="evil")
    planting.lie(evil, evil.git("rev-parse", "HEAD:app.py"), "blob", b"def planted():\n    pass\n")
    for calls in (["index", "--repo", evil, "--rev", "HEAD"], ["search", "--repo", evil, "--rev", "HEAD", HALF]):
        run_host(*calls)
    found = run_host("search", "--repo", tiny, "--rev", "HEAD", HALF, 'search_method("planted")')
    assert b"return n // 3" in found.stdout and b"pass" not in found.stdout, found.told()


def _ends(host: Host, *arguments: object, seconds: float = 60) -> Result:
    """A run that must end by itself, successfully or with a one-line error, but never by a signal."""
    result = host.run(*arguments, timeout=seconds)
    assert result.exit in (0, 1, ENVIRONMENT), result.told()
    if result.exit == ENVIRONMENT:
        assert len(result.err.splitlines()) == 1, result.told()
    return result


def _truncate(path: Path, size: int) -> None:
    path.chmod(0o644)
    with open(path, "r+b") as file:
        file.truncate(size)


@pytest.mark.parametrize("which", ["HEAD", "HEAD^{tree}", "HEAD:app.py"])
@pytest.mark.parametrize("size", [0, 10])
def test_a_truncated_object_is_an_error(host: Host, tiny: Repo, which: str, size: int) -> None:
    """A commit, a tree, a blob; no part of it is used."""
    _truncate(planting.object_file(tiny, tiny.git("rev-parse", which)), size)
    _ends(host, "search", "--repo", tiny, "--rev", "HEAD", HALF)
    _ends(host, "index", "--repo", tiny)


@pytest.mark.parametrize("which", ["HEAD", "HEAD^{tree}", "HEAD:app.py"])
@pytest.mark.parametrize("size", [5, 1 << 62])
def test_an_object_that_lies_about_its_size_is_an_error(host: Host, tiny: Repo, which: str, size: int) -> None:
    """The stated size is too small or too large; no memory is taken for missing bytes."""
    oid = tiny.git("rev-parse", which)
    content = tiny.git_bytes("cat-file", "-p" if which == "HEAD" else tiny.git("cat-file", "-t", oid), oid)
    planting.lie(tiny, oid, tiny.git("cat-file", "-t", oid), content, size)
    _ends(host, "search", "--repo", tiny, "--rev", "HEAD", HALF)


@pytest.mark.parametrize("file", ["pack", "idx"])
@pytest.mark.parametrize("size", [8, 12, 1032])
def test_a_truncated_pack_is_an_error(host: Host, make_repo: Make, file: str, size: int) -> None:
    """The pack's objects and index are truncated."""
    repo = make_repo({f"m{n}.py": f"v{n} = {n}\n" * 9 for n in range(60)})
    repo.git("gc", "-q")
    [path] = (repo.path / ".git" / "objects" / "pack").glob(f"*.{file}")
    _truncate(path, size)
    _ends(host, "search", "--repo", repo, "--rev", "HEAD", 'search_code("v5")')


def _fan(*steps: tuple[int, int]) -> list[int]:
    """A fan-out that has these values from these bytes on."""
    values = [0] * 256
    for first, value in steps:
        values[first:] = [value] * (256 - first)
    return values


FANOUTS = {
    "all": _fan((0, 0xFFFFFFFF)),
    "product of zero": _fan((0, 0x40000000)),  # this number times 28 is 0 in 32 bits
    "small product": _fan((0, 0x12492493)),
    "falling": _fan((0, 9), (128, 1)),
    "last only": _fan((255, 0x40000000)),
    "more than there are": _fan((0, 1000)),
}


@pytest.mark.parametrize("name", FANOUTS)
def test_a_pack_index_with_an_absurd_fan_out_is_an_error(host: Host, tiny: Repo, name: str) -> None:
    """libgit2 multiplies the counts in 32 bits, and then reads unmapped memory or loops forever."""
    tiny.git("gc", "-q")
    [old] = (tiny.path / ".git" / "objects" / "pack").glob("*.idx")
    old.chmod(0o644)
    data = old.read_bytes()
    words = b"".join(value.to_bytes(4, "big") for value in FANOUTS[name])
    old.write_bytes(data[:8] + words + data[8 + 1024 :])
    for verb in (["search", HALF], ["index"]):
        _ends(host, verb[0], "--repo", tiny, "--rev", "HEAD", *verb[1:])
        _ends(host, verb[0], "--repo", tiny, *verb[1:])


def _delta_ring(repo: Repo) -> None:
    """Two deltas, each based on the other, under the ids of two files."""
    first, second = repo.git("rev-parse", "HEAD:app.py"), "ab" * 20
    planting.object_file(repo, first).unlink()
    delta = bytes([5, 5, 0x90, 5])
    entries = [(planting.REF_DELTA, bytes.fromhex(base), delta) for base in (second, first)]
    planting.plant_pack(repo, [first, second], entries)


def test_deltas_that_are_based_on_each_other_are_an_error(host: Host, tiny: Repo) -> None:
    """The program neither hangs nor takes unlimited memory."""
    _delta_ring(tiny)
    _ends(host, "search", "--repo", tiny, "--rev", "HEAD", HALF)


def test_a_tree_of_very_many_empty_folders_is_an_error(host: Host, tiny: Repo) -> None:
    """Ten trees, each of which contains the next one ten times: ten thousand million folders."""
    below = planting.add(tiny, "tree", b"")
    for _ in range(10):
        below = planting.add(tiny, "tree", planting.tree([("40000", f"d{n}", below) for n in range(10)]))
    planting.set_head(tiny, planting.add(tiny, "commit", planting.commit_of(below)))
    _ends(host, "search", "--repo", tiny, "--rev", "HEAD", HALF, seconds=120)


def test_a_tree_that_holds_itself_is_an_error(host: Host, tiny: Repo) -> None:
    """The tree contains itself twice, under a false id."""
    oid = tiny.git("rev-parse", "HEAD^{tree}")
    planting.lie(tiny, oid, "tree", planting.tree([("40000", "a", oid), ("40000", "b", oid)]))
    _ends(host, "search", "--repo", tiny, "--rev", "HEAD", HALF, seconds=120)


# ---- Input that could take forever -----------------------------------------------------------------


def _fifo(tiny: Repo, name: str) -> None:
    """A process that opens it waits for a writer."""
    path = tiny.path / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


#: Git's files that libgit2 opens, and one that a configuration includes.
PIPES = ["HEAD", "config", "index", "packed-refs", "commondir", "config.worktree", "included", "info/exclude"]
PIPES += ["refs/heads/main", "logs/HEAD", "objects/info/alternates"]


@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_among_gits_files_is_not_waited_for(
    host: Host, run_host: Run, tiny: Repo, script: Path, tmp_path: Path, name: str
) -> None:
    if name == "included":
        tiny.git("config", "include.path", "./included")
    _fifo(tiny, name)
    host.run("search", "--repo", tiny, HALF, timeout=30).one_line(ENVIRONMENT, name, "FIFO")
    run_host(*tiny_run(tiny, tmp_path / "out", script), timeout=30).one_line(ENVIRONMENT, name, "FIFO")


# ---- Links to other repositories --------------------------------------------------------------------


def _git_file(tiny: Repo, git: Path) -> None:
    shutil.rmtree(tiny.path / ".git")
    (tiny.path / ".git").write_text(f"gitdir: {git}\n")


def _git_link(tiny: Repo, git: Path) -> None:
    shutil.rmtree(tiny.path / ".git")
    (tiny.path / ".git").symlink_to(git)


def _linked_worktree(tiny: Repo, git: Path) -> None:
    """A linked worktree of the other repository, which names its own path."""
    subprocess.run(["git", "-C", git, "worktree", "add", "-q", "--detach", git.parent.parent / "other"], check=True)
    _git_file(tiny, git / "worktrees" / "other")


def _common_folder(tiny: Repo, git: Path) -> None:
    (tiny.path / ".git" / "commondir").write_text(f"{git}\n")


def _alternates(tiny: Repo, git: Path) -> None:
    (tiny.path / ".git" / "objects" / "info" / "alternates").write_text(f"{git}/objects\n")


def _linked(*names: str) -> Callable[[Repo, Path], None]:
    def plant(tiny: Repo, git: Path) -> None:
        for name in names:
            ours = tiny.path / ".git" / name
            shutil.rmtree(ours, ignore_errors=True)
            ours.unlink(missing_ok=True)
            ours.symlink_to(git / name)

    return plant


LEADING_OUT: dict[str, Callable[[Repo, Path], None]] = {
    "git file": _git_file,
    "git link": _git_link,
    "linked worktree": _linked_worktree,
    "common folder": _common_folder,
    "alternates": _alternates,
    "linked objects": _linked("objects"),
    "linked packs": _linked("objects/pack"),
}


@pytest.mark.parametrize("how", LEADING_OUT)
def test_another_repository_is_not_shown(host: Host, tiny: Repo, make_repo: Make, how: str) -> None:
    victim = make_repo(SECRET, name="victim")
    LEADING_OUT[how](tiny, victim.path / ".git")
    line = ["search", "--repo", tiny, "--rev", victim.head, "search_code('SECRET')"]
    host.run(*line).one_line(ENVIRONMENT, "is outside this repository", "--trust-git-links")
    trusting = host.run(*line, "--trust-git-links")
    assert "leads out" not in trusting.err
    if how == "git file":
        assert trusting.check(0).out


def test_git_folders_that_name_their_tree_in_return(host: Host, tiny: Repo, tmp_path: Path) -> None:
    tiny.git("worktree", "add", "-q", "--detach", tmp_path / "linked")
    tiny.git("clone", "-q", "--separate-git-dir", tmp_path / "apart.git", ".", tmp_path / "apart")
    apart = host.run("search", "--repo", tmp_path / "apart", HALF)  # git does not let it name its tree
    apart.one_line(ENVIRONMENT, "is outside this repository", "--trust-git-links")
    tiny.git(f"--git-dir={tmp_path}/apart.git", "config", "core.worktree", "../apart")
    add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q"]
    tiny.git("-C", tmp_path / "linked", *add, tiny.path, "inner")
    for place in ("linked", "apart", "linked/inner"):
        host.run("search", "--repo", tmp_path / place, HALF).check(0)


@pytest.mark.full
def test_what_takes_for_ever_ends_when_asked(host: Host, make_repo: Make) -> None:
    """A hundred thousand ignore rules for each of many files."""
    repo = make_repo({".gitignore": "".join(f"*a*a*{n}*a*b\n" for n in range(100_000))})
    for number in range(3000):
        (repo.path / f"{'a' * 100}{number}.py").write_text("")
    child = host.start("search", "--repo", repo, HALF, preexec_fn=lambda: os.nice(19))  # other tests run, too
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=0.5)
    wait_until_caught(child, signal.SIGINT)
    child.send_signal(signal.SIGINT)
    child.wait(timeout=60)
    assert child.returncode == INTERRUPTED


def test_alternates_without_number_are_an_error(host: Host, tiny: Repo, tmp_path: Path) -> None:
    ring = [tmp_path / f"ring{n}" for n in range(3)]
    for folder in ring:
        (folder / "info").mkdir(parents=True)
        others = "".join(f"{other}\n" for other in ring)
        (folder / "info" / "alternates").write_text(others * 5)
    many = "".join(f"{ring[n % 3]}/./{'./' * (n % 50)}{n}/..\n" for n in range(100_000))
    (tiny.path / ".git" / "objects" / "info" / "alternates").write_text(f"{ring[0]}\n{many}")
    _ends(host, "search", "--repo", tiny, "--rev", "HEAD", HALF)


STARS = "*a" * 30 + "*b"


def test_wildcards_that_blow_up_do_not(run_host: Run, make_repo: Make, tmp_path: Path) -> None:
    """The wildcards are in the .gitattributes of the repository and of the model, and in .gitignore."""
    name = "a" * 120 + ".py"
    repo = make_repo({name: TINY["app.py"]})
    repo.write({".gitattributes": f"{STARS} diff=python\n", ".gitignore": f"{STARS}\n"})  # git itself would hang here
    repo.write({"a" * 121 + ".py": "x = 1\n"})
    edit = f"<file>{name}</file>\n<original>    return n // 3</original>\n<patched>    return n // 2</patched>"
    rules = f"{STARS}c text\n**/{STARS}/**/{STARS} -diff"
    more = f"<file>.gitattributes</file>\n<original>{STARS} diff=python</original>\n<patched>{rules}</patched>"
    answer = tmp_path / "answer.md"
    for text in (edit, f"{edit}\n{more}"):
        answer.write_text(f"```\n{text}\n```\n")
        result = run_host("patch", "--repo", repo, answer, timeout=30).check()
        assert b"+    return n // 2" in result.stdout, result.told()


# ---- Run folders and data sets ---------------------------------------------------------------------


@pytest.fixture
def begun(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> Path:
    """An unfinished run folder, as a stranger might provide it."""
    out = tmp_path / "out"
    run_host(*tiny_run(tiny, out, script)).check()
    take_back(out, 1)
    return out


@pytest.mark.parametrize("name", ["attempt_0", "attempt_0/search"])
def test_a_link_in_place_of_a_folder_is_refused(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, begun: Path, name: str
) -> None:
    """Nothing is written to its target."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (begun / name).parent.mkdir(exist_ok=True)
    (begun / name).symlink_to(elsewhere)
    result = run_host(*tiny_run(tiny, begun, script))
    assert result.exit == USAGE and b"link" in result.stderr, result.told()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["issue.md", "journal.jsonl", "meta.json"])
def test_a_link_in_place_of_a_file_is_not_read(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, begun: Path, name: str
) -> None:
    """The link's target could be a secret, which would be sent to a model."""
    elsewhere = tmp_path / "elsewhere"
    (begun / name).rename(elsewhere)
    (begun / name).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    for arguments in (["replay", begun], tiny_run(tiny, begun, script)):
        result = run_host(*arguments)
        assert elsewhere.read_bytes() == before
        assert name == "issue.md" or result.exit in (USAGE, ENVIRONMENT), result.told()
    assert run_host("replay", begun).exit in (USAGE, ENVIRONMENT)


@pytest.mark.parametrize("exists", [False, True])
def test_a_run_folder_is_its_owners_alone(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, exists: bool
) -> None:
    """Whatever the umask is, also if the folder existed and was empty."""
    out = tmp_path / "deep" / "out"
    if exists:
        out.mkdir(parents=True)
        out.chmod(0o777)
    run_host(*tiny_run(tiny, out, script), umask=0).check()
    assert stat.S_IMODE(out.stat().st_mode) == 0o700


def _batch(folder: Path, repo: Repo, script: Path, ids: list[str]) -> list[object]:
    rows = [{"instance_id": name, "repo": "a/b", "base_commit": repo.head} for name in ids]
    (folder / "repos").mkdir(exist_ok=True)
    if not (folder / "repos" / "a__b").exists():
        (folder / "repos" / "a__b").symlink_to(repo.path)
    (folder / "tasks.json").write_text(json.dumps([row | {"problem_statement": "half"} for row in rows]))
    model = ["--model", f"script:{script}", "--out", folder / "batch", "--verify=never"]
    return ["swe-bench", "--dataset", folder / "tasks.json", "--repos", folder / "repos", *model]


BAD_IDS = ["preds.jsonl", "shared", "SHARED", ".gitignore", "..", "a/../../b", "/tmp/x", "a\nb", "-x", "x" * 256]


@pytest.mark.parametrize("name", BAD_IDS)
def test_an_instance_that_cannot_have_its_name_starts_nothing(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, name: str
) -> None:
    """The error names it before the first, valid task begins."""
    result = run_host(*_batch(tmp_path, tiny, script, ["good__one-1", name]))
    result.one_line(USAGE, "row 2")
    assert not (tmp_path / "batch").exists()


@pytest.mark.parametrize("name", ["good__one-1", "shared"])
def test_a_link_in_the_folder_of_a_batch_is_refused(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, name: str
) -> None:
    """Nothing is written to its target."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "batch").mkdir()
    (tmp_path / "batch" / name).symlink_to(elsewhere)
    result = run_host(*_batch(tmp_path, tiny, script, ["good__one-1"]))
    assert result.exit != 0 and list(elsewhere.iterdir()) == [], result.told()


# ---- Environments ----------------------------------------------------------------------------------


def test_programs_of_the_repository_are_never_started(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """PATH has empty and relative parts, and the repository is the current folder."""
    marker = tmp_path / "marker"
    for folder in ("", "bin/"):
        for name in ("bwrap", "git", "podman", "docker", "sh", "python3", "acr-host", "newuidmap", "cat"):
            tiny.write({f"{folder}{name}": f"#!/bin/sh\necho {name} >>{marker}\nexit 1\n"})
            (tiny.path / f"{folder}{name}").chmod(0o755)
    env = {"PATH": f".::bin:./bin:{os.environ['PATH']}:"}
    for sandbox in {at_hand(), "plain"}:
        result = run_host("exec", "--repo", ".", "--sandbox", sandbox, "--", "/bin/true", cwd=tiny.path, env=env)
        result.check()
    for arguments in (["index", "--repo", "."], ["search", "--repo", ".", HALF], tiny_run(".", tmp_path / "o", script)):
        run_host(*arguments, cwd=tiny.path, env=env).check()
    assert not marker.exists(), marker.read_text()


# ---- Terminal control sequences --------------------------------------------------------------------

OBEYED = "\x1b]0;owned\x07 \x9b31m \u202eevil\u2069 \x08"


def _no_controls(text: str) -> None:
    found = {c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2069"}
    assert not found, repr(text)


def _on_terminal(host: Host, *arguments: object) -> str:
    """The output of a run whose two streams are a terminal that leaves line feeds unchanged."""
    ours, its = pty.openpty()
    mode = termios.tcgetattr(its)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(its, termios.TCSANOW, mode)
    child = host.start(*arguments, stdout=its, stderr=its, env={"NO_COLOR": "1"})
    os.close(its)
    text = b""
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while piece := os.read(ours, 65536):
            text += piece
    os.close(ours)
    child.wait(timeout=60)
    return text.decode()


def test_what_models_and_repositories_say_is_shown_as_text(host: Host, make_repo: Make, tmp_path: Path) -> None:
    """The text is made safe on stderr always, and on stdout if it is a terminal."""
    code = f"def half(n):\n    # {OBEYED}\n    return n // 3\n"
    repo = make_repo({"app.py": code, f"{OBEYED.replace('/', '')}.py": "x = (\n"})
    edit = f"<file>app.py</file>\n<original>    return n // 3</original>\n<patched>    return '{OBEYED}'</patched>"
    lines = [line | {"content": f"{line['content']} {OBEYED}"} for line in TINY_ANSWERS[:1]]
    lines += [TINY_ANSWERS[1], {"agent": "patch", "content": f"```\n{edit.replace('n // 3', OBEYED)}\n```"}]
    lines += [{"agent": "patch", "content": f"```\n{edit}\n```"}]
    script, answer = write_script(tmp_path / "s.jsonl", lines), tmp_path / "answer.md"
    answer.write_text(f"```\n{edit.replace('n // 3', OBEYED)}\n```\n")
    verbose = host.run(*tiny_run(repo, tmp_path / "out", script), "--verbose")
    patch, found = host.run("patch", "--repo", repo, answer), host.run("search", "--repo", repo, HALF, "--verbose")
    for result in (verbose, patch, found):
        _no_controls(result.stderr.decode())
    assert OBEYED.encode() in host.run("search", "--repo", repo, HALF).check().stdout
    shown = _on_terminal(host, "search", "--repo", repo, HALF)
    assert "\\u001b]0;owned\\u0007 \\u009b31m \\u202eevil\\u2069" in shown
    _no_controls(shown)
    answer.write_text(f"```\n{edit}\n```\n")
    _no_controls(_on_terminal(host, "patch", "--repo", repo, answer))
    row = json.loads(_on_terminal(host, "search", "--repo", repo, HALF, "--json"))
    assert OBEYED in json.dumps(row, ensure_ascii=False) or OBEYED in row["output"]


def test_temporary_folders_are_private_and_swept_after_a_kill(host: Host, tiny: Repo, tmp_path: Path) -> None:
    """All are in one folder of the user; the next start removes those of killed processes."""
    env = {"TMPDIR": str(tmp_path / "t"), "XDG_CACHE_HOME": "/proc/nowhere"}
    (tmp_path / "t").mkdir(mode=0o777)
    arguments = ["exec", "--sandbox", "plain", "--repo", tiny, "--"]
    child = host.start(*arguments, "sleep", "30", env=env)
    while not list((tmp_path / "t").glob("*/*/*")):
        assert child.poll() is None
    kill(child)
    [folder] = (tmp_path / "t").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and list(folder.iterdir())
    host.run(*arguments, "true", env=env).check()
    assert list(folder.iterdir()) == []
