"""tools/cluster/slurm.sh with a real Slurm on this machine: shards that are killed and requeued give the results of a single process."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest
import sandboxes
from host import ROOT, Host
from loopback import MODEL, Failure, LoopbackOpenAI
from repos import sample_repo
from runs import CALLS, ISSUE, read_json, script_lines
from test_eval_shards import Evaluation, steady, told

pytestmark = pytest.mark.full
SCRIPT = ROOT / "tools" / "cluster" / "slurm.sh"
SHARDS, TASKS = 3, 6
CEILING = 1.5
PRICE = (2_000_000, 8_000_000)  # pico-USD per token
NODES = ("n1", "n2")
CONFIGURATION = """ClusterName=acr
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core,CR_LLN
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
ReturnToService=2
KillWait=2
PropagateResourceLimits=NONE
PartitionName=eval Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=2 CoresPerSocket=2 State=UNKNOWN\n"


def wait_until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """The first true value of the condition."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Slurm:
    """A controller and two nodes, each a process of this test."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder, self.env = folder, env | {"SLURM_CONF": str(folder / "slurm.conf")}
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "munge").mkdir(mode=0o711)
        (folder / "munge" / "key").touch(mode=0o600)
        (folder / "munge" / "key").write_bytes(os.urandom(1024))
        text = CONFIGURATION.format(folder=folder, port=free_port(), user=getpass.getuser())
        nodes = [NODE.format(name=name, port=free_port()) for name in NODES]
        (folder / "slurm.conf").write_text("".join([text, *nodes]))

    def start(self) -> None:
        names = {"key-file": "key", "socket": "sock", "pid-file": "pid", "seed-file": "seed"}
        self._start("munged", "--foreground", *(f"--{what}={self.folder}/munge/{name}" for what, name in names.items()))
        wait_until((self.folder / "munge" / "sock").exists)
        self._start("slurmctld", "-D", "-c")
        for name in NODES:
            self._start("slurmd", "-D", "-N", name, name=name)
        wait_until(lambda: self("sinfo", "-h", "-t", "idle", "-o", "%D", may_fail=True).strip() == str(len(NODES)))

    def _start(self, *command: str, name: str = "") -> None:
        with (self.folder / f"{name or command[0]}.log").open("wb") as log:
            self.daemons[name or command[0]] = subprocess.Popen(command, env=self.env, stdout=log, stderr=log)

    def __call__(self, *command: object, may_fail: bool = False) -> str:
        """The output of a Slurm command."""
        words = list(map(str, command))
        done = subprocess.run(words, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert may_fail or done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def processes(self, **wanted: object) -> dict[int, str]:
        """The processes that this Slurm has started, according to their environment -> name."""
        here = {f"{name}={value}".encode() for name, value in wanted.items()} | {
            f"SLURM_CONF={self.env['SLURM_CONF']}".encode()
        }
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if here <= set((entry / "environ").read_bytes().split(b"\0")):
                    found[int(entry.name)] = (entry / "comm").read_text().strip()
        return found

    def kill_shard(self, number: int) -> None:
        """Kill the program with SIGKILL, as the kernel does if memory is short; its children end, too."""
        running = self.processes(SLURM_ARRAY_TASK_ID=number)
        (script,) = (pid for pid, name in running.items() if name == "bash")
        (program,) = (pid for pid in running if parent(pid) == script)
        os.kill(program, signal.SIGKILL)

    def lose_node(self, shard: int) -> None:
        """The machine with the shard fails: kill its daemon, the supervisors of its jobs, and the jobs."""
        running = self.processes(SLURM_ARRAY_TASK_ID=shard)
        environ = Path(f"/proc/{next(iter(running))}/environ").read_bytes().decode()
        (node,) = (name for name in NODES if f"SLURMD_NODENAME={name}\0" in environ)
        jobs = self.processes(SLURMD_NODENAME=node)
        watching = [parent(pid) for pid, name in jobs.items() if name == "bash"]
        self.daemons.pop(node).kill()
        for pid in (*watching, *jobs):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self("scontrol", "update", f"nodename={node}", "state=down", "reason=lost")

    def submit(self, *words: object) -> str:
        """Submit the array of all shards; return its job."""
        return self("sbatch", "--parsable", f"--array=1-{SHARDS}", SCRIPT, SHARDS, *words).strip()

    def end_of(self, job: str) -> dict[int, dict[str, str]]:
        """Slurm's state of each shard after all have ended."""
        wait_until(lambda: not self("squeue", "-h", "-j", job).strip(), 120)
        told = [
            dict(re.findall(r"(\w+)=(\S*)", text)) for text in self("scontrol", "-o", "show", "job", job).splitlines()
        ]
        return {int(shard["ArrayTaskId"]): shard for shard in told}

    def stop(self) -> None:
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            daemon.wait(30)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


@pytest.fixture
def slurm(host: Host, open_path: Path) -> Iterator[Slurm]:
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (slurmctld, slurmd, slurm-client, munge)")
    (open_path / "bin").mkdir()
    (open_path / "bin" / "acr-host").symlink_to(host.program)
    made = Slurm(open_path, host.environment({"PATH": f"{open_path}/bin:{os.environ['PATH']}"}))
    try:
        made.start()
        yield made
    finally:
        made.stop()


class Recalling(LoopbackOpenAI):
    """After the end of its script, it repeats its earlier answers to the same requests; counts what it would bill."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        super().__init__(lines)
        self.said: dict[str, Any] = {}
        self.picodollars = 0

    def next_reply(self, headers: Any, body: Any) -> Failure | dict[str, Any]:
        question = json.dumps(body["messages"])
        if self.position < len(self.lines):
            self.said[question] = super().next_reply(headers, body)
        else:
            time.sleep(self.seconds)
            self.requests.append(body)
        usage = self.said[question]["usage"]
        self.picodollars += usage["prompt_tokens"] * PRICE[0] + usage["completion_tokens"] * PRICE[1]
        return self.said[question]


@pytest.fixture
def command(tmp_path: Path) -> list[object]:
    """The command for a batch of six tasks under a ceiling, without model and folder."""
    repo = sample_repo(tmp_path / "repos" / "brook" / "bill")
    row = {"repo": "brook/bill", "base_commit": repo.head, "problem_statement": ISSUE.read_text("utf-8")}
    rows = [json.dumps(row | {"instance_id": f"brook__bill-{number}"}) + "\n" for number in range(1, TASKS + 1)]
    (tmp_path / "tasks.jsonl").write_text("".join(rows))
    price = dict(zip(("input_cost_per_token", "output_cost_per_token"), (each * 1e-12 for each in PRICE)))
    (tmp_path / "prices.json").write_text(json.dumps({MODEL: price | {"litellm_provider": "openai", "mode": "chat"}}))
    words = ["--dataset", tmp_path / "tasks.jsonl", "--repos", tmp_path / "repos", "--verify=never"]
    return [*words, "--prices", tmp_path / "prices.json", "--max-cost", CEILING]


def begun(task: Path) -> bool:
    """Whether some of a task's answers are on disk."""
    journal = task / "journal.jsonl"
    return journal.exists() and journal.read_bytes().count(b"\n") > 3


def test_shards_that_are_lost_come_to_what_one_process_does(
    slurm: Slurm, host: Host, command: list[object], tmp_path: Path
) -> None:
    """One is killed, another loses its node, each in its second task; Slurm restarts both, and they resume."""
    whole, out = tmp_path / "whole", slurm.folder / "out"
    with Recalling(script_lines() * TASKS) as server:
        command += ["--model", server.model]
        slurm.env |= server.environment
        host.run("swe-bench", *command, "--out", whole, env=server.environment).check()
        alone, server.picodollars, server.seconds = server.picodollars, 0, 0.1
        job = slurm.submit(*command, "--out", out)
        for number, strike in ((1, slurm.kill_shard), (2, slurm.lose_node)):
            wait_until(partial(begun, out / f"shard-{number}-of-{SHARDS}" / f"brook__bill-{number + SHARDS}"))
            strike(number)
        ended = slurm.end_of(job)
        assert not server.violations
    states = {number: (shard["JobState"], shard["Restarts"]) for number, shard in ended.items()}
    wanted = {1: ("COMPLETED", "1"), 2: ("COMPLETED", "1"), 3: ("COMPLETED", "0")}
    assert states == wanted, slurm("bash", "-c", "tail -n 50 *.log")
    host.run("merge", out).check()
    assert (out / "preds.jsonl").read_bytes() == (whole / "preds.jsonl").read_bytes()
    asked = len(server.requests) - 2 * TASKS * CALLS
    assert asked <= 2, "an answered call was made again"
    assert alone <= server.picodollars <= CEILING * 1e12
    costs = [read_json(folder / "summary.json")["totals"]["cost"] for folder in (whole, out)]
    assert {name for name, figure in costs[0].items() if figure != costs[1][name]} <= {"retries", "wait_ms"}


def test_an_evaluation_in_shards(slurm: Slurm, host: Host, tmp_path: Path) -> None:
    """With the same script and predictions, the final report and the output equal those of a single process."""
    sandboxes.need("bubblewrap")
    evaluation = Evaluation(host, tmp_path)
    whole = tmp_path / "whole"
    one = evaluation.run(out=whole).check()
    slurm.env |= evaluation.env
    ended = slurm.end_of(slurm.submit(*evaluation.words()))
    assert {shard["JobState"] for shard in ended.values()} == {"COMPLETED"}, slurm("bash", "-c", "tail -n 50 *.log")
    assert told(evaluation.merge().check()) == told(one)
    assert steady(evaluation.out) == steady(whole)
