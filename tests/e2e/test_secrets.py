"""Keys do not leak into arguments, files, outputs or core dumps, even if a server repeats them."""

from __future__ import annotations

import http.server
import json
import os
import resource
import signal
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import serving
from fewer import usually
from host import SLOWNESS, Host, Result
from repos import Repo, sample_repo
from runs import ISSUE, contents, script_lines

KEY = 'sk-e2e/odd"KEY+%&=0123456789abcdef'
PART = 12  # this many consecutive bytes of the key are a leak
MODEL = "openai/echo-1"


def spellings(key: str) -> list[bytes]:
    """The key as it is, and in the encodings of texts and requests."""
    quoted = [urllib.parse.quote(key, safe=safe) for safe in ("", "/", "/+&=")]
    escaped = json.dumps(key)[1:-1]
    texts = [key, escaped, escaped.replace("/", r"\/"), *quoted]
    return [text.encode() for text in texts]


def leaks(data: bytes) -> list[bytes]:
    """The pieces of the key in `data`, in any encoding."""
    found = []
    for text in spellings(KEY):
        parts = {text[n : n + PART] for n in range(len(text) - PART + 1)}
        found += [part for part in parts if part in data]
    return found


def test_leaks_finds_each_spelling() -> None:
    for text in spellings(KEY):
        assert leaks(b"<" + text + b">"), text
        assert leaks(b"<" + text[3:17] + b">"), text
    assert not leaks(b"[key] sk-e2e/odd")


