"""Private work trees of one commit, made without touching the repository they come from.

A tree is a git repository of its own that borrows objects through `objects/info/alternates`; it
holds one commit with the files of the commit asked for. All writes go there: the source is only
read. Blobs that the source lists but does not hold are left out of the tree.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_GIT_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_AUTHOR_NAME": "grader",
    "GIT_AUTHOR_EMAIL": "grader@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+0000",
    "GIT_COMMITTER_NAME": "grader",
    "GIT_COMMITTER_EMAIL": "grader@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00+0000",
    "LC_ALL": "C.UTF-8",
}


class GitError(Exception):
    """A git command failed; the message is the first lines of its stderr."""


def environment() -> dict[str, str]:
    """The environment for git: no user or system configuration, nothing fetched."""
    env = {name: v for name, v in os.environ.items() if not name.startswith("GIT_")}
    return env | _GIT_ENV


def git(cwd: Path, *args: str, stdin: bytes | None = None, index: Path | None = None) -> bytes:
    """Run git in `cwd` with no user or system configuration; returns stdout.

    `index` replaces the index file. Errors: GitError.
    """
    env = environment()
    if index is not None:
        env["GIT_INDEX_FILE"] = str(index)
    done = subprocess.run(
        ["git", *args],
        cwd=cwd,
        env=env,
        input=stdin or b"",
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        text = done.stderr.decode("utf-8", "replace").strip()
        raise GitError("; ".join(text.splitlines()[:3]) or f"git {args[0]} failed")
    return done.stdout


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold `path` + ".lock" against other threads and processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def borrow(repository: Path, path: Path) -> None:
    """Make the empty git repository `path` that borrows all objects of `repository`."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    objects = repository / "objects"
    if not objects.is_dir():
        objects = repository / ".git" / "objects"
    info = path / ".git" / "objects" / "info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "alternates").write_text(f"{objects.resolve()}\n", encoding="utf-8")


def _present_tree(path: Path, commit: str) -> str:
    """The id of the commit's tree without the blobs that are absent, and without submodules."""
    git(path, "read-tree", commit)
    rows = [r for r in git(path, "ls-files", "-s", "-z").split(b"\0") if r]
    entries = [(r.split(b"\t", 1)[1], r.split()[0], r.split()[1]) for r in rows]
    asked = b"".join(blob + b"\n" for _, _, blob in entries)
    answers = git(path, "cat-file", "--batch-check", stdin=asked).splitlines()
    gone = [
        name for (name, mode, _), answer in zip(entries, answers) if mode == b"160000" or answer.endswith(b" missing")
    ]
    if gone:
        names = b"".join(name + b"\0" for name in gone)
        git(path, "update-index", "--force-remove", "-z", "--stdin", stdin=names)
    return git(path, "write-tree").decode().strip()


def make_tree(repository: Path, commit: str, path: Path, tag: str = "") -> None:
    """Make the work tree `path` with one commit, called `base`, and `tag` on it.

    Does nothing where `path` is there; a half-made tree never has that name. Errors: GitError.
    """
    if path.is_dir():
        return
    part = path.with_name(path.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    borrow(repository, part)
    tree = _present_tree(part, commit)
    made = git(part, "commit-tree", "-m", "base", tree).decode().strip()
    git(part, "reset", "-q", "--hard", made)
    git(part, "tag", "base")
    if tag:
        git(part, "tag", "-a", "-m", tag, tag)
    part.rename(path)


def reset_tree(path: Path, ref: str = "base") -> None:
    """Bring a tree made here back to `ref`: nothing changed, untracked or ignored is left."""
    git(path, "reset", "-q", "--hard", ref)
    git(path, "clean", "-ffdxq")


def apply_diff(path: Path, diff: bytes) -> None:
    """Apply a unified diff to the tree, without fuzz. Errors: GitError."""
    git(path, "apply", "--whitespace=nowarn", "-", stdin=diff)


def _changed(raw: bytes) -> dict[str, tuple[str, str]]:
    """Path -> (mode, blob id) of what `git diff-index -z` printed; ("", "") for a deleted one."""
    fields = raw.decode("utf-8", "surrogateescape").split("\0")
    images = {}
    for head, name in zip(fields[0::2], fields[1::2]):
        _, mode, _, blob, status = head.split()
        images[name] = ("", "") if status == "D" else (mode, blob)
    return images


def post_image(path: Path, ref: str, diff: bytes) -> dict[str, tuple[str, str]]:
    """What a diff makes of `ref`: changed path -> (mode, blob id); ("", "") for a deleted one.

    Only the object store of `path` is written, no work tree. Errors: GitError.
    """
    listing = ("diff-index", "--cached", "--no-renames", "-z", "--abbrev=40", ref)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        git(path, "read-tree", ref, index=index)
        apply = ("apply", "--cached", "--whitespace=nowarn", "-")
        git(path, *apply, stdin=diff, index=index)
        return _changed(git(path, *listing, index=index))
