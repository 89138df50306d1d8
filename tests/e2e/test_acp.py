"""`acr-host acp`: an editor's session from prompt to applied patch, cancelled, loaded, refused; and clients that break rules."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import jsonschema
import pytest
import runs
from host import SLOWNESS, Host
from loopback import Failure, LoopbackOpenAI
from packages import npm_package
from repos import Repo

Message = dict[str, Any]
SDK, SDK_VERSION = "@agentclientprotocol/sdk", "2.4.0"
PYTHON_SDK = "agent-client-protocol==0.12.1"
KINDS = {"plan", "tool_call", "tool_call_update", "agent_thought_chunk", "agent_message_chunk"}
SCRIPTED = f"script:{runs.SCRIPT}"
ISSUE = runs.ISSUE.read_text()


class Editor:
    """A client that may break every rule; it keeps the updates of its sessions."""

    def __init__(self, host: Host, *options: object, model: str = SCRIPTED, env: dict[str, str] | None = None) -> None:
        self.child = host.start("acp", "--model", model, *options, stdin=subprocess.PIPE, env=env or {})
        self.updates: list[Message] = []
        self._number = 100
        self._messages: Queue[Message | None] = Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.child.stdout
        for line in self.child.stdout:
            self._messages.put(json.loads(line))
        self._messages.put(None)

    def write(self, line: bytes) -> None:
        assert self.child.stdin
        self.child.stdin.write(line + b"\n")
        self.child.stdin.flush()

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def ask(self, method: str, **params: Any) -> int:
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        return self._number

    def receive(self) -> Message:
        """The next message that is no update."""
        while True:
            message = self._messages.get(timeout=60 * SLOWNESS)
            assert message is not None, "the program has ended"
            if message.get("method") != "session/update":
                return message
            self.updates.append(message["params"])

    def result(self, method: str, **params: Any) -> Message:
        number = self.ask(method, **params)
        answer = self.receive()
        assert answer["id"] == number and "result" in answer, answer
        return dict(answer["result"])

    def code(self, method: str, **params: Any) -> int:
        self.ask(method, **params)
        return int(self.receive()["error"]["code"])

    def begin(self, repo: Repo) -> str:
        assert self.result("initialize", protocolVersion=1)["protocolVersion"] == 1
        return str(self.result("session/new", cwd=str(repo.path), mcpServers=[])["sessionId"])

    def prompt(self, session: str, text: str = ISSUE) -> int:
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def said(self, kind: str) -> str:
        return "".join(at["update"]["content"]["text"] for at in self.updates if at["update"]["sessionUpdate"] == kind)

    def end(self) -> int:
        assert self.child.stdin
        self.child.stdin.close()
        return int(self.child.wait(timeout=60 * SLOWNESS))


def _answer(editor: Editor, request: Message, **outcome: str) -> Message:
    """Answer the question of a permission; the next message."""
    assert request["method"] == "session/request_permission", request
    editor.send(id=request["id"], result={"outcome": outcome})
    return editor.receive()


def _check_by_schema(messages: list[tuple[str, Message]]) -> None:
    """Each is valid by that definition of the protocol's published schema."""
    schema = json.loads((npm_package(SDK, SDK_VERSION) / "schema" / "v1" / "schema.json").read_text())
    for name, message in messages:
        jsonschema.validate(message, {"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})


# ---- A session ----


def test_a_prompt_ends_with_an_applied_patch(host: Host, sample_repo: Repo) -> None:
    editor = Editor(host)
    prompt = editor.prompt(session := editor.begin(sample_repo))
    asked = editor.receive()
    assert not sample_repo.git("diff"), "nothing is written before it is allowed"
    done = _answer(editor, asked, outcome="selected", optionId="apply")
    assert (done["id"], done["result"]) == (prompt, {"stopReason": "end_turn"})
    assert runs.CHANGED in sample_repo.git("diff", "--stat")
    assert editor.end() == 0

    assert {at["update"]["sessionUpdate"] for at in editor.updates} == KINDS
    assert "verified: yes" in editor.said("agent_message_chunk")
    calls = [at["update"] for at in editor.updates if at["update"]["sessionUpdate"] == "tool_call"]
    assert {call["kind"] for call in calls} == {"search", "execute", "edit"}
    searched = next(call for call in calls if call["locations"])
    assert Path(searched["locations"][0]["path"]).is_relative_to(sample_repo.path)
    (diff,) = calls[-1]["content"]
    assert diff["path"] == str(sample_repo.path / runs.CHANGED)
    assert diff["newText"] == (sample_repo.path / runs.CHANGED).read_text() != diff["oldText"]
    assert asked["params"]["toolCall"]["toolCallId"] == calls[-1]["toolCallId"]
    _check_by_schema(
        [("RequestPermissionRequest", asked["params"]), *(("SessionNotification", at) for at in editor.updates)]
    )
    assert {at["sessionId"] for at in editor.updates} == {session}


@pytest.mark.parametrize("outcome", [{"outcome": "selected", "optionId": "keep"}, {"outcome": "cancelled"}, {}])
def test_what_is_not_allowed_is_not_written(host: Host, sample_repo: Repo, outcome: dict[str, str]) -> None:
    editor = Editor(host)
    editor.prompt(editor.begin(sample_repo))
    assert _answer(editor, editor.receive(), **outcome)["result"] == {"stopReason": "end_turn"}
    assert editor.updates[-1]["update"]["status"] == "failed"
    assert not sample_repo.git("status", "--porcelain")
    assert editor.end() == 0


def test_a_cancelled_run_is_loaded_and_resumed(host: Host, sample_repo: Repo) -> None:
    with LoopbackOpenAI(runs.SCRIPT) as server:
        server.fail(Failure("hang"), at=3)
        options = {"model": server.model, "env": server.environment}
        editor = Editor(host, "--verify=never", **options)
        prompt = editor.prompt(session := editor.begin(sample_repo))
        server.wait_for(4)
        assert editor.code("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "x"}]) == -32000
        editor.send(method="session/cancel", params={"sessionId": session})
        assert editor.receive() == {"jsonrpc": "2.0", "id": prompt, "result": {"stopReason": "cancelled"}}
        assert editor.end() == 0

        later = Editor(host, "--verify=never", **options)
        later.result("initialize", protocolVersion=1)
        where = {"cwd": str(sample_repo.path), "mcpServers": []}
        assert later.code("session/load", sessionId="../" + session, **where) == -32002
        assert later.result("session/load", sessionId=session, **where) == {}
        assert ISSUE.strip() in later.said("user_message_chunk")
        later.prompt(session, "go on")
        done = _answer(later, later.receive(), outcome="selected", optionId="apply")
        assert done["result"] == {"stopReason": "end_turn"}
        assert runs.CHANGED in sample_repo.git("diff", "--stat")
        assert later.end() == 0


def test_the_end_of_the_input_ends_the_runs(host: Host, sample_repo: Repo) -> None:
    with LoopbackOpenAI(runs.SCRIPT) as server:
        server.fail(Failure("hang"), at=0)
        editor = Editor(host, "--verify=never", model=server.model, env=server.environment)
        editor.prompt(editor.begin(sample_repo))
        server.wait_for(1)
        assert editor.end() == 0


def test_a_run_that_cannot_start_is_an_error(host: Host, sample_repo: Repo) -> None:
    editor = Editor(host, "--validate", "no-such-program", "--sandbox", "bubblewrap")
    editor.prompt(editor.begin(sample_repo))
    error = editor.receive()["error"]
    assert error["code"] == -32603 and "no-such-program" in error["message"]
    assert editor.end() == 0


# ---- Clients that break rules ----


def test_wrong_messages_are_refused(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    editor = Editor(host)
    assert editor.code("session/new", cwd=str(sample_repo.path), mcpServers=[]) == -32600  # before initialize
    assert editor.code("initialize") == -32602
    session = editor.begin(sample_repo)
    for line, code in ((b"{", -32700), (b"[]", -32600), (b"1", -32600), (b'{"id": {}}', -32600)):
        editor.write(line)
        assert editor.receive()["error"]["code"] == code
    editor.write(b'"' + b"x" * 2_000_000 + b'"')
    assert editor.receive()["error"]["code"] == -32600
    for method, params, code in (
        ("session/fork", {}, -32601),
        ("session/cancel", {"sessionId": session}, -32601),  # it is a notification
        ("session/new", {"cwd": "relative"}, -32602),
        ("session/new", {"cwd": str(tmp_path / "none")}, -32602),
        ("session/new", {}, -32602),
        ("session/prompt", {"sessionId": "none", "prompt": []}, -32002),
        ("session/prompt", {"sessionId": session, "prompt": []}, -32602),
        ("session/prompt", {"sessionId": session, "prompt": "text"}, -32602),
        ("session/load", {"sessionId": session, "cwd": str(sample_repo.path)}, -32002),
        ("authenticate", {"methodId": "key"}, -32602),
    ):
        assert editor.code(method, **params) == code, (method, params)
    editor.send(method="session/cancel", params={"sessionId": "none"})
    editor.send(id=77, result={"outcome": {"outcome": "selected", "optionId": "apply"}})  # nobody has asked
    editor.send(method="$/anything")
    assert editor.result("session/new", cwd=str(sample_repo.path / "brookbill"), mcpServers=[])["sessionId"] != session
    assert editor.end() == 0
    assert not list((host.home / ".local" / "state" / "acr-host" / "runs").iterdir()), "unused folders are removed"


# ---- The official SDKs ----


def _drive(host: Host, command: list[object], sample_repo: Repo) -> Message:
    job = {"command": [str(host.program), "acp", "--model", SCRIPTED], "cwd": str(sample_repo.path), "issue": ISSUE}
    done = subprocess.run(
        list(map(str, command)),
        input=json.dumps(job),
        env=host.environment({}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: Message = json.loads(done.stdout)
    assert told["stop"] == "end_turn" and told["asked"] == 1 and set(told["updates"]) == KINDS
    assert runs.CHANGED in sample_repo.git("diff", "--stat")
    return told


def test_the_python_sdk(host: Host, sample_repo: Repo, pinned_python: Callable[..., Path]) -> None:
    _drive(host, [pinned_python([PYTHON_SDK]), Path(__file__).with_name("acp_sdk.py")], sample_repo)


def test_the_typescript_sdk(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    script = tmp_path / "client.mjs"
    script.write_text(Path(__file__).with_name("acp_sdk.mjs").read_text())
    (tmp_path / "node_modules").symlink_to(npm_package(SDK, SDK_VERSION).parents[1])
    _drive(host, ["node", script], sample_repo)
