"""`acr-host acp` with clients that send garbage or unexpected answers, change files meanwhile, do not read, or die."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import runs
from acp_client import ISSUE, SCRIPTED, Editor, Message, check_by_schema
from host import SLOWNESS, Host
from loopback import Failure, LoopbackOpenAI
from repos import Repo
from repos import sample_repo as make_sample

AT_MOST = 10  # seconds from a signal, or the end of the client, to the end of the program
ALLOW = {"outcome": "selected", "optionId": "apply"}
QUICK = "--verify=never"


@pytest.fixture
def editor(host: Host, sample_repo: Repo) -> Editor:
    made = Editor(host, QUICK)
    made.result("initialize", protocolVersion=1)
    return made


@pytest.fixture
def hanging() -> Iterator[LoopbackOpenAI]:
    """A model that never answers."""
    with LoopbackOpenAI(runs.script_lines() * 3) as server:
        for at in range(9):
            server.fail(Failure("hang"), at=at)
        yield server


def children(pid: int) -> list[str]:
    """The child processes of a process."""
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.split()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + AT_MOST * SLOWNESS
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


# ---- Lines ----

IDS: list[tuple[Any, bool]] = [
    *((value, True) for value in (0, -1, 2**53 - 1, "", 'ä\u2028 "x"', "7", "x" * 5000)),
    *((value, False) for value in (True, [1], {"a": 1})),
]


def test_ids_come_back_as_they_were(editor: Editor) -> None:
    for value, is_valid in IDS:
        editor.send(id=value, method="no/such")
        told = editor.receive()
        assert told["error"]["code"] == (-32601 if is_valid else -32600)
        assert told["id"] == (value if is_valid else None) and type(told["id"]) is type(value if is_valid else None)
    assert editor.end() == 0


LINES = [
    (b"[" * 100_000, -32700),
    (b'{"a":' * 100_000, -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"x"', -32700),
    (b"\xff\xfe{}", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    (b"\x00", -32700),
    (b"Content-Length: 5", -32700),
    (b"null", -32600),
    (b'"text"', -32600),
    (b"[]", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"initialize"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":"x"}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 500_000 + b'"}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":""}', -32601),
    (b"x" * 3_000_000, -32600),
]


@pytest.mark.parametrize(("line", "code"), LINES, ids=range(len(LINES)))
def test_a_wrong_line_is_refused_and_the_next_is_answered(editor: Editor, line: bytes, code: int) -> None:
    editor.write(line + b"\n")
    told = editor.receive()
    assert told["error"]["code"] == code and len(json.dumps(told)) < 1000, told
    assert editor.result("initialize", protocolVersion=1)
    assert editor.end() == 0


def test_lines_in_pieces_and_many_at_once(editor: Editor, sample_repo: Repo) -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
    for byte in request + b"\r\n":
        editor.write(bytes([byte]))
    assert editor.receive()["id"] == 1
    editor.write(b"\n \t\n" + b"\n".join([request] * 200) + b"\n")
    assert all(editor.receive()["result"] for _ in range(200))
    editor.write(request)  # without a line feed before the end
    assert editor.end() == 0
    assert editor.receive()["id"] == 1


def test_the_end_in_the_middle_of_a_line(editor: Editor) -> None:
    editor.write(b'{"jsonrpc":"2.0","id":1,"meth')
    assert editor.end() == 0
    assert editor.receive()["error"]["code"] == -32700


# ---- Sessions and prompts ----


def test_wrong_params(editor: Editor, sample_repo: Repo, tmp_path: Path) -> None:
    session = editor.open(sample_repo)
    file, bare = tmp_path / "file", tmp_path / "plain"
    file.touch()
    bare.mkdir()
    wrong: list[tuple[str, Message]] = [
        *(("session/new", {"cwd": cwd}) for cwd in (None, 1, [], "", "relative", str(file), f"{sample_repo}\0x")),
        *(
            ("session/new", {"cwd": cwd})
            for cwd in ("/" + "x" * 5000, "/" + "d/" * 5000, "/dev/null", "/proc/self/mem")
        ),
        *(("session/prompt", {"sessionId": session, "prompt": p}) for p in (None, {}, [], [{}], [1], "x", [[]])),
        *(
            ("session/prompt", {"sessionId": session, "prompt": [block]})
            for block in (
                {"type": "text"},
                {"type": "text", "text": 1},
                {"type": "text", "text": " \n "},
                {"type": "text", "text": "x" * 1_100_000},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "file:///x", "blob": "AAAA"}},
            )
        ),
    ]
    for method, params in wrong:
        code = editor.code(method, **params)
        assert code in (-32602, -32600), (method, str(params)[:200], code)
    for name in ("", ".", "..", "/", "/etc", "a/b", f"../runs/{session}", "x" * 5000, "a\nb", None, 3, []):
        params = {"sessionId": name, "cwd": str(sample_repo), "mcpServers": []}
        assert editor.code("session/load", **params) in (-32002, -32602), name
        assert editor.code("session/prompt", sessionId=name, prompt=[{"type": "text", "text": "x"}]) in (-32002, -32602)
        editor.send(method="session/cancel", params={"sessionId": name})
    assert editor.end() == 0


def test_a_cancel_hits_no_later_prompt(editor: Editor, sample_repo: Repo) -> None:
    session = editor.open(sample_repo)
    editor.cancel(session)
    editor.cancel(session)
    prompt = editor.prompt(session)
    asked = editor.receive()
    editor.answer(asked, **ALLOW)
    assert editor.receive() == {"jsonrpc": "2.0", "id": prompt, "result": {"stopReason": "end_turn"}}
    editor.cancel(session)
    assert sample_repo.git("diff", "--stat")
    assert editor.end() == 0


def test_sessions_do_not_mix(host: Host, editor: Editor, tmp_path: Path) -> None:
    repos = [make_sample(tmp_path / name) for name in ("a b", "ü\nx", "c")]
    sessions = [editor.open(repo) for repo in repos]
    prompts = {editor.prompt(session): session for session in sessions}
    asked = {message["params"]["sessionId"]: message for message in (editor.receive() for _ in sessions)}
    assert set(asked) == set(sessions)
    editor.answer(asked[sessions[1]], outcome="selected", optionId="keep")
    told = editor.receive()
    assert (prompts[told["id"]], told["result"]) == (sessions[1], {"stopReason": "end_turn"})
    editor.cancel(sessions[2])
    told = editor.receive()
    assert (prompts[told["id"]], told["result"]) == (sessions[2], {"stopReason": "cancelled"})
    editor.answer(asked[sessions[2]], **ALLOW)  # too late
    editor.answer(asked[sessions[1]], **ALLOW)
    editor.answer(asked[sessions[0]], **ALLOW)
    told = editor.receive()
    assert (prompts[told["id"]], told["result"]) == (sessions[0], {"stopReason": "end_turn"})
    assert editor.end() == 0
    assert [bool(repo.git("status", "--porcelain")) for repo in repos] == [True, False, False]
    for session, repo in zip(sessions, repos):
        updates = [at["update"] for at in editor.updates if at["sessionId"] == session]
        places = [place["path"] for at in updates for place in at.get("locations") or []]
        assert places and all(Path(path).is_relative_to(repo.path) for path in places)


def test_a_repository_whose_name_is_no_text(editor: Editor, tmp_path: Path) -> None:
    """The protocol cannot express such a name: a link to it is refused, and its runs are not listed."""
    repo, name = make_sample(tmp_path / "plain"), os.fsencode(tmp_path) + b"/\xff\xfe"
    os.rename(repo.path, name)
    (tmp_path / "link").symlink_to(os.fsdecode(name))
    assert editor.code("session/new", cwd=str(tmp_path / "link"), mcpServers=[]) == -32602
    assert editor.result("session/list") == {"sessions": []}
    assert editor.end() == 0


def test_a_connection_has_a_limit_of_sessions(editor: Editor, sample_repo: Repo) -> None:
    for _ in range(64):
        editor.open(sample_repo)
    assert editor.code("session/new", cwd=str(sample_repo), mcpServers=[]) < 0
    assert editor.end() == 0


def test_runs_are_listed_and_loaded_also_those_of_the_command_line(host: Host, editor: Editor, tmp_path: Path) -> None:
    repos = [make_sample(tmp_path / name) for name in ("a", "b")]
    assert editor.result("session/list") == {"sessions": []}
    session = editor.open(repos[0])
    editor.prompt(session)
    editor.answer(editor.receive(), outcome="cancelled")
    editor.receive()
    words = [QUICK, "--model", SCRIPTED, "--issue", runs.ISSUE]
    host.run("run", "--repo", ".", *words, cwd=repos[1].path).check()
    listed = editor.result("session/list")
    check_by_schema("ListSessionsResponse", listed)
    assert {at["cwd"] for at in listed["sessions"]} == {str(repo) for repo in repos}
    (own,) = editor.result("session/list", cwd=str(repos[0]))["sessions"]
    assert own["sessionId"] == session and own["title"].rstrip("…") in ISSUE
    (other,) = editor.result("session/list", cwd=str(repos[1].path / "brookbill"))["sessions"]
    for params in ({"cursor": "2"}, {"cursor": 2}, {"cwd": "x"}, {"cwd": 1}):
        assert editor.code("session/list", **params) == -32602, params
    where = {"sessionId": other["sessionId"], "mcpServers": []}
    assert editor.code("session/load", cwd=str(repos[0]), **where) == -32002
    assert editor.result("session/load", cwd=other["cwd"], **where) == {}
    assert ISSUE.strip() in editor.said("user_message_chunk")
    editor.prompt(other["sessionId"], "apply it")
    editor.answer(editor.receive(), **ALLOW)
    assert editor.receive()["result"] == {"stopReason": "end_turn"}
    assert [bool(repo.git("status", "--porcelain")) for repo in repos] == [False, True]
    assert editor.end() == 0


# ---- The permission ----

NOT_ALLOWED: list[Message] = [
    {"result": {"outcome": {"outcome": "selected", "optionId": "keep"}}},
    {"result": {"outcome": {"outcome": "cancelled"}}},
    {"error": {"code": -32603, "message": "no"}},
    {"result": None},
    {"result": {}},
    {"result": {"outcome": "selected", "optionId": "apply"}},
    {"result": {"outcome": {"outcome": "selected"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "allow"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": ["apply"]}}},
    {"result": {"outcome": {"outcome": "cancelled", "optionId": "apply"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "apply"}}, "error": {"code": 1, "message": "x"}},
]


def test_only_a_clear_yes_writes(editor: Editor, sample_repo: Repo) -> None:
    session = editor.open(sample_repo)
    for number, answer in enumerate(NOT_ALLOWED):
        prompt = editor.prompt(session)  # the issue is the same, so the finished run is read again
        asked = editor.receive()
        editor.send(id=asked["id"], **answer)
        told = editor.receive()
        assert told["id"] == prompt and told["result"]["stopReason"] == "end_turn", number
        assert not sample_repo.git("status", "--porcelain"), number
        assert editor.updates[-1]["update"]["status"] == "failed"
    assert editor.end() == 0


def test_answers_that_nobody_asked_for(editor: Editor, sample_repo: Repo) -> None:
    session = editor.open(sample_repo)
    for value in range(4):
        editor.send(id=value, result={"outcome": ALLOW})
    prompt = editor.prompt(session)
    asked = editor.receive()
    for value in (asked["id"] + 1, -asked["id"], str(asked["id"])):
        editor.send(id=value, result={"outcome": ALLOW})
    editor.send(id=asked["id"], method="session/prompt", params={"sessionId": session, "prompt": []})
    assert "error" in editor.receive()
    time.sleep(0.3)
    assert not sample_repo.git("status", "--porcelain")
    editor.cancel(session)
    assert editor.receive() == {"jsonrpc": "2.0", "id": prompt, "result": {"stopReason": "cancelled"}}
    assert not sample_repo.git("status", "--porcelain")
    assert editor.end() == 0


def test_a_cancelled_question_is_not_answered_by_a_yes(editor: Editor, sample_repo: Repo) -> None:
    session = editor.open(sample_repo)
    for _ in range(5):
        prompt = editor.prompt(session)
        asked = editor.receive()
        lines: list[Message] = [
            {"method": "session/cancel", "params": {"sessionId": session}},
            {"id": asked["id"], "result": {"outcome": ALLOW}},
        ]
        editor.write(b"".join(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n" for line in lines))
        assert editor.receive() == {"jsonrpc": "2.0", "id": prompt, "result": {"stopReason": "cancelled"}}
        assert not sample_repo.git("status", "--porcelain")
    assert editor.end() == 0


def test_the_patch_of_a_stopped_run_is_not_offered(host: Host, sample_repo: Repo) -> None:
    """Writing it would resume the run, which may choose another patch."""
    lines = runs.script_lines()
    with LoopbackOpenAI(lines * 2) as server:
        for at in range(len(lines), 3 * len(lines)):
            server.fail(Failure("hang"), at=at)
        words = (QUICK, "--samples=2", f"--max-time={4 * SLOWNESS}")
        editor = Editor(host, *words, model=server.model, env=server.environment)
        prompt = editor.prompt(editor.begin(sample_repo))
        assert editor.receive() == {"jsonrpc": "2.0", "id": prompt, "result": {"stopReason": "end_turn"}}
        assert "--max-time reached" in editor.said("agent_message_chunk")
        assert editor.end() == 0
    assert not sample_repo.git("status", "--porcelain")


def test_a_file_that_changed_meanwhile_is_not_overwritten(editor: Editor, sample_repo: Repo) -> None:
    prompt = editor.prompt(editor.open(sample_repo))
    asked = editor.receive()
    path = sample_repo.path / runs.CHANGED
    path.write_text(path.read_text().replace("period.days)", "period.days + 0)"))
    mine = path.read_bytes()
    editor.answer(asked, **ALLOW)
    assert editor.receive()["id"] == prompt
    assert path.read_bytes() == mine
    assert [at["update"]["status"] for at in editor.updates if at["update"]["sessionUpdate"] == "tool_call_update"] == [
        "failed"
    ]
    assert "has changed since the run began" in editor.said("agent_message_chunk")
    assert editor.end() == 0


# ---- Ends ----


def working(host: Host, repo: Repo, model: LoopbackOpenAI, **options: Any) -> Editor:
    """An editor whose run waits for the model."""
    editor = Editor(host, QUICK, model=model.model, env=model.environment, **options)
    editor.prompt(editor.begin(repo))
    model.wait_for(1)
    return editor


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_program_and_run(
    host: Host, sample_repo: Repo, hanging: LoopbackOpenAI, number: signal.Signals
) -> None:
    editor = working(host, sample_repo, hanging)
    runs_of = [int(pid) for pid in children(editor.child.pid)]
    assert runs_of
    begun = time.monotonic()
    editor.child.send_signal(number)
    editor.child.wait(timeout=AT_MOST * 3 * SLOWNESS)
    assert time.monotonic() - begun < AT_MOST * SLOWNESS
    until(lambda: all(map(gone, runs_of)))


def test_a_client_that_dies_ends_the_run(host: Host, sample_repo: Repo, hanging: LoopbackOpenAI) -> None:
    """The client closes its end of the output while the program is still writing."""
    ours, theirs = os.pipe()
    editor = Editor(host, QUICK, model=hanging.model, env=hanging.environment, stdout=theirs)
    os.close(theirs)
    editor.send(id=1, method="initialize", params={"protocolVersion": 1})
    editor.send(id=2, method="session/new", params={"cwd": str(sample_repo), "mcpServers": []})
    with os.fdopen(ours, "rb") as out:
        out.readline()
        session = json.loads(out.readline())["result"]["sessionId"]
        editor.prompt(session)
        hanging.wait_for(1)
        runs_of = [int(pid) for pid in children(editor.child.pid)]
    assert editor.child.wait(timeout=AT_MOST * SLOWNESS) == 0
    until(lambda: all(map(gone, runs_of)))


def test_a_client_that_does_not_read(host: Host, sample_repo: Repo) -> None:
    """The pipe fills up; the end of the input still ends the program."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    editor = Editor(host, QUICK, stdout=theirs)
    os.close(theirs)
    editor.send(id=1, method="initialize", params={"protocolVersion": 1})
    editor.send(id=2, method="session/new", params={"cwd": str(sample_repo), "mcpServers": []})
    data = b""
    while data.count(b"\n") < 2:
        data += os.read(ours, 4096)
    editor.prompt(json.loads(data.splitlines()[1])["result"]["sessionId"])
    time.sleep(1)
    assert editor.child.stdin
    editor.child.stdin.close()
    try:
        assert editor.child.wait(timeout=2 * AT_MOST * SLOWNESS) == 0
    finally:
        os.close(ours)
    assert not sample_repo.git("status", "--porcelain")


