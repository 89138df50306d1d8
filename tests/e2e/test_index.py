"""The index with hostile input: every call gets an answer, counts are right, no file changes, no process is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

import pytest
from fewer import usually
from host import Host
from indexing import SANITIZED, all_gone, counts, eight_calls, history, index, reasons, search, untouched, workers
from repos import Repo

Make = Callable[..., Repo]
A = "class C:\n    def f(self):\n        return 1\n"


def everything_answers(host: Host, repo: Repo, calls: list[str] | None = None, timeout: float = 60) -> dict[str, Any]:
    """All eight calls, cold and warm, with one worker and many, on the work tree and on HEAD; returns the index's row."""
    calls = calls or eight_calls()
    with untouched(repo):
        cold = search(host, repo, calls, "--jobs", "1", timeout=timeout)
        warm = search(host, repo, calls, timeout=timeout)
        commit = search(host, repo, calls, "--rev", "HEAD", "--no-cache", "--jobs", "8", timeout=timeout)
        row = index(host, repo, "--verbose", timeout=timeout)
        assert all_gone(host)
    assert cold.stdout == warm.stdout == commit.stdout
    assert len(reasons(row)) == row["unparsable"]
    return row


# ---- What index prints ----


def test_index_counts_what_is_there(host: Host, make_repo: Make) -> None:
    """Counts of entries, files, symbols, outlined files and others, in JSON and as text."""
    files = {
        "a.py": A,  # C, f
        "b.py": "import os\nx = 1\nclass D(C):\n    y = 2\n",  # os, x, D, y
        "b2.py": "import os\nx = 1\nclass D(C):\n    y = 2\n",  # the same blob
        "old.py": "print 'x'\n",
        "test_a.py": A,
        "tests/b.py": A,
        "conftest.py": A,
        "notes.txt": "class Text:\n",
        "empty.py": "",
    }
    repo = make_repo(files)
    first = index(host, repo, "--verbose")
    assert counts(first) == {"entries": 9, "files": 5, "symbols": 10, "unparsable": 1}
    assert first["parsed"] + first["cached"] == 5
    assert list(reasons(first)) == ["old.py"] and "line 1: " in reasons(first)["old.py"]
    second = index(host, repo)
    assert (second["parsed"], second["cached"]) == (0, 5) and counts(second) == counts(first)
    assert all(first[name] > 1000 for name in ("peak_memory_kib", "worker_peak_memory_kib"))
    assert second["worker_peak_memory_kib"] == 0
    text = host.run("index", "--repo", repo, "--verbose").check()
    assert dict(line.split() for line in text.out.splitlines()).keys() == second.keys()
    assert text.one_line(0, "'old.py' cannot be parsed; it is searched as plain text: line 1: ")
    assert host.run("index", "--repo", repo).check().err == ""


def test_any_number_of_jobs_gives_the_same(host: Host, tmp_path: Path) -> None:
    """There may be more jobs than files or processors."""
    repo, commits = history(tmp_path / "repo", 60, 2)
    calls = eight_calls("C7", "m3_1", "mod7.py")
    told = {search(host, repo, calls, "--no-cache", "--jobs", jobs).stdout for jobs in (1, 3, 64)}
    told |= {search(host, repo, calls, *more).stdout for more in ([], ["--rev", commits[1]])}
    assert len(told) == 1
    rows = [index(host, repo, "--no-cache", "--jobs", jobs) for jobs in (1, 5)]
    assert [row["parsed"] for row in rows] == [60] * 2 and len({str(counts(row)) for row in rows}) == 1


@pytest.mark.parametrize("jobs", ["0", "-1", "65", "1.5", "x", "", "99999999999999999999"])
def test_jobs_that_are_none(host: Host, make_repo: Make, jobs: str) -> None:
    """Exit code 2 and one line, from each verb."""
    repo = make_repo({"a.py": A})
    for verb in ("index", "search", "patch"):
        host.run(verb, "--repo", repo, "--jobs", jobs, input="").one_line(2, "--jobs must be from 1 to 64")


def test_at_most_so_many_workers_as_jobs(host: Host, tmp_path: Path) -> None:
    """No more workers are started than are useful."""
    repo, _ = history(tmp_path / "repo", 150, 1)
    for jobs, most in ((1, 1), (3, 3), (64, 13)):
        seen = 0
        while not seen:  # they may have ended before this process looks
            child = host.start("index", "--repo", repo, "--no-cache", "--jobs", jobs)
            while child.poll() is None:
                seen = max(seen, len(workers(host)))
            assert child.returncode == 0 and seen <= most
    assert all_gone(host)


