"""`acr-host mcp --http`: all protocol revisions over HTTP, sessions, cancellation, and hostile clients."""

from __future__ import annotations

import base64
import http.client
import json
import os
import select
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest
from host import SLOWNESS, Host
from mcp_client import (
    CALLS,
    CLASS,
    LATER,
    NEWEST,
    OLDEST,
    SDK,
    Message,
    check_sdk,
    check_typescript,
    envelope,
    many,
    request,
)
from repos import Repo

Make = Callable[..., Repo]
BOTH = "application/json, text/event-stream"
CALL = {"name": "search_class", "arguments": {"class_name": "A"}}


class Answer:
    """A response: status, headers, and the message, which is JSON or the only event."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers = response.status, response.headers
        self.body = response.read()
        self.type = self.headers.get("Content-Type")

    @property
    def message(self) -> Message:
        """The only message of the body."""
        text = self.body.decode()
        if self.type == "text/event-stream":
            events = [line for line in text.splitlines() if line.startswith("data: ")]
            assert len(events) == 1 and text.startswith("event: message\n")
            text = events[0].removeprefix("data: ")
        else:
            assert self.type == "application/json"
        return dict(json.loads(text))

    @property
    def code(self) -> tuple[int, Any]:
        """The status, and the error code if the body is an error of the protocol."""
        return self.status, self.message["error"]["code"] if self.type == "application/json" else None


class Server:
    """A running server."""

    def __init__(self, host: Host, *args: object) -> None:
        self.child = host.start("mcp", "--http", *args)
        assert self.child.stdout
        self.config = json.loads(self.child.stdout.readline())
        assert self.config["type"] == "http"
        self.port = int(self.config["url"].removeprefix("http://127.0.0.1:").removesuffix("/mcp"))
        self.bearer = self.config["headers"]["Authorization"]

    def send(
        self, method: str, body: Any = b"", path: str = "/mcp", **headers: str | None
    ) -> http.client.HTTPConnection:
        """Send a request; return its connection. A header that is None is omitted."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Authorization": self.bearer, "Accept": BOTH, "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * SLOWNESS)
        connection.request(method, path, data, {name: value for name, value in given.items() if value is not None})
        return connection

    def ask(self, method: str, body: Any = b"", path: str = "/mcp", **headers: str | None) -> Answer:
        """Send a request; return its answer."""
        connection = self.send(method, body, path, **headers)
        try:
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def session(self, version: str = NEWEST) -> str:
        """Make the handshake; return the session's id."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.ask("POST", request(1, "initialize", params))
        assert answer.message["result"]["protocolVersion"] == version
        session = answer.headers["Mcp-Session-Id"]
        done = self.ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=session)
        assert (done.status, done.body) == (202, b"")
        return str(session)

    def stop_worker(self) -> int:
        """Stop the process that parses files, so that requests wait; return its id."""
        own = Path(f"/proc/{self.child.pid}")
        while True:
            for each in (own / "task").glob("*/children"):
                for word in each.read_text().split():
                    command = Path(f"/proc/{word}/cmdline").read_bytes()
                    if command and command != (own / "cmdline").read_bytes():  # it already runs its own program
                        os.kill(int(word), signal.SIGSTOP)
                        return int(word)

    def raw(self, data: bytes, pieces: int = 1) -> bytes:
        """The response to bytes that are sent in that many pieces."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60 * SLOWNESS) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            step = -(-len(data) // pieces)
            try:
                for at in range(0, len(data), step):
                    connection.sendall(data[at : at + step])
                    time.sleep(0.001 if pieces > 1 else 0)
                return b"".join(iter(lambda: connection.recv(65536), b""))
            except ConnectionError:
                return b""

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """The server must end properly, without output."""
        assert self.child.stdout and self.child.stderr
        self.child.send_signal(number)
        assert self.child.wait(timeout=9 * SLOWNESS) == 130
        assert (self.child.stdout.read(), self.child.stderr.read()) == (b"", b"")


def later(method: str = "tools/call", params: Message = CALL, **changes: str | None) -> tuple[Message, dict[str, Any]]:
    """A request of the later revision, and its headers."""
    headers: dict[str, Any] = {"MCP_Protocol_Version": LATER, "Mcp_Method": method, "Mcp_Name": params.get("name")}
    return request(1, method, params, later=True), headers | changes


