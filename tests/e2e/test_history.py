"""search_history: which commits before the revision change a definition or a text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from host import Host
from repos import Repo

Make = Callable[..., Repo]
METHOD = (
    "class Box:\n    @property\n    def size(self):\n        return {}\n\n    def put(self, x):\n        return {}\n"
)


@pytest.fixture
def old(make_repo: Make) -> Repo:
    """A repository with a moved file, a merged branch, and a commit after "base"."""
    repo = make_repo({"box.py": METHOD.format(1, 1), "note.txt": "an old_word\n"})
    repo.commit({"box.py": METHOD.format(1, 2)}, "Change put only")
    repo.commit({"box.py": None, "app/box.py": METHOD.format(1, 2), "note.txt": None}, "Move the box")
    main = repo.git("rev-parse", "--abbrev-ref", "HEAD")
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"app/box.py": METHOD.format(2, 2)}, "Grow the size\n\nThe body is not shown.")
    repo.git("checkout", "-q", main)
    repo.commit({"other.py": "x = 1\n"}, "Add another file")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    repo.git("tag", "base")
    repo.commit({"app/box.py": METHOD.format(9, 9)}, "The fix of the future")
    return repo


def ask(host: Host, repo: Repo, text: str, *options: str) -> dict[str, object]:
    done = host.run("search", "--repo", repo, "--json", *options, f"search_history({text!r})")
    return dict(json.loads(done.stdout))


def subjects(answer: dict[str, object]) -> list[str]:
    """The subjects of the listed commits, without dates and ids."""
    return [line.split(" ", 2)[2] for line in str(answer["output"]).splitlines() if line[:2].isdigit()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Box.put", ["Move the box", "Change put only", "first"]),
        ("size", ["Grow the size", "Move the box", "first"]),
        ("Box", ["Grow the size", "Move the box", "Change put only", "first"]),
        ("return 2", ["Grow the size", "Move the box", "Change put only"]),
        ("old_word", ["Move the box", "first"]),
        ("never there", []),
    ],
)
def test_commits_that_change_it_are_listed(host: Host, old: Repo, text: str, expected: list[str]) -> None:
    """Only ancestors count, and a merge only if it adds a change; the results are the definitions."""
    answer = ask(host, old, text, "--rev=base")
    assert sorted(subjects(answer)) == sorted(expected)
    assert answer["ok"] is bool(expected)
    assert bool(answer["results"]) is (text in ("Box.put", "size", "Box"))


def test_an_answer_names_date_and_files(host: Host, old: Repo) -> None:
    done = host.run("search", "--repo", old, "--rev=base", "history", "size")
    assert done.exit == 0 and re.search(r"(?m)^[0-9a-f]{10} 2020-01-01 Grow the size \(app/box.py\)$", done.out)
    few = host.run("search", "--repo", old, "--rev=base", "history", "size", "--limit", "1").check()
    assert len(few.out.splitlines()) == 1 and "Older commits than these 1 are not listed" in few.err


def test_a_history_that_ends_is_told(host: Host, old: Repo, tmp_path: Path, make_repo: Make) -> None:
    """In a shallow clone the oldest commit shows no change, and a folder without git has no history."""
    old.git("clone", "-q", "--depth=1", "--branch=base", f"file://{old}", str(tmp_path / "shallow"))
    answer = ask(host, Repo(tmp_path / "shallow"), "size", "--rev=HEAD")
    assert not answer["ok"] and "no complete history before 2020-01-01" in str(answer["output"])
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/a.py").write_text("def size():\n    pass\n")
    assert "There is no history" in str(ask(host, Repo(tmp_path / "plain"), "size")["output"])


def test_a_long_history_is_cut_and_told(host: Host, make_repo: Make) -> None:
    repo = make_repo({"box.py": METHOD.format(0, 0)})
    start = f"from {repo.head}\n"
    stream = [f"commit refs/heads/long\ncommitter a <a@b> {1600000000 + i} +0000\ndata 1\nx\n"
              f"{'' if i else start}M 100644 inline n\ndata 5\n{i:05}\n" for i in range(4200)]  # fmt: skip
    repo.git_bytes("fast-import", "--quiet", stdin="".join(stream).encode())
    answer = ask(host, repo, "Box.put", "--rev=long")
    assert not answer["ok"] and "reached its limit after 4000 commits" in str(answer["output"])