def test_a_running_run_cannot_be_loaded_twice(host: Host, sample_repo: Repo, hanging: LoopbackOpenAI) -> None:
    editor = working(host, sample_repo, hanging)
    (folder,) = (host.home / ".local" / "state" / "acr-host" / "runs").iterdir()
    other = Editor(host, QUICK)
    other.result("initialize", protocolVersion=1)
    params = {"sessionId": folder.name, "cwd": str(sample_repo), "mcpServers": []}
    other.ask("session/load", **params)
    told = other.receive()
    if "result" in told:
        other.prompt(folder.name)
        told = other.receive()
    assert "error" in told, told
    assert other.end() == 0
    editor.cancel(folder.name)
    assert editor.receive()["result"] == {"stopReason": "cancelled"}
    assert editor.end() == 0


def test_a_request_is_cancelled_by_its_id(host: Host, sample_repo: Repo, hanging: LoopbackOpenAI) -> None:
    editor = working(host, sample_repo, hanging)
    for value in (None, 1, "101", [], 10**9):
        editor.send(method="$/cancel_request", params={"requestId": value})
    editor.send(method="$/cancel_request")
    editor.result("session/list")
    editor.send(method="$/cancel_request", params={"requestId": 103})
    assert editor.receive() == {"jsonrpc": "2.0", "id": 103, "result": {"stopReason": "cancelled"}}
    assert editor.end() == 0
