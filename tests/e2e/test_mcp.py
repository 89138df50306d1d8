"""`acr-host mcp`: all protocol revisions, tools, resources, prompts, changing trees, and hostile clients."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from fewer import usually
from host import SLOWNESS, Host
from mcp_client import (
    CALLS,
    CLASS,
    LATER,
    META,
    NEWEST,
    OLDEST,
    SDK,
    Client,
    calls_of,
    check_sdk,
    check_typescript,
    envelope,
    lines,
    many,
    request,
    written,
)
from repos import Repo

Make = Callable[..., Repo]
ERAS = [pytest.param(False, id="handshake"), pytest.param(True, id="stateless")]
# ---- The offered tools ----


@pytest.mark.parametrize("later", ERAS)
def test_tools_answer_as_search_does(host: Host, sample_repo: Repo, later: bool) -> None:
    client = Client(host, "--repo", sample_repo, later=later)
    tools = client.result("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == list(CALLS)
    wanted = calls_of(host, sample_repo, [written(*each) for each in CALLS.items()])
    for tool, row in zip(tools, wanted):
        arguments = CALLS[tool["name"]]
        schema = tool["inputSchema"]
        assert schema["required"] == list(arguments) == list(schema["properties"])
        assert tool["annotations"]["readOnlyHint"] is True and tool["description"]
        assert sorted(tool["outputSchema"]["required"]) == sorted(row)
        result = client.call(tool["name"], **arguments)
        assert result["structuredContent"] == row
        assert result["content"] == [{"type": "text", "text": row["output"]}]
        assert result["isError"] is False
    assert client.end() == []


def test_tests_are_searched_if_the_user_says_so(host: Host, make_repo: Make) -> None:
    repo = make_repo({"a.py": CLASS.format("A"), "tests/test_a.py": CLASS.format("B")})
    for options, found in ([], False), (["--tests"], True):
        client = Client(host, "--repo", repo, *options)
        for tool, arguments in {"search_class": {"class_name": "B"}, "search_code": {"code_str": "only_in_B"}}.items():
            answer = client.call(tool, **arguments)["structuredContent"]
            assert answer["ok"] is found and [at["file"] for at in answer["results"]] == ["tests/test_a.py"] * found
        client.end()


SLOW_CALL = '''API = 1
import time
from acr.extensions import search_call

@search_call
def search_slowly(repo, word: str) -> str:
    """Waits.

    word: Any word
    """
    time.sleep(2)
    return word
'''


@pytest.mark.parametrize("token", ["one", 7, None])
def test_a_long_answer_is_announced_to_who_asks(
    host: Host, sample_repo: Repo, tmp_path: Path, token: str | int | None
) -> None:
    (tmp_path / "slow.py").write_text(SLOW_CALL)
    client = Client(host, "--repo", sample_repo, "--extension", tmp_path / "slow.py")
    params = {"name": "search_slowly", "arguments": {"word": "a"}, "_meta": {"progressToken": token}}
    client.send(request(1, "tools/call", params))
    told = []
    while (message := client.receive()).get("method"):
        told.append(message["params"])
    assert message["id"] == 1 and message["result"]["isError"] is False
    assert bool(told) == (token is not None) and all(each["progressToken"] == token for each in told)
    assert [each["progress"] for each in told] == sorted({each["progress"] for each in told})
    assert all(each["message"] for each in told) and client.end() == []


def test_eras_differ_where_the_protocol_does(host: Host, sample_repo: Repo) -> None:
    client = Client(host, "--repo", sample_repo, handshake=False)
    early, later = request(1, "tools/list"), request(2, "tools/list", later=True)
    client.send(early)
    assert client.receive()["error"]["code"] == -32602
    for asked, given in (
        *((v, v) for v in ("2024-11-05", "2025-03-26", OLDEST, NEWEST)),
        (LATER, NEWEST),
        ("1", NEWEST),
    ):
        hello = client.hello(asked)
        assert hello["protocolVersion"] == given and set(hello["capabilities"]) == {"tools", "resources", "prompts"}
        client.send(request(9, "ping") | {"params": None})
        assert client.receive()["result"] == {}
        assert hello["serverInfo"]["name"] == "acr-host" and "resultType" not in hello
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, early, later)
    old, new = client.receive()["result"], client.receive()["result"]
    assert old["tools"] == new["tools"] and set(old) == {"tools"}
    assert (new["resultType"], new["cacheScope"]) == ("complete", "private") and new["ttlMs"] > 0
    assert new["_meta"][META + "serverInfo"]["name"] == "acr-host"
    assert client.result("ping") == {}
    client.later = True
    found = client.result("server/discover")
    assert found["supportedVersions"] == [LATER] and "sample" in found["instructions"]
    assert client.error("ping")["code"] == -32601
    assert client.result("resources/list")["ttlMs"] == 0
    client.end()


@pytest.mark.parametrize("later", ERAS)
def test_wrong_requests(host: Host, sample_repo: Repo, later: bool) -> None:
    client = Client(host, "--repo", sample_repo, later=later)
    absent = -32602 if later else -32002
    for method, params, code in (
        ("no/such", {}, -32601),
        ("subscriptions/listen", {}, -32601),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "rm"}, -32602),
        ("tools/list", {"cursor": "2"}, -32602),
        ("resources/list", {"cursor": "2"}, -32602),
        ("resources/list", {"cursor": 2}, -32602),
        ("resources/read", {}, -32602),
        ("resources/read", {"uri": "file:///etc/passwd"}, absent),
        ("resources/read", {"uri": "acr-host://sample/file/../../etc/passwd"}, absent),
        ("resources/read", {"uri": "acr-host://sample/file/.git/config"}, absent),
        ("resources/read", {"uri": "acr-host://other/map"}, absent),
        ("prompts/get", {"name": "other"}, -32602),
        ("prompts/get", {"name": "locate_bug", "arguments": {}}, -32602),
    ):
        error = client.error(method, params)
        assert (error["code"], bool(error["message"])) == (code, True), (method, params, error)
    assert "did you mean 'search_class'?" in client.error("tools/call", {"name": "search_clas"})["message"]
    for arguments in ({}, {"class_name": 3}, {"class_name": "A", "x": 1}, {"class_name": "A", "repo": "sample"}):
        result = client.call("search_class", **arguments)
        assert result["isError"] is True and "search_class(class_name: str)" in result["content"][0]["text"]
    client.end()


def test_a_prompt_has_the_issue_and_the_calls(host: Host, sample_repo: Repo) -> None:
    client = Client(host, "--repo", sample_repo)
    (prompt,) = client.result("prompts/list")["prompts"]
    assert [each["name"] for each in prompt["arguments"] if each["required"]] == ["issue"]
    issue = {"name": prompt["name"], "arguments": {"issue": "<!-- form -->It {{calls}} fails"}}
    (message,) = client.result("prompts/get", issue)["messages"]
    text = message["content"]["text"]
    assert message["role"] == "user" and "It {{calls}} fails" in text and "form" not in text
    assert all(f"- {tool}(" in text for tool in CALLS)
    client.end()


@pytest.mark.parametrize("later", ERAS)
def test_resources_are_the_files_and_the_map(host: Host, make_repo: Make, later: bool) -> None:
    odd = "d/ö %41.txt"
    files: dict[str, str | bytes] = {f"f{i:04}.txt": "" for i in range(2100)}
    files |= {
        "a.py": CLASS.format("A"),
        odd: "ä\r\n",
        "x.bin": b"\0\xff",
        "latin.py": b"# \xe4\n",
        "big.txt": "x" * 2**20,
    }
    repo = make_repo(files)
    (repo.path / "link").symlink_to("a.py")
    (repo.path / "bigger.txt").write_text("x" * (2**20 + 1))
    client = Client(host, "--repo", repo, later=later)
    listed, pages, cursor = [], 0, None
    while pages == 0 or cursor:
        page = client.result("resources/list", {"cursor": cursor} if cursor else None)
        listed += page["resources"]
        cursor, pages = page.get("nextCursor"), pages + 1
        assert len(page["resources"]) <= 1000
    assert pages == 3 and [each["name"] for each in listed[1:]] == sorted([*files, "bigger.txt"], key=str.encode)
    uri = {each["name"]: each["uri"] for each in listed}
    assert "class A, line 1" in client.read(listed[0]["uri"])["text"]
    assert client.read(uri["a.py"]) == {"uri": uri["a.py"], "mimeType": "text/x-python", "text": files["a.py"]}
    assert client.read(uri[odd])["text"] == "ä\r\n" and client.read(uri["big.txt"])["text"] == files["big.txt"]
    for name in ("x.bin", "latin.py"):
        assert base64.b64decode(client.read(uri[name])["blob"]) == files[name]
    assert "1048577 bytes" in client.error("resources/read", {"uri": uri["bigger.txt"]})["message"]
    (template,) = client.result("resources/templates/list")["resourceTemplates"]
    assert client.read(template["uriTemplate"].replace("{+path}", "f0001.txt"))["text"] == ""
    client.end()


def test_several_repositories_by_an_argument(host: Host, make_repo: Make) -> None:
    one, two = make_repo({"a.py": CLASS.format("A")}, "x/app"), make_repo({"b.py": CLASS.format("B")}, "y/app")
    plain = one.path.parent / "plain folder"
    plain.mkdir()
    (plain / "c.py").write_text(CLASS.format("C"))
    client = Client(host, "--repo", one, "--repo", two, "-r", plain, later=True)
    names = ["app", "app-2", "plain-folder"]
    schema = client.result("tools/list")["tools"][0]["inputSchema"]
    assert schema["properties"]["repo"]["enum"] == names and "repo" in schema["required"]
    for name, found in zip(names, "ABC"):
        places = [client.call("search_class", class_name=k, repo=name)["structuredContent"]["ok"] for k in "ABC"]
        assert places == [k == found for k in "ABC"]
    for wrong in ({}, {"repo": "b"}, {"repo": 1}):
        result = client.call("search_class", class_name="A", **wrong)
        assert result["isError"] and "app, app-2, plain-folder" in result["content"][0]["text"]
    uris = [each["uri"] for each in client.result("resources/list")["resources"]]
    assert uris == [f"acr-host://{name}/{what}" for name, k in zip(names, "abc") for what in ("map", f"file/{k}.py")]
    client.end()


def test_answers_are_of_the_tree_as_it_is(host: Host, make_repo: Make) -> None:
    repo = make_repo({"a.py": CLASS.format("A"), ".gitignore": "ignored.py\n"})
    bare = Repo(repo.path.parent / "bare.git")
    repo.git("clone", "-q", "--bare", str(repo.path), str(bare.path))
    client = Client(host, "--repo", repo, "--repo", bare)

    def finds(name: str, where: str = "repo") -> bool:
        return bool(client.call("search_class", class_name=name, repo=where)["structuredContent"]["ok"])

    assert finds("A") and not finds("B")
    for i in range(20):  # both changes within the resolution of a time stamp
        repo.write({"a.py": CLASS.format(f"A{i}"), f"new{i}/b.py": CLASS.format(f"B{i}")})
        assert finds(f"A{i}") and finds(f"B{i}") and not finds(f"A{i - 1}")
    repo.write({"a.py": None, "ignored.py": CLASS.format("D")})
    assert not finds("A19") and not finds("D")
    repo.write({".gitignore": ""})
    assert finds("D")
    assert finds("A", "bare") and not finds("B1", "bare")
    repo.commit({})
    repo.git("push", "-q", str(bare.path), "main")
    assert finds("B1", "bare")
    assert client.read("acr-host://repo/file/new3/b.py")["text"] == CLASS.format("B3")
    client.end()


# ---- Hostile clients -----------


def hostile() -> list[tuple[bytes, int, Any]]:
    """Lines, each with the code and the id of the error that must answer it."""
    ping = '{"jsonrpc":"2.0","method":"ping"'
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    later: list[tuple[Any, int]] = [
        ({}, -32602),
        ({META + "protocolVersion": 1, META + "clientCapabilities": {}}, -32602),
        ({META + "protocolVersion": LATER}, -32602),
        ({META + "protocolVersion": LATER, META + "clientCapabilities": 1}, -32602),
        (envelope("2025-11-25"), -32022),
        (envelope("3000-01-01"), -32022),
    ]
    return [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"not json", -32700, None),
        (b'{"jsonrpc":"2.0"} {}', -32700, None),
        (deep, -32700, None),
        (b"[]", -32600, None),
        (b"7", -32600, None),
        (b'"x"', -32600, None),
        (b"[" + ping.encode() + b',"id":1}]', -32600, None),
        (f'{ping},"id":null}}'.encode(), -32600, None),
        (f'{ping},"id":1.5}}'.encode(), -32600, None),
        (f'{ping},"id":12345678901234567890}}'.encode(), -32600, None),
        (f'{ping},"id":{{}}}}'.encode(), -32600, None),
        (f'{ping},"id":1,"params":[1]}}'.encode(), -32602, 1),
        (f'{ping},"id":1,"params":"x"}}'.encode(), -32602, 1),
        (b'{"id":"a","method":"ping"}', -32600, "a"),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":-3}', -32600, -3),
        (b'{"jsonrpc":"2.0","id":4,"method":5}', -32600, 4),
        (b"x" * (2**20 + 1), -32600, None),
        *((lines([request(9, "server/discover", {"_meta": meta})])[:-1], code, 9) for meta, code in later),
        (lines([request("e", "initialize", {"protocolVersion": 7})])[:-1], -32602, "e"),
        (lines([request("e", "initialize", later=True)])[:-1], -32602, "e"),
    ]


def test_hostile_lines_get_errors(host: Host, sample_repo: Repo) -> None:
    client = Client(host, "--repo", sample_repo)
    for line, code, number in hostile():
        client.write(line + b"\n")
        answer = client.receive()
        assert (answer["error"]["code"], answer["id"]) == (code, number), (line[:200], answer)
        assert len(answer["error"]["message"]) < 500
    unanswered = [b"", b"  \r", b'{"jsonrpc":"2.0","method":"no/such"}', b'{"jsonrpc":"2.0","id":1,"result":{}}']
    client.send(*unanswered, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}')
    assert client.result("ping") == {} and client.call("search_class", class_name="Nope")["isError"] is False
    client.end()


def test_a_line_without_end_is_not_kept(host: Host, sample_repo: Repo) -> None:
    client = Client(host, "--repo", sample_repo)
    client.call("search_class", class_name="Nope")
    before = memory_kib(client.child.pid)
    for _ in range(100):
        client.write(b"x" * 2**20)
    client.write(b"\n")
    assert client.receive()["error"]["code"] == -32600
    assert memory_kib(client.child.pid) - before < 20_000
    client.end()


def memory_kib(pid: int) -> int:
    """The peak memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def test_ten_thousand_requests_in_flight(host: Host, make_repo: Make) -> None:
    """Each is answered once, by a result or by an error that too many wait. The answers are read while the requests are
    written.
    """
    client = Client(host, "--repo", many(make_repo), "--no-cache", later=True)
    wanted = {"name": "search_class", "arguments": {"class_name": "C7"}}
    data = lines(request(i, "tools/call", wanted, later=True) for i in range(10_000))
    writer = threading.Thread(target=client.write, args=(data,))
    writer.start()
    answers = [client.receive() for _ in range(10_000)]
    writer.join()
    assert sorted(answer["id"] for answer in answers) == list(range(10_000))
    done = [answer["result"]["structuredContent"]["ok"] for answer in answers if "result" in answer]
    assert all(done) and len(done) >= 1024
    assert {answer["error"]["code"] for answer in answers if "error" in answer} <= {-32000}
    assert client.call("search_class", class_name="C8")["isError"] is False
    client.end()


