"""The rest of the conformance suite for all sandboxes: what a command must not see or do, kills of the program, engines."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
import sandboxes
from conformance import (  # noqa: F401
    PLAIN,
    SECRET,
    calls,
    engines,
    gone,
    image,
    limit_of,
    orphans,
    repo,
    sandbox,
    tmp_path,
    tree_repo,
    untouched,
    usually_in,
    wait_for,
)
from host import SLOWNESS
from sandboxes import Sandbox

# ---- What a command must not see or do -------------------------------------------------------------


def test_no_network(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    script = (
        "import socket\nfor host in ('10.0.0.1', '192.0.2.1'):\n  s = socket.socket(); s.settimeout(2)\n"
        "  try: s.connect((host, 80)); print('connected')\n  except OSError as e: print('refused')"
    )
    assert sandbox.json(repo, "--", "python3", "-c", script)["stdout"] == "refused\nrefused\n"


def test_the_network_when_it_is_asked_for(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "podman", "dockerd", why="the engine's bridge would stay on this machine")
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"import socket; print(socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5) and 0)"
        assert sandbox.json(repo, "--network", "--", "python3", "-c", script)["stdout"] == "0\n"


def test_no_server_of_this_machine(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket; s = socket.socket(); s.settimeout(2); print(s.connect_ex(('127.0.0.1', {port})))"
        assert sandbox.json(repo, "--", "python3", "-c", script)["stdout"] != "0\n"


def test_no_environment_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "sh", "-c", "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; true")
    if sandbox.name != "plain":
        assert SECRET not in row["stdout"]
    own = sandbox.json(repo, "--", "env")["stdout"]
    assert SECRET not in own and "OPENAI_API_KEY" not in own


@usually_in("bubblewrap", "bubblewrap-user")
def test_proc_shows_nothing_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    home = sandbox.host.home
    (home / "secret.txt").write_text(SECRET)
    (home / "secret.txt").chmod(0o644)
    script = (
        "cat /proc/1/environ /proc/1/cmdline /proc/*/environ; for p in /proc/[0-9]*/root; do cat $p"
        + f"{home}/secret.txt; "
        "ls $p/tmp/; done; cat /proc/kcore | head -c 9; echo x > /proc/sys/kernel/core_pattern && echo WRITTEN; "
        "echo x > /proc/sysrq-trigger && echo WRITTEN; ls /proc/1/cwd/ /proc/1/fd/; true"
    )
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert SECRET not in row["stdout"] and "WRITTEN" not in row["stdout"]
    assert Path("/proc/sys/kernel/core_pattern").read_text() == pattern


@usually_in("bubblewrap", "bubblewrap-user")
def test_no_home_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    home = sandbox.host.home
    (home / "secret.txt").write_text(SECRET)
    script = f"ls {home} ~root/.ssh; cat {home}/secret.txt; cat /etc/shadow; echo $HOME; true"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert SECRET not in row["stdout"] and str(home) not in row["stdout"]
    assert "root:" not in row["stdout"]


@usually_in("bubblewrap", "bubblewrap-user", "plain")
def test_its_own_home_can_be_written_to(sandbox: Sandbox, repo: Path) -> None:
    assert sandbox.json(repo, "--", "sh", "-c", "cd ~ && echo x > f && cat f")["stdout"] == "x\n"


@usually_in("bubblewrap", "bubblewrap-user")
def test_no_process_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    script = "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))"
    assert int(sandbox.json(repo, "--", "python3", "-c", script)["stdout"]) < 10


@usually_in("bubblewrap", "bubblewrap-user", "plain")
def test_no_descriptor_of_the_host(sandbox: Sandbox, repo: Path) -> None:
    script = "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:5])"
    reader, writer = os.pipe()
    result = sandbox.run(repo, "--", "python3", "-c", script, pass_fds=(reader, writer))
    os.close(reader)
    os.close(writer)
    assert result.check(0).out == "[0, 1, 2, 3]\n"  # 3 is the folder that is being listed


def test_nothing_is_written_outside(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    outside = repo.parent / "written-by-a-test"
    script = (
        f"echo x > {outside}; echo x > ../written-by-a-test; echo x > /usr/written-by-a-test; echo x > /etc/x; true"
    )
    sandbox.json(repo, "--", "sh", "-c", script)
    assert not outside.exists() and not Path("/usr/written-by-a-test").exists()


def test_no_rights_can_be_won(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    script = "grep -E '^(NoNewPrivs|CapEff)' /proc/self/status; echo 1 > /proc/sys/kernel/hostname; mount -t tmpfs x /tmp; true"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert "NoNewPrivs:\t1" in row["stdout"]
    assert int(row["stdout"].split("CapEff:")[1].split()[0], 16) & (1 << 21) == 0  # CAP_SYS_ADMIN


@usually_in("bubblewrap", "bubblewrap-user")
def test_other_runs_are_not_seen(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    sandbox.json(repo, "--", "sh", "-c", "echo left > /tmp/left; echo left > ~/left; echo left > left")
    row = sandbox.json(repo, "--", "sh", "-c", "ls /tmp/left ~/left left 2>/dev/null; true")
    assert row["stdout"] == ""


# ---- The program itself ----------------------------------------------------------------------------


def test_an_interrupt_ends_it(sandbox: Sandbox, repo: Path) -> None:
    process = sandbox.host.start(
        "exec", "--repo", str(repo), *sandbox.options, "--", "sleep", "63.25", env=sandbox.env, wrapper=sandbox.wrapper
    )
    wait_for("63.25")
    process.send_signal(2)
    assert process.wait(20 * SLOWNESS) == 130
    gone("63.25")


def test_a_kill_of_the_program_ends_it(sandbox: Sandbox, repo: Path) -> None:
    process = sandbox.host.start(
        "exec", "--repo", str(repo), *sandbox.options, "--", "sleep", "64.25", env=sandbox.env, wrapper=sandbox.wrapper
    )
    wait_for("64.25")
    process.kill()
    process.wait(20 * SLOWNESS)
    sandbox.json(repo, "--", "true")  # removes containers that an engine still runs
    gone("64.25")


def test_a_kill_at_any_moment_ends_it(sandbox: Sandbox, repo: Path) -> None:
    for k in range(4 if sandbox.is_engine else 12):
        process = sandbox.host.start(
            "exec",
            "--repo",
            str(repo),
            *sandbox.options,
            "--",
            "sleep",
            "66.25",
            env=sandbox.env,
            wrapper=sandbox.wrapper,
        )
        time.sleep((0.02 + 0.008 * k) * SLOWNESS * (24 if sandbox.is_engine else 1))
        process.kill()
        process.wait(20 * SLOWNESS)
    sandbox.json(repo, "--", "true")
    gone("66.25")


def test_eight_at_once(sandbox: Sandbox, repo: Path) -> None:
    runs = [
        sandbox.host.start(
            "exec",
            "--repo",
            str(repo),
            *sandbox.options,
            "--json",
            "--",
            "sh",
            "-c",
            f"echo {k} > f; sleep 0.3; cat f",
            env=sandbox.env,
            wrapper=sandbox.wrapper,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        for k in range(8)
    ]
    for k, process in enumerate(runs):
        out, _ = process.communicate(timeout=120 * SLOWNESS)
        assert process.returncode == 0 and f'"stdout":"{k}\\n"' in out.decode()


# ---- Engines ---------------------------------------------------------------------------------------


def _engine_only(sandbox: Sandbox) -> None:
    if not sandbox.is_engine:
        pytest.skip(f"{sandbox.name} has no engine")


def test_no_engine_is_one_line(sandbox: Sandbox, repo: Path, tmp_path: Path) -> None:
    _engine_only(sandbox)
    sandbox.env["DOCKER_HOST"] = f"unix://{tmp_path}/nothing.sock"
    sandbox.run(repo, "--", "true").one_line(125, "container engine", "nothing.sock")
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "deaf.sock"))
        sandbox.env["DOCKER_HOST"] = f"unix://{tmp_path}/deaf.sock"
        sandbox.run(repo, "--", "true").one_line(125, "container engine", "deaf.sock")


def test_an_engine_that_goes_away(
    sandbox: Sandbox, repo: Path, image: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _engine_only(sandbox)
    engine = getattr(sandboxes, sandbox.name)(tmp_path_factory.mktemp(f"going-{sandbox.name}"))
    try:
        engine.load(image, sandboxes.IMAGE)
        sandbox.env["DOCKER_HOST"] = f"unix://{engine.socket}"
        process = sandbox.host.start(
            "exec", "--repo", str(repo), *sandbox.options, "--", "sleep", "65.25", env=sandbox.env
        )
        wait_for("65.25")
        engine.kill()
        _, err = process.communicate(timeout=60 * SLOWNESS)
        assert process.returncode == 125 and err.count(b"\n") == 1 and b"container engine" in err, err
        engine.start()
        sandbox.json(repo, "--", "true")  # removes what was left
        assert engine.containers() == []
        gone("65.25")
    finally:
        engine.stop()


@pytest.mark.full
def test_an_engine_without_an_init(
    sandbox: Sandbox, repo: Path, image: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if sandbox.name != "podman":
        pytest.skip("it is podman's configuration that can lack one")
    engine = sandboxes.podman(tmp_path_factory.mktemp("initless"), more='init_path = "/nonexistent"')
    try:
        engine.load(image, sandboxes.IMAGE)
        sandbox.env["DOCKER_HOST"] = f"unix://{engine.socket}"
        assert sandbox.run(repo, "--", "cat", "README").check(0).out == "hello\n"
        assert engine.containers() == []
    finally:
        engine.stop()