@pytest.fixture
def small(make_repo: Make) -> Repo:
    """A repository with one class."""
    return make_repo({"a.py": CLASS.format("A")}, "small")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_python_sdk(host: Host, sample_repo: Repo, pinned_python: Callable[..., Path], mode: str) -> None:
    server = Server(host, "--repo", sample_repo)
    check_sdk(host, pinned_python([SDK]), sample_repo, CALLS, mode, server.config)
    server.end()


@pytest.mark.full
def test_the_typescript_sdk(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    server = Server(host, "--repo", sample_repo)
    check_typescript(host, sample_repo, CALLS, server.config, tmp_path)
    server.end()


def test_an_answer_is_of_a_type_that_is_accepted(host: Host, small: Repo) -> None:
    server = Server(host, "--repo", small)
    body, headers = later()
    plain = server.ask("POST", body, **headers)
    assert (plain.status, plain.type) == (200, "application/json") and plain.message["result"]["isError"] is False
    assert "Mcp-Session-Id" not in plain.headers
    for accept in ("text/event-stream", "text/*;q=0.5, image/png"):
        event = server.ask("POST", body, **headers | {"Accept": accept})
        assert event.type == "text/event-stream" and event.message == plain.message
    for accept in ("*/*", "application/json", None):
        assert server.ask("POST", body, **headers | {"Accept": accept}).type == "application/json"
    assert server.ask("POST", body, **headers | {"Accept": "text/html"}).status == 406
    assert server.ask("POST", body, **headers | {"Content_Type": "text/plain"}).status == 415
    assert server.ask("POST", body, path="/", **headers).status == 404
    get = server.ask("GET", Accept="text/event-stream")
    assert get.status == 405 and get.headers["Allow"] == "POST, DELETE"
    server.end(signal.SIGINT)


def test_headers_must_say_what_the_body_says(host: Host, small: Repo) -> None:
    server = Server(host, "--repo", small)
    packed = f"=?base64?{base64.b64encode(b'search_class').decode()}?="
    wrong = (400, -32020)
    for changes, code in (
        ({"Mcp_Name": packed}, None),
        ({"Mcp_Name": "=?base64?!?="}, wrong),
        ({"Mcp_Name": "search"}, wrong),
        ({"Mcp_Name": None}, wrong),
        ({"Mcp_Method": None}, wrong),
        ({"Mcp_Method": "Tools/Call"}, wrong),
        ({"MCP_Protocol_Version": None}, wrong),
        ({"MCP_Protocol_Version": NEWEST}, wrong),
        ({"mcp-method": "tools/call"}, wrong),  # twice
    ):
        body, headers = later(**changes)
        answer = server.ask("POST", body, **headers)
        assert (answer.code if code else answer.status) == (code or 200), changes
    for body, headers, code in (
        (*later("no/such", {}), (404, -32601)),
        (*later("ping", {}), (404, -32601)),
        (*later("tools/call", {"name": "rm"}), (400, -32602)),
        (request(1, "tools/list"), {"MCP_Protocol_Version": LATER, "Mcp_Method": "tools/list"}, (400, -32602)),
        (request(1, "initialize"), {"MCP_Protocol_Version": LATER, "Mcp_Method": "initialize"}, (400, -32602)),
        (request(1, "tools/list"), {"MCP_Protocol_Version": "2024-10-07"}, (400, -32022)),
        (request(1, "tools/list", {"_meta": envelope("3000-01-01")}),
         {"MCP_Protocol_Version": "3000-01-01", "Mcp_Method": "tools/list"}, (400, -32022)),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, {"MCP_Protocol_Version": LATER}, (400, -32600)),
        ([later()[0]], later()[1], (400, -32600)),
        (b"{", later()[1], (400, -32700)),
        (b"", later()[1], (400, -32700)),
    ):  # fmt: skip
        assert server.ask("POST", body, **headers).code == code, (body, headers)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"_meta": envelope()}}
    assert server.ask("POST", note, MCP_Protocol_Version=LATER).status == 202
    assert server.ask("POST", note).code == (400, -32022)
    wrong = server.ask("POST", request(1, "tools/list"), MCP_Protocol_Version="1999-01-01").message["error"]
    assert "header MCP-Protocol-Version" in wrong["message"] and {LATER, NEWEST} < {*wrong["data"]["supported"]}
    uri = "acr-host://small/file/a.py"
    body, headers = later("resources/read", {"uri": uri}, Mcp_Name=uri)
    assert server.ask("POST", body, **headers).message["result"]["contents"][0]["text"] == CLASS.format("A")
    server.end()


