"""The measured commands: acr-host's, and those of other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus import PATHSPEC, Corpus, clean_env, git
from machine import PYTHON
from timing import BenchError, Command

# The minimum work of an indexer that uses `ast`: it parses the files and ignores the trees.
PARSE_ONLY = """
import ast, pickle, sys
for content in pickle.load(open(sys.argv[1], "rb")):
    try:
        ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        pass
"""


@dataclass(frozen=True)
class Ours:
    """The program under test, with a separate cache folder."""

    binary: Path
    cache: Path

    def _command(self, corpus: Corpus, exits: tuple[int, ...], verb: str, *more: str) -> Command:
        where = ["--repo", str(corpus.repository), "--rev", corpus.rev]
        env = clean_env(XDG_CACHE_HOME=str(self.cache))
        return Command([str(self.binary), verb, *where, *more], env, exits=exits)

    def index(self, corpus: Corpus) -> Command:
        """Indexes the commit, or finds that the index is complete; prints counts as JSON."""
        return self._command(corpus, (0,), "index", "--json")

    def symbol(self, corpus: Corpus, name: str) -> Command:
        """A process that shows a class, which must exist."""
        return self._command(corpus, (0,), "search", f'search_class("{name}")')

    def search(self, corpus: Corpus, call: str) -> Command:
        """A process that answers one call, with code or without."""
        return self._command(corpus, (0, 1), "search", call)

    def session(self, corpus: Corpus) -> Command:
        """A process that answers the calls on its stdin, one JSON line per call."""
        return self._command(corpus, (0, 1), "search", "--json")


def git_grep(corpus: Corpus, text: str, everywhere: bool = False) -> Command:
    """`git grep -F` over the source files of the commit; `everywhere`: also tests and files of other types."""
    argv = ["git", "-C", str(corpus.repository), "grep", "-F", "-e", text, corpus.rev]
    return Command([*argv, *([] if everywhere else ["--", *PATHSPEC])], clean_env())


def check_same_files(corpus: Corpus) -> None:
    """Make sure that git's patterns select the files of the corpus. Errors: BenchError."""
    argv = ["grep", "-l", "-z", "-a", "-e", "", corpus.rev, "--", *PATHSPEC]
    printed = git(corpus.repository, *argv).split(b"\0")
    theirs = {name.decode("utf-8", "replace").partition(":")[2] for name in printed if name}
    ours = {path for path, content in corpus.files if content}
    if theirs != ours:
        shown = ", ".join(sorted(theirs ^ ours)[:3])
        raise BenchError(f"git grep does not read the same files: {shown}")


def parse_only(halves: Sequence[Path]) -> list[Command]:
    """Plain Python processes that only parse the contents in these pickles."""
    start = [PYTHON, "-I", "-c", PARSE_ONLY]
    return [Command([*start, str(half)], clean_env(), exits=(0,)) for half in halves]
