"""The commands of README.md and docs/: those that can be run here are, in their order; of the others each option is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sandboxes
from host import Host
from repos import sample_repo
from runs import ISSUE, SCRIPT, script_lines, write_script

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs").glob("*.md"))
TASKS = ("brook__bill-1", "brook__bill-2")


def blocks(path: Path, kind: str) -> list[str]:
    """The fenced blocks of a page that begin so."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def shown() -> Iterator[tuple[str, str]]:
    """Page and line of each command of the program that is shown."""
    for path in [ROOT / "README.md", *GUIDES]:
        for block in [*blocks(path, "sh"), *blocks(path, "sh live")]:
            for line in block.replace("\\\n", " ").splitlines():
                for words in re.findall(r"(?:^|[ /])acr-host ([a-z].*)", line.partition("   #")[0]):
                    yield path.name, words


def test_pages_show_commands() -> None:
    assert len(GUIDES) >= 7 and len(list(shown())) >= 30


@pytest.mark.parametrize(("page", "words"), sorted(set(shown())))
def test_what_is_shown_can_be_said(host: Host, page: str, words: str) -> None:
    """The verb and each of its options."""
    verb, _, rest = words.partition(" ")
    known = host.run(verb, "--help-all").check().out if "extensions" not in verb else host.run(verb, "--help").out
    for option in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", rest.partition(" -- ")[0].partition("'")[0]):
        assert f"--{option}" in known, f"{page}: {verb} has no --{option}"


def test_help_prints_guides(host: Host) -> None:
    assert host.run("help", "first-issue").check().out == (ROOT / "docs" / "first-issue.md").read_text("utf-8")
    assert host.run("help", "extensions").check().out.startswith("# Extensions")
    assert host.run("help", "run").check().out == host.run("run", "--help").check().out
    assert "Usage" not in host.run("help").check().out
    for wrong in ("nothing", "../README", ""):
        host.run("help", wrong).one_line(2, "first-issue, how-it-works")


@pytest.mark.parametrize("guide", [path for path in GUIDES if blocks(path, "sh")], ids=lambda path: path.stem)
def test_a_guide_runs(host: Host, tmp_path: Path, guide: Path) -> None:
    """Block by block, in a checkout of the sample; each must succeed."""
    if "acr-host exec" in guide.read_text("utf-8") and sandboxes.missing_bubblewrap():
        pytest.skip("bubblewrap does not work here")
    project = sample_repo(tmp_path / "project")
    (tmp_path / "issue.md").write_bytes(ISSUE.read_bytes())
    row = {"repo": "brook/bill", "base_commit": project.head, "problem_statement": ISSUE.read_text("utf-8")}
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row | {"instance_id": name}) + "\n" for name in TASKS))
    project.clone(tmp_path / "repos" / "brook" / "bill")
    if guide.stem == "benchmarks":
        write_script(tmp_path / "answers.jsonl", [line | {"instance_id": n} for n in TASKS for line in script_lines()])
    else:
        (tmp_path / "answers.jsonl").write_bytes(SCRIPT.read_bytes())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "acr-host").symlink_to(host.program)
    env = host.environment({"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    for block in blocks(guide, "sh"):
        done = subprocess.run(["bash", "-ec", block], cwd=project.path, env=env, capture_output=True, timeout=300)
        assert done.returncode == 0, f"{block}\n{done.stdout.decode()}\n{done.stderr.decode()}"
