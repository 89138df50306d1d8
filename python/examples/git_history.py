"""Uses `git log -S`: a search call finds the commits that added or removed a text, and a localiser ranks the files in
which names of the issue were added or removed.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter

from acr.extensions import Place, Repo, localiser, search_call

API = 1
COMMITS = 5
NAMES = 8  # most names of an issue


@search_call
def search_changes(repo: Repo, text: str) -> str:
    """Shows the newest commits that added or removed a text, with the files that they changed.

    text: Literal text, such as the name of a function
    """
    if not repo.path:
        return "There is no history here."
    shown = _log(repo.path, text, "--stat=100", "--date=short", "--format=%n%h %ad %s")
    return "The history cannot be read." if shown is None else shown.strip()


@localiser
def changed_with_names(repo: Repo, issue: str) -> list[tuple[Place, float]]:
    """The files of the newest commits that added or removed names of the issue, ranked by the number of these names."""
    names = re.findall(r"\b(?:\w+_\w+|[A-Z][a-z0-9]+[A-Z]\w*)\b", issue)
    scores: Counter[str] = Counter()
    for name in list(dict.fromkeys(names))[:NAMES] if repo.path else []:
        shown = _log(repo.path or "", name, "--name-only", "--format=") or ""
        scores.update(set(filter(None, shown.splitlines())))
    files = set(repo.files())
    found = [(file, score) for file, score in scores.most_common() if file in files and file.endswith(".py")]
    return [(Place(file, 1, len(repo.text(file).splitlines()) or 1), score) for file, score in found]


def _log(folder: str, text: str, *options: str) -> str | None:
    command = ["git", "-C", folder, "log", f"-S{text}", f"-n{COMMITS}", *options]
    shown = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    return None if shown.returncode else shown.stdout


def test_finds_nothing(repo: Repo) -> None:
    """No commit contains this text."""
    assert search_changes(repo, "\u2603 never in a commit \u2603") in ("", "The history cannot be read.")
    assert changed_with_names(repo, "no_such_name_of_any_commit") == []
