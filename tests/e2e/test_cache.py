"""The outline cache with eight concurrent processes, kills and damage: answers are the same as without a cache."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from host import SLOWNESS, Host, install
from hostile import read_only
from indexing import (
    all_gone,
    busy_worker,
    cache_file,
    check_cache,
    counts,
    history,
    index,
    search,
    slow_module,
    untouched,
)
from repos import Repo

COMMITS = 8
CALLS = [
    "search_class('C3')",
    "search_method('m2_5')",
    "search_method('m1_0')",
    "search_method_in_class('m0_0', 'Alias4')",
    "search_code('return a + 5')",
    "search_method_in_file('shared', 'mod6.py')",
    "search_class('Nowhere')",
]
Answers = dict[str, bytes]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, list[str]]:
    """A read-only repository with eight commits."""
    return history(tmp_path_factory.mktemp("history") / "repo", 160, COMMITS)


@pytest.fixture(scope="module")
def answers(old: tuple[Repo, list[str]], binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The answers for each commit without a cache."""
    host = Host(tmp_path_factory.mktemp("plain"), binary)
    repo, commits = old
    told = {rev: search(host, repo, CALLS, "--no-cache", "--rev", rev).stdout for rev in commits}
    assert len(set(told.values())) == COMMITS and not cache_file(host).exists()
    return told


