"""A verbose model with a small context: all runs reach the patch writer, end by themselves, and can be replayed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from host import ROOT, Result
from repos import Repo
from runs import EXTRACT_3, PATCH_2, SELECT_1, arguments, journal, script_lines, write_script

sys.path.append(str(ROOT / "tests" / "servers"))

from rambling import RamblingModel  # noqa: E402

RunHost = Callable[..., Result]
# Names in the sample for which searches find long code.
ISSUE = """The bill is wrong.

`SeasonalTariff`, `BlockTariff`, `BillingRun`, `Period`, `invoice`, `usage_charge`, `cost_in_blocks`, `split_at`
and everything that tariff billing does give another amount than the invoice says.
"""


def run(
    run_host: RunHost, server: RamblingModel, repo: Repo, folder: Path, issue: str, *more: object
) -> tuple[Result, list[dict[str, Any]]]:
    """Run in a new folder; return the result and the journal's records."""
    path = folder / "issue.md"
    path.write_text(issue, encoding="utf-8")
    args = ("run", "--repo", repo.path, "--issue", path, "--model", "openai/rambling", "--verbose", "--verify=never")
    env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-local"}
    result = run_host(*args, "--out", folder / "out", *more, env=env)
    return result, journal(folder / "out")


def check_end(run_host: RunHost, result: Result, folder: Path) -> None:
    """The run ended by itself with a reason, the patch writer answered, and a replay gives the same."""
    assert result.exit in (0, 1), result.told()
    assert result.exit == 0 or "no patch: " in result.err.splitlines()[-1]
    assert (folder / "out" / "attempt_0" / "patch_raw_1.md").stat().st_size > 0
    again = run_host("replay", folder / "out")
    assert (again.exit, again.stdout) == (result.exit, result.stdout), again.told()


@pytest.mark.parametrize("words", [60, 400])
@pytest.mark.parametrize("window", [3200, 4096])
def test_small_window(run_host: RunHost, sample_repo: Repo, tmp_path: Path, window: int, words: int) -> None:
    with RamblingModel(window, words) as server:
        result, records = run(run_host, server, sample_repo, tmp_path, ISSUE)
    check_end(run_host, result, tmp_path)
    errors = [r["answer"]["error"] for r in records if "error" in r["answer"]]
    assert errors and all(e["class"] == "context_overflow" for e in errors)
    assert sum(e.get("sent", True) for e in errors) == sum(n > window for n in server.asked)
    # The first rejection states the window; after it, few requests that do not fit are sent.
    assert sum(n > window for n in server.asked) <= 3
    assert any("search" == r["request"]["agent"] for r in records)


def test_issue_longer_than_the_window(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The issue's middle is omitted with a note; its beginning and end stay."""
    issue = ISSUE + "It was seen again.\n" * 3000 + "\nThe end of the report."
    with RamblingModel() as server:
        result, records = run(run_host, server, sample_repo, tmp_path, issue, "--rounds", "2")
    check_end(run_host, result, tmp_path)
    told = [m["content"] for r in records for m in r["request"]["messages"]]
    cut = [text for text in told if "The bill is wrong." in text and "bytes left out" in text]
    assert cut and all("The end of the report." in text for text in cut)


def test_given_window_is_never_passed(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    with RamblingModel() as server:
        result, _ = run(run_host, server, sample_repo, tmp_path, ISSUE, "--context", "4096")
    check_end(run_host, result, tmp_path)
    assert server.asked and max(server.asked) <= 4096


def test_run_that_is_killed_goes_on_with_what_it_learnt(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """After a cut at any record, the run makes the same requests, and ends with the same result."""
    with RamblingModel(3200) as server:
        result, records = run(run_host, server, sample_repo, tmp_path, ISSUE, "--rounds", "3")
        whole = (tmp_path / "out" / "journal.jsonl").read_bytes()
        asked = list(server.asked)
        for kept in (1, len(records) // 2, len(records) - 1):
            cut = b"".join(whole.splitlines(keepends=True)[:kept])
            (tmp_path / "out" / "journal.jsonl").write_bytes(cut)
            meta = json.loads((tmp_path / "out" / "meta.json").read_text("utf-8"))
            meta["state"] = "ready"
            (tmp_path / "out" / "meta.json").write_text(json.dumps(meta), "utf-8")
            del server.asked[:]
            again, now = run(run_host, server, sample_repo, tmp_path, ISSUE, "--rounds", "3")
            assert (again.exit, again.stdout) == (result.exit, result.stdout), again.told()
            assert server.asked == asked[len(asked) - len(server.asked) :]
            assert [r["request"] for r in now] == [r["request"] for r in records]


def test_tries_of_an_extraction_that_fill_the_window_are_left_out(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    """Only the text itself is sent again, and the answer is used."""
    lines = script_lines()
    talk = {"agent": "extract", "content": "No JSON at all. " * 1500}
    places = {"agent": "extract", "content": lines[EXTRACT_3]["content"]}
    script = [lines[SELECT_1], talk, places, lines[PATCH_2]]
    model = write_script(tmp_path / "script.jsonl", script)
    result = run_host(*arguments(sample_repo, tmp_path / "out", "-v", "--context", "6000", model=model)).check()
    assert "earlier tries are left out" in result.err + "".join(result.progress), result.told()
    assert run_host("replay", tmp_path / "out").check().stdout == result.stdout