@pytest.mark.parametrize("later", ERAS)
def test_cancelled_requests_get_no_answer(host: Host, make_repo: Make, later: bool) -> None:
    """Neither a request in progress nor a waiting one gets an answer; the same id twice at once is an error."""
    repo = many(make_repo)
    client = Client(host, "--repo", repo, "--no-cache", later=later)
    wanted = {"name": "search_class", "arguments": {"class_name": "C7"}}
    first, second, third = (request(name, "tools/call", wanted, later) for name in ("a", "b", "c"))
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "b"}}
    client.send(first, second, third, first, cancel, {**cancel, "params": {"requestId": "a"}})
    twice, answer = client.receive(), client.receive()
    assert (twice["id"], twice["error"]["code"]) == ("a", -32600)
    assert answer["id"] == "c" and answer["result"]["structuredContent"]["ok"]
    client.send(first)
    assert client.receive()["id"] == "a"
    assert client.end() == []


def test_a_request_ends_with_its_time(host: Host, make_repo: Make) -> None:
    client = Client(host, "--repo", many(make_repo, 1500), "--no-cache", "--timeout", "0.001", "--jobs", "1")
    result = client.call("search_class", class_name="C7")
    assert result["isError"] and "--timeout" in result["content"][0]["text"]
    client.end()


