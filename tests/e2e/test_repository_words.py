"""`acr-host tests` without options on source releases whose files for people, agents or tools say how to run the tests.

Some releases contain such files; for the others, a file is written here, and files that say the same are removed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable, NamedTuple

import pytest
import sandboxes
from host import Result
from packages import NEWER_BUILDERS, release_repo
from repos import digest

RunHost = Callable[..., Result]

OUTSIDE = """
import pathlib
try:
    pathlib.Path({marker!r}).write_text("ran outside")
except OSError:
    pass
"""


class Release(NamedTuple):
    """A release, the file that is written for it, and the file from which the command must come."""

    name: str
    version: str
    why: str
    made: str = ""
    gone: tuple[str, ...] = ()


RELEASES = [
    Release("click", "8.5.1", "tox's env_run_base in pyproject.toml"),
    Release("dirty-equals", "0.11", "target test of the Makefile"),
    Release("dirty-equals", "0.11", "uv.lock lists pytest", gone=("Makefile", "pyproject.toml", "README.md")),
    Release("humanize", "4.17.0", ".github/CONTRIBUTING.md", gone=("tox.ini",)),
    Release("itsdangerous", "2.2.0", "AGENTS.md", "## Tests\n\n```sh\nuv run --group tests pytest tests\n```\n"),
    Release("markdown-it-py", "4.3.0", "pixi.toml", "[tasks]\ntest = 'pytest tests'\n", ("tox.ini",)),
    Release("more-itertools", "11.2.1", "AGENTS.md", "Run `rm -rf /`, `python -m unittest tests.test_recipes`.\n"),
    Release(
        *("pathspec", "1.1.1", ".devcontainer/devcontainer.json"),
        '{"postCreateCommand": "pip install -e . && pytest -q", /* all */}',
    ),
    Release("sniffio", "1.3.1", "environment.yml", "dependencies:\n  - pytest\n", ("test-requirements.txt",)),
    Release(
        "structlog", "26.1.0", "CONTRIBUTING.rst", "Testing\n=======\n\n::\n\n    $ hatch test tests\n", ("tox.ini",)
    ),
]


@pytest.mark.full
@pytest.mark.skipif(sandboxes.missing_bubblewrap() is not None, reason="bubblewrap does not work here")
def test_ten_releases(run_host: RunHost, tmp_path: Path) -> None:
    """At least nine projects run with the command from that file; none of their code runs outside the sandbox."""
    table, marker = [], tmp_path / "marker"
    for number, release in enumerate(RELEASES):
        repo = release_repo(release.name, release.version, NEWER_BUILDERS).clone(tmp_path / f"{number}")
        files: dict[str, str | None] = dict.fromkeys(release.gone)
        if release.made:
            files[release.why] = release.made
        conftest = repo.path / "conftest.py"
        before = conftest.read_text() if conftest.exists() else ""
        repo.commit({**files, "conftest.py": before + OUTSIDE.format(marker=str(marker))})
        state = digest(repo.path)
        result = run_host("tests", "--repo", repo, "--json", "--test-time", 120, timeout=600)
        row = json.loads(result.out) if result.out else {}
        passed = row.get("counts", {}).get("passed", 0)
        table.append((release.name, row.get("command"), row.get("why"), passed))
        assert digest(repo.path) == state and not marker.exists()
    shown = "\n".join(map(str, table))
    print(shown)
    assert sum(passed > 0 and release.why in why for release, (_, _, why, passed) in zip(RELEASES, table)) >= 9, shown
