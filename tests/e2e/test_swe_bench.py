"""`swe-bench`: many tasks, none of which stops another, and predictions that are complete after a kill."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

import pytest
from fewer import usually
from host import SLOWNESS, Host, Result
from loopback import Failure, LoopbackOpenAI
from repos import Repo, digest, sample_repo
from runs import ANALYSE_2, CALLS, ISSUE, SCRIPT, check_patch, read_json, script_lines, write_script

RunHost = Callable[..., Result]

ROOT = Path(__file__).resolve().parents[2]
CLUSTER, PROMPTS = ROOT / "tools" / "cluster", ROOT / "prompts"
GOOD, GONE, EMPTY = "brook__bill-1", "gone__gone-2", "brook__bill-3"


@pytest.fixture
def repos(tmp_path: Path) -> Path:
    """A folder with one repository, brook/bill."""
    sample_repo(tmp_path / "repos" / "brook" / "bill")
    return tmp_path / "repos"


@pytest.fixture
def rows(repos: Path) -> list[dict[str, str]]:
    """Three tasks: one is solved, the commit of one is missing, one ends without a patch."""
    commit = Repo(repos / "brook" / "bill").head
    issue = ISSUE.read_text("utf-8")
    names = [(GOOD, commit), (GONE, "0" * 40), (EMPTY, commit)]
    return [
        {
            "instance_id": instance,
            "repo": "brook/bill",
            "base_commit": revision,
            "problem_statement": issue,
            "patch": "diff --git a/secret b/secret\n",
            "FAIL_TO_PASS": '["test_secret"]',
        }
        for instance, revision in names
    ]


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A script that solves every task except EMPTY, for which it has no lines."""
    mine = [line | {"instance_id": GOOD} for line in script_lines()]
    other = [line | {"instance_id": "brook__bill-4"} for line in script_lines()]
    return write_script(tmp_path / "script.jsonl", [*mine, *other])


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_list(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text(json.dumps(list(rows), indent=1), "utf-8")
    return path


def batch(dataset: Path, repos: Path, model: str, out: Path, *more: object) -> list[object]:
    """The arguments of a batch."""
    return ["swe-bench", "--dataset", dataset, "--repos", repos, "--model", model] + [
        *("--out", out, "--verify=never", *more)
    ]


def predictions(out: Path) -> list[dict[str, str]]:
    """The lines of preds.jsonl, each with exactly the three members of the format."""
    lines = (out / "preds.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    for line in found:
        assert set(line) == {"instance_id", "model_patch", "model_name_or_path"}
    return found


def ids(out: Path) -> list[str]:
    return [line["instance_id"] for line in predictions(out)]


def check_said(result: Result) -> None:
    """stderr has two lines for the failed task, one before the first call, and one for all tasks, but no progress."""
    assert result.stdout == b""
    warning, gone, summary = result.err.splitlines()
    assert f"1 task cannot run: {GONE}: no revision '{'0' * 40}' in " in warning
    assert f"{GONE}: exit 3: " in gone and "0" * 40 in gone
    assert summary.startswith("3 tasks: 1 with a patch, 1 without, 1 failed; ")


@pytest.mark.parametrize(("write", "jobs"), [(write_list, 1), (write_lines, 2)])
def test_no_task_stops_another(
    run_host: RunHost,
    repos: Path,
    rows: list[dict[str, str]],
    model: str,
    tmp_path: Path,
    write: Callable[[Path, Any], Path],
    jobs: int,
) -> None:
    dataset, out = write(tmp_path / "tasks.json", rows), tmp_path / "out"
    before = digest(repos)
    named = "mine" if jobs > 1 else model
    options = ["--jobs", jobs, *(["--model-name", named] if jobs > 1 else [])]
    result = run_host(*batch(dataset, repos, model, out, *options)).check(3)
    assert digest(repos) == before
    check_said(result)
    good, empty = predictions(out)
    assert (good["instance_id"], empty["instance_id"]) == (GOOD, EMPTY)
    assert empty["model_patch"] == ""
    assert good["model_name_or_path"] == empty["model_name_or_path"] == named
    checkout = Repo(repos / "brook" / "bill").clone(tmp_path / "checkout")
    check_patch(good["model_patch"].encode(), checkout)
    meta = read_json(out / GOOD / "meta.json")
    assert meta["options"]["instance_id"] == GOOD
    assert (out / GOOD / "issue.md").read_bytes() == ISSUE.read_bytes()
    replayed = run_host("replay", out / GOOD).check()
    assert replayed.out == good["model_patch"]


def test_verbose_names_every_task(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], model: str, tmp_path: Path
) -> None:
    dataset = write_lines(tmp_path / "tasks.jsonl", rows)
    run = batch(dataset, repos, model, tmp_path / "out", "--verbose")
    assert f"warning     1 task cannot run: {GONE}: no revision '000" in run_host(*run, "--dry-run").check().out
    result = run_host(*run).check(3)
    ended = [line for line in result.progress if "/3 " in line]
    assert (
        ended[0].startswith(f"1/3 {GOOD}: patch") and " 0 s " not in ended[0] and ended[1] == f"3/3 {EMPTY}: no patch"
    )
    check_said(result)


def test_order_is_the_dataset_s(run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path) -> None:
    """Whichever task ends first: the names sort in reverse, and two tasks run at a time."""
    many = [rows[0] | {"instance_id": f"brook__bill-{9 - n}"} for n in range(6)]
    dataset, out = write_lines(tmp_path / "t.jsonl", many), tmp_path / "out"
    model = f"script:{SCRIPT}"
    result = run_host(*batch(dataset, repos, model, out, "--jobs", 2)).check()
    assert ids(out) == [row["instance_id"] for row in many]
    assert len({line["model_patch"] for line in predictions(out)}) == 1
    assert "6 tasks: 6 with a patch, 0 without, 0 failed" in result.err


def test_exit_codes(run_host: RunHost, repos: Path, rows: list[dict[str, str]], model: str, tmp_path: Path) -> None:
    dataset = write_lines(tmp_path / "tasks.jsonl", rows)
    for instance, code in ((GOOD, 0), (EMPTY, 1), (GONE, 3)):
        run = batch(dataset, repos, model, tmp_path / f"out-{code}")
        run_host(*run, "--instance", instance).check(code)


def test_given_instances_leave_other_lines_alone(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], model: str, tmp_path: Path
) -> None:
    fourth = rows[0] | {"instance_id": "brook__bill-4"}
    dataset = write_lines(tmp_path / "tasks.jsonl", [*rows, fourth])
    out = tmp_path / "out"
    out.mkdir()
    foreign = {"instance_id": "else__where-1", "model_patch": "x", "model_name_or_path": "y"}
    write_lines(out / "preds.jsonl", [foreign])
    run = batch(dataset, repos, model, out)
    run_host(*run, "--instance", GOOD).check()
    assert ids(out) == ["else__where-1", GOOD]
    first = predictions(out)
    other = write_lines(tmp_path / "more.jsonl", [*rows[1:], fourth])
    run_host(*batch(other, repos, model, out), "--instance", "brook__bill-4", "--instance", EMPTY).check()
    assert read_json(out / "summary.json")["dataset"] == f"{dataset}, {other}"
    assert sorted(ids(out)) == sorted(["else__where-1", GOOD, EMPTY, "brook__bill-4"])
    assert [line for line in predictions(out) if line in first] == first
    assert not (out / GONE).exists()
    assert run_host(*run, "--instance", "no__such-1").one_line(2).endswith("has no instance 'no__such-1'")
    run_host(*run, "--instance", "brok__bill-1").one_line(2, f"'brok__bill-1'; did you mean '{GOOD}'?")