def test_answers_are_bounded(host: Host, make_repo: Make) -> None:
    repo = make_repo({f"m{i}.py": "x = 1  # " + "needle " * 200 + "\n" for i in range(1500)})
    client = Client(host, "--repo", repo)
    found = client.call("search_code", code_str="needle")["structuredContent"]
    assert len(found["results"]) == 100 and len(found["output"].encode()) <= 64 * 1024
    assert client.call("search_code", code_str="x" * 17_000)["structuredContent"]["ok"] is False
    client.end()


# ---- The end ----


def test_what_has_come_is_answered_at_the_end_of_the_input(host: Host, make_repo: Make) -> None:
    client = Client(host, "--repo", many(make_repo), "--no-cache", later=True)
    wanted = {"name": "search_class", "arguments": {"class_name": "C7"}}
    client.write(lines(request(i, "tools/call", wanted, later=True) for i in range(3))[:-1])
    assert [answer["id"] for answer in client.end()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("number", "busy"), [(signal.SIGTERM, "idle"), (signal.SIGINT, "indexing"), (signal.SIGTERM, "unread")]
)
def test_a_signal_ends_it(host: Host, make_repo: Make, number: signal.Signals, busy: str) -> None:
    """The signal may arrive while a repository is indexed, and while the client does not read."""
    child = host.start("mcp", "--repo", many(make_repo, 800), "--no-cache", "--jobs", "1", stdin=subprocess.PIPE)
    assert child.stdin and child.stdout
    child.stdin.write(lines([request(0, "ping")]))
    child.stdin.flush()
    child.stdout.readline()
    if busy == "idle":
        child.stdin.write(lines([request(1, "resources/list", later=True)]))
        child.stdin.flush()
        child.stdout.readline()
    if busy == "unread":
        threading.Thread(target=flood, args=(child.stdin.fileno(),), daemon=True).start()
        wait_until_stuck(child.pid)
    begun = time.monotonic()
    child.send_signal(number)
    assert child.wait(timeout=30 * SLOWNESS) == 130
    assert time.monotonic() - begun < 9 * SLOWNESS  # after 10 s, the alarm ends a program that hangs


