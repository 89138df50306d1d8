"""`acr-host search` as people use it: calls in a shell's words, a prompt, answers while the input goes on."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host import SLOWNESS, Host, Result
from repos import Repo

Make = Callable[..., Repo]
FILES = {
    "app/box.py": "class Box:\n    def put(self, x):\n        self.x = x\n\n\ndef put(x):\n    return [x]\n",
    "app/shelf.py": "def put(x):\n    return (x,)\n",
}


@pytest.fixture
def repo(make_repo: Make) -> Repo:
    return make_repo(FILES)


def rows(result: Result) -> list[tuple[str, list[str]]]:
    """Each call with the lines where it found something."""
    return [(row["call"], [f"{at['file']}:{at['start']}" for at in row["results"]]) for row in result.rows()]


@pytest.mark.parametrize(
    ("words", "call", "found"),
    [
        (["class", "Box"], 'search_class("Box")', ["app/box.py:1"]),
        (["class", "Box", "--in", "box.py"], 'search_class_in_file("Box", "box.py")', ["app/box.py:1"]),
        (["method", "put"], 'search_method("put")', ["app/box.py:2", "app/box.py:6", "app/shelf.py:1"]),
        (["method", "Box.put"], 'search_method_in_class("put", "Box")', ["app/box.py:2"]),
        (["--in=shelf.py", "method", "put"], 'search_method_in_file("put", "shelf.py")', ["app/shelf.py:1"]),
        (["code", "return [x]"], 'search_code("return [x]")', ["app/box.py:4"]),
        (["code", r"return .x,", "--regex"], 'search_code("re:return .x,")', ["app/shelf.py:1"]),
        (["line", "app/box.py:3-7"], 'get_code_around_line("app/box.py", 5, 2)', ["app/box.py:3"]),
        (["line", "app/box.py:6"], 'get_code_around_line("app/box.py", 6, 10)', ["app/box.py:1"]),
    ],
)
def test_words_are_calls(host: Host, repo: Repo, words: list[str], call: str, found: list[str]) -> None:
    result = host.run("search", "--repo", str(repo), "--json", *words).check()
    assert [call for call, _ in rows(result)] == [call]
    assert rows(host.run("search", "--repo", str(repo), "--json", call)) == rows(result)
    assert rows(result)[0][1] == found


@pytest.mark.parametrize("words", [["class", "Nope"], ['search_class("Nope")'], ["callers", "put"]])
def test_a_miss_ends_with_one(host: Host, repo: Repo, words: list[str]) -> None:
    for options in ([], ["--json"]):
        host.run("search", "--repo", str(repo), *options, *words).check(1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["class"], "'class' takes NAME"),
        (["method", "a", "b"], "quote an argument that contains spaces"),
        (["line", "app/box.py"], "FILE:NUMBER"),
        (["line", "app/box.py:7-3"], "FILE:FROM-TO"),
        (["line", "app/box.py:6", "--in", "x"], "--in does not apply to 'line'"),
        (["class", "Box", "--regex"], "--regex works with 'code TEXT' only"),
        (["--in", "x", 'search_class("Box")'], "--in and --regex work with"),
    ],
)
def test_words_that_do_not_fit_are_told(host: Host, repo: Repo, words: list[str], said: str) -> None:
    host.run("search", "--repo", str(repo), *words).one_line(2, said)


def test_the_list_names_every_call_and_word(host: Host, tmp_path: Path) -> None:
    out = host.run("search", "--list", cwd=tmp_path).check().out
    assert "search_method_in_file(method_name: str, file_name: str)\n    Shows the functions" in out
    assert "method NAME or CLASS.NAME [--in FILE]\n" in out


def test_a_writer_that_waits_gets_its_answer(host: Host, repo: Repo) -> None:
    process = host.start("search", "--repo", repo, "--json", stdin=subprocess.PIPE)
    assert process.stdin and process.stdout
    for line in (b"class Box", b'search_method("put")'):
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["call"] == line.decode()
    process.stdin.close()
    assert process.wait(60 * SLOWNESS) == 0


class Terminal:
    """The prompt on a terminal of its own."""

    def __init__(self, host: Host, repo: Repo, state: Path) -> None:
        self.master, slave = pty.openpty()
        streams = {"stdin": slave, "stdout": slave, "stderr": slave}
        env = {"TERM": "dumb", "XDG_STATE_HOME": str(state)}
        self.process = host.start("search", "--repo", repo, env=env, **streams)
        os.close(slave)
        self.seen = ""

    def until(self, text: str) -> str:
        """What was printed up to a text."""
        end = time.monotonic() + 60 * SLOWNESS
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode()
                except OSError:  # its other end is closed
                    assert text in self.seen, self.seen
        before, _, self.seen = self.seen.partition(text)
        return before

    def keys(self, text: str) -> None:
        os.write(self.master, text.encode())


@pytest.fixture
def terminal(host: Host, repo: Repo, tmp_path: Path) -> Iterator[Terminal]:
    try:
        ctypes.CDLL("libreadline.so.8")
    except OSError:
        pytest.skip("readline is not installed")
    made = Terminal(host, repo, tmp_path / "state")
    made.until("search> ")
    yield made
    made.process.kill()
    made.process.wait()
    os.close(made.master)


def test_a_prompt_completes_and_remembers(terminal: Terminal, host: Host, repo: Repo, tmp_path: Path) -> None:
    terminal.keys('get_c\t("box.py", 1, 0)\r')
    assert "<file>app/box.py</file>" in terminal.until("search> ")
    terminal.keys("method Box.put\r")
    assert "Found 1 result for put" in terminal.until("search> ")
    terminal.keys("\x04")
    assert terminal.process.wait(60 * SLOWNESS) == 0
    kept = (tmp_path / "state" / "acr-host" / "search_history").read_text().splitlines()
    assert [line.replace(" ", "") for line in kept] == ['get_code_around_line("box.py",1,0)', "methodBox.put"]
    again = Terminal(host, repo, tmp_path / "state")
    again.until("search> ")
    again.keys("\x10\r")  # Ctrl-P: the line before
    assert "Found 1 result for put" in again.until("search> ")
    again.keys("\x04")
    again.process.wait(60 * SLOWNESS)
    os.close(again.master)


def test_ctrl_c_at_the_prompt_ends(terminal: Terminal) -> None:
    terminal.keys("class B")
    os.kill(terminal.process.pid, signal.SIGINT)
    assert terminal.process.wait(60 * SLOWNESS) == 130