def test_again_is_the_same_and_at_once(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    script = tmp_path / "script.jsonl"
    model = write_script(script, script_lines())
    dataset, out = write_lines(tmp_path / "t.jsonl", rows[:1]), tmp_path / "out"
    run = batch(dataset, repos, model, out)
    run_host(*run).check()
    first = (out / "preds.jsonl").read_bytes()
    script.unlink()
    assert run_host(*run).check() and (out / "preds.jsonl").read_bytes() == first
    assert run_host(*run, "--json").check().rows() == [read_json(out / "summary.json")]
    run_host(*run, "--json", "--dry-run").one_line(2, "leave out --dry-run")
    was = (out / "summary.json").read_bytes()
    for more, said in ((["--rounds", 3], "--rounds 15; "), (["--model", "openai/gpt-4.1"], "--model")):
        run_host(*run, *more).one_line(2, "started with", said)
    for key, said in (("problem_statement", "the issue of"), ("base_commit", "the commit of")):
        write_lines(dataset, [rows[0] | {key: rows[0][key] + "0"}])
        assert all(run_host(*run, *more).one_line(2, said, f"'{GOOD}' differs") for more in ([], ["--dry-run"]))
    assert ((out / "preds.jsonl").read_bytes(), (out / "summary.json").read_bytes()) == (first, was)


def session_of(pid: int) -> list[int]:
    """The processes of a session, named by its leader."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue  # it has ended
            if int(fields[3]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 60 * SLOWNESS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


def kill_everything(pid: int) -> None:
    """SIGKILL to every process of the batch."""
    for number in session_of(pid):
        with contextlib.suppress(ProcessLookupError):  # it ended with the previous one
            os.kill(number, signal.SIGKILL)


def kill_the_parent(pid: int) -> None:
    """Kill only the batch's own process; its tasks must end, too."""
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_everything, kill_the_parent])
def test_killed_and_started_again(
    host: Host,
    loopback_openai: Callable[..., LoopbackOpenAI],
    repos: Path,
    rows: list[dict[str, str]],
    tmp_path: Path,
    kill: Callable[[int], None],
) -> None:
    """The batch is killed in the second of three tasks: first the first line exists, then all of them."""
    server = loopback_openai(script_lines() * 3)
    server.fail(Failure("hang"), at=CALLS + ANALYSE_2)
    three = [rows[0] | {"instance_id": f"brook__bill-{n}"} for n in (1, 2, 3)]
    dataset, out = write_lines(tmp_path / "t.jsonl", three), tmp_path / "out"
    run = batch(dataset, repos, server.model, out)
    child = host.start(*run, env=server.environment)
    server.wait_for(CALLS + ANALYSE_2 + 1)
    (first,) = predictions(out)
    kill(child.pid)
    child.wait()
    wait_until(lambda: session_of(child.pid) == [])
    assert ids(out) == ["brook__bill-1"]
    assert read_json(out / "brook__bill-2" / "meta.json")["state"] == "ready"
    told = host.run("report", out, "-f", "text").check().out
    assert "1 unverified, 1 unfinished\n" in told and "1 task not begun: brook__bill-3\n" in told, told
    host.run(*run, env=server.environment).check()
    assert ids(out) == [row["instance_id"] for row in three]
    assert {line["model_patch"] for line in predictions(out)} == {first["model_patch"]}
    assert len(server.requests) == 3 * CALLS + 1, "an answered call was made again"


