"""For all pytest files: the mark `full` for long tests, and a report of skipped tests.

The reason of a skipped test is written to the file `$ACR_SKIPPED.txt`, which tools/check prints before its last lines.
If all tests of a file are skipped, the exit code is 77, which ctest counts as skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

EXIT_SKIPPED = 77

_skips = pytest.StashKey[list[str]]()
_ran = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark and begin with nothing skipped."""
    config.addinivalue_line("markers", "full: a long test, run by tools/check --full only")
    config.stash[_skips] = []
    config.stash[_ran] = 0


class _Counter:
    """Records for each test whether it ran, or why it was skipped."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that ran; record the reason of a skipped test."""
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "expected to fail"
            reason = reason.removeprefix("Skipped: ").replace("\n", " ")
            self.config.stash[_skips].append(f"{report.nodeid}: {reason}")
        elif report.when == "call" or report.failed:
            self.config.stash[_ran] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record the reason of a file that was skipped as a whole."""
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ").replace("\n", " ")
            self.config.stash[_skips].append(f"{report.nodeid}: {reason}")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to count."""
    session.config.pluginmanager.register(_Counter(session.config))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the reasons, and exit with 77 if no test ran because all were skipped or deselected."""
    skips = session.config.stash[_skips]
    target = os.environ.get("ACR_SKIPPED")
    if target and skips:
        path = Path(f"{target}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in skips), encoding="utf-8")
    nothing = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if nothing and session.config.stash[_ran] == 0:
        session.exitstatus = EXIT_SKIPPED  # type: ignore[assignment]


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of recorded runs, below $ACR_SHARED or `../shared`; skips the test if it does not exist."""
    shared = Path(os.environ.get("ACR_SHARED") or Path(__file__).parents[2] / "shared")
    if not (shared / "recorded" / "runs.jsonl").is_file():
        pytest.skip(f"no recorded runs in {shared}")
    return shared / "recorded"
