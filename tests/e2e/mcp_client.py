"""A client of `acr-host mcp` that sends lines of JSON, with or without a handshake, and can break every rule of the protocol."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from host import SLOWNESS, Host
from packages import npm_package
from repos import Repo

META = "io.modelcontextprotocol/"
LATER, NEWEST, OLDEST = "2026-07-28", "2025-11-25", "2025-06-18"
Message = dict[str, Any]
SDK = "mcp==2.3.0"
SDK_CLIENT = Path(__file__).with_name("mcp_sdk.py")
CALLS: dict[str, dict[str, Any]] = {
    "search_class": {"class_name": "SeasonalTariff"},
    "search_class_in_file": {"class_name": "SeasonalTariff", "file_name": "seasonal.py"},
    "search_method": {"method_name": "cost_in_blocks"},
    "search_method_in_file": {"method_name": "split_at", "file_name": "brookbill/periods.py"},
    "search_method_in_class": {"method_name": "usage_charge", "class_name": "BlockTariff"},
    "search_code": {"code_str": "def cost_in_blocks("},
    "search_code_in_file": {"code_str": 'no "such" text\n', "file_name": "periods.py"},
    "get_code_around_line": {"file_name": "periods.py", "line_number": 7, "window_size": 2},
    "search_callers": {"name": "cost_in_blocks"},
    "search_history": {"text": "cost_in_blocks"},
}
CLASS = "class {0}:\n    def only_in_{0}(self):\n        return 1\n"


def envelope(version: str = LATER) -> Message:
    """The envelope of each request of the later revision, in params._meta."""
    return {
        META + "protocolVersion": version,
        META + "clientInfo": {"name": "test", "version": "1"},
        META + "clientCapabilities": {},
    }


def request(number: Any, method: str, params: Message | None = None, later: bool = False) -> Message:
    """A request, with or without the later revision's envelope."""
    params = {**(params or {}), **({"_meta": envelope()} if later else {})}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def lines(messages: Iterable[Message | bytes]) -> bytes:
    """Messages, or raw bytes, one per line."""
    parts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
    return b"".join(part + b"\n" for part in parts)


class Client:
    """A running server and its answers. `later`: requests have the envelope; otherwise, the client makes a handshake."""

    def __init__(self, host: Host, *args: object, later: bool = False, handshake: bool = True) -> None:
        self.child: subprocess.Popen[bytes] = host.start("mcp", *args, stdin=subprocess.PIPE)
        self.later = later
        self._number = 0
        self._answers: Queue[Message | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if handshake and not later:
            self.hello()

    def _read(self) -> None:
        assert self.child.stdout
        for line in self.child.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)

    def hello(self, version: str = NEWEST) -> Message:
        """Make the handshake; return the server's description of itself."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        return self.result("initialize", params)

    def send(self, *messages: Message | bytes) -> None:
        """Write several messages at once."""
        self.write(lines(messages))

    def write(self, data: bytes) -> None:
        """Write bytes, all of them."""
        assert self.child.stdin
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def receive(self, timeout: float = 60) -> Message:
        """The next message. Errors: AssertionError at the end of the output, or if none comes."""
        try:
            message = self._answers.get(timeout=timeout * SLOWNESS)
        except Empty:
            raise AssertionError("no answer") from None
        assert message is not None, f"the server has ended: {self.child.stderr and self.child.stderr.read()!r}"
        is_progress = message.get("method") == "notifications/progress"
        assert message["jsonrpc"] == "2.0" and ("result" in message) + ("error" in message) + is_progress == 1
        return message

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Send a request; return its answer, which must be the next message."""
        self._number += 1
        self.send(request(self._number, method, params, self.later))
        answer = self.receive()
        assert answer["id"] == self._number, answer
        return answer

    def result(self, method: str, params: Message | None = None) -> Message:
        """The result of a request, which must succeed."""
        answer = self.ask(method, params)
        assert "result" in answer, answer
        return dict(answer["result"])

    def error(self, method: str, params: Message | None = None) -> Message:
        """The error of a request, which must fail."""
        answer = self.ask(method, params)
        assert "error" in answer, answer
        return dict(answer["error"])

    def call(self, tool: str, **arguments: object) -> Message:
        """The result of a tool."""
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def read(self, uri: str) -> Message:
        """The only content of a resource."""
        (content,) = self.result("resources/read", {"uri": uri})["contents"]
        return dict(content)

    def end(self, code: int = 0) -> list[Message]:
        """Close the input; return the remaining answers. Checks the exit code, and that stderr is empty."""
        assert self.child.stdin and self.child.stderr
        self.child.stdin.close()
        rest = []
        while (message := self._answers.get(timeout=60 * SLOWNESS)) is not None:
            rest.append(message)
        assert self.child.wait(timeout=60 * SLOWNESS) == code
        said = self.child.stderr.read()
        assert said == b"", said
        return rest


