"""A client that uses the official Python SDK (package `mcp`), run in an environment with that package. It reads a job
as JSON from standard input, {"command" or "url" and "headers", "mode", "calls"}, and writes the server's answers to
standard output."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def cancelled(client: Any, tool: str, arguments: dict[str, Any]) -> bool:
    """Whether the client can continue after a call that it cancels immediately."""
    task = asyncio.create_task(client.call_tool(tool, arguments))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return bool((await client.list_tools()).tools)
    return False


def connection(job: dict[str, Any]) -> Any:
    """The transport to a new server process, or to a running server."""
    if "url" in job:
        return streamable_http_client(job["url"], http_client=httpx2.AsyncClient(headers=job["headers"]))
    command, *args = job["command"]
    return stdio_client(StdioServerParameters(command=command, args=args))


async def talk(job: dict[str, Any]) -> dict[str, Any]:
    """Lists everything, calls each tool, cancels one, reads the map and a file."""
    async with Client(connection(job), mode=job["mode"]) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        told: dict[str, Any] = {"tools": tools, "version": client.protocol_version}
        tool, arguments = next(iter(job["calls"].items()))
        told["cancelled"] = await cancelled(client, tool, arguments)
        results = [await client.call_tool(name, given) for name, given in job["calls"].items()]
        told["calls"] = [result.structured_content for result in results]
        resources = (await client.list_resources()).resources
        source = next(each for each in resources if each.name.endswith(".py"))
        told["name"] = source.name
        told["map"] = (await client.read_resource(str(resources[0].uri))).contents[0].text
        told["file"] = (await client.read_resource(str(source.uri))).contents[0].text
        told["prompt"] = (await client.list_prompts()).prompts[0].name
    return told


print(json.dumps(asyncio.run(talk(json.load(sys.stdin)))))
