"""The wrappers for GitHub Actions and GitLab CI: their steps run as a runner would run them, in a separate root, from
an issue's event to a draft request on a loopback forge, with a loopback model. The wrappers fit the published
schemas."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sandboxes
import yaml
from forges import TOKEN, Forge
from host import ROOT
from loopback import KEY, MODEL, LoopbackOpenAI
from packages import pinned_python
from repos import Repo, make_repo
from verifying import STRAIGHT

CI = ROOT / "tools" / "ci"
ISSUE = {"title": "Halves are wrong", "body": "half(4) is 1", "description": "half(4) is 1", "number": 7, "iid": 7}
PAGES = {"github": "https://github.com/owner/name/issues/7", "gitlab": "https://gitlab.com/owner/name/-/issues/7"}

pytestmark = pytest.mark.skipif(sandboxes.missing_bubblewrap() is not None, reason="bubblewrap does not work here")


class IssueForge(Forge):
    """A forge that also has an issue."""

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, Any]:
        """Return the issue, without comments; otherwise respond like any forge."""
        if "/issues/7" in path:
            return 200, [] if "/comments" in path or "/notes" in path else {**ISSUE, "user": {"login": "ann"}}
        return super().respond(method, path, headers, body)


class Job:
    """A clone as a CI job has it, and the commands that run in it, without this machine's variables, home and folders
    below /tmp.
    """

    def __init__(self, folder: Path, binary: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self.source = make_repo(folder / "source", {"app.py": "def half(n):\n    return n // 3\n"})
        (folder / "owner").mkdir()
        self.source.git("clone", "-q", "--bare", str(self.source.path), str(folder / "owner" / "name.git"))
        self.repo = self.clone("work")
        (folder / "bin").mkdir()
        (folder / "bin" / "acr-host").symlink_to(binary)
        engine = folder / "bin" / "docker"  # records its arguments, and runs the program here
        engine.write_text(
            '#!/bin/sh\necho "$@" >>"$HOME/told"\nwhile [ "$1" != an/image ]; do shift; done\nshift\nexec acr-host "$@"\n'
        )
        engine.chmod(0o755)
        self.said = ""

    def clone(self, name: str) -> Repo:
        """The checkout of a job; its pushes go to disk."""
        repo = self.source.clone(self.folder / name)
        repo.git("remote", "set-url", "origin", f"git@{self.kind}.com:owner/name.git")
        repo.git("remote", "set-url", "--push", "origin", f"file://{self.folder}/owner/name.git")
        return repo

    def run(self, command: str, env: dict[str, str]) -> int:
        """Run a shell step; return its exit code. Keeps its output, except for commands to the runner."""
        place, path = str(self.folder), f"{self.folder}/bin:/usr/bin:/bin"
        root = [
            "bwrap",
            "--ro-bind",
            "/",
            "/",
            "--dev-bind",
            "/dev",
            "/dev",
            "--bind",
            "/proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--tmpfs",
            "/root",
        ]
        root += ["--bind", place, place, "--chdir", str(self.repo.path), "--die-with-parent", "--clearenv"]
        root += ["--cap-add", "ALL"] if os.geteuid() == 0 else []  # for the inner sandbox
        env = {"PATH": path, "HOME": place, "LANG": "C.UTF-8", **env}
        words = [word for name, value in env.items() for word in ("--setenv", name, value)]
        done = subprocess.run(
            [*root, *words, "bash", "-e", "-o", "pipefail", "-c", command],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=300,
        )  # fmt: skip
        self.said += "".join(row for row in done.stdout.splitlines(True) if not row.startswith("::add-mask::"))
        return done.returncode

    def pushed(self) -> list[str]:
        """The branches on the server besides the first one."""
        branches = Repo(self.folder / "owner" / "name.git").git("branch", "--format=%(refname:short)")
        return [name for name in branches.split() if name.startswith("acr-host/")]

    def holds_secret(self) -> list[str]:
        """Files of the job that contain a key or a token, and the job's output if it does."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink()]
        found = [str(path) for path in files if any(word.encode() in path.read_bytes() for word in (KEY, TOKEN))]
        return found + [self.said for word in (KEY, TOKEN) if word in self.said]


def fill(text: object, known: dict[str, str]) -> str:
    """Fill in an expression of the action as the runner does."""
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: known[match[1]], str(text))


