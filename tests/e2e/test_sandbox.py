"""A conformance suite for all sandboxes on this machine: what a command may and may not do, and that nothing is left.

Each case must pass in all backends, except those that it names with the reason: a documented limit of that backend.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import pytest
import sandboxes
from conformance import (  # noqa: F401
    PLAIN,
    SECRET,
    calls,
    engines,
    gone,
    image,
    limit_of,
    orphans,
    repo,
    sandbox,
    tmp_path,
    tree_repo,
    untouched,
    usually_in,
)
from repos import make_repo
from sandboxes import LOCAL, Sandbox

# ---- How a command ends ----------------------------------------------------------------------------


@usually_in("bubblewrap", "plain", "podman")
def test_exit_codes_pass(sandbox: Sandbox, repo: Path) -> None:
    sandbox.run(repo, "--", "sh", "-c", "exit 127").check(127)
    row = sandbox.json(repo, "--", "sh", "-c", "exit 77")
    assert (row["exit"], row["signal"], row["limit"]) == (77, None, None)


@usually_in("bubblewrap", "podman")
def test_signals_are_told(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "sh", "-c", "kill -11 $$")
    assert (row["exit"], row["signal"]) == (None, 11)
    sandbox.run(repo, "--", "sh", "-c", "kill -9 $$").check(128 + 9)


@usually_in("plain")
def test_an_exit_code_is_not_taken_for_a_signal(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "bubblewrap", "bubblewrap-user", "podman", "dockerd", why="it tells signal N as exit 128 + N")
    row = sandbox.json(repo, "--", "sh", "-c", "exit 143")
    assert (row["exit"], row["signal"]) == (143, None)


@usually_in("bubblewrap", "podman")
def test_an_end_that_is_later_than_that_of_the_streams(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "sh", "-c", "exec >&- 2>&-; sleep 0.5; exit 5")
    assert (row["exit"], row["limit"]) == (5, None)
    assert row["wall_ms"] >= 500


@usually_in("bubblewrap", "podman")
def test_a_program_that_is_not_there(sandbox: Sandbox, repo: Path) -> None:
    assert sandbox.json(repo, "--", "no-such-program")["exit"] == 127


@usually_in("bubblewrap")
def test_python_is_there_without_a_number(sandbox: Sandbox, repo: Path) -> None:
    """Debian has only python3."""
    limit_of(sandbox, "plain", "podman", "dockerd", why="the programs are those of the machine or the image")
    row = sandbox.json(repo, "--", "python", "-c", "import sys; print(sys.version_info >= (3, 6))")
    assert (row["exit"], row["stdout"]) == (0, "True\n"), row


@usually_in("bubblewrap")
def test_a_file_that_cannot_be_run(sandbox: Sandbox, repo: Path) -> None:
    assert sandbox.json(repo, "--", "./README")["exit"] == 126


@usually_in("bubblewrap", "podman")
def test_streams_pass(sandbox: Sandbox, repo: Path) -> None:
    result = sandbox.run(repo, "--", "sh", "-c", "echo out; echo err >&2")
    assert (result.out, result.err) == ("out\n", "err\n")
    row = sandbox.json(repo, "--", "sh", "-c", "echo out; echo err >&2")
    assert (row["stdout"], row["stderr"]) == ("out\n", "err\n")
    assert (row["stdout_bytes"], row["stderr_bytes"]) == (4, 4)


@usually_in("bubblewrap")
def test_bytes_that_are_no_text(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "cat", "pkg/data.bin")
    assert list(row["stdout"]) == ["base64"] and row["stdout_bytes"] == 256


@usually_in("bubblewrap", "podman")
def test_standard_input(sandbox: Sandbox, repo: Path) -> None:
    data = b"some\0bytes\n" * 1000
    assert sandbox.run(repo, "--", "wc", "-c", stdin=data).out.strip() == str(len(data))
    assert sandbox.run(repo, "--", "cat").check(0).out == ""


@usually_in("bubblewrap", "podman")
def test_input_has_a_ceiling_in_a_container(sandbox: Sandbox, repo: Path) -> None:
    data = bytes((64 << 20) + 1)
    result = sandbox.run(repo, "--", "wc", "-c", stdin=data)
    if sandbox.is_engine:
        result.one_line(125, "standard input", str(64 << 20))
    else:
        assert result.check(0).out.strip() == str(len(data))


@usually_in("bubblewrap", "podman")
def test_input_without_an_end(sandbox: Sandbox, repo: Path) -> None:
    reader, writer = os.pipe()
    try:
        result = sandbox.run(repo, "--timeout", "1", "--", "true", stdin=reader)
    finally:
        os.close(reader)
        os.close(writer)
    if sandbox.is_engine:  # reads all input first
        result.one_line(125, "standard input", "a command starts only after all of its input has arrived")
    else:
        result.check(0)


@usually_in("bubblewrap", "plain", "podman")
def test_signals_are_as_at_any_start(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    blocked, ignored = (int(line.split()[1], 16) for line in row["stdout"].splitlines())
    own = 1 << 31 | 1 << 32  # signals 32 and 33 are reserved for the C library
    assert (blocked, ignored & ~own) == (0, 0), row


@usually_in("bubblewrap", "podman")
def test_arguments_are_not_read_by_a_shell(sandbox: Sandbox, repo: Path) -> None:
    words = ["a b", "$HOME", "`id`", "'", '"', "*", "", "--", "x\ny"]
    script = "import sys; print(sys.argv[1:])"
    assert sandbox.json(repo, "--", "python3", "-c", script, *words)["stdout"] == f"{words}\n"


# ---- The copy --------------------------------------------------------------------------------------


def test_the_tree_is_there(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(
        repo, "--", "sh", "-c", "cat README; ./run.sh; cat 'name with\nnewline.txt'; cat pkg/__init__.py"
    )
    assert row["stdout"] == "hello\nrun\nodd\nVALUE = 1\n"


@usually_in("bubblewrap", "podman")
def test_it_lies_at_its_own_path(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why="the copy lies in the cache")
    assert sandbox.json(repo, "--", "pwd")["stdout"].strip() == (sandbox.dir or str(repo))


@usually_in("bubblewrap", "plain")
def test_git_finds_the_commit_and_nothing_else_of_the_repository(sandbox: Sandbox, tmp_path: Path) -> None:
    """The git folder is like a shallow clone: it has the commit's files and the commits since the nearest tag, but no
    setting, hook, remote or later commit.
    """
    limit_of(sandbox, "podman", "dockerd", why="the image has its own, or none")
    owned = make_repo(tmp_path / "owned", {"README": "one\n"})
    repo = owned.path
    owned.git("tag", "-a", "v0", "-m", "before")
    owned.commit({"README": "two\n"})
    owned.git("tag", "v1")
    base = owned.commit({"README": "three\n"})
    owned.commit({"README": "later\n"})
    owned.git("tag", "v2")
    owned.git("config", "alias.st", "!touch /tmp/alias")
    owned.git("remote", "add", "origin", "https://user:pass@localhost/x")
    (repo / ".git" / "hooks" / "post-commit").write_text(f"#!/bin/sh\ntouch {repo.parent}/hook\n")
    (repo / ".git" / "hooks" / "post-commit").chmod(0o755)
    if sandbox.wrapper:
        sandboxes.give(tmp_path, sandboxes.ORDINARY_USER)
    asked = (
        "git status --short; git rev-parse HEAD; git describe --tags --long; git log --all --format=%s | wc -l; git tag;"
        " git remote; git config --get alias.st; ls -d .git/hooks 2>&1 | wc -l; echo x >> README; git diff --stat;"
        " git -c user.name=a -c user.email=b commit -qam new && git log -1 --format=%s"
    )
    told = sandbox.json(repo, "--rev", base, "--", "sh", "-c", asked)["stdout"].splitlines()
    changed = [" README | 1 +", " 1 file changed, 1 insertion(+)"]
    assert told == [base, f"v1-1-g{base[:7]}", "2", "v1", "1", *changed, "new"]
    assert not (repo.parent / "hook").exists()


@usually_in("bubblewrap", "plain")
def test_a_set_up_may_ask_git_for_the_version(sandbox: Sandbox, tmp_path: Path) -> None:
    """The set-up asks git as setuptools-scm does; its output stays, and each execution has its own git folder."""
    limit_of(sandbox, "podman", "dockerd", why="the image has its own, or none")
    owned = make_repo(tmp_path / "owned", {"pkg/__init__.py": ""})
    owned.git("tag", "v3.1")
    if sandbox.wrapper:
        sandboxes.give(tmp_path, sandboxes.ORDINARY_USER)
    setup = "git describe --tags > pkg/version; echo x > .git/left"
    row = sandbox.json(
        owned.path, "--setup", setup, "--", "sh", "-c", "cat pkg/version; ls .git/left; git status --short"
    )
    assert row["stdout"].split() == ["v3.1", "??", "pkg/version"]


@usually_in("bubblewrap")
def test_tags_are_those_of_the_repository_now(sandbox: Sandbox, tmp_path: Path) -> None:
    """This holds after a set-up used the tags, and for the same commit in another repository."""
    limit_of(sandbox, "podman", "dockerd", why="the image has its own, or none")
    owned = make_repo(tmp_path / "owned", {"README": "one\n"})
    owned.git("clone", "-q", ".", str(tmp_path / "other"))
    head, tags = owned.git("rev-parse", "HEAD"), owned.path / ".git" / "refs" / "tags"
    if sandbox.wrapper:
        sandboxes.give(tmp_path, sandboxes.ORDINARY_USER)
    ask = ["--setup", "git describe --tags --always > made", "--", "sh", "-c", "cat made; git describe --tags --always"]

    def told(name: str) -> list[str]:
        return sandbox.json(tmp_path / name, *ask)["stdout"].split()

    assert told("owned") == told("other") == [head[:7]] * 2
    (tags / "v1").write_text(head)
    assert told("owned") == ["v1"] * 2 and told("other") == [head[:7]] * 2
    (tags / "v1").rename(tags / "v2")
    assert told("owned") == ["v2"] * 2


@usually_in("bubblewrap")
def test_a_folder_without_git_has_none(sandbox: Sandbox, tmp_path: Path) -> None:
    limit_of(sandbox, "podman", "dockerd", why="the image has its own, or none")
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    if sandbox.wrapper:
        sandboxes.give(tmp_path, sandboxes.ORDINARY_USER)
    assert (
        sandbox.json(folder, "--", "sh", "-c", "ls -A; git status 2>&1 | head -1")["stdout"].splitlines()[0] == "a.py"
    )


STATE = """import os
for folder, folders, files in sorted(os.walk(".")):
    for name in sorted(files + folders):
        path = os.path.join(folder, name)
        kind = os.readlink(path) if os.path.islink(path) else open(path, "rb").read() if name in files else "folder"
        print(path, oct(os.lstat(path).st_mode), kind)
