"""The non-test Python files of one commit, which acr-host indexes and the other programs read.

The repository is only read. A neighbouring commit is created in another repository, which borrows the objects of the
first.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from timing import BenchError

NEIGHBOUR_CHANGES = 12  # number of files that a usual commit changes
_TEST_PARTS = frozenset({"test", "tests"})
# Patterns for git that select the files of `is_source`; their number does not grow with the repository.
PATHSPEC = (
    ":(glob)**/*.py",
    ":(exclude,glob)**/test/**",
    ":(exclude,glob)**/tests/**",
    ":(exclude,glob)**/test_*.py",
    ":(exclude,glob)**/*_test.py",
    ":(exclude,glob)**/conftest.py",
)


def clean_env(**more: str) -> dict[str, str]:
    """The environment of all processes: git uses only the repository's own configuration."""
    env = {name: v for name, v in os.environ.items() if not name.startswith("GIT_")}
    return env | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C.UTF-8",
        **more,
    }


def git(repository: Path, *args: str, stdin: bytes = b"") -> bytes:
    """The output of a git command. Errors: BenchError."""
    done = subprocess.run(
        ["git", "-C", str(repository), *args], env=clean_env(), input=stdin, capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[:1]
        raise BenchError(f"git {args[0]} in '{repository}': {''.join(said)}")
    return done.stdout


def is_source(path: str) -> bool:
    """Whether a path names a Python file that is not a test."""
    *folders, name = path.split("/")
    if not name.endswith(".py") or not _TEST_PARTS.isdisjoint(folders):
        return False
    return not (name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py")


@dataclass(frozen=True)
class Corpus:
    """The source files of one commit: `files` are (path, content) in the order of paths."""

    repository: Path
    rev: str
    files: tuple[tuple[str, bytes], ...]

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(len(content) for _, content in self.files)


def _listing(repository: Path, rev: str) -> list[tuple[str, str]]:
    """(path, blob id) of each source file of a commit; paths that are not UTF-8 are omitted."""
    rows = git(repository, "ls-tree", "-r", "-z", "--full-tree", rev).split(b"\0")
    found = []
    for row in filter(None, rows):
        head, _, name = row.partition(b"\t")
        mode, kind, blob = head.decode().split()
        path = name.decode("utf-8", "replace")
        if kind == "blob" and mode != "120000" and is_source(path):
            found.append((path, blob))
    return found


def load(repository: Path, rev: str) -> Corpus:
    """Read the source files of a commit. Errors: BenchError."""
    commit = git(repository, "rev-parse", "--verify", f"{rev}^{{commit}}")
    listing = _listing(repository, commit.decode().strip())
    asked = "".join(f"{blob}\n" for _, blob in listing).encode()
    answer = git(repository, "cat-file", "--batch", stdin=asked)
    files, at = [], 0
    for path, blob in listing:
        end = answer.index(b"\n", at)
        head = answer[at:end].split()
        if head[-1] == b"missing":
            raise BenchError(f"{blob} of '{path}' is not in '{repository}'")
        at = end + 1 + int(head[2])
        files.append((path, answer[end + 1 : at]))
        at += 1
    return Corpus(repository, commit.decode().strip(), tuple(files))


def write_halves(corpus: Corpus, folder: Path) -> list[Path]:
    """Split the files' contents into two pickles of nearly equal size."""
    halves: tuple[list[bytes], list[bytes]] = ([], [])
    sizes = [0, 0]
    for _, content in sorted(corpus.files, key=lambda file: -len(file[1])):
        lesser = sizes.index(min(sizes))
        halves[lesser].append(content)
        sizes[lesser] += len(content)
    paths = []
    for number, half in enumerate(halves):
        paths.append(folder / f"half-{number}.pickle")
        paths[-1].write_bytes(pickle.dumps(half))
    return paths


def fast_import(repository: Path, stream: bytes) -> str:
    """Import a commit into a repository; return its id. The stream must create refs/heads/made."""
    git(repository, "fast-import", "--quiet", "--force", stdin=stream)
    return git(repository, "rev-parse", "refs/heads/made").decode().strip()


def make_repository(folder: Path, borrowed: Path | None = None) -> Path:
    """A bare repository without commits, which has all objects of `borrowed`."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "-b", "main", ".")
    if borrowed:
        common = git(borrowed, "rev-parse", "--git-path", "objects").decode().strip()
        shutil.copytree(borrowed / common, folder / "objects", copy_function=link_or_copy, dirs_exist_ok=True)
    return folder


def link_or_copy(source: str, target: str) -> None:
    """A hard link to a file that never changes; on another file system, a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def commit_head(message: str, parent: str = "") -> bytes:
    """The beginning of a commit in git's import format; files follow."""
    author = "committer bench <bench@localhost> 946684800 +0000"
    above = f"from {parent}\n" if parent else ""
    text = f"commit refs/heads/made\n{author}\ndata {len(message)}\n{message}\n{above}"
    return text.encode()


def commit_file(path: str, content: bytes) -> bytes:
    """One file of a commit in git's import format."""
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)


def make_neighbour(corpus: Corpus, folder: Path) -> Corpus:
    """A commit on top of the corpus's commit that adds a function to each of a few files."""
    make_repository(folder, corpus.repository)
    step = max(1, len(corpus.files) // NEIGHBOUR_CHANGES)
    changed = {path: content + b"\n\ndef added_next_door():\n    return 1\n" for path, content in corpus.files[::step]}
    stream = commit_head("next door", corpus.rev)
    stream += b"".join(commit_file(*file) for file in changed.items())
    rev = fast_import(folder, stream)
    files = tuple((path, changed.get(path, text)) for path, text in corpus.files)
    return Corpus(folder, rev, files)