def run_action(job: Job, forge: Forge, event: dict[str, Any], **given: str) -> tuple[int, dict[str, str]]:
    """Run the composite action; return its exit code and outputs."""
    action = yaml.safe_load((CI / "action.yml").read_text())
    output, page = job.folder / "output", job.folder / "summary"
    (job.folder / "event.json").write_text(json.dumps(event))
    output.write_text("")
    known = {"github.token": TOKEN, "github.api_url": forge.url}
    for name, row in action["inputs"].items():
        known[f"inputs.{name}"] = given.get(name.replace("-", "_"), fill(row.get("default", ""), known))
    env = {"GITHUB_ACTION_PATH": str(CI), "GITHUB_EVENT_PATH": f"{job.folder}/event.json", "GITHUB_OUTPUT": str(output)}
    env |= {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(page),
        "GITHUB_SERVER_URL": "https://github.com",
        "ACR_RETRY_BASE_MS": "1",
    }
    code = 0
    for step in action["runs"]["steps"]:
        if code == 0 and ("if" not in step or known[step["if"].partition(" ")[0]]):
            code = job.run(step["run"], env | {name: fill(text, known) for name, text in step["env"].items()})
    # the runner executes no commands in the log between these lines
    assert re.fullmatch(r"::stop-commands::(\w{32})\n(?s:.*)::\1::\n", job.said[job.said.rfind("::stop-commands::") :])
    found = dict(row.split("=", 1) for row in output.read_text().splitlines())
    known |= {f"steps.work.outputs.{name}": text for name, text in found.items()}
    return code, {name: fill(row["value"], known) for name, row in action["outputs"].items() if found}


def run_gitlab(job: Job, forge: Forge, event: dict[str, Any], **given: str) -> tuple[int, dict[str, str]]:
    """Run the template's job; return its exit code and dotenv report."""
    template = yaml.safe_load((CI / "gitlab.yml").read_text())
    work = template["acr-host"]
    (job.folder / "event.json").write_text(json.dumps(event))
    env = {
        **template["variables"],
        **work["variables"],
        "ACR_CI_SCRIPT": str(CI / "issue_to_request.py"),
        "ACR_CI_WHEEL": "",
    }
    env |= {
        "CI_API_V4_URL": forge.url,
        "CI_SERVER_URL": f"file://{job.folder}",
        "CI_PROJECT_PATH": "owner/name",
        "GITLAB_CI": "true",
    }
    env |= {
        "TRIGGER_PAYLOAD": f"{job.folder}/event.json",
        "GITLAB_TOKEN": TOKEN,
        "OPENAI_API_KEY": given.pop("api_key"),
    }
    env |= {f"ACR_CI_{name.upper()}": text for name, text in given.items()}
    env = {name: re.sub(r"\$(\w+)", lambda match: env[match[1]], text) for name, text in env.items()}
    code = job.run("\n".join([*work["before_script"], *work["script"]]), env | {"ACR_RETRY_BASE_MS": "1"})
    report = job.repo.path / work["artifacts"]["reports"]["dotenv"]
    found = dict(row.split("=", 1) for row in report.read_text().splitlines()) if report.exists() else {}
    return code, {name.removeprefix("ACR_").lower(): text for name, text in found.items()}


RUNNERS = {"github": run_action, "gitlab": run_gitlab}


def labelled(kind: str, *labels: str) -> dict[str, Any]:
    """The event of an issue that gets a label."""
    rows = [{"name": label, "title": label} for label in labels]
    if kind == "github":
        return {"action": "labeled", "label": rows[0], "issue": {"html_url": PAGES[kind], "labels": rows}}
    change = {"labels": {"previous": [], "current": rows}}
    return {"object_kind": "issue", "object_attributes": {"url": PAGES[kind], "action": "update"}, "changes": change}


@pytest.fixture
def job(request: pytest.FixtureRequest, open_path: Path, binary: Path) -> Job:
    """A job that uses that forge."""
    return Job(open_path, binary, request.getfixturevalue("kind"))


@pytest.fixture
def forge(kind: str) -> Iterator[IssueForge]:
    """The server; it must have received no invalid request."""
    with IssueForge(kind) as made:
        yield made
    assert made.wrong == []


UNVERIFIED = ("search", "extract", "patch")  # the roles that are asked with --verify=never
OUTCOMES = [  # the request; exit code, verdict, whether there is a draft
    pytest.param({}, 0, "verified", True, id="verified"),
    pytest.param({"image": "an/image"}, 0, "verified", True, id="verified in an image"),
    pytest.param({"verify": "never"}, 0, "unverified", False, id="unverified"),
    pytest.param({"verify": "never", "requests": "any"}, 0, "unverified", True, id="unverified, any"),
    pytest.param({"max_cost": "0.000001"}, 4, "none", False, id="ceiling"),
    pytest.param({"dry_run": "true"}, 0, "none", False, id="dry run"),
]


def cases() -> Iterator[Any]:
    """Each outcome with each wrapper; by default with GitLab's only a draft."""
    for kind in sorted(RUNNERS):
        for row in OUTCOMES:
            marks = () if kind == "github" or row.id == "unverified, any" else pytest.mark.full
            yield pytest.param(*row.values, kind, id=f"{row.id}-{kind}", marks=marks)