print(sorted(os.listdir(os.path.expanduser("~"))), os.path.exists("../here"))
"""
DAMAGE = [
    "touch -r README t; printf 'HELLO\n' >README; touch -r t README; chmod 600 run.sh; rm t; cat README",
    "echo x >here; echo x >../here; echo x >~/here; mkdir -p a/b/c && chmod 0 a/b; cat here",
    "mv pkg/__init__.py moved.py; mkdir d; mv moved.py d; rm -rf *; mkdir README pkg; ln -s /etc/passwd run.sh; ls",
]


@usually_in("bubblewrap", "plain", "podman")
def test_whatever_one_did_the_next_does_not_see(sandbox: Sandbox, repo: Path) -> None:
    before = sandbox.json(repo, "--", "python3", "-c", STATE)
    assert "VALUE = 1" in before["stdout"] and before["exit"] == 0
    for how, told in zip(DAMAGE, ("HELLO\n", "x\n", "README\npkg\nrun.sh\n")):
        assert sandbox.json(repo, "--", "sh", "-c", how)["stdout"] == told
    assert sandbox.json(repo, "--", "python3", "-c", STATE)["stdout"] == before["stdout"]


@usually_in("bubblewrap", "plain", "podman")
def test_several_at_once_do_not_see_one_another(sandbox: Sandbox, repo: Path) -> None:
    script = "echo $0 >>README; sleep 0.3; cat README"

    def one(number: int) -> str:
        return sandbox.json(repo, "--", "sh", "-c", script, str(number))["stdout"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(8))) == [f"hello\n{number}\n" for number in range(8)]


@usually_in("bubblewrap", "podman")
def test_a_patch_is_applied(sandbox: Sandbox, repo: Path, tmp_path: Path) -> None:
    patch = tmp_path / "p.diff"
    patch.write_text(
        "diff --git a/pkg/__init__.py b/pkg/__init__.py\n--- a/pkg/__init__.py\n+++ b/pkg/__init__.py\n"
        "@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"
        "diff --git a/README b/README\ndeleted file mode 100644\n--- a/README\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n"
        "diff --git a/deep/er/new.py b/deep/er/new.py\nnew file mode 100755\n--- /dev/null\n+++ b/deep/er/new.py\n"
        "@@ -0,0 +1 @@\n+print('new')\n"
    )
    patch.chmod(0o644)
    script = "cat pkg/__init__.py; ls README; python3 deep/er/new.py; ls -l deep/er/new.py"
    row = sandbox.json(repo, "--patch", str(patch), "--", "sh", "-c", script)
    assert row["stdout"].startswith("VALUE = 2\nnew\n-rwx"), row


@usually_in("bubblewrap")
def test_code_compiled_by_a_set_up_is_not_taken_for_that_of_a_patch(
    sandbox: Sandbox, repo: Path, tmp_path: Path
) -> None:
    patch = tmp_path / "p.diff"  # with the same size, and made in the same second as the tree
    names = "diff --git a/pkg/__init__.py b/pkg/__init__.py\n--- a/pkg/__init__.py\n+++ b/pkg/__init__.py\n"
    patch.write_text(f"{names}@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n")
    patch.chmod(0o644)
    setup = ["--setup", "python3 -c 'import pkg' && ls pkg/__pycache__/*.pyc"]
    script = "import pkg, os; print(pkg.VALUE, len(os.listdir('pkg/__pycache__')))"
    row = sandbox.json(repo, *setup, "--patch", str(patch), "--", "python3", "-c", script)
    assert row["stdout"] == "2 1\n", row


@usually_in("bubblewrap")
def test_links_of_the_tree_lead_nowhere_outside(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    secret = repo.parent / "secret.txt"
    secret.write_text(SECRET)
    secret.chmod(0o644)
    script = f"ln -s {secret} l; cat l; cat ../secret.txt; cat {secret}; true"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert SECRET not in row["stdout"]


@usually_in("bubblewrap-user", "podman")
def test_links_in_the_tree_lead_nowhere_outside(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    limit_of(sandbox, "plain", why=PLAIN)
    secret = repo.parent / "secret.txt"
    secret.write_text(SECRET)
    secret.chmod(0o666)
    links = {"abs": str(secret), "up": "..", "top": "../../../../../../../..", "loop": "loop", "in": "pkg"}
    for name, target in links.items():
        (repo / name).symlink_to(target)
    script = (
        f"cat abs up/secret.txt top{secret} loop; echo x >> abs; echo x > up/written; echo x > top{repo}/written; "
        "cat in/__init__.py; for l in abs up top loop in; do readlink $l; done"
    )
    untouched()
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert row["stdout"] == "VALUE = 1\n" + "".join(f"{target}\n" for target in links.values())
    assert secret.read_text() == SECRET and not (repo.parent / "written").exists()


@usually_in("bubblewrap")
@pytest.mark.parametrize("path", ["up/new.txt", "../new.txt", "pkg/../../new.txt", ".git/hooks/pre-commit"])
def test_a_patch_stays_in_the_tree(
    sandbox: Sandbox, repo: Path, untouched: Callable[[], None], tmp_path: Path, path: str
) -> None:
    (repo / "up").symlink_to("..")
    untouched()
    patch = tmp_path / "p.diff"
    patch.write_text(
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    )
    patch.chmod(0o644)
    sandbox.run(repo, "--patch", str(patch), "--", "true").check(2)
    assert not (repo.parent / "new.txt").exists()


@usually_in("bubblewrap", "podman")
def test_odd_names_arrive(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    names = [
        b"-n",
        b"a\nb",
        b" ",
        b"\\",
        b"$(id)",
        b"'\"",
        "\u00e9\u2028".encode(),
        b"lat\xe9",
        b"l" * 200,
        b"d\n/deep/er",
    ]
    for name in names:
        path = os.path.join(os.fsencode(repo), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(name)
    untouched()
    script = f"for name in {names!r}: print(open(name, 'rb').read() == name)"
    row = sandbox.json(repo, "--", "python3", "-c", script)
    assert row["stdout"] == "True\n" * len(names), row


@usually_in("bubblewrap", "podman")
def test_changes_that_are_not_committed_arrive(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    (repo / "README").write_text("changed\n")
    (repo / "pkg" / "__init__.py").unlink()
    (repo / "pkg" / "data.bin").unlink()
    (repo / "pkg").rmdir()
    (repo / "pkg").write_text("a file now\n")
    (repo / "name with\nnewline.txt").unlink()
    (repo / "name with\nnewline.txt").mkdir()
    (repo / "name with\nnewline.txt" / "below").write_text("a folder now\n")
    untouched()
    row = sandbox.json(repo, "--", "sh", "-c", "cat README pkg name*/below")
    assert row["stdout"] == "changed\na file now\na folder now\n", row


@usually_in("bubblewrap-user", "podman")
def test_twenty_megabytes_of_files(sandbox: Sandbox, repo: Path, untouched: Callable[[], None]) -> None:
    for k in range(20):
        (repo / f"mb{k}").write_bytes(os.urandom(1 << 20))
    untouched()
    script = (
        "import os\nfor i in range(20):\n  data = open(f'mb{i}','rb').read()\n  open(f'f{i}','wb').write(data[::-1])\n"
        "print(sum(os.path.getsize(f'f{i}') for i in range(20)))"
    )
    row = sandbox.json(repo, "--", "python3", "-c", script)
    assert row["stdout"] == f"{20 << 20}\n"


@usually_in("bubblewrap")
def test_a_file_that_is_too_large_is_told_each_time(
    sandbox: Sandbox, repo: Path, untouched: Callable[[], None]
) -> None:
    limit_of(sandbox, "podman", "dockerd", why="the image holds it")
    limit_of(sandbox, "bubblewrap-user", why="its tree is read and kept like bubblewrap's")
    os.truncate(repo / "README", (128 << 20) + 1)
    untouched()
    for setup in ([], ["--setup", "true"]):  # the same tree, from the cache
        result = sandbox.run(repo, "-v", *setup, "--", "sh", "-c", "rm run.sh && ls").check(0)
        assert "README" not in result.out and result.err.count("too large for the sandbox: 'README'") == 1


# ---- Limits ----------------------------------------------------------------------------------------


@usually_in("bubblewrap", "podman")
def test_a_flood_is_ended(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--output-limit", "10000", "--", "yes", "flood-of-the-tests")
    assert (row["limit"], row["signal"]) == ("output", 9)
    assert len(row["stdout"]) < 11000 and "bytes left out" in row["stdout"]
    gone("flood-of-the-tests")


@usually_in("bubblewrap", "podman")
def test_long_output_loses_its_middle(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--output-limit", "1000", "--", "seq", "1", "2000")
    assert (row["exit"], row["limit"], row["stdout_bytes"]) == (0, "output", 8893)
    assert row["stdout"].startswith("1\n2\n") and row["stdout"].endswith("\n1999\n2000\n")
    assert "7893 bytes left out" in row["stdout"]


@usually_in("bubblewrap")
def test_both_streams_are_read(sandbox: Sandbox, repo: Path) -> None:
    script = "import sys\nfor i in range(20000): print('o'*50); print('e'*50, file=sys.stderr)"
    row = sandbox.json(repo, "--output-limit", "2000000", "--", "python3", "-c", script)
    assert (row["exit"], row["stdout_bytes"], row["stderr_bytes"]) == (0, 1020000, 1020000)


@usually_in("bubblewrap", "plain", "podman")
def test_time_runs_out(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--timeout", "1", "--", "sleep", "61.25")
    assert (row["limit"], row["exit"], row["signal"]) == ("wall", None, 9)
    assert 900 <= row["wall_ms"] < 61250
    sandbox.run(repo, "--timeout", "0.5", "--", "sleep", "61.25").check(124)
    gone("61.25")


def test_everything_it_started_is_ended_with_it(sandbox: Sandbox, repo: Path) -> None:
    script = "setsid sleep 62.25 & (setsid sh -c 'trap \"\" TERM HUP; sleep 62.25; sleep 62.25' &) ; (sleep 62.25 &) ; exit 3"
    assert sandbox.json(repo, "--", "sh", "-c", script)["exit"] == 3
    gone("62.25")
    row = sandbox.json(repo, "--timeout", "1", "--", "sh", "-c", script.replace("exit 3", "sleep 62.25"))
    assert row["limit"] == "wall"
    gone("62.25")


@usually_in("bubblewrap", "podman")
def test_processor_time_runs_out(sandbox: Sandbox, repo: Path) -> None:
    row = sandbox.json(repo, "--timeout", "1", "--", "python3", "-c", "while True: pass")
    assert row["limit"] in ("cpu", "wall")


def test_a_fork_bomb_is_bounded(sandbox: Sandbox, repo: Path) -> None:
    script = (
        "import os, time\nn = 0\ntry:\n  while n < len(range(500)):\n    n += 1\n    if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "except OSError as error: print('stopped', n, flush=True)\ntime.sleep(0.3)"
    )
    row = sandbox.json(repo, "--processes", "40", "--timeout", "20", "--", "python3", "-c", script)
    assert row["limit"] == "processes", row
    if sandbox.name == "plain":  # no process is refused; the command is ended if it has too many
        assert row["signal"] == 9
    else:
        assert row["stdout"].startswith("stopped"), row
        assert int(row["stdout"].split()[1]) <= 41
    gone("range(500)")


def test_memory_is_bounded(sandbox: Sandbox, repo: Path) -> None:
    script = "x = bytearray(600 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nimport time; time.sleep(3)\nprint('had it')"
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", script)
    assert row["limit"] == "memory" and "had it" not in row["stdout"], row


def test_memory_that_was_taken_for_a_moment_counts(sandbox: Sandbox, repo: Path) -> None:
    """A command that has ended before the first sample has nevertheless hit the limit."""
    row = sandbox.json(repo, "--memory", "40", "--", "python3", "-c", "import os; x = b'1' * (60 << 20); os._exit(0)")
    assert row["limit"] == "memory", row


def test_memory_is_that_of_all_processes(sandbox: Sandbox, repo: Path) -> None:
    script = (
        "import os, time\nfor k in range(4):\n  if os.fork() == 0:\n    x = b'1' * (100 << 20); time.sleep(4); os._exit(0)\n"
        "time.sleep(3); print('had it')"
    )
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", script)
    assert row["limit"] == "memory", row


def test_memory_is_that_of_files_that_nobody_maps(sandbox: Sandbox, repo: Path) -> None:
    script = (
        "import os, sys, time\ntry: f = os.memfd_create('x')\nexcept OSError: sys.exit('refused')\n"
        "for _ in range(300): os.write(f, bytes(1 << 20))\ntime.sleep(3); print('had it')"
    )
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", script)
    assert row["limit"] == "memory" or (sandbox.name.startswith("bubblewrap") and row["stderr"] == "refused\n"), row
    assert "had it" not in row["stdout"], row


def test_peak_memory_is_told(sandbox: Sandbox, repo: Path) -> None:
    script = "import time; x = b'1' * (150 << 20); time.sleep(0.5)"
    row = sandbox.json(repo, "--", "python3", "-c", script)
    assert row["limit"] is None and 150 <= row["peak_mb"] < 300, row


@usually_in("podman")
def test_an_engine_whose_processes_are_not_seen_is_asked(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, *LOCAL, why="it has no engine")
    sandbox.wrapper = ["unshare", "--pid", "--fork", "--mount-proc"]
    script = "import time; x = b'1' * (150 << 20); time.sleep(0.5)"
    row = sandbox.json(repo, "--", "python3", "-c", script)
    assert row["limit"] is None and 150 <= row["peak_mb"] < 300, row
    row = sandbox.json(repo, "--memory", "100", "--", "sh", "-c", f'python3 -c "{script}"; true')
    assert row["limit"] == "memory", row


@usually_in("bubblewrap", "plain", "podman")
def test_memory_that_is_only_asked_for_is_not_counted(sandbox: Sandbox, repo: Path) -> None:
    script = "import mmap; m = mmap.mmap(-1, 3 << 30); print(len(m))"
    row = sandbox.json(repo, "--memory", "200", "--", "python3", "-c", script)
    assert (row["exit"], row["limit"]) == (0, None), row


@usually_in("bubblewrap", "plain", "podman")
def test_a_file_is_bounded(sandbox: Sandbox, repo: Path) -> None:
    script = "dd if=/dev/zero of=big bs=1048576 seek=1000 count=500 2>/dev/null; echo $?"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert row["stdout"].strip() != "0"


@usually_in("bubblewrap", "plain")
def test_files_are_bounded_together(sandbox: Sandbox, repo: Path) -> None:
    limit_of(sandbox, "podman", "dockerd", why="the disk is bounded for each file only")
    if sandbox.name == "plain":  # it is ended when it has written too much
        script = (
            "import os, time\nfor n in range(3): os.posix_fallocate(os.open(str(n), os.O_CREAT | os.O_WRONLY), 0, 400 << 20)\n"
            "time.sleep(20); print('had it')"
        )
        row = sandbox.json(repo, "--", "python3", "-c", script)
        assert row["limit"] == "files" and "had it" not in row["stdout"], row
        return
    script = "for d in . .git ~ /tmp /dev/shm; do dd if=/dev/zero of=$d/f bs=1048576 count=230 || exit 9; done"
    row = sandbox.json(repo, "--", "sh", "-c", script)
    assert (row["exit"], row["limit"]) == (9, "files"), row


@usually_in("bubblewrap", "plain")
def test_a_generated_file_that_git_ignores_is_there(sandbox: Sandbox, tmp_path: Path) -> None:
    """The package cannot be imported without it; other ignored files stay outside."""
    if sandbox.name not in LOCAL:
        pytest.skip("an image holds its own")
    made = make_repo(tmp_path / "made", {"pkg/__init__.py": "", ".gitignore": "_version.py\nsecret.py\n"})
    (made.path / "pkg" / "secret.py").write_text("key = 1\n", "utf-8")
    for text in ("v = 1", "v = 2"):  # the copy follows the file
        (made.path / "pkg" / "_version.py").write_text(text, "utf-8")
        done = sandbox.run(made.path, "--", "sh", "-c", "ls pkg; cat pkg/_version.py").check(0)
        assert done.stdout.decode().split("\n") == ["__init__.py", "_version.py", text]