def start(host: Host, repo: Repo, rev: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a search whose streams go to files."""
    with open(folder / f"{rev}.out", "wb") as out, open(folder / f"{rev}.err", "wb") as err:
        arguments = ["search", "--repo", repo, "--rev", rev, "--json", *CALLS]
        return host.start(*arguments, stdout=out, stderr=err)


def kill_each(host: Host, repo: Repo, commits: list[str], folder: Path, dice: random.Random) -> int:
    """Start eight processes, kill each at a random moment by its id, and return how many were still running."""
    children = [start(host, repo, rev, folder) for rev in commits]
    begun, killed = time.monotonic(), 0
    for moment, child in sorted((dice.random() ** 2 * 2.5 * SLOWNESS, n) for n, child in enumerate(children)):
        time.sleep(max(0, begun + moment - time.monotonic()))
        child = children[child]
        killed += child.poll() is None
        child.kill()
        child.wait()
    return killed


def remarks_of(path: Path) -> list[str]:
    """The lines on stderr, except the one about an index that takes long."""
    return [line for line in path.read_text().splitlines() if " indexing repo: " not in line]


def all_answer(host: Host, repo: Repo, folder: Path, answers: Answers, remarks: int = 0) -> None:
    """Start eight processes; all must answer as without a cache, with at most that many lines on stderr."""
    children = {rev: start(host, repo, rev, folder) for rev in answers}
    for rev, child in children.items():
        code, said = child.wait(120 * SLOWNESS), remarks_of(folder / f"{rev}.err")
        assert code == 1 and len(said) <= remarks, (code, said)
        assert (folder / f"{rev}.out").read_bytes() == answers[rev], rev


def rounds(host: Host, repo: Repo, answers: Answers, folder: Path, n: int) -> int:
    """Rounds of kills and answers, with an empty cache in every third; returns how many running processes were killed."""
    dice, killed, lines = random.Random(n), 0, []
    for number in range(n):
        if number % 3 == 0:
            host.run("index", "--clear").check()
        killed += kill_each(host, repo, list(answers), folder, dice)
        assert all_gone(host)
        all_answer(host, repo, folder, answers)
        assert all_gone(host)
        lines.append(check_cache(host))
    assert all(0 < line <= 160 + 40 * (COMMITS - 1) for line in lines)
    return killed


def test_eight_processes_killed_at_random_leave_a_good_cache(
    host: Host, old: tuple[Repo, list[str]], answers: Answers, tmp_path: Path
) -> None:
    """Each uses another commit; the cached rows are used, and the missing ones are made."""
    repo, _ = old
    with untouched(repo):
        assert rounds(host, repo, answers, tmp_path, 1) > 0


# ---- Damage ----


def flip(path: Path, dice: random.Random) -> None:
    """Change a few bytes."""
    data = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 20)):
        data[dice.randrange(len(data))] ^= dice.randint(1, 255)
    path.write_bytes(data)


def other_database(path: Path, dice: random.Random) -> None:
    """Somebody else's database."""
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES (1)")
    database.close()


def other_rows(path: Path, dice: random.Random) -> None:
    """Store the well-formed rows of one file under the id of another."""
    with sqlite3.connect(path) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(outline)")]
        keys = [row[0] for row in database.execute("SELECT rowid FROM outline ORDER BY rowid LIMIT 2")]
        rows = columns[-1]
        database.execute(
            f"UPDATE outline SET {rows} = (SELECT {rows} FROM outline WHERE rowid = ?) WHERE rowid = ?", keys
        )
    database.close()


def folder_there(path: Path, dice: random.Random) -> None:
    """Put a non-empty folder in its place."""
    path.unlink()
    path.mkdir()
    (path / "mine").write_text("mine")


DAMAGES = [flip, other_rows, other_database, folder_there]


def warm(host: Host, repo: Repo, commits: list[str]) -> None:
    """A cache that contains two commits."""
    for rev in commits[:2]:
        index(host, repo, "--rev", rev)


def damage_once(
    host: Host, repo: Repo, answers: Answers, damage: Callable[[Path, random.Random], None], dice: random.Random
) -> None:
    """Damage the cache, then search three times: the answers stay the same, each with at most one line on stderr."""
    damage(cache_file(host), dice)
    for rev in list(answers)[:3]:
        result = search(host, repo, CALLS, "--rev", rev)
        assert result.stdout == answers[rev], result.told()
        assert len(result.err.splitlines()) <= 1, result.told()


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_answers_stay_whatever_the_cache_has_become(
    host: Host, old: tuple[Repo, list[str]], answers: Answers, damage: Callable[[Path, random.Random], None]
) -> None:
    """Takes each code path once; tests/unit/index damages every byte. What belongs to somebody else stays, also after --clear."""
    repo, commits = old
    warm(host, repo, commits)
    damage_once(host, repo, answers, damage, random.Random(damage.__name__))
    host.run("index", "--clear")
    if damage is folder_there:
        assert (cache_file(host) / "mine").read_text() == "mine"
    if damage is other_database:
        assert sqlite3.connect(cache_file(host)).execute("SELECT x FROM t").fetchall() == [(1,)]


# ---- Places where no cache can be written ----


def test_a_cache_that_may_only_be_read_is_read(host: Host, old: tuple[Repo, list[str]], answers: Answers) -> None:
    """The cache's rows are used, none are stored, and one line says so."""
    repo, commits = old
    warm(host, repo, commits)
    with read_only(cache_file(host).parent):
        for rev in commits[:4]:
            result = search(host, repo, CALLS, "--rev", rev)
            assert result.stdout == answers[rev] and len(result.err.splitlines()) <= 1, result.told()
        assert index(host, repo, "--rev", commits[0])["cached"] == 160
    check_cache(host)


def _as_nobody(folder: Path) -> dict[str, Any]:
    """Options that start a process as a user to whom file modes apply."""
    if os.geteuid() != 0:
        return {}
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    for parent in folder.parents:
        if parent.stat().st_mode & 0o005 != 0o005:
            pytest.skip(f"nobody cannot get at '{parent}'")
    return {"user": 65534, "group": 65534, "extra_groups": []}


@pytest.fixture
def plain_home(binary: Path) -> Any:
    """A host whose home and program every user can access."""
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    folder.chmod(0o755)
    made = Host(folder, install(binary, folder / "installed"))
    yield made
    made.close()
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=True)
    subprocess.run(["rm", "-rf", folder], check=True)


