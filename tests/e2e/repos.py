"""Git repositories for tests, and a digest that shows whether anything in a tree has changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SAMPLE = Path(__file__).resolve().parents[1] / "fixtures" / "sample"
_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false"},
    "GIT_AUTHOR_NAME": "tester",
    "GIT_AUTHOR_EMAIL": "tester@localhost",
    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00+0000",
    "GIT_COMMITTER_NAME": "tester",
    "GIT_COMMITTER_EMAIL": "tester@localhost",
    "GIT_COMMITTER_DATE": "2020-01-01T00:00:00+0000",
    "LC_ALL": "C.UTF-8",
}

Digest = dict[str, tuple[int, int, str]]


class Repo:
    """A git repository at `path`; git commands ignore the user's configuration."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def git_bytes(self, *args: str | bytes, stdin: bytes = b"") -> bytes:
        """Run git here; returns stdout. Errors: AssertionError with git's stderr."""
        env = {name: v for name, v in os.environ.items() if not name.startswith("GIT_")} | _ENV
        done = subprocess.run(["git", *args], cwd=self.path, env=env, input=stdin, capture_output=True, check=False)
        said = done.stderr.decode("utf-8", "replace")
        assert done.returncode == 0, f"git {args} in {self.path}: {said}"
        return done.stdout

    def git(self, *args: str | bytes, stdin: bytes = b"") -> str:
        """As git_bytes, but as text without trailing white space."""
        return self.git_bytes(*args, stdin=stdin).decode("utf-8", "replace").rstrip()

    @property
    def head(self) -> str:
        """The commit id of HEAD."""
        return self.git("rev-parse", "HEAD")

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files, path -> content; None deletes a file. Does not commit."""
        for name, content in files.items():
            path = self.path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "change") -> str:
        """Write files and commit everything in the tree, including ignored files; return the commit's id."""
        self._commit(files, message)
        return self.head

    def _commit(self, files: Mapping[str, str | bytes | None], message: str) -> None:
        self.write(files)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def clone(self, path: Path) -> Repo:
        """A clone at `path`, with its own objects."""
        self.git("clone", "-q", "--no-hardlinks", str(self.path), str(path))
        return Repo(path)

    def apply(self, diff: bytes) -> None:
        """Apply a diff to the work tree without fuzz. Errors: AssertionError."""
        self.git("apply", "--whitespace=nowarn", "-", stdin=diff)


def _init(path: Path) -> Repo:
    """As `git init -b main`, without sample hooks, which every copy and digest would have to process."""
    git = path / ".git"
    for folder in ("hooks", "info", "objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (git / folder).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tlogallrefupdates = true\n")
    (git / "info" / "exclude").touch()
    return Repo(path)


def make_repo(path: Path, files: Mapping[str, str | bytes]) -> Repo:
    """A repository at `path` with one commit of these files; without files, no commit."""
    path.mkdir(parents=True)
    repo = _init(path)
    if files:
        repo._commit(files, "first")
    return repo


def sample_repo(path: Path) -> Repo:
    """The bundled sample as a repository at `path` with one commit."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(_SAMPLE / "repo", path, ignore=ignored)
    repo = _init(path)
    repo._commit({}, "The sample as it is")
    return repo


def _content(path: Path, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return f"-> {os.readlink(path)}"
    if not stat.S_ISREG(mode):
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest(path: Path) -> Digest:
    """Everything below a folder, including the folder and `.git`: name -> (mode, mtime in ns, content).

    Content is the SHA-256 of a file's bytes, a link's target, or "". Compare digests with ==.
    """
    found: Digest = {}
    for folder, folders, names in os.walk(path):
        here = Path(folder)
        for entry in [here, *(here / name for name in names), *(here / f for f in folders)]:
            status = entry.lstat()
            key = os.fsdecode(os.fsencode(entry.relative_to(path)))
            found[key] = (status.st_mode, status.st_mtime_ns, _content(entry, status.st_mode))
    return found