def test_interrupted(
    host: Host, loopback_openai: Callable[..., LoopbackOpenAI], repos: Path, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    """SIGTERM ends the batch and its tasks, no other task begins, and the batch can be resumed."""
    server = loopback_openai(script_lines() * 2)
    server.fail(Failure("hang"), at=ANALYSE_2)
    two = [rows[0] | {"instance_id": f"brook__bill-{n}"} for n in (1, 2)]
    dataset, out = write_lines(tmp_path / "t.jsonl", two), tmp_path / "out"
    run = batch(dataset, repos, server.model, out)
    child = host.start(*run, env=server.environment)
    server.wait_for(ANALYSE_2 + 1)
    child.terminate()
    child.communicate(timeout=60 * SLOWNESS)
    assert child.returncode == 130
    assert session_of(child.pid) == []
    assert not (out / "brook__bill-2").exists()
    host.run(*run, env=server.environment).check()
    assert ids(out) == ["brook__bill-1", "brook__bill-2"]
    assert len(server.requests) == 2 * CALLS + 1


def without(name: str) -> Callable[[dict[str, str]], Any]:
    """A row without a member."""
    return lambda row: {key: value for key, value in row.items() if key != name}


Change = Callable[[dict[str, str]], Any]
# Rows that a batch rejects before it begins, because no folder may have such a name, or two tasks would have the same one.
REFUSED_ROWS: dict[str, tuple[Change, list[str]]] = {
    "slash": (lambda row: row | {"instance_id": "a/b"}, ["row 2", "a/b"]),
    "dots": (lambda row: row | {"instance_id": ".."}, ["row 2", "'..'"]),
    "inner dots": (lambda row: row | {"instance_id": "a..b"}, ["row 2", "a..b"]),
    "dash": (lambda row: row | {"instance_id": "-x"}, ["row 2", "-x"]),
    "repo dots": (lambda row: row | {"repo": "../../etc"}, ["row 2", "../../etc"]),
    "twice": (lambda row: row | {"instance_id": GOOD}, ["row 2", f"repeats the instance '{GOOD}'"]),
}
# Rows that fail alone; the other tasks continue.
FAILING_ROWS: dict[str, Change] = {
    "no object": lambda row: [1, 2],
    "no repo": without("repo"),
    "no commit": without("base_commit"),
    "empty issue": lambda row: row | {"problem_statement": " \n"},
    "id is a number": lambda row: row | {"instance_id": 7},
    "empty id": lambda row: row | {"instance_id": ""},
}


def with_second_row_bad(rows: list[dict[str, str]], change: Change, tmp_path: Path) -> Path:
    return write_lines(tmp_path / "tasks.jsonl", [rows[0], change(rows[2] | {"instance_id": "brook__bill-9"}), rows[2]])


@pytest.mark.parametrize("case", REFUSED_ROWS)
def test_bad_row_is_refused(run_host: RunHost, repos: Path, rows: list[Any], tmp_path: Path, case: str) -> None:
    change, words = REFUSED_ROWS[case]
    dataset = with_second_row_bad(rows, change, tmp_path)
    run_host(*batch(dataset, repos, f"script:{SCRIPT}", tmp_path / "out")).one_line(2, str(dataset), *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("case", usually(["no object", "empty issue", "empty id"], FAILING_ROWS))
def test_bad_row_fails_alone(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], model: str, tmp_path: Path, case: str
) -> None:
    dataset = with_second_row_bad(rows, FAILING_ROWS[case], tmp_path)
    run = batch(dataset, repos, model, tmp_path / "out")
    assert f"warning     1 task cannot run: row 2 of '{dataset}'" in run_host(*run, "--dry-run").check().out
    result = run_host(*run).check(3)
    assert "3 tasks: 1 with a patch, 1 without, 1 failed" in result.err, result.told()
    assert read_json(tmp_path / "out" / "summary.json")["totals"]["by_error_class"] == {"bad_row": 1}
    assert result.err.count(f"row 2 of '{dataset}'") == 1
    dataset.write_text("".join(dataset.read_text("utf-8").splitlines(keepends=True)[1:2]))
    run_host(*run, "--dry-run").one_line(2, f"row 1 of '{dataset}'")
    run_host(*run).one_line(2, f"row 1 of '{dataset}'")


def test_bad_datasets(run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path) -> None:
    dataset = tmp_path / "tasks.json"
    run = batch(dataset, repos, f"script:{SCRIPT}", tmp_path / "out")
    run_host(*run).one_line(2, str(dataset))
    for text, words in (("", ["empty"]), ("[]", ["empty"]), (json.dumps(rows)[:-5], [])):
        dataset.write_text(text)
        run_host(*run).one_line(2, str(dataset), *words)
    write_list(dataset, [rows[0], rows[0] | {"instance_id": "x/../y"}])
    run_host(*run).one_line(2, "row 2", "x/../y")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["brook/bill.git", "brook+bill", "brook__bill", "brook__bill.git"])
