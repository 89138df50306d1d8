"""Runs the commands of README.md and docs/: those of guides unchanged and in order; those that need a live model, a
forge or the reader's project with substitutes, and `run` and `pr` as dry runs. Other tests cover the commands that
install the program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sandboxes
from host import Host, binary
from loopback import MODEL, LoopbackOpenAI
from repos import make_repo, sample_repo
from runs import ISSUE, PATCH_2, SCRIPT, arguments, script_lines, write_script

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs").glob("*.md"))
TASKS = ("brook__bill-1", "brook__bill-2")


def blocks(path: Path, kind: str) -> list[str]:
    """The fenced blocks of a page that begin with this text."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def shown() -> Iterator[tuple[str, str]]:
    """Page and line of each command of the program that the documentation shows."""
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "tools" / "cluster" / "README.md", *GUIDES]:
        for words in re.findall(r"`acr-host ([a-z][^`]*)`", path.read_text("utf-8")):
            yield path.name, words
        for block in [*blocks(path, "sh"), *blocks(path, "sh live")]:
            for line in block.replace("\\\n", " ").splitlines():
                for words in re.findall(r"(?:^|[ /])acr-host ([a-z].*)", line.partition("   #")[0]):
                    yield path.name, words


def test_pages_show_commands() -> None:
    assert len(GUIDES) >= 7 and len(list(shown())) >= 30


def test_what_is_shown_can_be_said(host: Host) -> None:
    """The verb and each of its options exist."""
    known: dict[str, str] = {}
    for page, words in sorted(set(shown())):
        verb, _, rest = words.partition(" ")
        if verb == "help":
            rest = rest.partition(" >")[0].replace("TOPIC", "cluster")
            host.run(verb, rest).check()
            continue
        if verb not in known:
            known[verb] = host.run(verb, "--help-all" if verb != "extensions" else "--help").check().out
        for option in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", rest.partition(" -- ")[0].partition("'")[0]):
            assert f"--{option}" in known[verb], f"{page}: {verb} has no --{option}"


# ---- Commands that need something this machine lacks ----

# Beginning of a command -> the test that runs it, and a word from that test.
ELSEWHERE = {
    "tools/quickstart": ("tools/test_quickstart.py", "quickstart"),
    "tools/check": ("tools/test_quickstart.py", "check"),
    "apt install": ("e2e/test_package.py", "dpkg-deb"),
    "tar": ("e2e/test_package.py", '"tar"'),
    "python3 -m venv": ("e2e/test_wheel.py", "venv"),
    "pip install": ("e2e/test_library.py", "install"),
    "docker run": ("e2e/test_image.py", '"demo"'),
    "tools/bench": ("tools/test_bench.py", "compare.main"),
    "sbatch": ("e2e/test_slurm.py", '"sbatch"'),
    "kubectl apply": ("e2e/test_swe_bench.py", "kubernetes-validate"),
    "export OPENAI_API_KEY": ("e2e/test_ask.py", "server"),
    "acr-host merge": ("e2e/test_swe_bench.py", '"merge"'),
    "acr-host tests": ("e2e/test_project_tests.py", '"--patch"'),
    "acr-host verify": ("e2e/test_own_patch.py", '"verify"'),
    "acr-host localize": ("e2e/test_localize.py", '"--failing-test"'),
    "acr-host mcp --repo": ("e2e/mcp_client.py", '"mcp"'),
    "acr-host watch out --serve": ("e2e/test_watch.py", '"--serve"'),
    "acr-host doctor --model": ("e2e/test_doctor.py", '"--online"'),
    "acr-host demo": ("e2e/test_first_minute.py", '"demo"'),
}
STAND_INS = {
    "build/release/": "",
    "~/src/project": ".",
    "~/src/sympy": ".",
    "https://github.com/OWNER/NAME/issues/1": "issue.md",
    "COMMIT": "HEAD",
    "run … ": "run --issue issue.md ",
    "swe-bench … ": f"swe-bench --dataset tasks.jsonl --repos ../repos --model script:{SCRIPT} --verify=never --out ../many ",
    "Prefix.__mul__": "BlockTariff.usage_charge",
    "pr ../out": "pr ../done",
    "ID": "one",
    "DIR": "../graded",
    "--run-id 1 --out out": "--run-id 1 --out ../grades",
    "--out out": "--out ../again",
    " …": "",
    "Session.send": "BlockTariff.usage_charge",
    "'def save(' --in models.py": "'def usage_charge(' --in seasonal.py",
    '"save", "Model"': '"usage_charge", "BlockTariff"',
    "~/project": ".",
    " notes.py": " ../notes.py",
    "new ../": "new ../my-",
    "patch.diff": "../done/patch.diff",
    "tests/test_add.py": "tests/test_billing.py",
    "watch out": "watch ../done",
    "report out": "report ../done",
    "replay out": "replay ../done",
    "pr out": "pr ../done",
    "--repos repos": "--repos ../repos",
    "--out grades": "--out ../grades",
    "../repos --model openai/gpt-4.1 --out ../again": f"../repos --model script:{SCRIPT} --verify=never --out ../again",
    " --jobs 4 --grade": "",
}

