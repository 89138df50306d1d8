"""`pr`: the text of a draft, its branch, the push, and the request to strict servers; nothing else is changed or sent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import forges
import pytest
from forges import TOKEN, Forge
from host import Host, Result
from hostile import write_script
from repos import Repo, digest, make_repo
from runs import folder_digest
from verifying import SCRIPT, STRAIGHT, sandbox_options

RunHost = Callable[..., Result]
ISSUE_URL = "https://github.com/owner/name/issues/7"
SAID = "# Halves are wrong @octocat\n\nhalf(4) is 1, it should be 2\n"
VERIFIED = f"""\
Fixes {ISSUE_URL}

## What was wrong

- `app.py`, `half`, lines 1 to 2

  It should do:

  ```text
  halve
  ```

## What changed

- `app.py` (+1 -1)

## Evidence

- verdict: **verified** (`reproducer_1.py fails without the patch and passes with it; 9 experiments agree`)
- reproducer: `reproduced` (exit 1) without the patch, `passed` with it
- review by a model: patch correct: `yes`, script correct: `yes`

<details><summary>The reproducer</summary>

```python
{SCRIPT.strip()}
```

</details>

Written by `acr-host` with recorded answers: 6 model calls, 0 USD. A person should review it.
"""
FILES = {
    "app.py": "def half(n):\n    return n // 3\n",
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "run.sh": "#!/bin/sh\n",
    "gone/only.txt": "away\n",
    "data.bin": bytes(range(256)) * 4,
    "deep/er/file.txt": "deep\n",
    ".gitattributes": "*.txt text eol=lf filter=evil\n",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, binary: Path) -> Path:
    """A folder with a repository `repo` and its verified run `out`."""
    folder = tmp_path_factory.mktemp("finished")
    repo = make_repo(folder / "repo", FILES)
    (folder / "issue.md").write_text(SAID)
    script = write_script(folder / "script.jsonl", STRAIGHT)
    host = Host(tmp_path_factory.mktemp("home"), binary)
    line = ["run", "--repo", repo, "--issue", folder / "issue.md", "--model", f"script:{script}"]
    host.run(*line, "--out", folder / "out", *sandbox_options()).check()
    meta = json.loads((folder / "out" / "meta.json").read_text())
    (folder / "out" / "meta.json").write_text(json.dumps(meta | {"issue_url": ISSUE_URL}))
    return folder


@pytest.fixture
def out(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run."""
    return Path(shutil.copytree(finished / "out", tmp_path / "out"))


@pytest.fixture
def repo(finished: Path, tmp_path: Path) -> Repo:
    """A clone of its repository that has an author, and a bare `origin` on disk behind GitHub's address."""
    made = Repo(finished / "repo").clone(tmp_path / "work")
    Repo(finished / "repo").git("clone", "-q", "--bare", str(finished / "repo"), str(tmp_path / "server.git"))
    made.git("config", "user.name", "Ann")
    made.git("config", "user.email", "ann@example.org")
    made.git("remote", "set-url", "origin", "git@github.com:owner/name.git")
    made.git("remote", "set-url", "--push", "origin", f"file://{tmp_path}/server.git")
    return made


@pytest.fixture(params=sorted(forges.DIALECTS))
def forge(request: pytest.FixtureRequest) -> Iterator[Forge]:
    """Each of the servers; it must have received no invalid request."""
    with Forge(request.param) as made:
        yield made
    assert made.wrong == []


def edit_result(out: Path, **members: Any) -> None:
    path = out / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


# ---- The text ----


def test_title_and_body(run_host: RunHost, out: Path) -> None:
    before = folder_digest(out)
    result = run_host("pr", out).check()
    assert result.out == "Fix: Halves are wrong @ octocat\n\n" + VERIFIED and result.err == ""
    assert folder_digest(out) == before
    told = json.loads(run_host("pr", out, "--json").check().out)
    assert told["body"] == VERIFIED and told["issue"] == ISSUE_URL
    assert told["files"] == [{"path": "app.py", "added": 1, "removed": 1}]


def test_what_is_not_verified_says_so(run_host: RunHost, out: Path) -> None:
    edit_result(out, verdict="unverified", why="nothing was run")
    said = run_host("pr", out).check().out
    assert said.startswith("[unverified] Fix: Halves") and "> **unverified** (" in said