def test_names_of_repositories(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path, name: str
) -> None:
    (repos / name).parent.mkdir(exist_ok=True)
    (repos / "brook" / "bill").rename(repos / name)
    dataset = write_list(tmp_path / "tasks.json", rows[:1])
    run = batch(dataset, repos, f"script:{SCRIPT}", tmp_path / "out")
    run_host(*run).check()
    assert ids(tmp_path / "out") == [GOOD]


def test_missing_options(run_host: RunHost, tmp_path: Path) -> None:
    words = {"--dataset": "d", "--repos": "r", "--out": "o", "--model": "openai/x"}
    for left_out in words:
        given = [w for pair in words.items() if pair[0] != left_out for w in pair]
        run_host("swe-bench", *given).one_line(2, f"{left_out} is missing")
    given = [word for pair in words.items() for word in pair]
    for jobs in ("0", "-1", "100000"):
        run_host("swe-bench", *given, "--jobs", jobs).one_line(2, "--jobs must be from")


# ---- Shards ----


def steady(out: Path) -> Any:
    """The rows of summary.json without times, by task."""
    rows = read_json(out / "summary.json")["tasks"]
    return sorted((row["instance_id"], row["status"], row["verdict"], row["cost"]) for row in rows)


def test_shards_come_to_what_one_batch_does(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    """Numbered by options or by the engine; merging names missing shards, and a shard that began can resume."""
    names = [f"brook__bill-{number}" for number in (1, 3, 4, 5, 6)]
    dataset = write_list(tmp_path / "tasks.json", [rows[0] | {"instance_id": name} for name in names])
    lines = [line | {"instance_id": name} for name in names[::2] for line in script_lines()]
    model = write_script(tmp_path / "script.jsonl", lines)
    whole, out = tmp_path / "whole", tmp_path / "out"
    run_host(*batch(dataset, repos, model, whole)).check()

    def shard(number: str, code: int = 0, **env: str) -> Result:
        return run_host(*batch(dataset, repos, model, out, "--shard", number), env=env).check(code)

    shard("2/3")
    result = run_host("merge", out).check(1)
    assert [line.partition(": ")[2] for line in result.err.splitlines()[:2]] == [
        "shard 1 of 3 has not started",
        "shard 3 of 3 has not started",
    ]
    assert ids(out) == [names[1], names[4]]
    shard("3", JOB_COMPLETION_INDEX="2")
    shard("3", SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_MIN="1")
    kept = out / "shard-1-of-3" / "summary.json"
    taken = read_json(kept)
    kept.write_text(json.dumps(taken | {"tasks": taken["tasks"][:1]}))
    assert f"shard 1 of 3: 1 of 2 tasks have no result: {names[3]}" in run_host("merge", out).check(1).err
    shard("1/3")
    result = run_host("merge", out).check()
    assert (out / "preds.jsonl").read_bytes() == (whole / "preds.jsonl").read_bytes()
    assert steady(out) == steady(whole) and "5" in result.out
    assert run_host("merge", out).check().out == result.out


def test_shards_of_a_cluster(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path, host: Host
) -> None:
    """Slurm's script runs one shard of N, and may be submitted again for one shard; the manifest has as many shards as
    completions.
    """
    tasks = [rows[0] | {"instance_id": name} for name in ("brook__bill-7", "brook__bill-8", GOOD)]
    dataset, out = write_list(tmp_path / "tasks.json", tasks), tmp_path / "out"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "acr-host").symlink_to(host.program)
    words = [str(word) for word in batch(dataset, repos, f"script:{SCRIPT}", out)[1:]]
    array = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "1"}
    env = host.environment(array | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    subprocess.run([CLUSTER / "slurm.sh", "3", *words], env=env, check=True, timeout=120)
    assert ids(out / "shard-3-of-3") == [GOOD]
    told = subprocess.run([CLUSTER / "slurm.sh", *words], env=env, capture_output=True, text=True, timeout=120)
    assert (told.returncode, told.stderr[:6]) == (2, "usage:")
    manifest = (CLUSTER / "kubernetes.yaml").read_text("utf-8")
    (completions,) = re.findall(r"completions: (\d+)", manifest)
    assert f"--shard={completions}\n" in manifest and "completionMode: Indexed" in manifest
    assert "backoffLimitPerIndex" in manifest and "values: [1, 2, 4]" in manifest


@pytest.mark.full
def test_the_manifest_is_one_that_kubernetes_takes(pinned_python: Callable[..., Path]) -> None:
    """The manifest matches the API's schemas, without unknown members."""
    python = pinned_python(["kubernetes-validate==1.37.0"])
    command = [python.with_name("kubernetes-validate"), "--strict", CLUSTER / "kubernetes.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_shards_that_cannot_be(run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path) -> None:
    """Each prints one line, and nothing begins."""
    dataset, out = write_list(tmp_path / "tasks.json", rows), tmp_path / "out"
    run = batch(dataset, repos, f"script:{SCRIPT}", out)
    for text, why in {
        "0/2": "shard 0 does not exist; there are 2 shards",
        "3/2": "shard 3 does not exist; there are 2 shards",
        "x": "must be I/N",
        "1/": "must be I/N",
        "2": "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX",
        "1/99999": "shard 1 does not exist; there are 99999 shards",
    }.items():
        run_host(*run, "--shard", text).one_line(2, why)
    for number in ("0", "3"):
        result = run_host(*run, "--shard", "2", env={"SLURM_ARRAY_TASK_ID": number, "SLURM_ARRAY_TASK_MIN": number})
        result.one_line(2, f"SLURM_ARRAY_TASK_ID is {number}; submit the job with --array=1-2")
    assert not out.exists()
    run_host(*batch(dataset, repos, f"script:{SCRIPT}", Path("/proc/out")), "--shard", "1/2").one_line(3, "/proc/out")
    run_host("merge", out).one_line(2, "cannot read the folder", "No such file")
    (out / "shard-9-of-2").mkdir(parents=True)
    (out / "shard-0-of-2").mkdir()
    run_host("merge", out).one_line(2, "no folder shard-I-of-N")
    (out / "shard-1-of-2").mkdir()
    note = {"shard": 1, "of": 2, "ids": "a", "options": "b"}
    for wrong in ({}, note | {"total": 4 * 10**12, "tasks": ["x"]}, note | {"total": 1, "tasks": [3]}):
        (out / "shard-1-of-2" / "shard.json").write_text(json.dumps(wrong))
        run_host("merge", out).one_line(2, "is damaged")
    (out / "shard-1-of-3").mkdir()
    run_host("merge", out).one_line(2, "holds two sets of shards")
    (tmp_path / "many" / "shard-1-of-10000").mkdir(parents=True)
    lines = run_host("merge", tmp_path / "many").check(1).err.splitlines()
    assert len(lines) == 11 and lines[-1].endswith(": 9990 more shards are not complete")
    assert not (tmp_path / "many" / "preds.jsonl").exists()


def test_a_shard_keeps_its_tasks(run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path) -> None:
    dataset, out, answers = write_list(tmp_path / "tasks.json", rows[:1]), tmp_path / "out", tmp_path / "answers.jsonl"
    answers.write_bytes(SCRIPT.read_bytes())
    run = batch(dataset, repos, f"script:{answers}", out, "--shard", "1/1")
    run_host(*run).check()
    answers.unlink()
    assert "1 with a patch" in run_host(*run).check().err, "a finished shard needs no model"
    other = write_list(tmp_path / "others.json", [rows[0] | {"instance_id": "brook__bill-9"}])
    run_host(*batch(other, repos, f"script:{SCRIPT}", out, "--shard", "1/1")).one_line(2, "different tasks")


def test_shards_of_different_batches_are_not_one(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    """Rejected when the second begins and when they are merged: another order, tasks, models, options, prompts, or N."""
    names = [f"brook__bill-{number}" for number in (1, 3, 4, 5)]
    tasks = [rows[0] | {"instance_id": name} for name in names]
    dataset, out, aside = write_list(tmp_path / "tasks.json", tasks), tmp_path / "out", tmp_path / "aside"
    turned = write_list(tmp_path / "turned.json", tasks[::-1])
    model, prompts = f"script:{SCRIPT}", tmp_path / "prompts"
    prompts.mkdir()
    for text in PROMPTS.glob("*.txt"):
        (prompts / text.name).write_text(text.read_text("utf-8") + "\n")
    other = write_script(tmp_path / "other.jsonl", script_lines())
    run_host(*batch(dataset, repos, model, out, "--shard", "1/2")).check()
    options = "started with different models, options or prompts"
    for words, why in (
        (batch(turned, repos, model, out, "--shard", "2/2"), "was started with different tasks"),
        (batch(dataset, repos, other, out, "--shard", "2/2"), options),
        (batch(dataset, repos, model, out, "--shard", "2/2", "--rounds", "3"), options),
        (batch(dataset, repos, model, out, "--shard", "2/2", "--prompts", prompts), options),
        (batch(dataset, repos, model, out, "--shard", "1/3"), "has 2 shards, but --shard asks for 3"),
    ):
        run_host(*words).one_line(2, why)
    assert [path.name for path in out.iterdir()] == ["shard-1-of-2"]
    for number, (tasks_of, more, why) in enumerate(
        (
            (turned, (), "was run with different tasks from shard 1"),
            (dataset, ("--rounds", "3"), "was run with different models, options or prompts from shard 1"),
        )
    ):
        run_host(*batch(tasks_of, repos, model, aside, "--shard", "2/2", *more)).check()
        (aside / "shard-2-of-2").rename(out / "shard-2-of-2")
        run_host("merge", out).one_line(2, why)
        (out / "shard-2-of-2").rename(tmp_path / f"away{number}")
    note = read_json(out / "shard-1-of-2" / "shard.json")
    (out / "shard-2-of-2").mkdir()
    (out / "shard-2-of-2" / "shard.json").write_text(json.dumps(note | {"shard": 2}))
    run_host("merge", out).one_line(2, "occurs twice")
    assert not (out / "preds.jsonl").exists()


def test_merging_replaces_nothing_else(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    """The result of a batch without shards stays; the merged result is in the data set's order, and is reported."""
    names = [f"brook__bill-{number}" for number in (1, 3, 4)]
    tasks = [rows[0] | {"instance_id": name} for name in names]
    dataset, out, parts = write_list(tmp_path / "tasks.json", tasks), tmp_path / "out", tmp_path / "parts"
    lines = [line | {"instance_id": name} for name in names for line in script_lines()]
    model = write_script(tmp_path / "script.jsonl", lines)
    run_host(*batch(dataset, repos, model, out)).check()
    before = (out / "preds.jsonl").read_bytes()
    run_host(*batch(dataset, repos, model, out, "--shard", "1/2")).one_line(2, "holds a batch without shards")
    (out / "shard-1-of-2").mkdir()
    run_host("merge", out).check(1)
    run_host(*batch(dataset, repos, model, out, "--shard", "1/2")).check()
    run_host("merge", out).one_line(2, "results of a batch without shards")
    assert (out / "preds.jsonl").read_bytes() == before
    for number in ("5/5", "3/5", "2/5", "1/5"):
        result = run_host(*batch(dataset, repos, model, parts, "--shard", number)).check()
        assert ("belongs to this batch" in result.err) == (number == "5/5")
    run_host("merge", parts).check()  # merging does not wait for shard 4, which has no task
    assert ids(parts) == [row["instance_id"] for row in read_json(parts / "summary.json")["tasks"]] == names
    told = json.loads(run_host("report", parts, "--json").check().stdout)
    assert [row["task"] for row in told["tasks"]] == names
    merged = (parts / "preds.jsonl").read_bytes()
    run_host(*batch(dataset, repos, f"script:{SCRIPT}", parts)).one_line(2, "holds shards; give --shard")
    assert (parts / "preds.jsonl").read_bytes() == merged
    run_host("report", parts / "shard-5-of-5").one_line(2, "is not the folder of a run")


def test_a_shard_tries_again_what_failed(
    run_host: RunHost, repos: Path, rows: list[dict[str, str]], model: str, tmp_path: Path
) -> None:
    """According to its own summary; it stays the same shard."""
    dataset, out = write_list(tmp_path / "tasks.json", rows), tmp_path / "out"
    for number, code in (("1/2", 0), ("2/2", 3)):
        run_host(*batch(dataset, repos, model, out, "--shard", number)).check(code)
    note = (out / "shard-2-of-2" / "shard.json").read_bytes()
    again = [*batch(dataset, repos, model, out), "--retry-failed", "--shard"]
    assert "no task in" in run_host(*again, "1/2").check().err
    assert "1 task: 0 with a patch, 0 without, 1 failed" in run_host(*again, "2/2").check(3).err
    assert (out / "shard-2-of-2" / "shard.json").read_bytes() == note
    assert ids(out / "shard-1-of-2") == [GOOD, EMPTY]
