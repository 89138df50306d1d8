"""Runs of the bundled sample: the command, the expected changes, and the contents of the run folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from host import ROOT
from repos import Digest, Repo, digest

SAMPLE = ROOT / "tests" / "fixtures" / "sample"
ISSUE = SAMPLE / "issue.md"
SCRIPT = SAMPLE / "answers.jsonl"
CHANGED = "brookbill/tariffs/seasonal.py"

# The script's lines by purpose; the values are their numbers, from 0.
SELECT_1, EXTRACT_1, ANALYSE_1, SELECT_2, EXTRACT_2, EXTRACT_2_AGAIN = range(6)
ANALYSE_2, SELECT_3, EXTRACT_3, PATCH_1, PATCH_2 = range(6, 11)
CALLS = 11

# Every file of a finished run of the sample, except prompts/ and snapshot/.
ARTIFACTS = {
    ".gitignore",
    "lock",
    "issue.md",
    "meta.json",
    "journal.jsonl",
    "cost.json",
    "patch.diff",
    "selected_patch.json",
    "result.json",
    "attempt_0/search/search_round_1.json",
    "attempt_0/search/search_round_2.json",
    "attempt_0/search/search_round_3.json",
    "attempt_0/search/agent_proxy_1.json",
    "attempt_0/search/agent_proxy_2.json",
    "attempt_0/search/agent_proxy_3.json",
    "attempt_0/search/tool_call_layers.json",
    "attempt_0/search/bug_locations_before_process.json",
    "attempt_0/search/bug_locations_after_process.json",
    "attempt_0/patch_raw_1.md",
    "attempt_0/patch_raw_2.md",
    "attempt_0/conv_patch_1.json",
    "attempt_0/conv_patch_2.json",
    "attempt_0/extracted_patch_2.diff",
    "attempt_0/extract_status.json",
}


def arguments(repo: object, out: Path, *more: object, model: str = "", verify: str = "never") -> list[object]:
    """The arguments of a run of the sample's issue; `model` defaults to the script."""
    model = model or f"script:{SCRIPT}"
    return ["run", "--repo", repo, "--issue", ISSUE, "--model", model] + [*("--out", out, f"--verify={verify}", *more)]


def fixed(before: bytes) -> bytes:
    """The content of CHANGED after the sample's fix: two lines scale the blocks to the days of the part."""
    wrong = b"blocks, period.days)"
    assert before.count(wrong) == 2, "the sample was changed"
    after = before.replace(wrong, b"blocks, part.days)", 1)
    return after.replace(wrong, b"blocks, last.days)", 1)


def script_lines() -> list[dict[str, Any]]:
    """The lines of the sample's script for a run without verification."""
    return [json.loads(line) for line in SCRIPT.read_text("utf-8").splitlines()][:CALLS]


def write_script(path: Path, lines: Iterable[dict[str, Any]]) -> str:
    """Write a script; return it as an argument of --model."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return f"script:{path}"


def broken_script(path: Path, number: int) -> str:
    """The sample's script in which no request matches line `number`, so that the run stops there."""
    lines = script_lines()
    lines[number]["expect"] = ["what no request ever says"]
    return write_script(path, lines)


def read_json(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text("utf-8"))


def journal(out: Path) -> list[dict[str, Any]]:
    """The records of a run's journal."""
    lines = (out / "journal.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def files_of(folder: Path) -> set[str]:
    """The names of all files below a folder."""
    paths = (path for path in folder.rglob("*") if not path.is_dir())
    return {str(path.relative_to(folder)) for path in paths}


def folder_digest(out: Path) -> Digest:
    """The digest of a run folder without its lock, which every process takes."""
    return {name: entry for name, entry in digest(out).items() if name != "lock"}


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files below a folder, except `.git`."""
    names = (n for n in files_of(folder) if not re.match(r"\.git(?:/|$)", n))
    return {name: (folder / name).read_bytes() for name in names}


def check_summary(err: str, retries: int | str = 0) -> None:
    """Check that stderr is only the line with the run's model calls and cost."""
    line = rf"acr-host run: {CALLS} calls, \d+ tokens in .*, {retries} retr(?:y|ies)(?:; .* replayed)?\n"
    assert re.fullmatch(line, err), err


def failed_tests(folder: Path) -> set[str]:
    """Run the sample's own tests in a folder; return the names of those that fail.

    Errors: AssertionError unless all 26 tests ran.
    """
    command = [sys.executable, "-B", "-m", "unittest", "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)
    assert re.search(r"^Ran 26 tests", done.stderr, re.MULTILINE), done.stderr
    return set(re.findall(r"^(?:FAIL|ERROR): (\w+)", done.stderr, re.MULTILINE))


def check_patch(diff: bytes, checkout: Repo) -> None:
    """Apply the sample's patch to a checkout: without fuzz, with the right change, and equal to git's own diff."""
    before = contents(checkout.path)
    checkout.git("add", "-A")
    checkout.git("commit", "-q", "--allow-empty", "-m", "as it was")
    checkout.apply(diff)
    after = contents(checkout.path)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == {CHANGED}
    assert after[CHANGED] == fixed(before[CHANGED])
    assert checkout.git_bytes("diff", "--full-index") == diff