def flood(fd: int) -> None:
    """Write requests until nobody reads them any more."""
    data = lines([request(1, "ping")] * 100)
    try:
        while True:
            os.write(fd, data)
    except OSError:
        pass


def wait_until_stuck(pid: int) -> None:
    """Wait until the process has used no processor time for a while."""

    def used() -> list[str]:
        return Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]

    before, same = used(), 0
    while same < 5:
        time.sleep(0.1)
        now = used()
        before, same = now, same + 1 if now == before else 0


def test_a_client_that_goes_away_ends_it(host: Host, make_repo: Make) -> None:
    child = host.start("mcp", "--repo", many(make_repo), "--no-cache", stdin=subprocess.PIPE)
    assert child.stdout
    child.stdout.close()
    assert child.wait(timeout=60 * SLOWNESS) == 0


def test_what_cannot_be_served(host: Host, tmp_path: Path, make_repo: Make) -> None:
    missing = host.run("mcp", "--repo", tmp_path / "none", input=b"")
    missing.one_line(3, "acr-host mcp:", "none")
    assert missing.stdout == b""
    repo = make_repo({"a.py": ""})
    host.run("mcp", *["--repo", repo] * 33, input=b"").check(2)
    host.run("mcp", input=b"", cwd=repo.path).check()
    with open("/dev/full", "wb") as full:
        ping = lines([request(1, "ping")])
        host.run("mcp", "--repo", repo, input=ping, stdout=full).one_line(3, "standard output")