def test_an_empty_repository_has_an_index(host: Host, make_repo: Make, tmp_path: Path) -> None:
    """Repositories: without a commit, with an empty commit, bare, a folder without git, without a Python file."""
    nothing = make_repo({}, name="nothing")
    plain = tmp_path / "plain"
    plain.mkdir()
    other = make_repo({"a.c": "int f;\n"}, name="other")
    for repo, entries in ((nothing, 0), (plain, 0), (other, 1)):
        assert counts(index(host, repo)) == {"entries": entries, "files": 0, "symbols": 0, "unparsable": 0}
        search(host, repo, eight_calls()).check(1)
    bare = tmp_path / "bare.git"
    other.git("clone", "-q", "--bare", str(other.path), str(bare))
    assert index(host, bare)["entries"] == 1
    host.run("index", "--repo", nothing, "--rev", "HEAD").one_line(3, "has no commits")


# ---- Odd files -------------

BOM = b"\xef\xbb\xbf"
LATIN = "class Müller:\n    def gruß(self):\n        return 'é'\n"
CLASS = b"class K%d:\n    pass\n"
#: name -> (content, a word of the reason, or None if it has symbols).
ODD: dict[str, tuple[bytes, str | None]] = {
    "py2_print.py": (b"print 'a'\n" + A.encode(), "line 1: "),
    "py2_except.py": (b"try:\n    pass\nexcept E, e:\n    pass\n", "line 3: "),
    "py2_octal.py": (b"x = 0777\n", "line 1: "),
    "py2_latin1.py": (b"# \xe9\nprint 'a'\n", "line 2: "),
    "newer.py": (b"x = 1\nfrom __future__ import == 3.99\n", "line 2: "),
    "latin1_cookie.py": (("# coding: latin-1\n" + LATIN).encode("latin-1"), None),
    "latin1_bare.py": (LATIN.encode("latin-1"), None),
    "cp1252.py": (b"# -*- coding: cp1252 -*-\nclass Euro:\n    a = '\x80'\n", None),
    "cookie_lies.py": (b"# coding: ascii\nclass Lies:\n    a = '\xe9'\n", None),
    "cookie_unknown.py": (b"# coding: klingon\nclass Unknown:\n    pass\n", None),
    "cookie_no_text.py": (b"# coding: hex\nclass NoText:\n    pass\n", None),
    "cookie_undefined.py": (b"# coding: undefined\nclass Undefined:\n    pass\n", "undefined"),
    "cookie_utf7.py": (b"# coding: utf-7\nclass Seven:\n    pass\n", None),
    "utf16.py": ("class Wide:\n    pass\n".encode("utf-16"), "null bytes"),
    "utf16_bare.py": ("class Wide:\n    pass\n".encode("utf-16-le"), "null bytes"),
    "bom.py": (BOM + b"class Bom:\n    pass\n", None),
    "bom_only.py": (BOM, None),
    "bom_latin1.py": (BOM + b"# coding: latin-1\nclass BomCookie:\n    pass\n", None),
    "nul.py": (b"class Nul:\n    pass\n\0", "null bytes"),
    "nul_only.py": (bytes(10_000), "null bytes"),
    "cr.py": (b"class Cr:\r    def f(self):\r        pass\r", None),
    "formfeed.py": (b"\x0cclass Feed:\n\x0c    def f(self):\n        pass\n", None),
    "surrogate.py": (b"class S:\n    '\xed\xa0\x80'\n", None),
    "binary.py": (bytes(range(1, 256)) * 40, ""),
    "deep_plus.py": (b"x = 1" + b"+1" * 50_000, "nested"),
    "deep_minus.py": (b"x = " + b"-" * 50_000 + b"1", "deep"),
    "deep_not.py": (b"x = " + b"not " * 50_000 + b"1", "deep"),
    "deep_dots.py": (b"x = a" + b".a" * 50_000, "nested"),
    "deep_calls.py": (b"x = a" + b"()" * 50_000, "nested"),
    "deep_lambda.py": (b"x = " + b"lambda: " * 50_000 + b"1", "deep"),
    "deep_base.py": (b"class B(a" + b".a" * 50_000 + b"):\n    pass\n", "nested"),
    "deep_elif.py": (b"if a:\n    pass\n" + b"elif b:\n    pass\n" * 20_000, "deep"),
    "deep_blocks.py": (b"".join(b" " * n + b"if 1:\n" for n in range(150)) + b" " * 150 + b"x", "indentation"),
    "parentheses.py": (b"x = " + b"(" * 10_000 + b")" * 10_000, "parentheses"),
    "brackets_open.py": (b"[" * 9_999, ""),
    "digits.py": (b"x = " + b"9" * 100_000, "digits"),
    "decorators.py": (b"@d\n" * 20_000 + b"def decorated():\n    pass\n", None),
    "targets.py": (b"t = " * 20_000 + b"1\n", None),
    "long_name.py": (b"class " + b"N" * 100_000 + b":\n    pass\n", None),
    "nested_classes.py": (b"".join(b" " * n + b"class N%d:\n" % n for n in range(95)) + b" " * 95 + b"pass", None),
    "stringy.py": (b"x = '''" + b"\n\t\\\x1f" * 5_000 + b"'''\nclass Stringy(a['\\t\\n\x1f\\\\']):\n    pass\n", None),
    "colons.py": (b"def f(a='''\n:\n''', *, # :\n  b=lambda: 0\n):  # :\n    pass\n", None),
}


