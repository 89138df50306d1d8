"""`acr-host acp`: an editor's session from the prompt to the applied patch, cancelled, loaded and refused sessions, and
clients that break the protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import runs
from acp_client import ISSUE, SCRIPTED, SDK, SDK_VERSION, Editor, Message, check_by_schema
from host import Host
from loopback import Failure, LoopbackOpenAI
from mcp_client import run_client
from packages import npm_package
from repos import Repo

PYTHON_SDK = "agent-client-protocol==0.12.1"
KINDS = {"plan", "tool_call", "tool_call_update", "agent_thought_chunk", "agent_message_chunk"}


def _answer(editor: Editor, request: Message, **outcome: str) -> Message:
    """Answer a permission request; return the next message."""
    assert request["method"] == "session/request_permission", request
    editor.send(id=request["id"], result={"outcome": outcome})
    return editor.receive()


def _first_stage(editor: Editor) -> str:
    """The text of the first stage in the last plan."""
    plans = [at["update"] for at in editor.updates if at["update"]["sessionUpdate"] == "plan"]
    return plans[-1]["entries"][0]["content"]


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
    assert _first_stage(editor) == "Reproduce the issue with a script"
    calls = [at["update"] for at in editor.updates if at["update"]["sessionUpdate"] == "tool_call"]
    assert {call["kind"] for call in calls} == {"search", "execute", "edit"}
    searched = next(call for call in calls if call["locations"])
    assert Path(searched["locations"][0]["path"]).is_relative_to(sample_repo.path)
    (diff,) = calls[-1]["content"]
    assert diff["path"] == str(sample_repo.path / runs.CHANGED)
    assert diff["newText"] == (sample_repo.path / runs.CHANGED).read_text() != diff["oldText"]
    assert asked["params"]["toolCall"]["toolCallId"] == calls[-1]["toolCallId"]
    check_by_schema("RequestPermissionRequest", asked["params"])
    check_by_schema("SessionNotification", *editor.updates)
    assert {at["sessionId"] for at in editor.updates} == {session}
    later = Editor(host)
    later.result("initialize", protocolVersion=1)
    later.result("session/load", sessionId=session, cwd=str(sample_repo.path), mcpServers=[])
    assert f"```diff\ndiff --git a/{runs.CHANGED}" in later.said("agent_message_chunk")
    assert later.end() == 0


def test_models_that_cannot_be_used_begin_no_session(host: Host, sample_repo: Repo) -> None:
    for model, why in (("script:no", "cannot read script"), ("openai/gpt-4.1", "OPENAI_API_KEY")):
        editor = Editor(host, model=model)
        editor.result("initialize", protocolVersion=1)
        editor.ask("session/new", cwd=str(sample_repo.path), mcpServers=[])
        assert why in editor.receive()["error"]["message"]
        assert editor.end() == 0


def test_a_cancelled_run_is_loaded_and_resumed(host: Host, sample_repo: Repo) -> None:
    with LoopbackOpenAI(runs.SCRIPT) as server:
        server.fail(Failure("hang"), at=3)
        options = {"model": server.model, "env": server.environment}
        editor = Editor(host, "--verify=never", **options)
        prompt = editor.prompt(session := editor.begin(sample_repo))
        server.wait_for(4)
        assert editor.code("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "x"}]) == -32600
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
        assert _first_stage(later) == "Reproduce the issue with a script (skipped)"
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
        editor.write(line + b"\n")
        assert editor.receive()["error"]["code"] == code
    editor.write(b'"' + b"x" * 2_000_000 + b'"\n')
    assert editor.receive()["error"]["code"] == -32600
    for method, params, code in (
        ("session/fork", {}, -32601),
        ("session/cancel", {"sessionId": session}, -32601),  # a notification gets no answer
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
    editor.send(id=77, result={"outcome": {"outcome": "selected", "optionId": "apply"}})  # no permission was requested
    editor.send(method="$/anything")
    assert editor.result("session/new", cwd=str(sample_repo.path / "brookbill"), mcpServers=[])["sessionId"] != session
    assert editor.end() == 0
    assert not list((host.home / ".local" / "state" / "acr-host" / "runs").iterdir()), "unused folders are removed"


# ---- The official SDKs ----


def _drive(host: Host, command: list[object], sample_repo: Repo) -> Message:
    job = {
        "command": [str(host.program), "acp", "--model", SCRIPTED, "--verify=never"],
        "cwd": str(sample_repo.path),
        "issue": ISSUE,
    }
    told = run_client(host, command, job)
    assert told["stop"] == "end_turn" and told["asked"] == 1 and set(told["updates"]) == KINDS | {"user_message_chunk"}
    assert told["cancelled"] == "cancelled" and told["listed"]
    assert runs.CHANGED in sample_repo.git("diff", "--stat")
    return told


def test_the_python_sdk(host: Host, sample_repo: Repo, pinned_python: Callable[..., Path]) -> None:
    _drive(host, [pinned_python([PYTHON_SDK]), Path(__file__).with_name("acp_sdk.py")], sample_repo)


def test_the_typescript_sdk(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    script = tmp_path / "client.mjs"
    script.write_text(Path(__file__).with_name("acp_sdk.mjs").read_text())
    (tmp_path / "node_modules").symlink_to(npm_package(SDK, SDK_VERSION).parents[1])
    _drive(host, ["node", script], sample_repo)
