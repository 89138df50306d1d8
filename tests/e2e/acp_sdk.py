"""A client by the official Python SDK (package `agent-client-protocol`): a job as JSON on standard input, {"command", "cwd",
"issue"}; on standard output what it saw until the patch was applied."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp.schema import AllowedOutcome


class Editor(acp.Client):
    """Counts updates, and allows what it is asked."""

    def __init__(self) -> None:
        self.updates: dict[str, int] = {}
        self.asked = 0

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        kind = update.session_update
        self.updates[kind] = self.updates.get(kind, 0) + 1

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked += 1
        allowed = next(option for option in options if option.kind == "allow_once")
        return acp.RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=allowed.option_id))


async def talk(job: dict[str, Any]) -> dict[str, Any]:
    """One session with one prompt."""
    editor = Editor()
    command, *args = job["command"]
    async with acp.spawn_agent_process(editor, command, *args, env=dict(os.environ)) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=job["cwd"], mcp_servers=[])
        done = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(job["issue"])])
    return {"stop": done.stop_reason, "updates": editor.updates, "asked": editor.asked}


print(json.dumps(asyncio.run(talk(json.load(sys.stdin)))))