@pytest.mark.parametrize(
    "members,words",
    [
        ({"verdict": "refused", "exit": 1, "why": "review\nrejected it"}, ["refused"]),
        ({"verdict": "none", "patch": None, "exit": 1, "why": "no edit"}, ["there is no patch", "no edit"]),
    ],
)
def test_without_a_good_patch_nothing_is_written(
    run_host: RunHost, out: Path, repo: Repo, members: dict[str, Any], words: list[str]
) -> None:
    edit_result(out, **members)
    before = digest(repo.path)
    result = run_host("pr", out, "--repo", repo, "--branch", "fix", "--push", "origin")
    result.one_line(1, *words)
    assert result.out == "" and digest(repo.path) == before


def test_a_template(run_host: RunHost, out: Path, tmp_path: Path) -> None:
    template = tmp_path / "body.md"
    template.write_text("A {{verdict}} fix of {{ issue }}\n{{changes}}\n")
    said = run_host("pr", out, "--template", template).check().out
    assert said.endswith(f"\n\nA verified fix of {ISSUE_URL}\n- `app.py` (+1 -1)\n")
    template.write_text("{{nothing}}")
    run_host("pr", out, "--template", template).one_line(2, "{{nothing}}", "evidence")
    template.write_bytes(b"\xff")
    run_host("pr", out, "--template", template).one_line(2, "UTF-8")
    run_host("pr", out, "--template", tmp_path / "none").one_line(2, "none")
    run_host("pr", tmp_path).one_line(2, "run folder")


def test_the_issue_is_named_by_its_address_alone(run_host: RunHost, out: Path) -> None:
    meta = json.loads((out / "meta.json").read_text())
    for wrong in (f"{ISSUE_URL}\nFixes #1", "https://github.com/owner/name/pull/7", ["x"]):
        (out / "meta.json").write_text(json.dumps(meta | {"issue_url": wrong}))
        told = json.loads(run_host("pr", out, "--json").check().out)
        assert told["issue"] is None and "Fixes" not in told["body"]


# ---- The branch ----


def change(repo: Repo) -> bytes:
    """The diff of every kind of change; the repository is then restored."""
    repo.write({"crlf.txt": b"one\r\nTWO\r\nthree\r\n", "gone/only.txt": None, "data.bin": bytes(range(255, -1, -1))})
    repo.write({"new/tool": "#!/bin/sh\necho\n", "empty.py": "", "app.py": "def half(n):\n    return n // 2\n"})
    (repo.path / "new" / "tool").chmod(0o755)
    (repo.path / "run.sh").chmod(0o755)
    repo.git("config", "core.attributesFile", "/dev/null")
    (repo.path / ".gitattributes").write_text("")
    repo.git("add", "-A", ":!.gitattributes")
    diff = repo.git_bytes("diff", "--cached", "--binary", "--full-index", "--no-renames")
    repo.git("reset", "-q", "--hard")
    return diff