def test_sessions(host: Host, small: Repo) -> None:
    server = Server(host, "--repo", small)
    one, two = server.session(), server.session(OLDEST)
    assert one != two
    for session, version in ((one, NEWEST), (two, OLDEST), (one, None)):
        answer = server.ask(
            "POST", request(1, "tools/call", CALL), Mcp_Session_Id=session, MCP_Protocol_Version=version
        )
        assert (
            answer.message["result"]["structuredContent"]["ok"] is True and "resultType" not in answer.message["result"]
        )
    assert server.ask("POST", request(1, "ping")).status == 400
    assert server.ask("POST", request(1, "ping"), Mcp_Session_Id="0" * 40).status == 404
    unknown = server.ask("POST", request(1, "no/such"), Mcp_Session_Id=one)
    assert unknown.status == 200 and unknown.message["error"]["code"] == -32601
    assert server.ask("POST", [request(1, "ping")], Mcp_Session_Id=one).code == (400, -32600)
    assert server.ask("POST", {"jsonrpc": "2.0", "id": 1, "result": {}}, Mcp_Session_Id=one).status == 202
    refused = server.ask("POST", request(1, "initialize", {}))
    assert refused.message["error"]["code"] == -32602 and "Mcp-Session-Id" not in refused.headers
    for status in (204, 404):
        assert server.ask("DELETE", Mcp_Session_Id=one).status == status
    assert server.ask("POST", request(1, "ping"), Mcp_Session_Id=one).status == 404
    assert server.ask("POST", request(1, "ping"), Mcp_Session_Id=two).message["result"] == {}
    latest = [server.session() for _ in range(64)]
    states = [server.ask("POST", request(1, "ping"), Mcp_Session_Id=each).status for each in (two, *latest)]
    assert states == [404, *[200] * 64]
    server.end()


def test_what_is_cancelled(host: Host, make_repo: Make) -> None:
    """After a notification, or the end of the session, no message comes. After a disconnect, the place in the queue is
    free.
    """
    server = Server(host, "--repo", many(make_repo, 800), "--no-cache", "--jobs", "1")
    server.stop_worker()
    session = server.session()
    stay = [server.send("POST", request(i, "tools/call", CALL), Mcp_Session_Id=session) for i in range(2)]
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert server.ask("POST", note, Mcp_Session_Id=session).status == 202
    ended = Answer(stay[1].getresponse())
    assert (ended.status, ended.type, ended.body) == (200, "text/event-stream", b"")
    assert server.ask("DELETE", Mcp_Session_Id=session).status == 204
    assert Answer(stay[0].getresponse()).body == b""
    long, headers = later(params={"name": "search_code", "arguments": {"code_str": "x" * 1_000_000}})
    for _ in range(2):
        sent = {(each := server.send("POST", long, **headers)).sock: each for _ in range(5)}
        (refused,), _, _ = select.select(sent, [], [], 60 * SLOWNESS)  # the last one; the others wait
        connection = sent.pop(refused)
        assert Answer(connection.getresponse()).message["error"]["code"] == -32000
        assert select.select(sent, [], [], 0) == ([], [], [])
        for connection in sent.values():
            connection.close()
        time.sleep(0.2 * SLOWNESS)
    server.end()


@pytest.mark.full
def test_an_answer_that_takes_long_keeps_its_connection(host: Host, make_repo: Make) -> None:
    server = Server(host, "--repo", many(make_repo, 800), "--no-cache", "--jobs", "1")
    worker = server.stop_worker()
    body, headers = later()
    events = server.send("POST", body, **headers).getresponse()
    assert events.status == 200 and events.readline() == b":\n"
    os.kill(worker, signal.SIGCONT)
    assert b'"isError":false' in events.read()
    server.end()


# ---- Hostile clients -----------


