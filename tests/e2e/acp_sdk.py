"""A client that uses the official Python SDK (package `agent-client-protocol`). It reads a job as JSON from standard
input, {"command", "cwd", "issue"}, and writes what it received to standard output. It cancels the run after the
first tool call, loads the session in a new process and allows the patch."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp.schema import AllowedOutcome, DeniedOutcome


class Editor(acp.Client):
    """Counts updates, and grants every permission."""

    def __init__(self) -> None:
        self.updates: dict[str, int] = {}
        self.asked = 0
        self.called, self.cancelled = asyncio.Event(), asyncio.Event()
        self.may_write = False

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        kind = update.session_update
        self.updates[kind] = self.updates.get(kind, 0) + 1
        if kind == "tool_call":
            self.called.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        if not self.may_write:
            await self.cancelled.wait()
            return acp.RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        self.asked += 1
        allowed = next(option for option in options if option.kind == "allow_once")
        return acp.RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=allowed.option_id))


async def talk(job: dict[str, Any]) -> dict[str, Any]:
    """One session over two connections."""
    editor, where = Editor(), {"cwd": job["cwd"], "mcp_servers": []}
    command, *args = job["command"]
    issue = [acp.text_block(job["issue"])]
    async with acp.spawn_agent_process(editor, command, *args, env=dict(os.environ)) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = (await agent.new_session(**where)).session_id
        prompt = asyncio.create_task(agent.prompt(session_id=session, prompt=issue))
        await editor.called.wait()
        await agent.cancel(session_id=session)
        editor.cancelled.set()
        told = {"cancelled": (await prompt).stop_reason}
    editor.may_write = True
    async with acp.spawn_agent_process(editor, command, *args, env=dict(os.environ)) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        told["listed"] = [at.session_id for at in (await agent.list_sessions(cwd=job["cwd"])).sessions] == [session]
        await agent.load_session(session_id=session, **where)
        told["stop"] = (await agent.prompt(session_id=session, prompt=issue)).stop_reason
    return {**told, "updates": editor.updates, "asked": editor.asked}


print(json.dumps(asyncio.run(talk(json.load(sys.stdin)))))