@pytest.mark.parametrize("what", ["file 000", "file 444", "folder 000", "folder 555", "cache 000"])
def test_modes_that_forbid_cost_the_cache_only(plain_home: Host, what: str) -> None:
    """The file or its folders cannot be read or written."""
    host = plain_home
    repo, (first, second) = history(host.home / "repo", 12, 2)
    calls = ["search_class('C3')", "search_method('m1_1')"]
    told = [search(host, repo, calls, "--no-cache", "--rev", rev).stdout for rev in (first, second)]
    index(host, repo, "--rev", first)
    name, mode = what.split()
    nobody = _as_nobody(host.home)
    path = {"file": cache_file(host), "folder": cache_file(host).parent, "cache": host.home / "cache"}[name]
    path.chmod(int(mode, 8))
    for rev, expected in zip((first, second), told):
        result = host.run("search", "--repo", repo, "--rev", rev, "--json", *calls, **nobody)
        assert result.stdout == expected and len(result.err.splitlines()) <= 1, result.told()


# ---- Clearing ----


def test_clear_drops_outlines_and_nothing_else(host: Host, old: tuple[Repo, list[str]]) -> None:
    """Clears with and without a repository, twice, and without a cache."""
    repo, commits = old
    assert host.run("index", "--clear").check().stdout == b""
    warm(host, repo, commits)
    folder = cache_file(host).parent
    (folder / "notes.txt").write_text("mine")
    (folder / "outlines.sqlite.bak").write_text("mine")
    for _ in range(2):
        assert host.run("index", "--clear").check().stderr == b""
        assert {p.name for p in folder.iterdir()} - {"outlines.sqlite-lock"} == {"notes.txt", "outlines.sqlite.bak"}
    row = index(host, repo, "--rev", commits[0])
    assert (row["parsed"], row["cached"]) == (160, 0)
    row = index(host, repo, "--clear", "--rev", commits[0])
    assert (row["parsed"], row["cached"]) == (160, 0)
    row = index(host, repo, "--rev", commits[0])
    assert (row["parsed"], row["cached"]) == (0, 160)


@pytest.mark.full
def test_clearing_while_others_use_it(
    host: Host, old: tuple[Repo, list[str]], answers: Answers, tmp_path: Path
) -> None:
    """Repeatedly; every process gives the usual answers."""
    repo, _ = old
    children = {rev: start(host, repo, rev, tmp_path) for rev in answers}
    while any(child.poll() is None for child in children.values()):
        host.run("index", "--clear").check()
        time.sleep(0.05)  # in which rows can be written that the next one drops
    for rev, child in children.items():
        assert child.returncode == 1 and (tmp_path / f"{rev}.out").read_bytes() == answers[rev]
        assert remarks_of(tmp_path / f"{rev}.err") == []
    all_answer(host, repo, tmp_path, answers)
    check_cache(host)


# ---- Sharing ----


def test_rows_are_shared_by_commits_repositories_and_the_working_tree(
    host: Host, old: tuple[Repo, list[str]], tmp_path: Path
) -> None:
    """A blob is outlined once, wherever it is; without a cache, every time."""
    repo, commits = old
    first = index(host, repo, "--rev", commits[0])
    assert (first["files"], first["parsed"]) == (160, 160)
    assert index(host, repo, "--rev", commits[1])["parsed"] == 40
    rest = [index(host, repo, "--rev", rev) for rev in commits[2:]]
    assert [row["parsed"] for row in rest] == [40] * 6
    clone = repo.clone(tmp_path / "clone")
    row = index(host, clone)
    assert (row["parsed"], row["cached"]) == (0, 160) and counts(row) == counts(rest[-1])
    row = index(host, clone, "--no-cache")
    assert (row["parsed"], row["cached"]) == (160, 0) and counts(row) == counts(rest[-1])


def test_an_interrupt_keeps_what_was_outlined_by_then_or_less(
    host: Host, old: tuple[Repo, list[str]], answers: Answers, tmp_path: Path
) -> None:
    """Ctrl-C during a cold index: exit code 130, and a usable cache."""
    commits = old[1]
    repo = old[0].clone(tmp_path / "clone")
    repo.commit({"slow.py": slow_module()})
    child = host.start("index", "--repo", repo, "--jobs", "1")
    busy_worker(host)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60 * SLOWNESS)
    assert child.returncode == 130 and all_gone(host)
    assert search(host, repo, CALLS, "--rev", commits[0]).stdout == answers[commits[0]]
    check_cache(host)
