"""A search call: which commits of the last years added or removed a text, by `git log -S`."""

from __future__ import annotations

import subprocess

from acr.extensions import Repo, search_call

API = 1
COMMITS = 5


@search_call
def search_history(repo: Repo, text: str) -> str:
    """Shows the newest commits that added or removed a text, with the files that they changed.

    text: Literal text, such as the name of a function
    """
    if not repo.path:
        return "There is no history here."
    command = ["git", "-C", repo.path, "log", f"-S{text}", f"-n{COMMITS}", "--stat=100", "--date=short"]
    shown = subprocess.run(
        [*command, "--format=%n%h %ad %s"], capture_output=True, text=True, errors="replace", timeout=20, check=False
    )
    if shown.returncode:
        return "The history cannot be read."
    return shown.stdout.strip()


def test_finds_nothing(repo: Repo) -> None:
    """A text that no commit holds."""
    assert search_history(repo, "\u2603 never in a commit \u2603") in ("", "The history cannot be read.")