class Echo(http.server.ThreadingHTTPServer):
    """A server that repeats the key wherever it can: in answers, ids, headers and errors. `failures` are the statuses
    of the first replies; `hang` makes every request wait. `wrong` has the requests without the key.
    """

    daemon_threads = True

    def __init__(self, failures: list[int], hang: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.failures, self.hang = list(failures), hang
        self.lines = script_lines()
        self.requests: list[dict[str, Any]] = []
        self.wrong: list[str] = []
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""

    @property
    def url(self) -> str:
        """The value for OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_reply(self, body: dict[str, Any]) -> tuple[int, str]:
        """The next status and text."""
        with self.lock:
            self.requests.append(body)
            if self.failures:
                return self.failures.pop(0), ""
            line = self.lines.pop(0) if self.lines else {"content": "no more"}
            return 200, str(line["content"])


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Echo

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if KEY not in str(self.headers.get("Authorization")):
            self.server.wrong.append(str(self.headers))
        status, text = self.server.next_reply(body)
        while self.server.hang:
            time.sleep(0.05)
        if status != 200:
            self._refuse(status)
        else:
            self._answer(text if text.startswith("{") else f"{text}\n{self._said()}")

    def _said(self) -> str:
        told = " ".join(text.decode("ascii") for text in spellings(KEY))
        return f"Your key is {told}"

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("x-request-id", KEY)
        self.send_header("x-echo", f"Bearer {KEY}")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _refuse(self, status: int) -> None:
        error = {"message": self._said() * 3, "type": KEY, "code": KEY, "param": KEY}
        self._head(status, "application/json")
        self.wfile.write(json.dumps({"error": error, "request_id": KEY}).encode())

    def _answer(self, text: str) -> None:
        """A stream in which the key is cut into pieces."""
        self._head(200, "text/event-stream")
        deltas = [{"content": text[n : n + 7]} for n in range(0, len(text), 7)]
        for delta in [*deltas, None]:
            choice = {"index": 0, "delta": delta or {}}
            choice["finish_reason"] = None if delta else "stop"
            chunk = {"id": KEY, "model": f"echo {KEY}", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


@pytest.fixture
def echo() -> Iterator[Callable[..., Echo]]:
    """echo(failures=[], hang=False) -> a running Echo; every request must have the key."""
    servers: list[Echo] = []

    def start(failures: list[int] | None = None, hang: bool = False) -> Echo:
        server = Echo(failures or [], hang)
        serving.serve(server)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.hang = False
        serving.stop(server)
    assert [text for server in servers for text in server.wrong] == []


class Source:
    """The source of a key: options and variables; `in_argv` if the user's own command contains the key."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.path = folder / "the-key"
        self.path.write_text(f"{KEY}\n", "utf-8")
        self.path.chmod(0o600)
        header = f"Authorization: Bearer {KEY}"
        options: dict[str, list[str]] = {
            "key-file": ["--key-file", str(self.path)],
            "key-command": ["--key-command", f"tee /dev/stderr < '{self.path}'"],
            "header": ["--header", header],
        }
        variables = {
            "environment": {"OPENAI_API_KEY": KEY},
            "headers-variable": {"ACR_HEADERS": f"X-First: 1\n{header}"},
        }
        self.options = options.get(name, [])
        self.variables = variables.get(name, {})
        self.in_argv = name == "header"


SOURCES = ["environment", "key-file", "key-command", "header", "headers-variable"]


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    """Each way to give a key."""
    folder = tmp_path / "secret"
    folder.mkdir()
    return Source(request.param, folder)


class Watch:
    """Reads the arguments of all processes of a session, and the environment of workers, while it runs. `arguments`
    omits the user's own command, because a process has its parent's arguments until it becomes another program.
    """

    def __init__(self, session: int, command: list[str]) -> None:
        self.session = session
        self.own = b"".join(os.fsencode(part) + b"\0" for part in command)
        self.arguments: set[bytes] = set()
        self.environments: dict[int, bytes] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            for entry in os.scandir("/proc"):
                if entry.name.isdigit():
                    self._look(int(entry.name))
            time.sleep(0.01)

    def _look(self, pid: int) -> None:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            if int(stat[3]) != self.session:
                return
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
            if arguments != self.own:
                self.arguments.add(arguments)
            if b"-worker\0" in arguments:
                self.environments[pid] = Path(f"/proc/{pid}/environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return  # it has ended

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join()


def watched(host: Host, *args: object, **options: Any) -> tuple[Result, Watch]:
    """Run a command to its end; return the result, and what was seen of its processes."""
    begun = time.monotonic()
    child = host.start(*args, **options)
    command = [os.fsdecode(part) for part in child.args]  # type: ignore[union-attr]
    watch = Watch(child.pid, command)
    out, err = child.communicate(timeout=120 * SLOWNESS)
    watch.end()
    seconds = time.monotonic() - begun
    return Result(command, child.returncode, out, err, seconds), watch


def check(result: Result, watch: Watch, source: Source, *folders: Path) -> None:
    """The key is not in outputs, files, arguments of other processes, or environments of workers."""
    said = result.stderr + "\n".join(result.progress).encode()
    assert leaks(result.stdout) == [] == leaks(said), result.told()
    for folder in folders:
        files = contents(folder).items()
        assert [name for name, data in files if leaks(data)] == []
        assert [name for name, _ in files if leaks(name.encode())] == []
    seen = watch.arguments | ({watch.own} if not source.in_argv else set())
    assert [text for text in seen if leaks(text)] == []
    assert [text for text in watch.environments.values() if leaks(text)] == []


def environment(source: Source, server: Echo) -> dict[str, str | None]:
    """The variables of a run."""
    base: dict[str, str | None] = {"OPENAI_BASE_URL": server.url}
    return base | source.variables | {"ACR_RETRY_BASE_MS": "1"}


def keep_workers_busy(folder: Path) -> None:
    """Write files that take workers long enough for their environment to be read."""
    folder.mkdir()
    for number in range(150):
        text = "".join(f"def f_{number}_{n}(x):\n    return x\n" for n in range(100))
        (folder / f"m_{number}.py").write_text(text, "utf-8")


@pytest.mark.parametrize("source", usually(["environment", "key-command", "header"], SOURCES), indirect=True)
def test_run(host: Host, echo: Callable[..., Echo], source: Source, tmp_path: Path) -> None:
    server, repo, out = echo([429]), sample_repo(tmp_path / "sample"), tmp_path / "out"
    keep_workers_busy(repo.path / "more")
    args = ["run", "--repo", repo, "--issue", ISSUE, "--model", MODEL, "--out", out, "--verify=never"]
    result, watch = watched(host, *args, "--verbose", *source.options, env=environment(source, server))
    assert result.exit in (0, 1), result.told()
    assert "[key]" in result.err
    assert len(server.requests) > 3
    assert b"[key]" in (out / "journal.jsonl").read_bytes()
    assert watch.environments, "no worker was seen"
    check(result, watch, source, out, host.home)


@pytest.mark.parametrize("status", usually([401, 500], [400, 401, 402, 500]))
def test_run_that_fails(host: Host, echo: Callable[..., Echo], tmp_path: Path, status: int) -> None:
    server, repo, out = echo([status] * 20), sample_repo(tmp_path / "s"), tmp_path / "o"
    source = Source("environment", tmp_path)
    args = ["run", "--repo", repo, "--issue", ISSUE, "--model", MODEL, "--out", out, "--verify=never"]
    result, watch = watched(host, *args, env=environment(source, server))
    assert result.exit == 3, result.told()
    assert "[key]" in result.err
    check(result, watch, source, out, host.home)


@pytest.mark.parametrize("failures", usually([[], [401]], [[], [400], [401], [429, 503]]))
@pytest.mark.parametrize("form", [[], ["--json"], ["--verbose"]])
def test_ask(host: Host, echo: Callable[..., Echo], tmp_path: Path, failures: list[int], form: list[str]) -> None:
    server, source = echo(failures), Source("environment", tmp_path)
    args = ["ask", "--model", MODEL, *form, "What is my key?"]
    result, watch = watched(host, *args, env=environment(source, server))
    assert result.exit in (0, 3), result.told()
    assert "[key]" in result.out + result.err
    check(result, watch, source, host.home)


def test_ask_by_each_source(host: Host, echo: Callable[..., Echo], source: Source) -> None:
    server = echo()
    args = ["ask", "--model", MODEL, *source.options, "What is my key?"]
    result, watch = watched(host, *args, env=environment(source, server))
    assert result.exit == 0, result.told()
    assert len(server.requests) == 1
    check(result, watch, source, host.home)


def tasks(tmp_path: Path) -> list[object]:
    """The arguments of a batch of two tasks."""
    repo: Repo = sample_repo(tmp_path / "repos" / "brook" / "bill")
    rows = [
        {
            "instance_id": f"brook__bill-{n}",
            "repo": "brook/bill",
            "base_commit": repo.head,
            "problem_statement": ISSUE.read_text("utf-8"),
        }
        for n in (1, 2)
    ]
    dataset = tmp_path / "tasks.json"
    dataset.write_text(json.dumps(rows), "utf-8")
    command = ["swe-bench", "--dataset", dataset, "--repos", tmp_path / "repos"]
    return [*command, "--model", MODEL, "--out", tmp_path / "out", "--verify=never"]


@pytest.mark.parametrize("source", usually(["key-file", "headers-variable"], SOURCES), indirect=True)
def test_swe_bench(host: Host, echo: Callable[..., Echo], source: Source, tmp_path: Path) -> None:
    server = echo([429])
    args = [*tasks(tmp_path), "--verbose", *source.options]
    result, watch = watched(host, *args, env=environment(source, server))
    assert result.exit in (0, 1), result.told()
    runs = [text for text in watch.arguments if b"\0batch-task\0" in text]
    assert len(runs) == 2, "the tasks' processes were not seen"
    check(result, watch, source, tmp_path / "out", host.home)


@pytest.mark.parametrize("source", usually(["environment", "header"], SOURCES), indirect=True)
def test_swe_bench_that_is_refused(host: Host, echo: Callable[..., Echo], source: Source, tmp_path: Path) -> None:
    args = [*tasks(tmp_path), *source.options]
    server = echo([401] * 3)
    result, watch = watched(host, *args, env=environment(source, server))
    assert result.exit == 3, result.told()
    assert "paused; 1 task not begun" in result.err
    assert len(server.requests) == 1
    check(result, watch, source, tmp_path / "out", host.home)


def crash(child: subprocess.Popen[bytes], pid: int, folder: Path) -> list[str]:
    """Abort a process; return the names in the folder afterwards."""
    os.kill(pid, signal.SIGABRT)
    child.communicate(timeout=60 * SLOWNESS)
    return sorted(os.listdir(folder))


def unlimited() -> None:
    """The same as `ulimit -c unlimited` in a shell."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


@pytest.fixture
def cores(tmp_path: Path) -> Path:
    """A folder in which a process that aborts leaves a core; skips the test if this system makes none there."""
    folder = tmp_path / "cores"
    folder.mkdir()
    child = subprocess.Popen(["sleep", "60"], cwd=folder, preexec_fn=unlimited)
    left = crash(child, child.pid, folder)
    if not left:
        pattern = Path("/proc/sys/kernel/core_pattern").read_text("utf-8").strip()
        pytest.skip(f"a crash leaves no core here (core_pattern is {pattern!r})")
    for name in left:
        (folder / name).unlink()
    return folder


@pytest.mark.parametrize("verb", ["ask", "run", "swe-bench"])
def test_crash_leaves_no_core(host: Host, echo: Callable[..., Echo], cores: Path, tmp_path: Path, verb: str) -> None:
    server, source = echo(hang=True), Source("environment", tmp_path)
    repo, out = sample_repo(tmp_path / "sample"), tmp_path / "out"
    args: dict[str, list[object]] = {
        "ask": ["ask", "--model", MODEL, "hi"],
        "run": ["run", "--repo", repo, "--issue", ISSUE, "--model", MODEL, "--out", out, "--verify=never"],
        "swe-bench": tasks(tmp_path),
    }
    env = environment(source, server)
    child = host.start(*args[verb], env=env, cwd=cores, preexec_fn=unlimited)
    end = time.monotonic() + 60 * SLOWNESS
    while not server.requests:
        assert time.monotonic() < end and child.poll() is None
        time.sleep(0.01)
    limits = Path(f"/proc/{child.pid}/limits").read_text("utf-8").splitlines()
    core = next(line for line in limits if line.startswith("Max core file size"))
    assert [int(word) for word in core.split()[4:6]] in ([0, 0], [1, 1])
    assert crash(child, child.pid, cores) == []
    assert child.returncode == -signal.SIGABRT
