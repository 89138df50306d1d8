"""A client of `acr-host acp` that sends lines of JSON and can break every rule of the protocol."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import jsonschema
import runs
from host import SLOWNESS, Host
from packages import npm_package
from repos import Repo

Message = dict[str, Any]
SDK, SDK_VERSION = "@agentclientprotocol/sdk", "2.4.0"
SCRIPTED = f"script:{runs.SCRIPT}"
ISSUE = runs.ISSUE.read_text()


class Editor:
    """A client that records the updates of its sessions. `options` go to Popen."""

    def __init__(
        self, host: Host, *words: object, model: str = SCRIPTED, env: dict[str, str] | None = None, **options: Any
    ) -> None:
        pipes = {"stdin": subprocess.PIPE, **options}
        self.child = host.start("acp", "--model", model, *words, env=env or {}, **pipes)
        self.updates: list[Message] = []
        self._number = 100
        self._messages: Queue[Message | None] = Queue()
        if self.child.stdout:
            Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.child.stdout
        for line in self.child.stdout:
            self._messages.put(json.loads(line))
        self._messages.put(None)

    def write(self, data: bytes) -> None:
        """Write bytes, all of them."""
        assert self.child.stdin
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def send(self, **message: Any) -> None:
        """Write a message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, **params: Any) -> int:
        """Send a request; return its id."""
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        return self._number

    def receive(self) -> Message:
        """The next message that is not an update. Errors: AssertionError if none comes."""
        while True:
            message = self._messages.get(timeout=60 * SLOWNESS)
            assert message is not None, "the program has ended"
            if message.get("method") != "session/update":
                return message
            self.updates.append(message["params"])

    def result(self, method: str, **params: Any) -> Message:
        """The result of a request, which must succeed."""
        number = self.ask(method, **params)
        answer = self.receive()
        assert answer["id"] == number and "result" in answer, answer
        return dict(answer["result"])

    def code(self, method: str, **params: Any) -> int:
        """The error code of a request, which must fail."""
        self.ask(method, **params)
        answer = self.receive()
        assert "error" in answer, answer
        return int(answer["error"]["code"])

    def open(self, repo: Repo | Path) -> str:
        """A new session."""
        return str(self.result("session/new", cwd=str(repo), mcpServers=[])["sessionId"])

    def begin(self, repo: Repo) -> str:
        """Initialize, and open a session."""
        assert self.result("initialize", protocolVersion=1)["protocolVersion"] == 1
        return self.open(repo)

    def prompt(self, session: str, *texts: str) -> int:
        """Send a prompt (default: the sample's issue); return its id."""
        blocks = [{"type": "text", "text": text} for text in texts or [ISSUE]]
        return self.ask("session/prompt", sessionId=session, prompt=blocks)

    def cancel(self, session: str) -> None:
        """Send the notification."""
        self.send(method="session/cancel", params={"sessionId": session})

    def answer(self, asked: Message, **outcome: str) -> None:
        """Answer a request for permission."""
        assert asked["method"] == "session/request_permission", asked
        self.send(id=asked["id"], result={"outcome": outcome})

    def said(self, kind: str) -> str:
        """The text of the updates of one kind."""
        return "".join(at["update"]["content"]["text"] for at in self.updates if at["update"]["sessionUpdate"] == kind)

    def end(self) -> int:
        """Close the input; return the exit code."""
        assert self.child.stdin
        self.child.stdin.close()
        return int(self.child.wait(timeout=60 * SLOWNESS))


def check_by_schema(name: str, *messages: Message) -> None:
    """Check each value against this definition in the protocol's published schema."""
    schema = json.loads((npm_package(SDK, SDK_VERSION) / "schema" / "v1" / "schema.json").read_text())
    # jsonschema.validate() would also check the schema each time, which takes most of a second
    validator = jsonschema.Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})
    for message in messages:
        validator.validate(message)