def test_odd_files_count_as_text_or_not_at_all(host: Host, make_repo: Make) -> None:
    """Other versions of Python, other encodings, any depth: each affects only itself, and has a reason."""
    repo = make_repo({name: content for name, (content, _) in ODD.items()} | {"a.py": A})
    row = everything_answers(host, repo)
    told = reasons(row)
    assert set(told) == {name for name, (_, reason) in ODD.items() if reason is not None}
    for name, (_, reason) in ODD.items():
        assert reason is None or reason in told[name], (name, told[name])
    assert row["files"] == len(ODD) + 1 and row["cached"] == row["files"]
    found = ["Müller", "Euro", "Lies", "Unknown", "NoText", "Seven", "Bom", "BomCookie", "Cr", "Feed", "Stringy"]
    for answer in search(host, repo, [f"search_class({name!r})" for name in found]).check().rows():
        assert answer["results"], answer
    lines = host.run("index", "--repo", repo, "--verbose").check().err.splitlines()
    assert len(lines) == len(told) == len({line.split("'")[1] for line in lines})


def test_each_odd_file_answers_when_it_is_asked_about(host: Host, make_repo: Make) -> None:
    """The calls name the file."""
    repo = make_repo({name: content for name, (content, _) in ODD.items()})
    index(host, repo)
    calls = ["search_class_in_file('K', {})", "search_method_in_file('f', {})", "search_code_in_file('x', {})"]
    calls += ["get_code_around_line({}, 1, 500)"]
    search(host, repo, [call.format(repr(name)) for name in ODD for call in calls])


def odd_names() -> list[bytes]:
    """File names that confuse parsers of lines, fields or text."""
    names = [b"new\nline.py", b"tab\tbed.py", b"unit\x1f.py", b"back\\slash.py", b"\xff\xfe.py", b"caf\xe9.py", b" .py"]
    names += [b"-rf.py", b"--help.py", b"'quote'.py", b'"double".py', b"$(touch x).py", b"a\rb.py", b"\x01\x7f.py"]
    names += [b"n" * 252 + b".py", b".py", b"..py", "каталог/файл.py".encode(), "\u202e.py".encode(), b"[*]?.py"]
    return names + [b"d\xff/x\n/in.py", b"/".join([b"deep"] * 200) + b"/end.py"]


def test_names_that_are_odd(host: Host, make_repo: Make) -> None:
    """Line feeds, tabs, invalid UTF-8, the longest names, two hundred folders: indexed, shown, and never changed."""
    repo = make_repo({"a.py": A, "broken.py": "print 1\n"})
    for number, name in enumerate(odd_names()):
        path = os.path.join(os.fsencode(repo.path), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"class K{number}:\n    def f(self):\n        return {number}\n")
        with open(path[:-8] + b"_bad.py" if len(name) == 255 else path[:-3] + b"_bad.py", "w") as file:
            file.write("print 1\n")
    repo.commit({})
    row = everything_answers(host, repo, eight_calls() + ["search_code('print 1')", "search_code('return 1')"])
    n = len(odd_names())
    assert counts(row) == {"entries": 2 * n + 2, "files": 2 * n + 2, "symbols": 2 * n + 2, "unparsable": n + 1}
    answers = search(host, repo, [f"search_class('K{number}')" for number in range(n)]).check().rows()
    assert all(len(answer["results"]) == 1 for answer in answers)
    lines = host.run("index", "--repo", repo, "--verbose").check().stderr.splitlines()
    assert len(lines) == n + 1 and all(line.startswith(b"acr-host index: '") for line in lines)
    host.run("index", "--repo", repo, "--verbose", "--json").check().rows()