def refs(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()


def untouched(repo: Repo) -> dict[str, Any]:
    """All of git's files and output, except objects and the branch `fix`."""
    kept = digest(repo.path)
    mine = (".git/refs/heads", ".git/logs/refs/heads")
    return {
        name: entry
        for name, entry in kept.items()
        if not name.startswith(".git/objects") and name not in (".git", *mine) and "heads/fix" not in name
    }


def test_a_branch_while_the_work_tree_is_dirty(run_host: RunHost, out: Path, repo: Repo, tmp_path: Path) -> None:
    edit_result(out, patch=change(repo).decode())
    marker = tmp_path / "ran"
    for hook in ("pre-commit", "post-commit", "reference-transaction", "post-checkout", "pre-push"):
        (repo.path / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (repo.path / ".git" / "hooks" / hook).chmod(0o755)
    for name in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "gpg.program"):
        repo.git("config", name, f"touch {marker}; cat")
    repo.git("config", "commit.gpgSign", "true")
    repo.write({"app.py": "dirty\n", "untracked.py": "new\n", "deep/er/file.txt": None})
    repo.git("-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat", "add", "untracked.py")
    marker.unlink(missing_ok=True)
    before, had = untouched(repo), refs(repo)
    result = run_host("pr", out, "--repo", repo, "--branch", "fix", "--json").check()
    assert untouched(repo) == before and not marker.exists()
    told = json.loads(result.out)["branch"]
    assert told["state"] == "written" and refs(repo) == sorted([*had, f"refs/heads/fix {told['commit']}"])
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    shown = repo.git("show", "-s", "--format=%an %ae %cn|%P|%s", "fix")
    assert shown == f"Ann ann@example.org Ann|{repo.head}|Fix: Halves are wrong @ octocat"
    rows = repo.git("diff-tree", "-r", "--no-renames", "HEAD", "fix").splitlines()
    modes = {row.split("\t")[1]: (*row.split()[:2], row.split()[4]) for row in rows}
    assert modes == {
        "app.py": (":100644", "100644", "M"), "crlf.txt": (":100644", "100644", "M"),
        "data.bin": (":100644", "100644", "M"), "empty.py": (":000000", "100644", "A"),
        "gone/only.txt": (":100644", "000000", "D"), "new/tool": (":000000", "100755", "A"),
        "run.sh": (":100644", "100755", "M"),
    }  # fmt: skip
    assert repo.git_bytes("cat-file", "blob", "fix:crlf.txt") == b"one\r\nTWO\r\nthree\r\n"
    assert repo.git_bytes("cat-file", "blob", "fix:data.bin") == bytes(range(255, -1, -1))
    assert "gone" not in repo.git("ls-tree", "--name-only", "fix").split()


def test_a_branch_is_written_once(run_host: RunHost, out: Path, repo: Repo) -> None:
    line = ["pr", out, "--repo", repo, "--branch", "fix/half"]
    run_host(*line).check()
    before = digest(repo.path)
    assert "was there" in run_host(*line).check().err
    run_host("pr", out, "--repo", repo, "--branch", "main").one_line(3, "branch 'main' exists")
    run_host("pr", out, "--repo", repo, "--branch", "fix").one_line(3, "fix")
    run_host("pr", out, "--repo", repo, "--branch", "other", "--dry-run").check()
    for wrong in ("a..b", "-x", "HEAD", "\x1b[m", ""):
        run_host("pr", out, "--repo", repo, f"--branch={wrong}").one_line(2, "--branch")
    assert digest(repo.path) == before


def test_nothing_is_written_where_a_link_leads(run_host: RunHost, out: Path, repo: Repo, tmp_path: Path) -> None:
    """Nor to a branch without commits that HEAD is on."""
    away = tmp_path / "away"
    away.mkdir()
    (away / ".bashrc").write_text("#\n")
    repo.git("config", "user.name", "Ann $(id)")
    places = {"refs/heads/one": "new", "refs/heads/two": "", "logs/refs/heads/three": ".bashrc"}
    for place, leads in places.items():
        (repo.path / ".git" / place).symlink_to(away / leads)
    repo.git("symbolic-ref", "HEAD", "refs/heads/four")
    before = digest(repo.path), digest(away)
    trusting = ("pr", out, "--repo", repo, "--trust-git-links", "--branch")
    run_host("pr", out, "--repo", repo, "--branch", "one").one_line(3, "is outside this repository")
    run_host(*trusting, "two/half").one_line(3, "is a symbolic link")
    assert (digest(repo.path), digest(away)) == before
    (repo.path / ".git" / "refs" / "heads" / "two").unlink()
    before = digest(repo.path), digest(away)
    for branch in ("one", "three"):
        run_host(*trusting, branch).one_line(3, "symbolic link", branch)
    run_host(*trusting, "four").one_line(3, "'four' is checked out")
    assert (digest(repo.path), digest(away)) == before


def test_who_commits_must_be_known(run_host: RunHost, out: Path, repo: Repo) -> None:
    repo.git("config", "--unset", "user.email")
    before = digest(repo.path)
    run_host("pr", out, "--repo", repo, "--branch", "fix").one_line(3, "user.email")
    assert digest(repo.path) == before


def rebase(out: Path, repo: Repo, files: dict[str, str]) -> None:
    """Make the run begin at a commit that also has these files."""
    repo.write(files)
    repo.git("add", "--all")
    base = repo.git("commit-tree", repo.git("write-tree"), "-m", "base")
    repo.git("branch", "base", base)
    meta = json.loads((out / "meta.json").read_text())
    meta["snapshot"]["commit"] = base
    (out / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize(
    ("models", "more", "trailer"),
    [
        (["openai/gpt-5.4", "gemini/g"], [], "Assisted-by: acr-host:openai/gpt-5.4\nAssisted-by: acr-host:gemini/g"),
        (None, [], "Assisted-by: acr-host"),
        (None, ["--assisted-by", "never"], ""),
    ],
)
def test_the_commit_names_who_helped(
    run_host: RunHost, out: Path, repo: Repo, models: list[str] | None, more: list[str], trailer: str
) -> None:
    meta = json.loads((out / "meta.json").read_text())
    if models:
        meta["options"]["model"] = models
    (out / "meta.json").write_text(json.dumps(meta))
    run_host("pr", out, "--repo", repo, "--branch", "fix", *more).check()
    message = repo.git("log", "-1", "--format=%B", "fix")
    assert repo.git("log", "-1", "--format=%(trailers:key=Assisted-by)", "fix").strip() == trailer, message


POLICY = "# Patches by AI\n\nSay which model wrote them.\x1b[2J\n"


@pytest.mark.parametrize(
    ("files", "shown", "hidden"),
    [
        ({"AI_POLICY.md": POLICY}, "AI_POLICY.md: Say which model wrote them.\\u001b[2J", "\x1b"),
        ({"CONTRIBUTING.md": "# Style\nmain\n## Use of LLMs\nNone.\n### Why\nWork.\n## Tests\nx\n"}, "Work.", "Tests"),
        (
            {"docs/contributing.rst": "Start\n=====\na\n\nGenerative AI\n-------------\nAsk first.\n"},
            "Ask first.",
            "Start",
        ),
        ({"CONTRIBUTING.md": "# Maintainers\nWe said: email us, again.\n"}, "", "policy"),
        ({"vendor/AI_POLICY.md": POLICY}, "", "policy"),
        ({"AI_POLICY.md": "line\n" * 5000}, "AI_POLICY.md: line", "\n" * 2),
    ],
)
def test_a_policy_on_ai_is_shown_before_anything_is_written(
    run_host: RunHost, out: Path, repo: Repo, files: dict[str, str], shown: str, hidden: str
) -> None:
    rebase(out, repo, files)
    assert shown in (told := run_host("pr", out, "--repo", repo).check().err) and hidden not in told
    told = run_host("pr", out, "--repo", repo, "--branch", "fix").check().err
    assert shown in told and hidden not in told and told.count("\n") < 64
    assert told.index(shown) < told.index("branch fix: written")


def test_kinds_of_repositories(run_host: RunHost, out: Path, repo: Repo, tmp_path: Path) -> None:
    """A linked worktree, one with a submodule and a name that is not UTF-8, a bare one, one without the commit."""
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    run_host("pr", out, "--repo", tmp_path / "linked", "--branch", "one").check()
    assert repo.git("log", "-1", "--format=%P", "one") == repo.head
    bare = Repo(tmp_path / "server.git")
    run_host("pr", out, "--repo", bare, "--branch", "two").one_line(3, "user.name")
    bare.git("config", "user.name", "Ann")
    bare.git("config", "user.email", "a@b")
    run_host("pr", out, "--repo", bare, "--branch", "two").check()
    assert bare.git("fsck", "--no-dangling") == ""
    other = make_repo(tmp_path / "other", {"a": "b"})
    run_host("pr", out, "--repo", other, "--branch", "x").one_line(3, repo.head)
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head},sub")
    repo.write({os.fsdecode(b"b\xffd"): "x"})
    repo.git("add", b"b\xffd")
    base = repo.git("commit-tree", repo.git("write-tree"), "-m", "base")
    repo.git("branch", "base", base)
    meta = json.loads((out / "meta.json").read_text())
    meta["snapshot"]["commit"] = base
    (out / "meta.json").write_text(json.dumps(meta))
    run_host("pr", out, "--repo", repo, "--branch", "three").check()
    assert repo.git("diff-tree", "-r", "--name-status", "base", "three").split() == ["M", "app.py"]


def test_a_run_on_changes_that_are_not_committed(run_host: RunHost, out: Path, repo: Repo) -> None:
    repo.write({"app.py": "def half(n):\n    return n // 9\n"})
    diff = repo.git_bytes("diff", "--full-index").replace(b"-    return n // 3", b"-    return n // 5")
    edit_result(out, patch=diff.decode())
    meta = json.loads((out / "meta.json").read_text())
    meta["snapshot"]["changes"] = {"count": 1, "files": ["app.py"]}
    (out / "meta.json").write_text(json.dumps(meta))
    before = digest(repo.path)
    assert "began with uncommitted changes" in run_host("pr", out).check().err
    run_host("pr", out, "--repo", repo, "--branch", "fix").one_line(3, "uncommitted changes")
    assert digest(repo.path) == before


# ---- The push ----


def test_a_push(run_host: RunHost, out: Path, repo: Repo, tmp_path: Path) -> None:
    marker, server = tmp_path / "ran", Repo(tmp_path / "server.git")
    evil = f"touch {marker}; false"
    names = ("core.sshCommand", "core.gitProxy", "credential.helper", "remote.origin.receivepack", "core.askPass")
    for name in (*names, "core.alternateRefsCommand", "core.fsmonitor", "gpg.program"):
        repo.git("config", name, evil)
    repo.git("config", "push.gpgSign", "true")
    (repo.path / ".git" / "hooks" / "pre-push").write_text(f"#!/bin/sh\n{evil}\n")
    (repo.path / ".git" / "hooks" / "pre-push").chmod(0o755)
    for hook in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        (server.path / "hooks" / hook).write_text(f"#!/bin/sh\n{evil}\n")
        (server.path / "hooks" / hook).chmod(0o755)
    for name in ("core.alternateRefsCommand", "core.fsmonitor", "core.hooksPath"):
        server.git("config", name, evil if name != "core.hooksPath" else str(server.path / "hooks"))
    asked = tmp_path / "programs"  # a program named git, which records the arguments of git and its children
    asked.mkdir()
    (asked / "git").write_text(f'#!/bin/sh\nenv >>{tmp_path}/env\nexec {shutil.which("git")} "$@"\n')
    (asked / "git").chmod(0o755)
    line = ["pr", out, "--repo", repo, "--branch", "fix", "--push", "origin"]
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN", "GL_TOKEN", "GITEA_TOKEN")
    keys = {name: "a-secret-key" for name in names} | {"PATH": f"{asked}:{os.environ['PATH']}"}
    assert "push to origin: pushed" in run_host(*line, env=keys).check().err
    assert "PATH=" in (tmp_path / "env").read_text() and "a-secret-key" not in (tmp_path / "env").read_text()
    server.git("config", "--unset", "core.fsmonitor")
    server.git("config", "--unset", "core.hooksPath")
    shutil.rmtree(server.path / "hooks")
    assert server.git("rev-parse", "fix") == repo.git("-c", "core.fsmonitor=false", "rev-parse", "fix")
    assert "push to origin: was there" in run_host(*line).check().err
    assert not marker.exists() and server.git("fsck", "--no-dangling") == ""
    moved = server.git("commit-tree", "main^{tree}", "-m", "other")
    server.git("update-ref", "refs/heads/fix", moved)
    run_host(*line).check(3)
    assert "not pushed" in run_host(*line).err and server.git("rev-parse", "fix") == moved


@pytest.mark.parametrize("url", ["ext::sh -c touch% {marker}", "/nowhere/else.git"])
def test_addresses_that_are_not_pushed_to(run_host: RunHost, out: Path, repo: Repo, tmp_path: Path, url: str) -> None:
    repo.git("config", "remote.origin.pushurl", url.replace("{marker}", str(tmp_path / "ran")))
    result = run_host("pr", out, "--repo", repo, "--branch", "fix", "--push", "origin").check(3)
    assert "not pushed to 'origin'" in result.err.splitlines()[-1] and not (tmp_path / "ran").exists()
    run_host("pr", out, "--repo", repo, "--branch", "b", "--push", "none").one_line(
        3, "no remote 'none'", "git remote add none URL"
    )
    run_host("pr", out, "--repo", repo, "--push", "origin").one_line(2, "--push needs --branch")
    run_host("pr", out, "--repo", repo, "--branch", "b", "--open").one_line(2, "--open needs --push")


@pytest.mark.parametrize("url", ["b.git", "file://{repo}/b%2Egit", "{repo}/../link/b.git", "--receive-pack=touch ran"])
def test_hooks_in_the_repository_s_own_files(
    run_host: RunHost, out: Path, repo: Repo, tmp_path: Path, url: str
) -> None:
    repo.git("clone", "-q", "--bare", ".", "b.git")
    hook = repo.path / "b.git" / "hooks" / "update"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (tmp_path / "link").symlink_to(repo.path)
    repo.git("config", "remote.origin.pushurl", url.replace("{repo}", str(repo.path)))
    before = digest(repo.path)
    run_host("pr", out, "--repo", repo, "--branch", "fix", "--push", "origin").one_line(2, "inside the repository")
    assert digest(repo.path) == before and not (tmp_path / "ran").exists()


def test_a_password_in_an_address_is_not_shown(run_host: RunHost, out: Path, repo: Repo) -> None:
    repo.git("config", "remote.origin.pushurl", "http://ann:s3cret@127.0.0.1:1/owner/name.git")
    line = ["pr", out, "--repo", repo, "--branch", "fix", "--push", "origin"]
    told = run_host(*line, "--dry-run", "--json").check()
    assert json.loads(told.out)["push"]["url"] == "http://127.0.0.1:1/owner/name.git"
    failed = run_host(*line).check(3)
    assert "127.0.0.1" in failed.err and "s3cret" not in failed.err + failed.out + told.out
    repo.git("config", "remote.origin.pushurl", "ssh://ann:s3cret@127.0.0.1:1/owner/name.git")
    told = run_host(*line, "--dry-run", "--json").check()
    assert json.loads(told.out)["push"]["url"] == "ssh://ann@127.0.0.1:1/owner/name.git"


# ---- The request ----


def opening(out: Path, repo: Repo, forge: Forge, *more: object) -> list[object]:
    line = ["pr", out, "--repo", repo, "--branch", "fix/half", "--push", "origin", "--open", "--json"]
    return [*line, "--forge", forge.kind, "--api-url", forge.url, *more]


def test_a_request_is_no_draft_where_that_is_asked_for(run_host: RunHost, out: Path, repo: Repo, forge: Forge) -> None:
    result = run_host(*opening(out, repo, forge, "--no-draft"), env={forge.dialect.variable: TOKEN}).check()
    (made,) = forge.made
    assert made["title"] == json.loads(result.out)["title"] and not made.get("draft")
    assert result.err.index("will not be a draft") < result.err.index("push to origin")


def test_a_draft_is_opened_once(run_host: RunHost, out: Path, repo: Repo, forge: Forge, tmp_path: Path) -> None:
    forge.add_row("fix/half", is_fork=True) if forge.kind == "gitlab" else forge.add_row("another")
    forge.rows[0] |= {"source_branch": "another"} if forge.kind == "gitlab" else {}
    env = {forge.dialect.variable: TOKEN}
    result = run_host(*opening(out, repo, forge), env=env).check()
    told = json.loads(result.out)
    assert told["request"] == {"url": "https://forge.test/2", "number": 2, "state": "opened"}
    (made,) = forge.made
    drafts = {"github": "", "gitlab": "Draft: ", "gitea": "WIP: "}
    assert made["title"] == drafts[forge.kind] + told["title"]
    assert made.get("draft") is (True if forge.kind == "github" else None)
    assert VERIFIED in made.values() and "trunk" in made.values() and made[forge.dialect.head] == "fix/half"
    again = json.loads(run_host(*opening(out, repo, forge, "--base", "next"), env=env).check().out)
    assert again["request"] == told["request"] | {"state": "was open"} and len(forge.made) == 1
    assert Repo(tmp_path / "server.git").git("rev-parse", "fix/half") == told["branch"]["commit"]
    written = [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert written == [] and TOKEN not in result.out + result.err


def test_one_that_is_open_is_found_behind_many(run_host: RunHost, out: Path, repo: Repo) -> None:
    """Gitea cannot search by branch; a fork's branch of that name is a different one."""
    with Forge("gitea") as forge:
        for n in range(70):
            forge.add_row("fix/half", is_fork=True) if n == 3 else forge.add_row(f"b{n}")
        forge.add_row("fix/half")
        told = json.loads(run_host(*opening(out, repo, forge), env={"GITEA_TOKEN": TOKEN}).check().out)
    assert told["request"]["number"] == 71 and forge.made == forge.wrong == []


@pytest.mark.parametrize("link,said", [(None, "URL unknown"), ("x\x1b[m" + "y" * 9999, "bytes left out")])
def test_addresses_that_servers_give(run_host: RunHost, out: Path, repo: Repo, link: Any, said: str) -> None:
    with Forge("github") as forge:
        forge.add_row("fix/half")["html_url"] = link
        line = [word for word in opening(out, repo, forge) if word != "--json"]
        told = run_host(*line, env={"GITHUB_TOKEN": TOKEN}).check().err.splitlines()[-1]
    assert "request: was open" in told and said in told and len(told) < 999 and "\x1b" not in told


def test_a_dry_run_says_what_would_be_sent(run_host: RunHost, out: Path, repo: Repo, forge: Forge) -> None:
    before = digest(repo.path)
    result = run_host(*opening(out, repo, forge, "--dry-run"), env={forge.dialect.variable: TOKEN}).check()
    told = json.loads(result.out)
    assert digest(repo.path) == before and forge.asked == [] and TOKEN not in result.out
    assert [told[name]["state"] for name in ("branch", "push", "request")] == ["planned"] * 3
    assert [row["method"] for row in told["requests"]] == ["GET", "GET", "POST"]
    assert run_host(*opening(out, repo, forge), env={forge.dialect.variable: TOKEN}).check()
    sent = [f"{row['method']} {row['url'].partition(forge.url)[2]}" for row in told["requests"]]
    assert [line.replace(forge.dialect.root, "", 1) for line in forge.asked] == sent
    body = told["requests"][2]["body"]
    assert {**body, **{k: v for k, v in forge.made[0].items() if v == "trunk"}} == forge.made[0]
    shown = run_host(*[word for word in opening(out, repo, forge, "--dry-run") if word != "--json"]).check().out
    assert forge.url in shown and '"POST"' in shown and "(token)" in shown and "exists already" in shown
    assert shown.count("(the text above)") == 1 and shown.count("## ") == result.out.count("## ") // 2


@pytest.mark.parametrize(
    "answer,said",
    [
        ((401, {"message": "Bad credentials"}), "Bad credentials"),
        ((307, {}), "moved"),
        ((500, None), "500"),
        ((200, "<html>"), "no default branch"),
    ],
)
def test_servers_that_refuse(run_host: RunHost, out: Path, repo: Repo, answer: tuple[int, Any], said: str) -> None:
    with Forge("github", answer) as forge, Forge("github") as elsewhere:
        forge.location = elsewhere.url + "/repos/owner/name"
        result = run_host(*opening(out, repo, forge), env={"GH_TOKEN": TOKEN}).check(3)
    assert said in result.err.splitlines()[-1] and TOKEN not in result.err and elsewhere.asked == []


def test_which_server_gets_the_token(run_host: RunHost, out: Path, repo: Repo) -> None:
    """The remote's address or an option determines the server; a private server needs --api-url."""
    line = ["pr", out, "--repo", repo, "--branch", "fix", "--push", "origin", "--open"]
    before = digest(repo.path)
    run_host(*line).one_line(3, "GITHUB_TOKEN", "api.github.com")
    env = {"GITHUB_TOKEN": TOKEN}
    for url in ("http://example.org/api", f"https://{TOKEN}@example.org/api/v3"):
        assert TOKEN not in run_host(*line, "--api-url", url, env=env).one_line(2, "--api-url")
    known = {"https://github.com/o/.n": "https://api.github.com/repos/o/.n", "git@gitlab.com:g/s/n.git":
             "https://gitlab.com/api/v4/projects/g%2Fs%2Fn", "ssh://git@gitea.com:22/o/n": "https://gitea.com/api/v1/repos/o/n"}  # fmt: skip
    for url, api in known.items():
        repo.git("config", "remote.origin.url", url)
        told = json.loads(run_host(*line, "--dry-run", "--json", cwd=repo.path).check().out)
        assert told["requests"][0]["url"] == api
    for url in ("https://github.com.evil.org/o/n", "https://github.com@evil.org/o/n"):
        repo.git("config", "remote.origin.url", url)
        run_host(*line, env=env).one_line(2, "--forge and --api-url")
    run_host(*line, "--forge", "github", env=env).one_line(2, "--api-url")
    for url in ("/srv/x.git", "https://github.com/only", "https://github.com/o/../n"):
        repo.git("config", "remote.origin.url", url)
        run_host(*line, env=env).one_line(2, "not a project")
    repo.git("config", "remote.origin.url", "git@github.com:owner/name.git")
    kept = {name: entry for name, entry in digest(repo.path).items() if name not in (".git", ".git/config")}
    assert kept == {name: entry for name, entry in before.items() if name not in (".git", ".git/config")}


def test_git_itself_sees_the_branch(run_host: RunHost, out: Path, repo: Repo) -> None:
    run_host("pr", out, "--repo", repo, "--branch", "fix").check()
    repo.git("config", "filter.evil.smudge", "cat")
    done = subprocess.run(["git", "checkout", "-q", "fix"], cwd=repo.path, capture_output=True, check=False)
    assert done.returncode == 0 and "n // 2" in (repo.path / "app.py").read_text()
