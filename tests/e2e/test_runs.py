"""Run folders without --out: listed, used by default, resumed and removed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Host, Result
from repos import Repo
from runs import ISSUE, SCRIPT
from screens import on_screen

RunHost = Callable[..., Result]
DAY = 24 * 60 * 60


class State:
    """A repository, and the state folder with its runs."""

    def __init__(self, run_host: RunHost, repo: Repo, folder: Path) -> None:
        self.run_host, self.repo, self.env = run_host, repo, {"XDG_STATE_HOME": str(folder)}

    def __call__(self, *words: object) -> Result:
        """Run the program inside the repository."""
        return self.run_host(*words, cwd=self.repo.path / "brookbill", env=self.env)

    def fix(self, *words: object) -> Result:
        """A run of the sample's issue."""
        return self("run", "--issue", ISSUE, "--model", f"script:{SCRIPT}", "--verify=never", *words)

    def rows(self) -> list[dict[str, Any]]:
        """The rows that `runs --json` prints."""
        return json.loads(self("runs", "--json").check().stdout)


@pytest.fixture
def state(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> State:
    """No run yet."""
    return State(run_host, sample_repo, tmp_path / "state")


def age(folder: str, days: int) -> None:
    """Make the run look as if it had ended that many days ago."""
    then = time.time() - days * DAY
    os.utime(Path(folder) / "meta.json", (then, then))


def test_runs_of_this_repository_are_listed_the_latest_first(state: State) -> None:
    assert state.rows() == [] and "there is no run" in state("runs").check().err
    patch = state.fix().check().stdout
    (first,) = state.rows()
    age(first["folder"], 1)
    state.fix("--tries", 1).check(1)
    rows = state.rows()
    assert [(row["state"], row["verdict"]) for row in rows] == [("finished", "none"), ("finished", "unverified")]
    assert json.loads(state("runs", "--json", "--limit", 1).check().stdout)[0]["folder"] == rows[0]["folder"]
    assert len(state("runs", "-n1").check().out.splitlines()) == 2
    assert rows[1]["folder"] == first["folder"] and rows[1]["age_seconds"] >= DAY
    assert rows[0]["issue"] == ISSUE.read_text("utf-8").splitlines()[0] and rows[0]["cost_microusd"] == 0
    text = state("runs").check().out.splitlines()
    assert [line.split()[0] for line in text] == ["STATE", "none", "unverified"] and "1 d" in text[2]
    assert text[0].endswith("ISSUE AND FOLDER") and all("0 USD" in line for line in text[1:])
    assert [line.endswith(f"  {row['issue']}  {row['folder']}") for line, row in zip(text[1:], rows)] == [True, True]
    age(rows[0]["folder"], 2)
    replayed = state("replay").check()
    assert replayed.stdout == patch and f"the run folder is {first['folder']}" in replayed.err
    for words in (["report", "--json"], ["pr"], ["watch", "--once"]):
        assert first["folder"] in state(*words).check().err


def test_a_damaged_result_is_told_by_all_that_read_it(state: State) -> None:
    state.fix().check()
    (row,) = state.rows()
    (Path(row["folder"]) / "result.json").write_text("x")
    told = state("pr", row["folder"]).one_line(3, "result.json' is damaged: malformed JSON at byte 0")
    reads = (["report", "-f", "text"], ["report", "--json"], ["watch", "--once"], ["watch"])
    for verb, *words in reads:
        assert state(verb, row["folder"], *words).one_line(3).partition(":")[2] == told.partition(":")[2]
    (row,) = state.rows()
    assert (row["state"], row["verdict"]) == ("finished", None) and row["why"] in told
    assert f"\n    {row['why']}\n" in state("runs").check().out


def test_on_a_narrow_terminal_the_folder_has_its_own_line(state: State, host: Host) -> None:
    state.fix("--tries", 1).check(1)
    shown = on_screen(host, "runs", "--repo", state.repo, columns=80, env=state.env).lines
    (row,) = (line for line in shown if line.startswith("none "))
    assert any(line.startswith("STATE ") for line in shown)
    assert len(row) <= 80 and f"{row}    {state.rows()[0]['folder']}" in "".join(shown)


def test_the_latest_unfinished_run_of_the_issue_is_resumed(state: State) -> None:
    stopped = state.fix("--max-time", "0.001").check(4)
    assert any(
        "to resume, with a higher --max-time: acr-host run " in line and " --max-time HIGHER " in line
        for line in stopped.progress
    )
    (row,) = state.rows()
    assert (row["state"], row["verdict"]) == ("unfinished", None)
    kept = json.loads((Path(row["folder"]) / "result.json").read_text())
    assert kept["why"] == kept["error"]["message"] and row["why"] in kept["why"]
    shown = state("report", row["folder"], "-f", "text").check().out
    assert shown.count(kept["why"]) == 1, "reports say it once"
    failed = json.loads(state("run", "--issue", "none.md", "--model", "script:x", "--json").check(2).stdout)
    assert "none.md" in failed["why"] == failed["error"]["message"]
    assert (
        row["why"] == "limit --max-time reached"
        and "\n    stopped: limit --max-time reached\n" in state("runs", "-n", 1).check().out
    )
    state.fix("--tries", 1, "--max-time", "0.001").check(4)  # a run with other options is skipped
    state("pr").one_line(2, "there is no finished run of this repository")
    resumed = state.fix("--resume").check()
    assert (
        f"the run folder is {row['folder']}" in "\n".join(resumed.progress) and b"+            total" in resumed.stdout
    )
    assert any(f"or: the same command with --apply and --out {row['folder']}" in line for line in resumed.progress)
    assert sorted(each["state"] for each in state.rows()) == ["finished", "unfinished"]
    age(row["folder"], 1)  # the unfinished run is the latest one
    assert f"the run folder is {row['folder']}\n" in state("pr").check().err
    anew = "to begin anew: the same command without --resume"
    state.fix("--resume").one_line(2, "was started with --tries 1 (", "the same command with --tries 1; ", anew)
    assert state.fix("--resume", "--tries", 1).check(1).progress
    state.fix("--resume").one_line(2, "no unfinished run of this issue")
    state.fix("--resume", "--out", "x").one_line(2, "--resume", "--out")


def test_pruning_removes_runs_that_are_old_or_without_a_patch(state: State) -> None:
    state.fix().check()
    (old,) = state.rows()
    age(old["folder"], 31)
    state.fix("--tries", 1).check(1)
    state.fix().check()
    state("runs", "--prune").one_line(2, "removes 2 run folders", "--yes")
    assert len(state.rows()) == 3
    assert "removed 2 of 3 run folders" in state("runs", "--prune", "--yes").check().err
    (kept,) = state.rows()
    assert kept["verdict"] == "unverified" and kept["folder"] != old["folder"]


def test_pruning_asks_on_a_terminal(host: Host, state: State) -> None:
    state.fix("--tries", 1).check(1)
    asked = on_screen(
        *(host, "runs", "--prune", "--repo", state.repo),
        **{"env": state.env, "meanwhile": lambda press: press(b"n\n")},
    )
    said = " ".join(asked.lines)
    assert "Remove 1 run folder, without a patch or older than 30 days? [y/N] n" in said, asked
    assert asked.exit == 1 and "nothing was removed" in said and len(state.rows()) == 1