# ---- Clients by others ----


def stdio(host: Host, repo: Repo) -> list[str]:
    """The command with which a client of a pipe starts the server."""
    return [str(host.program), "mcp", "--repo", str(repo)]


@pytest.mark.parametrize("mode", usually(["auto"], ["auto", "legacy"]))
def test_the_python_sdk(host: Host, sample_repo: Repo, pinned_python: Callable[..., Path], mode: str) -> None:
    check_sdk(host, pinned_python([SDK]), sample_repo, CALLS, mode, {"command": stdio(host, sample_repo)})


SYMPY: dict[str, dict[str, Any]] = {
    "search_class": {"class_name": "Add"},
    "search_class_in_file": {"class_name": "Prefix", "file_name": "prefixes.py"},
    "search_method": {"method_name": "flatten"},
    "search_method_in_file": {"method_name": "flatten", "file_name": "core/add.py"},
    "search_method_in_class": {"method_name": "as_coeff_Mul", "class_name": "Add"},
    "search_code": {"code_str": "re:raise \\w+Error"},
    "search_code_in_file": {"code_str": "return self", "file_name": "core/basic.py"},
    "get_code_around_line": {"file_name": "core/add.py", "line_number": 200, "window_size": 20},
    "search_callers": {"name": "Add.as_coeff_Mul"},
    "search_history": {"text": "Add.flatten"},
}


@pytest.mark.full
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_python_sdk_on_sympy(
    host: Host, release_repo: Callable[..., Repo], pinned_python: Callable[..., Path], mode: str
) -> None:
    repo = release_repo("sympy", "1.10.1")
    check_sdk(host, pinned_python([SDK]), repo, SYMPY, mode, {"command": stdio(host, repo)})


@pytest.mark.full
def test_the_typescript_sdk_on_sympy(host: Host, release_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = release_repo("sympy", "1.10.1")
    check_typescript(host, repo, SYMPY, {"command": stdio(host, repo)}, tmp_path)