def test_strangers_are_refused(host: Host, small: Repo) -> None:
    server = Server(host, "--repo", small)
    body, headers = later()
    for changes, status in (
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer " + "0" * 40}, 401),
        ({"Authorization": server.bearer[:-1]}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": f"http://localhost:{server.port}", "Host": f"localhost:{server.port}"}, 200),
    ):
        assert server.ask("POST", body, **headers | changes).status == status, changes
    token = server.bearer.removeprefix("Bearer ")
    assert server.ask("POST", body, path=f"/mcp?token={token}", **headers | {"Authorization": None}).status == 401
    host.run("mcp", "--http", "--port", server.port, "--repo", small).one_line(3, f"127.0.0.1:{server.port}")
    host.run("mcp", "--port", "80", "--repo", small).check(2)
    server.end()


def test_bodies_in_any_shape(host: Host, small: Repo) -> None:
    server = Server(host, "--repo", small)
    body = json.dumps(later()[0]).encode()
    given = {"Host": f"127.0.0.1:{server.port}", "Authorization": server.bearer, "Content-Type": "application/json",
             "Connection": "close", **{name.replace("_", "-"): value for name, value in later()[1].items()}}  # fmt: skip
    start = b"POST /mcp HTTP/1.1\r\n" + b"".join(f"{name}: {value}\r\n".encode() for name, value in given.items())
    whole = start + b"Content-Length: %d\r\n\r\n" % len(body) + body
    chunked = start + b"Transfer-Encoding: chunked\r\n\r\n"
    chunked += b"".join(b"%x\r\n%c\r\n" % (1, each) for each in body) + b"0\r\n\r\n"
    for data, pieces in ((whole, 1), (whole, len(whole)), (chunked, 7)):
        answer = server.raw(data, pieces)
        assert answer.startswith(b"HTTP/1.1 200 ") and b'"isError":false' in answer
    big = start + b"Content-Length: %d\r\n\r\n" % 100_000_000 + b"[" * 100_000_000
    assert server.raw(big).startswith(b"HTTP/1.1 413 ")
    assert server.raw(big.replace(b"Bearer ", b"Bearer x")).startswith(b"HTTP/1.1 401 ")
    for garbage in (b"\0\xff\n\r\n", b"GET\r\n\r\n", b"POST /mcp HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0", os.urandom(4096),
                    b"GET /" + b"x" * 100_000, whole.replace(b"HTTP/1.1", b"HTTP/9.9"), start + b"Content-Length: -1\r\n\r\n",
                    start + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):  # fmt: skip
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60 * SLOWNESS)
        connection.sendall(garbage)
        connection.close()
    deep = start + b"Content-Length: 400000\r\n\r\n" + b"[" * 400_000
    assert b"-32700" in server.raw(deep)
    assert server.raw(whole).startswith(b"HTTP/1.1 200 ")
    status = Path(f"/proc/{server.child.pid}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < 100_000  # KiB
    server.end()


def test_a_thousand_connections_and_one_that_asks(host: Host, small: Repo) -> None:
    """Connections that send nothing, or a byte at a time, must make room for it."""
    server = Server(host, "--repo", small)
    body, headers = later()
    idle = []
    for i in range(1000):
        idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=60 * SLOWNESS))
        idle[-1].sendall(b"POST /mcp HTTP/1.1\r\nHost: local"[: i % 30 + 1])
        if i % 250 == 249:
            begun = time.monotonic()
            assert server.ask("POST", body, **headers).message["result"]["isError"] is False
            assert time.monotonic() - begun < 5 * SLOWNESS
    assert len(os.listdir(f"/proc/{server.child.pid}/fd")) < 200
    session = server.session()
    assert server.ask("POST", request(1, "ping"), Mcp_Session_Id=session).message["result"] == {}
    server.end()
    for connection in idle:
        connection.close()


def test_a_hundred_that_ask_together(host: Host, small: Repo) -> None:
    server = Server(host, "--repo", small)
    body, headers = later()
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: server.ask("POST", body, **headers), range(300)))
    assert all(answer.message["result"]["isError"] is False for answer in answers)
    server.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_it_works(host: Host, make_repo: Make, number: signal.Signals) -> None:
    server = Server(host, "--repo", many(make_repo, 800), "--no-cache", "--jobs", "1")
    waiting = server.send("POST", later()[0], **later()[1])
    assert server.ask("POST", later("tools/list", {})[0], **later("tools/list", {})[1]).status == 200
    server.end(number)
    assert waiting.getresponse().status == 503