MOST_PLACES = 100  # that an answer over MCP lists; its text names all


def calls_of(host: Host, repo: os.PathLike[str], calls: Iterable[str]) -> list[Message]:
    """The output of `search --json` for these calls, without the lines, which models see in `output`."""
    done = host.run("search", "--repo", repo, "--json", *calls)
    assert done.exit in (0, 1), done.told()
    rows = [{key: value for key, value in row.items() if key != "lines"} for row in done.rows()]
    return [row | {"results": row["results"][:MOST_PLACES]} for row in rows]


def written(tool: str, arguments: dict[str, Any]) -> str:
    """A call in the form that `search` accepts."""
    return f"{tool}({', '.join(json.dumps(value) for value in arguments.values())})"


def many(make_repo: Callable[..., Repo], n: int = 400, name: str = "repo") -> Repo:
    """A repository whose first indexing takes a moment."""
    return make_repo({f"p{i % 20}/m{i}.py": CLASS.format(f"C{i}") * 20 for i in range(n)}, name)


def run_client(host: Host, command: list[object], job: Message) -> Message:
    """The report of an official SDK's client about a job, which it reads from standard input."""
    done = subprocess.run(
        list(map(str, command)),
        input=json.dumps(job),
        env=host.environment({}),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout))


def run_sdk(host: Host, command: list[object], job: Message) -> Message:
    """Like `run_client`, for a client that uses all features of the server."""
    told = run_client(host, command, job)
    assert told["tools"] == list(CALLS) and told["cancelled"]
    return told


def check_sdk(
    host: Host, python: Path, repo: Repo, calls: dict[str, dict[str, Any]], mode: str, connection: Message
) -> None:
    """Check that all answers to the official client are those of `search --json`."""
    told = run_sdk(host, [python, SDK_CLIENT], {**connection, "mode": mode, "calls": calls})
    assert told["version"] == (LATER if mode == "auto" else NEWEST)
    assert told["calls"] == calls_of(host, repo, [written(*each) for each in calls.items()])
    assert told["map"].splitlines()[0].endswith("source files, without tests:")
    assert told["file"] == (repo.path / told["name"]).read_text()
    assert told["prompt"] == "locate_bug"


def check_typescript(
    host: Host, repo: Repo, calls: dict[str, dict[str, Any]], connection: Message, folder: Path
) -> None:
    """Like `check_sdk`, with the TypeScript SDK, in an empty folder."""
    script = folder / "client.mjs"
    script.write_text(SDK_CLIENT.with_suffix(".mjs").read_text())
    (folder / "node_modules").symlink_to(npm_package("@modelcontextprotocol/sdk", "1.25.2").parents[1])
    told = run_sdk(host, ["node", script], {**connection, "calls": calls})
    assert told["calls"] == calls_of(host, repo, [written(*each) for each in calls.items()])
    assert told["file"] == (repo.path / told["name"]).read_text()