MODELS = {"ask": f"openai/{MODEL} --prices prices.json", "reproduce": f"script:{SCRIPT}"}


def live() -> Iterator[tuple[str, str]]:
    """Page and line of the commands that `test_a_guide_runs` omits."""
    pages = [(ROOT / "README.md", "sh"), *((path, "sh live") for path in GUIDES)]
    for path, kind in pages:
        for line in "\n".join(blocks(path, kind)).replace("\\\n", " ").splitlines():
            if line.strip():
                yield path.name, line.partition("   #")[0].strip()
    told = json.loads(subprocess.run([binary(), "describe"], check=True, capture_output=True).stdout)
    for verb in told["verbs"]:
        for example in verb["examples"]:
            yield f"acr-host-{verb['name']}.1", f"acr-host {example['words']}"


def played(line: str) -> str:
    """The command with substitutes."""
    for name, other in STAND_INS.items():
        line = line.replace(name, other)
    verb = line.rpartition("acr-host ")[2].split()[0]
    if verb in MODELS:
        line = re.sub(r"--model \S+", f"--model {MODELS[verb]}", line)
    if verb == "run" and "--model" not in line:
        line += f" --model script:{SCRIPT}"
    if verb in ("run", "pr") and "--dry-run" not in line:
        line += " --dry-run"
    if verb == "mcp" or "--serve" in line:
        line = f"timeout --preserve-status -s INT 1 {line}; test $? = {130 if verb == 'mcp' else 0}"
    return line


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A checkout of the sample with a finished run and the files that the pages mention; and the environment."""
    folder = tmp_path_factory.mktemp("docs")
    repo, host = sample_repo(folder / "project"), Host(folder)
    repo.git("remote", "add", "origin", "https://github.com/owner/name.git")
    repo.clone(folder / "repos" / "brook" / "bill")
    host.run(*arguments(repo, folder / "done")).check()
    fix = (folder / "done" / "patch.diff").read_text("utf-8")
    row = {
        "repo": "brook/bill",
        "base_commit": repo.head,
        "problem_statement": ISSUE.read_text("utf-8"),
        "instance_id": TASKS[0],
    }
    row |= {"version": "1", "FAIL_TO_PASS": [], "PASS_TO_PASS": [], "test_patch": ""}
    files = {"issue.md": ISSUE.read_text("utf-8"), "tasks.jsonl": json.dumps(row), "key": "sk-1", "fix.diff": fix}
    files["preds.jsonl"] = json.dumps({"instance_id": TASKS[0], "model_name_or_path": "m", "model_patch": ""})
    files |= {"a.diff": fix, "b.diff": fix, "answer.md": script_lines()[PATCH_2]["content"]}
    price = {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0}
    files["prices.json"] = json.dumps({f"openai/{MODEL}": price})
    for name, text in files.items():
        (repo.path / name).write_text(text, "utf-8")
    shutil.copy(ISSUE, folder)
    shutil.copy(ROOT / "python" / "examples" / "beginning.py", folder / "notes.py")
    (repo.path / "key").chmod(0o600)
    (folder / "bin").mkdir()
    (folder / "bin" / "acr-host").symlink_to(host.program)
    for name in ("ollama", "pass"):
        (folder / "bin" / name).write_text("#!/bin/sh\necho sk-1\n")
        (folder / "bin" / name).chmod(0o755)
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        repo.git("config", name, value)
    tokens = {"GITHUB_TOKEN": "t", "GITLAB_TOKEN": "t", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    with LoopbackOpenAI([{"agent": "ask", "content": "Yes."}] * 9) as server:
        yield repo.path, host.environment(server.environment | tokens)


@pytest.mark.parametrize(("page", "line"), list(live()))
def test_a_command_runs_with_stand_ins(project: tuple[Path, dict[str, str]], page: str, line: str) -> None:
    for begin, (test, word) in ELSEWHERE.items():
        if line.startswith(begin):
            assert word in (ROOT / "tests" / test).read_text("utf-8")
            return
    needs_sandbox = " exec " in line or "--verify" in line or " reproduce " in line
    if needs_sandbox and (missing := sandboxes.missing_bubblewrap()):
        pytest.skip(missing)
    folder, env = project
    done = subprocess.run(["bash", "-c", played(line)], cwd=folder, env=env, capture_output=True, timeout=120)
    assert done.returncode == 0, f"{played(line)}\n{done.stdout.decode()}\n{done.stderr.decode()}"


def test_help_prints_guides(host: Host) -> None:
    assert host.run("help", "first-issue").check().out == (ROOT / "docs" / "first-issue.md").read_text("utf-8")
    assert host.run("help", "extensions").check().out.startswith("# Extensions")
    assert host.run("help", "run").check().out == host.run("run", "--help").check().out
    assert "Usage" not in host.run("help").check().out
    for wrong in ("nothing", "../README"):
        host.run("help", wrong).one_line(2, "first-issue, how-it-works")


@pytest.mark.parametrize("guide", [path for path in GUIDES if blocks(path, "sh")], ids=lambda path: path.stem)
def test_a_guide_runs(host: Host, tmp_path: Path, guide: Path) -> None:
    """Runs it block by block in a checkout of the sample; each must succeed."""
    if "acr-host exec" in guide.read_text("utf-8") and sandboxes.missing_bubblewrap():
        pytest.skip("bubblewrap does not work here")
    project = sample_repo(tmp_path / "project")
    (tmp_path / "issue.md").write_bytes(ISSUE.read_bytes())
    row = {"repo": "brook/bill", "base_commit": project.head, "problem_statement": ISSUE.read_text("utf-8")}
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row | {"instance_id": name}) + "\n" for name in TASKS))
    project.clone(tmp_path / "repos" / "brook" / "bill")
    if guide.stem in ("benchmarks", "cluster"):
        write_script(tmp_path / "answers.jsonl", [line | {"instance_id": n} for n in TASKS for line in script_lines()])
    else:
        (tmp_path / "answers.jsonl").write_bytes(SCRIPT.read_bytes())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "acr-host").symlink_to(host.program)
    env = host.environment({"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    for block in blocks(guide, "sh"):
        done = subprocess.run(["bash", "-ec", block], cwd=project.path, env=env, capture_output=True, timeout=300)
        assert done.returncode == 0, f"{block}\n{done.stdout.decode()}\n{done.stderr.decode()}"


def test_the_answers_of_the_guide_verify_a_patch_and_wrong_ones_fail(host: Host, tmp_path: Path) -> None:
    page = ROOT / "docs" / "models-and-money.md"
    [code], [answers] = blocks(page, "python"), blocks(page, "json")
    [failure] = re.findall(r"^acr-host run: no patch: .*", page.read_text("utf-8"), re.MULTILINE)
    repo = make_repo(tmp_path / "project", {"meter.py": code})
    (tmp_path / "issue.md").write_text("`double(3)` should be 6, but it is 4.\n")
    (tmp_path / "answers.jsonl").write_text(answers)
    command = ["run", "--repo", repo.path, "--issue", "issue.md", "--model", "script:answers.jsonl"]
    result = host.run(*command, "--out", "out", cwd=tmp_path).check()
    assert "+    return x + x" in result.out
    if sandboxes.missing_bubblewrap() is None:
        assert "verified: yes" in result.err
    (tmp_path / "answers.jsonl").write_text(answers.replace("return x + 1", "return x + 2"))
    failed = host.run(*command, "--out", "out2", cwd=tmp_path)
    shown = re.sub(r"'\S*answers\.jsonl'", "'answers.jsonl'", failed.one_line(1))
    assert shown == failure
