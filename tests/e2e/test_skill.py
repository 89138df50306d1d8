"""A scripted client follows SKILL.md: each command in order, with the outputs and exit codes that the file describes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import sandboxes
from host import ROOT, Host
from repos import Repo, digest

SKILL = ROOT / "docs" / "skills" / "acr-host" / "SKILL.md"
TEXT = SKILL.read_text("utf-8")
BLOCK = re.compile(r"^```(sh)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KEEPS = "git apply"  # the one command that may change the checkout


def steps() -> list[tuple[str, str]]:
    """Each block of commands, with the output that the file shows after it."""
    blocks = BLOCK.findall(TEXT)
    return [(text, shown) for (kind, text), (after, shown) in zip(blocks, blocks[1:]) if kind and not after]


def matches(shown: str, told: str) -> bool:
    """Whether an output equals the shown one, in which … stands for any text."""
    return (
        re.fullmatch(".*?".join(map(re.escape, shown.rstrip("\n").split("…"))), told.rstrip("\n"), re.DOTALL)
        is not None
    )


def test_the_skill_has_the_form_that_agents_read() -> None:
    """The rules of Agent Skills: fields, lengths, and the folder's name as the name."""
    _, head, body = TEXT.split("---\n", 2)
    fields = dict(re.findall(r"^([a-z-]+): (?:>-\n)?((?:.|\n  )*)", head, re.MULTILINE))
    assert set(fields) == {"name", "description", "license", "compatibility"}
    assert fields["name"] == SKILL.parent.name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert 0 < len(fields["description"]) <= 1024 and len(fields["compatibility"]) <= 500
    assert len(body.splitlines()) <= 500


def test_help_prints_the_skill(host: Host) -> None:
    assert host.run("help", "skill").check().out == TEXT
    assert "skill" in json.loads(host.run("describe").check().out)["topics"]


def test_a_client_follows_the_skill(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    if missing := sandboxes.missing_bubblewrap():
        pytest.skip(missing)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "acr-host").symlink_to(host.program)
    env = host.environment({"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"})
    before, verbs = digest(sample_repo.path), set()
    for commands, shown in steps():
        verbs |= set(re.findall(r"acr-host (\w+)", commands))
        fails = commands.rstrip().endswith("&& exit 1")
        script = ["bash", "-o", "pipefail", "-c" if fails else "-ec", commands]
        done = subprocess.run(script, cwd=sample_repo.path, env=env, capture_output=True, text=True, timeout=120)
        told = done.stdout + (done.stderr if fails else "")
        assert done.returncode == fails and matches(shown, told), f"{commands}\n{told}\n{done.stderr}"
        assert KEEPS in commands or digest(sample_repo.path) == before, commands
    assert verbs == {"search", "patch", "verify", "tests", "exec"}


def test_exit_codes_are_as_the_skill_says(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    repo = ["--repo", sample_repo]
    host.run("search", *repo, "class", "Nothing").check(1)
    host.run("search", *repo, "--no-such").one_line(2, "--no-such")
    host.run("patch", *repo, input="no edit").check(1)
    if missing := sandboxes.missing_bubblewrap():
        pytest.skip(missing)
    host.run("exec", *repo, "--", "sh", "-c", "exit 7").check(7)
    host.run("exec", *repo, "--timeout", "1", "--", "sleep", "60").check(124)
    ended = json.loads(host.run("exec", *repo, "--json", "--", "sh", "-c", "exit 7").check().out)
    assert (ended["exit"], ended["signal"], ended["limit"]) == (7, None, None)
    host.run("tests", *repo).check(1)
    wrong = tmp_path / "wrong.diff"
    file = sample_repo.path / "brookbill" / "periods.py"
    file.write_text(file.read_text("utf-8").replace("[self.start, *cuts, self.end]", "[self.start, self.end]"), "utf-8")
    wrong.write_bytes(sample_repo.git_bytes("diff"))
    sample_repo.git("checkout", "-q", ".")
    told = json.loads(host.run("tests", *repo, "--json", "--patch", wrong).check(1).out)
    assert told["regressions"]
