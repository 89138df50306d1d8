"""`acr-host search` as people use it: short forms of calls, a prompt, answers while the input continues."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host import SLOWNESS, Host, Result
from repos import Repo
from screens import on_screen

Make = Callable[..., Repo]
BOX = "app/box.py:1:class Box:\napp/box.py:2:    def put(self, x):\n"
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
        (["method", "put", "shelf.py"], 'search_method_in_file("put", "shelf.py")', ["app/shelf.py:1"]),
        (["Box.put"], 'search_method_in_class("put", "Box")', ["app/box.py:2"]),
        (["Box"], 'search_class("Box")', ["app/box.py:1"]),
        (["shelf.py:put"], 'search_method_in_file("put", "shelf.py")', ["app/shelf.py:1"]),
        (["box.py::Box::put"], 'search_method_in_file("Box.put", "box.py")', ["app/box.py:2"]),
        (["method Box.put"], 'search_method_in_class("put", "Box")', ["app/box.py:2"]),
        (["put", "shelf.py"], 'search_method_in_file("put", "shelf.py")', ["app/shelf.py:1"]),
        (["return [x]"], 'search_code("return [x]")', ["app/box.py:4"]),
        (["/self"], 'search_code("self")', ["app/box.py:1"]),
        (["-nHe", r"return .x,"], 'search_code("re:return .x,")', ["app/shelf.py:1"]),
        (["-e", "no", "-e", "urn .x,", "app/"], 'search_code_in_file("re:no|urn .x,", "app/")', ["app/shelf.py:1"]),
        (["box.py:3-7"], 'get_code_around_line("box.py", 5, 2)', ["app/box.py:3"]),
    ],
)
def test_words_are_calls(host: Host, repo: Repo, words: list[str], call: str, found: list[str]) -> None:
    result = host.run("search", "--repo", str(repo), "--json", *words).check()
    assert [call for call, _ in rows(result)] == [call]
    assert rows(host.run("search", "--repo", str(repo), "--json", call)) == rows(result)
    assert rows(result)[0][1] == found


def test_a_miss_is_told_to_people_without_tags(host: Host, repo: Repo) -> None:
    missed = [host.run("s", *words, cwd=repo.path).check(1).err for words in (["Box.putt"], ["method", "Box.putt"])]
    assert missed[0] == missed[1], missed
    assert "Class Box in app/box.py defines: put" in missed[0] and "<" not in missed[0]


def test_a_pipe_has_colours_if_they_are_forced(host: Host, repo: Repo) -> None:
    for value, has_colour in (("1", True), ("0", False), ("", False)):
        shown = host.run("search", "--repo", str(repo), "put", env={"CLICOLOR_FORCE": value}).check().out
        assert ("\x1b[35mapp/box.py\x1b[0m:" in shown) == has_colour


@pytest.mark.parametrize("words", [["class", "Nope"], ['search_class("Nope")'], ["callers", "put"]])
def test_a_miss_ends_with_one(host: Host, repo: Repo, words: list[str]) -> None:
    for options in ([], ["--json"]):
        host.run("search", "--repo", str(repo), *options, *words).check(1)


def test_what_is_wrong_with_an_argument_is_a_mistake(host: Host, repo: Repo) -> None:
    """In JSON, an impossible call has an answer like others, and the exit code of a mistake."""
    host.run("search", "--repo", str(repo), 'search_clas("Box")').one_line(2, "did you mean search_class?")
    host.run("search", "--repo", str(repo), "--json", 'search_class("Box"').check(2)
    (row,) = host.run("search", "--repo", str(repo), "--json", 'search_code("re:(a")').check(2).rows()
    assert row["failed"] and not row["ok"], row
    (row,) = host.run("search", "--repo", str(repo), "--json", "app/box.py").check().rows()
    assert [at["line"] for at in row["lines"]] == [1, 2, 6] and row["results"][1]["class"] == "Box", row
    lines = host.run("search", "--repo", str(repo), f"{repo.path}/app/box.py:1-2", cwd=repo.path).check().out
    assert lines == BOX
    assert "there is no such call" in host.run("search", "--repo", str(repo), 'decorated("Box")').check(1).err
    host.run("search", "--repo", str(repo), "line", "app/box.py:0").one_line(2, "lines are counted from 1")
    for lines in ("5-3", "5-"):
        host.run("search", "--repo", str(repo), f"app/box.py:{lines}").one_line(2, f"{lines}' ends before it begins")
    told = host.run("search", "--repo", str(repo.path / "app"), "Box").check()
    assert "app' is a folder of the repository" in told.err and "app/box.py" in told.out
    assert "app/box.py" in host.run("search", "--repo", str(repo), "-n", "-F", "Box").check().out
    host.run("search", "--repo", str(repo), "-F", "-e", "Box").check(2)
    assert (
        "acr-host search: found no file none.py" in host.run("search", "--repo", str(repo), "none.py:1-5").check(1).err
    )
    host.run("search", "--repo", str(repo), "boxx.py").one_line(1, "no file matches 'boxx.py'; did you mean 'box.py'?")
    assert "named 'pvt'" in (missed := host.run("search", "--repo", str(repo), "-i", "pvt").check(1).err), missed
    assert "method Box.put" in missed, "the nearest names follow with every option"
    assert "lines.\n" in (told := host.run("search", "--repo", str(repo), "app/box.py:90-99").check(1).err), told
    assert len(host.run("search", "--repo", str(repo), "app/box.py:3-99").check().out.splitlines()) > 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["class"], "'class' takes one argument, NAME"),
        (["method", "a", "b"], "no file matches 'b'; give one name or TEXT, in quotes if it has several words"),
        (["return x", "b"], "no file matches 'b'; give one name or TEXT"),
        (["search_class("], "'search_class(' is not a Python call"),
        (["line", "app/box.py"], "FILE:NUMBER"),
        (["line", "app/box.py:7-3"], "FILE:FROM-TO"),
        (["line", "app/box.py:6", "--in", "x"], "--in does not apply to 'line'"),
        (["class", "Box", "--regex"], "-e, -i, -w, -A, -B and -C work only with TEXT, /TEXT"),
        (["-iC2", "class", "Box"], "-e, -i, -w, -A, -B and -C work only with TEXT, /TEXT"),
        (["-v", "put"], "there is no option -v; a search cannot be inverted"),
        (["-rn", "put", "."], "-r is --repo, and 'n' is no folder"),
        (["-t", "py", "put"], "-t takes no type: it adds tests to the Python files"),
        (["--color=always", "put"], "there is no option --color; set CLICOLOR_FORCE=1 for colours in a pipe"),
        (["--type", "py", "put"], "there is no option --type; Python files are searched by default"),
        (["put", "-C1", "--json"], "--json shows no lines"),
        (["-we", "a)|(b"], "cannot search for 'a)|(b': it is not a valid pattern"),
        (["-e", "["], "cannot search for '[': it is not a valid pattern"),
        ([""], "give a name or a text to search for"),
        (["put", "boxes.py"], "no file matches 'boxes.py'; did you mean 'box.py'?"),
        (["put", "app/boxes.py"], "no file matches 'app/boxes.py'; did you mean 'app/box.py'?"),
        (["put", "ap/"], "no file matches 'ap/'; did you mean 'app/'?"),
        (["  "], "give a name or a text to search for"),
        (["lint", "nope.py"], "no file matches 'nope.py'; give one"),
        (["methd", "put"], "no file matches 'put'; did you mean 'method' as the first word?"),
        (["uses", "Box.put"], "no file matches 'Box.put'; did you mean 'callers' as the first word?"),
        (["--in", "x", 'search_class("Box")'], "-C need a name or a text"),
        (["-A1", 'search_class("Box"'], "-C need a name or a text"),
    ],
)
def test_words_that_do_not_fit_are_told(host: Host, repo: Repo, words: list[str], said: str) -> None:
    host.run("search", "--repo", str(repo), *words).one_line(2, said)


TEST = {
    "tests/test_box.py": "from app.box import Box\n\n\nclass TestBox:\n    def test_put(self):\n        Box().put(1)\n",
    "use.py": "import native\n\n\nclass Use:\n    def go(self):\n        native.begin()\n\n    def end(self):\n"
    "        self.end()\n",
    "app/__init__.py": "from .shelf import put\n",
    "app/end.py": "x.end()\n",
    "kinds.py": "from app.box import Box\n\n\ndef use(box: Box) -> None:\n    pass\n",
    "old.py": "class Old:\n    print 'x'\n",
    "kin.py": "LIMIT = 3\n\n\nclass Base:\n    def act(self):\n        return LIMIT\n\n\nclass Kin(Base):\n    def act(self):\n"
    "        return super().act()\n\n    def go(self, other):\n        Base.act(self)\n        what = other.act\n        return what, self.act()\n",
    "app.toml": 'key = "value"\n',
    "doc/conf.py": "value = 1\n",
    "doc/value.txt": "the value\n",
    "doc/raw.bin": "value\0\nthe value\n",
}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("class Box", BOX),
        ("search_class Box", BOX),
        ("class Box --vimgrep", "app/box.py:1:1:class Box:\n"),
        ("method put -m1", "app/box.py:2:    def put(self, x):\napp/box.py:3:        self.x = x\n"),
        ("method put --count", "app/box.py:2\napp/shelf.py:1\n"),
        ("code return --files-with-matches", "app/box.py\napp/shelf.py\nkin.py\n"),
        ("code return --in app/s*.py", "app/shelf.py:2:    return (x,)\n"),
        ("code (x, --in app/", "app/shelf.py:2:    return (x,)\n"),
        ("value . -c", "app.toml:1\ndoc/conf.py:1\ndoc/value.txt:1\n"),
        ("-e val.e doc/ -l", "doc/conf.py\ndoc/value.txt\n"),
        ("code Box( --vimgrep --tests", "tests/test_box.py:6:9:        Box().put(1)\n"),
        ("method test_put --tests --limit 1 --vimgrep", "tests/test_box.py:5:5:    def test_put(self):\n"),
        ("code import --in tests", "tests/test_box.py:1:from app.box import Box\n"),
        ("box.py", "app/box.py:1:class Box:\napp/box.py:2:    def put(self, x):\napp/box.py:6:def put(x):\n"),
        ("app/shelf.py -c", "app/shelf.py:1\n"),
        ("Box( -t", "tests/test_box.py:6:        Box().put(1)\n"),
        ("callers Box --vimgrep", "kinds.py:4:14:def use(box: Box) -> None:\n"),
        ("callers Use.end --vimgrep", "use.py:9:14:        self.end()\napp/end.py:1:3:x.end()\n"),
        (
            "callers Kin.act --vimgrep",
            "kin.py:16:27:        return what, self.act()\nkin.py:15:22:        what = other.act\n",
        ),
        ("callers Base.act -l", "kin.py\n"),
        ("callers Base.act -m2", "kin.py:11:        return super().act()\nkin.py:14:        Base.act(self)\n"),
        ("LIMIT", "kin.py:1:LIMIT = 3\n"),
        ("def act -c", "kin.py:2\n"),
        ("callers Box tests -t", "tests/test_box.py:6:        Box().put(1)\n"),
        ("begin --vimgrep", "use.py:6:16:        native.begin()\n"),
        ("nativ -c", "use.py:2\n"),
        ("valu . -w", None),
        ("native(", None),
        ("app.put -c", "app/shelf.py:1\n"),
        ("-wi VALUE . -c", "app.toml:1\ndoc/conf.py:1\ndoc/value.txt:1\n"),
        ("-we the.val[a-z]+ doc/", "doc/value.txt:1:the value\n"),
        ("/put box.py -A1 -w --vimgrep", "app/box.py:2:9:    def put(self, x):\napp/box.py:6:5:def put(x):\n"),
        ("-F class -g app/ -c", "app/box.py:1\n"),
        ("-w class -g app/ -l", "app/box.py\n"),
        ("put app/s*.py -w -A9 -C1", "app/shelf.py:1:def put(x):\napp/shelf.py:2:    return (x,)\n"),
        (
            "box.PUT -i -C1",
            "app/box.py-1-class Box:\napp/box.py:2:    def put(self, x):\napp/box.py:3:        self.x = x\n"
            "app/box.py-4-\n",
        ),
        (
            "self.x -C1 --limit 1",
            "app/box.py-2-    def put(self, x):\napp/box.py:3:        self.x = x\napp/box.py-4-\n",
        ),
        ("x, --before-context 1 -A 0", "app/shelf.py-1-def put(x):\napp/shelf.py:2:    return (x,)\n"),
        (
            "def box.py shelf.py -B1 --context=2",
            "app/box.py-1-class Box:\napp/box.py:2:    def put(self, x):\napp/box.py-3-        self.x = x\n"
            "app/box.py-4-\napp/box.py-5-\napp/box.py:6:def put(x):\napp/box.py-7-    return [x]\n"
            "--\napp/shelf.py:1:def put(x):\napp/shelf.py-2-    return (x,)\n",
        ),
        ("return app/ -B1 --limit 1 -A9", "app/box.py-6-def put(x):\napp/box.py:7:    return [x]\n"),
        ("-i SELF.X --vimgrep", "app/box.py:3:9:        self.x = x\n"),
        (r"-e \s+native\.b --vimgrep", "use.py:6:1:        native.begin()\n"),
        ("TestBox -c", "tests/test_box.py:1\n"),
        ("TestBox -t -c", "tests/test_box.py:1\n"),
        ("Old -c", "old.py:1\n"),
        ("key --vimgrep", 'app.toml:1:1:key = "value"\n'),
        ("put -c", "app/box.py:2\napp/shelf.py:1\n"),
        ("/return -l -g app/s*.py", "app/shelf.py\n"),
        ("code value app.toml doc/ -l", "app.toml\ndoc/conf.py\ndoc/value.txt\n"),
        ("put box.py app/shelf.py -c", "app/box.py:2\napp/shelf.py:1\n"),
        ("Box( use.py -g tests/ -t", "tests/test_box.py:6:        Box().put(1)\n"),
        ("line box.py:2-3", "app/box.py:2:    def put(self, x):\napp/box.py:3:        self.x = x\n"),
    ],
)
def test_people_get_path_line_and_text(host: Host, make_repo: Make, words: str, shown: str | None) -> None:
    found = host.run("search", "--repo", str(make_repo(FILES | TEST)), *words.split()).check(shown is None)
    assert found.out == (shown or "")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["zzz put"], "-l"),
        (["wrong.put"], "-c"),
        (["PUT"], "--vimgrep"),
        (["def put(self, y)"], "--limit=9"),
        (["class", "wrong.Box"], "--json"),
        (["Box.put", "shelf.py"], "-t"),
    ],
)
def test_what_is_only_similar_is_no_result(host: Host, repo: Repo, words: list[str], option: str) -> None:
    missed = host.run("search", "--repo", str(repo), option, *words).check(1)
    assert rows(missed)[0][1] == [] if option == "--json" else missed.out == ""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("zzz", "no class or function is named 'zzz', and no line contains it; try a part of the name, or -i"),
        ("nativ", "no class or function is named 'nativ'; these lines contain it"),
        ("key", "no class or function is named 'key'; these lines contain it"),
        ("native", "no class or function is named 'native'; these lines contain it"),
        ("value", "named value; it is an assigned name (/value finds all its lines)."),
        ("re.*urn", "no line contains 're.*urn'; write -e before it"),
        ("zz/", "no line contains 'zz/', and there is no such folder"),
        ("native.begin app/", "'native.begin' is not in app/; 1 other Python file contains it (leave out app/ to"),
        ("doc/raw.bin:1-2", "doc/raw.bin is a binary file."),
        ("doc/", "'doc/'; it is a file, folder or module: write FILE:1-20 to see lines"),
    ],
)
def test_a_word_that_is_no_definition_gets_one_message(host: Host, make_repo: Make, word: str, said: str) -> None:
    found = host.run("search", "--repo", str(make_repo(FILES | TEST)), *word.split())
    assert found.err.count("\n") == 1 and said in found.err, found.err


def test_paths_are_relative_to_the_current_folder(host: Host, make_repo: Make) -> None:
    """Those of answers and arguments; of two files of one name, the one below the folder is meant."""
    repo = make_repo(FILES | TEST | {"tests/use.py": "a = 1\n", "b.py": "", "app/b.py": "zed\n", "app/app/b.py": ""})
    for folder, words, shown in (
        ("app", "Box", BOX.replace("app/", "")),
        ("app", "code put( .. -l", "box.py\nshelf.py\n../tests/test_box.py\n"),
        ("app", "code put( . -l", "box.py\nshelf.py\n"),
        ("app", f"end( {repo.path}/use.py", "../use.py:9:        self.end()\n"),
        ("app", "b.py:1-3", "b.py:1:zed\n"),
        ("app", "code zed box.py -g b.py -l", "b.py\n"),
        ("tests", "../app/box.py:1-2", BOX.replace("app/", "../app/")),
        ("tests", "code a -g use.py -c", "use.py:1\n"),
        (".", "code a -g ./tests -c", "tests/test_box.py:2\ntests/use.py:1\n"),
    ):
        assert host.run("s", *words.split(), cwd=repo.path / folder).check().out == shown
    row = host.run("s", "--json", "class", "Box", cwd=repo.path / "app").check().rows()[0]
    assert row["results"][0]["file"] == "app/box.py"


def test_callers_in_tests_are_counted(host: Host, make_repo: Make) -> None:
    repo = make_repo(FILES | TEST)
    for words, said in (
        ("callers Box", "1 more line in tests; -t shows it"),
        ("Box( -t", ""),
        ("callers end", ""),
    ):
        found = host.run("search", "--repo", str(repo), *words.split()).check()
        assert said in found.err and ("in tests" in found.err) == bool(said)


def test_a_filter_that_matches_no_file_is_told(host: Host, repo: Repo) -> None:
    missed = host.run("search", "--repo", str(repo), "code", "put", "--in", "lib/*.py").check(1)
    assert missed.out == ""
    assert "no file matches --in 'lib/*.py'" in missed.err


def test_without_git_the_current_folder_is_searched(host: Host, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "box.py").write_text("class Box:\n    pass\n", "utf-8")
    (tmp_path / "other.py").write_text("class Box:\n    pass\n", "utf-8")
    assert host.run("s", "Box", cwd=tmp_path / "inner").check().out.startswith("box.py:1")


def test_a_folder_that_is_too_large_is_refused_unread(host: Host, tmp_path: Path) -> None:
    for number in range(17):
        (tmp_path / f"{number}.bin").touch()
        os.truncate(tmp_path / f"{number}.bin", 32 * 1024 * 1024)  # takes no space on the disk
    refused = host.run("search", "--repo", tmp_path, "x").check(3)
    assert "is not a git repository, and has 17 files and folders, 544 MiB in total" in refused.err
    assert "name a smaller folder with --repo" in refused.err


def test_the_list_names_every_call_and_word(host: Host, tmp_path: Path) -> None:
    out = host.run("search", "--list", cwd=tmp_path).check().out
    assert "search_method_in_file(method_name: str, file_name: str)\n    Shows the functions" in out
    assert "method NAME or CLASS.NAME [WHERE]\n" in out


def test_a_pipe_has_the_words_of_the_prompt(host: Host, repo: Repo) -> None:
    """`help` and `quit` are commands there, too, unless the output is JSON."""
    lines = "help\nclass Box\nquit\nput\n"
    out = host.run("search", "--repo", repo, input=lines).check().out
    assert "quit                 end" in out and BOX in out and "shelf" not in out
    answered = host.run("search", "--repo", repo, "--json", input=lines).check(1).rows()
    assert [row["call"] for row in answered][1::2] == ["class Box", 'search_method("put")']
    assert [row["ok"] for row in answered] == [False, True, False, True]
    wrong = host.run("search", "--repo", repo, "--json", input="put(5\nput --nope\n-i class Box\n").check(1).rows()
    assert [(row["call"], row["failed"]) for row in wrong] == [
        ("put(5", True), ("put --nope", True), ("-i class Box", True),
    ]  # fmt: skip


def test_whole_words_are_emphasised(host: Host, repo: Repo) -> None:
    repo.write({"app/more.py": "put = input_put = put_put\n"})
    shown = on_screen(host, "search", "--repo", repo, "-w", "put", "app/more.py")
    assert re.sub(rb"\x1b\[1;31m(\w+)\x1b\[0m", rb"<\1>", shown.raw).count(b"<put> = input_put = put_put") == 1


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
    """The prompt on a separate terminal."""

    def __init__(self, host: Host, repo: Repo, state: Path) -> None:
        self.master, slave = pty.openpty()
        streams = {"stdin": slave, "stdout": slave, "stderr": slave}
        env = {"TERM": "dumb", "XDG_STATE_HOME": str(state)}
        self.process = host.start("search", "--repo", repo, env=env, **streams)
        os.close(slave)
        self.seen = ""

    def until(self, text: str) -> str:
        """The output up to a text."""
        end = time.monotonic() + 60 * SLOWNESS
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode()
                except OSError:  # the other end is closed
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
    assert "\napp/box.py\r\n1:class Box:" in terminal.until("search> ")
    terminal.keys("class Bo\t\r")
    assert "\napp/box.py\r\n1:class Box:" in terminal.until("search> ")
    terminal.keys("method Box.p\t\r")
    assert "2:    def put(self, x):" in terminal.until("search> ")
    terminal.keys("\x04")
    assert terminal.process.wait(60 * SLOWNESS) == 0
    kept = (tmp_path / "state" / "acr-host" / "search_history").read_text().splitlines()
    assert [line.replace(" ", "") for line in kept] == [
        'get_code_around_line("box.py",1,0)',
        "classBox",
        "methodBox.put",
    ]
    again = Terminal(host, repo, tmp_path / "state")
    again.until("search> ")
    again.keys("\x10\r")  # Ctrl-P: the previous line
    assert "2:    def put(self, x):" in again.until("search> ")
    again.keys("list\r")
    assert "Short forms:" in again.until("search> ")
    again.keys("quit\r")
    again.process.wait(60 * SLOWNESS)
    os.close(again.master)


def test_a_prompt_takes_options_and_follows_the_files(terminal: Terminal, repo: Repo) -> None:
    terminal.keys("put app/s*.py\rput -l\r")
    assert "app/box.py\r\napp/shelf.py\r\n" in terminal.until("search> ") + terminal.until("search> ")
    (repo.path / "app/shelf.py").write_text("def put(x):\n    return {x}\n\n\ndef take():\n    return 1\n")
    terminal.keys("take\r")
    assert "5:def take():" in terminal.until("search> ")
    terminal.keys("return {x} app/\r")
    assert "2:    return {x}" in terminal.until("search> ")
    terminal.keys("put nosuch\r")
    assert "'put nosuch' was searched for as one text" in " ".join(terminal.until("search> ").split())
    terminal.keys("put --nope\r")
    assert "there is no option --nope" in terminal.until("search> ")
    terminal.keys("quit\r")
    assert terminal.process.wait(60 * SLOWNESS) == 0


def test_ctrl_c_at_the_prompt_drops_the_line(terminal: Terminal) -> None:
    terminal.keys("class B")
    terminal.until("class B")
    os.kill(terminal.process.pid, signal.SIGINT)
    terminal.until("search> ")
    terminal.keys("\x04")
    assert terminal.process.wait(60 * SLOWNESS) == 0