@pytest.mark.parametrize("given,code,verdict,is_opened,kind", list(cases()))
def test_from_issue_to_request(
    job: Job, forge: IssueForge, kind: str, given: dict[str, str], code: int, verdict: str, is_opened: bool
) -> None:
    """The exit code, the request and the outputs are right, and secrets appear nowhere."""
    agents = UNVERIFIED if given.get("verify") == "never" else None
    lines = [line for line in STRAIGHT if agents is None or line["agent"] in agents]
    with LoopbackOpenAI(lines) as model:
        options = {
            "model": f"openai/{MODEL}",
            "base_url": model.base_url,
            "max_cost": "50",
            "api_key": KEY,
            "label": "acr-host",
        }
        exited, outputs = RUNNERS[kind](job, forge, labelled(kind, "acr-host"), **{**options, **given})
    assert (exited, outputs.get("verdict")) == (code, verdict), job.said
    assert bool(forge.made) == bool(job.pushed()) == bool(outputs["request"]) == is_opened
    assert bool(outputs["patch"]) == (verdict != "none") and re.fullmatch(r"\d+\.\d{6}", outputs["cost"])
    if is_opened:
        (made,) = forge.made
        text = made.get("body") or made["description"]
        assert f"verdict: **{verdict}**" in text and f"Fixes {PAGES[kind]}" in text
        assert made.get("draft") is True or made["title"].startswith("Draft: ")
    assert job.holds_secret() == []
    assert (job.folder / "told").exists() == ("image" in given)


@pytest.mark.parametrize("kind", sorted(RUNNERS))
def test_the_same_patch_again_makes_nothing_new(job: Job, forge: IssueForge, kind: str) -> None:
    """In another checkout, a second later, the job finds the branch and the request of the first job."""
    found = []
    for name in ("first", "second"):
        job.repo = job.clone(name)
        with LoopbackOpenAI([line for line in STRAIGHT if line["agent"] in UNVERIFIED]) as model:
            options = {"model": f"openai/{MODEL}", "base_url": model.base_url, "max_cost": "50", "api_key": KEY}
            options |= {"verify": "never", "requests": "any"}
            found.append(RUNNERS[kind](job, forge, labelled(kind, "x"), label="x", **options))
        time.sleep(1.1)  # a new commit would have another time
        forge.rows or forge.add_row(job.pushed()[0])
    assert [code for code, _ in found] == [0, 0], job.said
    assert len(job.pushed()) == len(forge.made) == 1 and found[1][1]["request"] == "https://forge.test/1"


@pytest.mark.parametrize("kind", sorted(RUNNERS))
def test_other_events_are_left_alone(job: Job, forge: IssueForge, kind: str) -> None:
    """Another label, even on an issue that has the right one, causes no request."""
    event = labelled(kind, "other", "acr-host")
    if kind == "gitlab":
        event["changes"]["labels"]["previous"] = event["changes"]["labels"]["current"]
    code, outputs = RUNNERS[kind](job, forge, event, model="script:none", api_key=KEY, label="acr-host")
    assert (code, outputs, forge.asked) == (0, {}, []), job.said
    assert "lacks the label" in job.said


@pytest.mark.parametrize(
    "given,said",
    [
        ({"requests": "all"}, "requests is 'all'"),
        ({"issue": "--apply"}, "neither a URL nor a file"),
        ({"model": ""}, "model is not set"),
        ({"key_variable": "a b"}, "key_variable"),
    ],
)
@pytest.mark.parametrize("kind", ["github"])
def test_wrong_settings(job: Job, forge: IssueForge, kind: str, given: dict[str, str], said: str) -> None:
    options = {"model": "openai/x", "api_key": KEY, **given}
    code, outputs = run_action(job, forge, labelled(kind, "x"), **options)
    assert (code, outputs) == (2, {}) and said in job.said and KEY not in job.said


def test_the_published_schemas_accept_them() -> None:
    python = pinned_python(["check-jsonschema==0.33.0"])
    for name, schema in (("action.yml", "vendor.github-actions"), ("gitlab.yml", "vendor.gitlab-ci")):
        transform = ["--data-transform", "gitlab-ci"] if "gitlab" in schema else []
        command = [python, "-m", "check_jsonschema", "--builtin-schema", schema, *transform, CI / name]
        done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_script_explains_its_settings() -> None:
    for word, code in (("--help", 0), ("issue.md", 2)):
        done = subprocess.run([sys.executable, CI / "issue_to_request.py", word], capture_output=True, text=True)
        assert (done.returncode, "ACR_CI_MAX_COST (2)" in done.stdout) == (code, True)