def test_links_and_what_is_no_file(host: Host, make_repo: Make, tmp_path: Path) -> None:
    """Loops, links out of the tree, to folders and to nothing, pipes, sockets: not followed, not opened."""
    (tmp_path / "outside.py").write_text("class Outside:\n    pass\n")
    repo = make_repo({"a.py": A})
    links = {
        "loop.py": "loop.py",
        "ping.py": "pong.py",
        "pong.py": "ping.py",
        "out.py": str(tmp_path / "outside.py"),
        "dots.py": "../outside.py",
        "nothing.py": "/nowhere/at/all",
        "again": ".",
        "up": "..",
        "root": "/",
        "device.py": "/dev/zero",
    }
    for name, target in links.items():
        (repo.path / name).symlink_to(target)
    repo.commit({})
    row = everything_answers(host, repo)
    assert counts(row) == {"entries": 1 + len(links), "files": 1, "symbols": 2, "unparsable": 0}
    search(host, repo, ["search_class('Outside')"]).check(1)
    os.mkfifo(repo.path / "pipe.py")
    assert counts(index(host, repo))["files"] == 1


def test_files_that_change_under_the_index(host: Host, tmp_path: Path) -> None:
    """Files are written, removed and replaced by folders meanwhile; each call gets an answer or one line of error."""
    repo, _ = history(tmp_path / "repo", 80, 1)
    other = "class Other:\n    pass\n"
    for turn in range(12):
        child = host.start("search", "--repo", repo, "--json", *eight_calls("C7", "m3_0", "mod7.py"))
        while child.poll() is None:
            for n in range(turn, 80, 7):
                path = repo.path / f"pkg{n % 7}" / f"mod{n}.py"
                path.unlink(missing_ok=True)
                path.write_text(other * (turn + 1))
        out, err = child.communicate()
        assert child.returncode in (0, 1, 3), err
        assert len(err.splitlines()) <= 1 and (child.returncode == 3 or len(out.splitlines()) == 8), err
    repo.git("checkout", "-q", ".")
    everything_answers(host, repo, eight_calls("C7", "m3_0", "mod7.py"))


# ---- Large files -------------


@pytest.mark.full
def test_files_too_large_for_the_parser(host: Host, make_repo: Make) -> None:
    """A line of 10 MB, a table of 2 MB, and a file above the size limit."""
    check_large_files(host, make_repo, 2, 17)


def check_large_files(host: Host, make_repo: Make, dense_mib: int, huge_mib: int) -> None:
    """Each affects only itself; outlining one takes at most 512 MB."""
    files = {
        "a.py": A,
        "line.py": b"x = '" + b"a" * 10_000_000 + b"'\nclass AfterLine:\n    pass\n",
        "huge.py": b"needle = 1\n" * (huge_mib * 1024 * 1024 // 11),
        "dense.py": b"x = [" + b"1," * (dense_mib * 512 * 1024) + b"]\n",
    }
    repo = make_repo(files)
    calls = eight_calls() + ["search_code('needle = 1')", "search_class('AfterLine')"]
    with untouched(repo):
        assert search(host, repo, calls, timeout=180).rows()[-1]["ok"]
        row = index(host, repo, "--verbose", timeout=180)
        assert all_gone(host)
    told = {"huge.py": "larger than 16 MiB", "dense.py": "MemoryError: too deep or too large for the parser"}
    if SANITIZED:  # sanitizers have more memory and less time
        assert set(reasons(row)) <= set(told)
        return
    assert reasons(row) == told
    # Such failures are cached, too, for a day.
    assert (row["cached"], row["parsed"]) == (2, 0)
    again = index(host, repo, "--no-cache", "--verbose", timeout=180)
    assert (again["cached"], again["parsed"]) == (0, len(files) - 1)
    assert reasons(again) == told
    assert again["worker_peak_memory_kib"] < 512 * 1024
    result = host.run("index", "--repo", repo, "--verbose", timeout=180).check()
    assert len(result.err.splitlines()) == len(told)


@pytest.mark.parametrize("name", usually(["methods"], ["methods", "functions"]))
def test_many_symbols_of_one_file(host: Host, make_repo: Make, name: str) -> None:
    """A class with 20,000 methods; 30,000 functions with one name."""
    one = "    def m{0}(self): pass\n" if name == "methods" else "def f(): pass\n"
    n = 20_000 if name == "methods" else 30_000
    text = ("class C:\n" if name == "methods" else A) + "".join(one.format(i) for i in range(n))
    row = everything_answers(host, make_repo({"a.py": text}), eight_calls("C", "m19999" if name == "methods" else "f"))
    assert row["symbols"] == n + (1 if name == "methods" else 2)
