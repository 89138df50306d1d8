"""Hostile git folders and working trees: for each kind, every verb must end by itself, start no program, read and write
nothing elsewhere, and describe the problem in one line."""

from __future__ import annotations

import os
import resource
import socket
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Callable

import planting
import pytest
from host import Host, Result
from hostile import TINY, deep_digest, tiny_run, whole_stacks, write_script
from repos import Repo

ENVIRONMENT = 3
HALF = 'search_method("half")'
MEMORY = 2 << 30  # address space that a verb may use, in bytes
Plant = Callable[[Repo, Path], None]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Answers that fix a repository of TINY."""
    return write_script(tmp_path / "tiny.jsonl")


def _git(repo: Repo) -> Path:
    return repo.path / ".git"


def _config(repo: Repo, text: str) -> None:
    with open(_git(repo) / "config", "a", encoding="utf-8") as file:
        file.write(text)


def _program(elsewhere: Path) -> Path:
    """A program that leaves a mark."""
    path = elsewhere / "program"
    path.write_text(f"#!/bin/sh\ntouch {elsewhere}/marker\ncat\n")
    path.chmod(0o755)
    return path


# ---- Settings that name programs or files ------------------------------------------------------------------------


def _setting(text: str) -> Plant:
    def plant(repo: Repo, elsewhere: Path) -> None:
        _config(repo, text.replace("PROGRAM", str(_program(elsewhere))).replace("ELSEWHERE", str(elsewhere)))
        attributes = "*.py filter=evil diff=evil merge=evil\n"
        (repo.path / ".gitattributes").write_text(attributes)

    return plant


SETTINGS = {
    "fsmonitor": "[core]\n\tfsmonitor = PROGRAM\n",
    "hooksPath": "[core]\n\thooksPath = ELSEWHERE\n",
    "sshCommand": '[core]\n\tsshCommand = PROGRAM\n[remote "o"]\n\turl = ssh://x/y\n',
    "pager": "[core]\n\tpager = PROGRAM\n\teditor = PROGRAM\n\taskPass = PROGRAM\n\tgitProxy = PROGRAM\n",
    "filter": '[filter "evil"]\n\tclean = PROGRAM\n\tsmudge = PROGRAM\n\tprocess = PROGRAM\n\trequired = true\n',
    "textconv": '[diff "evil"]\n\ttextconv = PROGRAM\n\tcommand = PROGRAM\n[diff]\n\texternal = PROGRAM\n',
    "alternateRefs": "[core]\n\talternateRefsCommand = PROGRAM\n[credential]\n\thelper = !PROGRAM\n",
    "promisor": '[remote "o"]\n\tpromisor = true\n\turl = ext::PROGRAM\n[extensions]\n\tpartialClone = o\n',
    "excludes": "[core]\n\texcludesFile = ELSEWHERE/pipe\n\tattributesFile = ELSEWHERE/pipe\n",
    "include of a pipe": '[include]\n\tpath = ELSEWHERE/regular\n[includeIf "gitdir:/**"]\n\tpath = ELSEWHERE/regular\n',
    "include of a device": "[include]\n\tpath = /dev/zero\n",
    "include of a folder": "[include]\n\tpath = /proc\n",
    "include of itself": "[include]\n\tpath = config\n",
    "garbage": "[core\n\tx = \0\0\n",
    "format": "[core]\n\trepositoryformatversion = 99\n",
    "objectFormat": "[extensions]\n\tobjectFormat = sha256\n[core]\n\trepositoryformatversion = 1\n",
    "refStorage": "[extensions]\n\trefStorage = reftable\n[core]\n\trepositoryformatversion = 1\n",
    "unknown extension": "[extensions]\n\tevil = true\n[core]\n\trepositoryformatversion = 1\n",
    "million settings": "[a]\n" + "\tb = c\n" * 300_000,
    "long line": "[a]\n\tb = " + "c" * 8_000_000 + "\n",
    "odd values": "[core]\n\tabbrev = -7\n\tautocrlf = input\n\teol = crlf\n\tprecomposeunicode = 9\n\tignorecase = true\n",
}


# ---- Refs --------------------------------------------------------------------------------------------------------


def _head(text: str | bytes) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        (_git(repo) / "HEAD").write_bytes(text.encode() if isinstance(text, str) else text)

    return plant


def _ref_ring(repo: Repo, _: Path) -> None:
    (_git(repo) / "refs" / "heads" / "main").write_text("ref: refs/heads/other\n")
    (_git(repo) / "refs" / "heads" / "other").write_text("ref: refs/heads/main\n")


def _packed_refs(text: bytes) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        (_git(repo) / "refs" / "heads" / "main").unlink()
        (_git(repo) / "packed-refs").write_bytes(text)

    return plant


def _many_refs(repo: Repo, _: Path) -> None:
    head = repo.head
    lines = "".join(f"{head} refs/tags/t{n:07}\n" for n in range(200_000))
    (_git(repo) / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{lines}")


def _head_is_tag_ring(repo: Repo, _: Path) -> None:
    one = "ab" * 20
    content = f"object {one}\ntype tag\ntag x\ntagger t <t> 0 +0000\n\nx\n".encode()
    planting.lie(repo, one, "tag", content)
    planting.set_head(repo, one)


def _head_is(kind: str) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        planting.set_head(repo, repo.git("rev-parse", {"tree": "HEAD^{tree}", "blob": "HEAD:app.py"}[kind]))

    return plant


def _deep_tags(repo: Repo, _: Path) -> None:
    oid, kind = repo.head, "commit"
    for number in range(3000):
        text = f"object {oid}\ntype {kind}\ntag t{number}\ntagger t <t> 0 +0000\n\nx\n"
        oid, kind = planting.add(repo, "tag", text.encode()), "tag"
    planting.set_head(repo, oid)


REFS: dict[str, Plant] = {
    "HEAD is empty": _head(""),
    "HEAD is binary": _head(os.urandom(5000)),
    "HEAD is huge": _head("ref: " + "a/" * 3_000_000 + "b\n"),
    "branch is huge": lambda repo, _: planting.set_head(repo, "ref: " + "a/" * 3_000_000 + "b"),
    "HEAD leads out": _head("ref: ../../../../etc/passwd\n"),
    "HEAD is absolute": _head("ref: /etc/passwd\n"),
    "HEAD is an option": _head("ref: --upload-pack=touch\n"),
    "HEAD has controls": _head("ref: refs/heads/\x1b]0;x\x07\n"),
    "HEAD is 64 digits": _head("ab" * 32 + "\n"),
    "HEAD names nothing": _head("ref: refs/heads/none\n"),
    "HEAD names itself": _head("ref: HEAD\n"),
    "refs in a ring": _ref_ring,
    "packed refs of garbage": _packed_refs(b"\0\xff" * 5000),
    "packed refs of nothing": _packed_refs(b""),
    "packed refs of one line": _packed_refs(b"a" * 5_000_000),
    "packed refs peeled first": _packed_refs(b"^" + b"a" * 40 + b"\n"),
    "many packed refs": _many_refs,
    "tag of itself": _head_is_tag_ring,
    "branch is a tree": _head_is("tree"),
    "branch is a blob": _head_is("blob"),
    "tags of tags": _deep_tags,
}


# ---- Objects -----------------------------------------------------------------------------------------------------


def _bomb(kind: str) -> Plant:
    """A packed object of three thousand million zeros."""

    def plant(repo: Repo, _: Path) -> None:
        at = {"blob": "HEAD:app.py", "tree": "HEAD^{tree}", "commit": "HEAD"}[kind]
        oid = repo.git("rev-parse", at)
        planting.object_file(repo, oid).unlink()
        number = {"commit": 1, "tree": 2, "blob": 3}[kind]
        planting.raw_pack(repo, oid, planting.entry_head(number, 3_000_000_000) + planting.zeros(3_000_000_000))

    return plant


def _delta_bomb(repo: Repo, _: Path) -> None:
    """Deltas of deltas, each of which doubles the size of its base."""
    oid = repo.git("rev-parse", "HEAD:app.py")
    planting.object_file(repo, oid).unlink()
    base = b"\0" * (1 << 16)
    ids, entries, size, before = ["01" * 20], [(planting.BLOB, b"", base)], len(base), "01" * 20
    for number in range(2, 30):
        copy = b"\xff" + struct.pack("<I", 0) + struct.pack("<I", min(size, 0xFFFFFF))[:3]
        delta = planting.number(size) + planting.number(2 * min(size, 0xFFFFFF)) + copy * 2
        name = oid if number == 29 else f"{number:02x}" * 20
        entries.append((planting.REF_DELTA, bytes.fromhex(before), delta))
        ids.append(name)
        before, size = name, 2 * min(size, 0xFFFFFF)
    planting.plant_pack(repo, ids, entries)


def _entry(make: Callable[[str], bytes], **more: int) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        oid = repo.git("rev-parse", "HEAD:app.py")
        planting.object_file(repo, oid).unlink()
        planting.raw_pack(repo, oid, make(oid), **more)

    return plant


def _loose(content: bytes, which: str = "HEAD:app.py") -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        path = planting.object_file(repo, repo.git("rev-parse", which))
        path.unlink()
        path.write_bytes(content)

    return plant


def _loose_special(make: Callable[[Path], None]) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        path = planting.object_file(repo, repo.git("rev-parse", "HEAD:app.py"))
        path.unlink()
        make(path)

    return plant


def _tree_of(entries: Callable[[Repo], list[tuple[str, str, str]]]) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        root = planting.add(repo, "tree", planting.tree(entries(repo)))
        planting.set_head(repo, planting.add(repo, "commit", planting.commit_of(root)))

    return plant


def _blob(repo: Repo, text: bytes = b"x = 1\n") -> str:
    return planting.add(repo, "blob", text)


def _named(*names: str) -> Plant:
    return _tree_of(lambda repo: [("100644", name, _blob(repo)) for name in names])


def _nested(depth: int) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        below = planting.add(repo, "tree", planting.tree([("100644", "a.py", _blob(repo))]))
        for _number_of in range(depth):
            below = planting.add(repo, "tree", planting.tree([("40000", "d", below)]))
        planting.set_head(repo, planting.add(repo, "commit", planting.commit_of(below)))

    return plant


def _commit(text: Callable[[Repo], bytes]) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        planting.set_head(repo, planting.add(repo, "commit", text(repo)))

    return plant


def _beside(name: str, content: bytes) -> Plant:
    """A file in the folder of objects that git would use to read faster."""

    def plant(repo: Repo, _: Path) -> None:
        repo.git("gc", "-q")
        path = _git(repo) / "objects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    return plant


def _alternate(text: str) -> Plant:
    def plant(repo: Repo, elsewhere: Path) -> None:
        path = _git(repo) / "objects" / "info" / "alternates"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("ELSEWHERE", str(elsewhere)))

    return plant


def _old_index(repo: Repo, _: Path) -> None:
    """An index of version 1 that states more objects than it has."""
    repo.git("gc", "-q")
    [path] = (_git(repo) / "objects" / "pack").glob("*.idx")
    path.chmod(0o644)
    path.write_bytes(struct.pack(">256I", *[0x00FFFFFF] * 256) + b"\0" * 400)


def _index_version(repo: Repo, _: Path) -> None:
    repo.git("gc", "-q")
    [path] = (_git(repo) / "objects" / "pack").glob("*.idx")
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[7] = 3
    path.write_bytes(data)


def _far_offsets(repo: Repo, _: Path) -> None:
    repo.git("gc", "-q")
    [path] = (_git(repo) / "objects" / "pack").glob("*.idx")
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    count = struct.unpack(">I", data[8 + 1020 : 8 + 1024])[0]
    start = 8 + 1024 + 24 * count
    data[start : start + 4 * count] = struct.pack(">I", 0xFFFFFFFF) * count
    path.write_bytes(data)


OBJECTS: dict[str, Plant] = {
    "blob of 3 GB": _bomb("blob"),
    "tree of 3 GB": _bomb("tree"),
    "commit of 3 GB": _bomb("commit"),
    "deltas that double": _delta_bomb,
    "type 0": _entry(lambda _: planting.entry_head(0, 5) + zlib.compress(b"x = 1")),
    "type 5": _entry(lambda _: planting.entry_head(5, 5) + zlib.compress(b"x = 1")),
    "size without end": _entry(lambda _: b"\xb5" + b"\xff" * 40 + zlib.compress(b"x = 1")),
    "larger than it says": _entry(lambda _: planting.entry_head(3, 2) + zlib.compress(b"x = 1" * 999)),
    "smaller than it says": _entry(lambda _: planting.entry_head(3, 1 << 40) + zlib.compress(b"x = 1")),
    "not deflated": _entry(lambda _: planting.entry_head(3, 500) + b"\xff" * 500),
    "deflated by a dictionary": _entry(lambda _: planting.entry_head(3, 5) + b"\x78\xbb\0\0\0\1" + b"\0" * 50),
    "delta of itself": _entry(
        lambda oid: planting.entry_head(7, 6) + bytes.fromhex(oid) + zlib.compress(b"\5\5\x90\5")
    ),
    "delta behind the pack": _entry(
        lambda _: planting.entry_head(6, 6) + b"\xff\xff\xff\x7f" + zlib.compress(b"\5\5\x90\5")
    ),
    "delta of no base": _entry(lambda _: planting.entry_head(7, 6) + b"\7" * 20 + zlib.compress(b"\5\5\x90\5")),
    "pack of version 9": _entry(lambda _: planting.entry_head(3, 5) + zlib.compress(b"x = 1"), version=9),
    "index of version 1": _old_index,
    "index of version 3": _index_version,
    "offsets of 64 bits that are not there": _far_offsets,
    "loose of 3 GB": _loose(zlib.compress(b"blob 3000000000\0") + b""),
    "loose without a size": _loose(zlib.compress(b"blob \0x")),
    "loose of size -1": _loose(zlib.compress(b"blob -1\0x")),
    "loose of another type": _loose(zlib.compress(b"tree 5\0x = 1")),
    "loose of no type": _loose(zlib.compress(b"evil 5\0x = 1")),
    "loose commit of nothing": _loose(zlib.compress(b"commit 0\0"), "HEAD"),
    "loose tree of nothing": _loose(zlib.compress(b"tree 0\0"), "HEAD^{tree}"),
    "loose pipe": _loose_special(os.mkfifo),
    "loose device": _loose_special(lambda path: path.symlink_to("/dev/zero")),
    "loose folder": _loose_special(os.mkdir),
    "loose ring of links": _loose_special(lambda path: path.symlink_to(path)),
    "multi-pack index": _beside("pack/multi-pack-index", b"MIDX\1\1\xff\0\xff\xff\xff\xff" + b"\xff" * 4000),
    "commit graph": _beside("info/commit-graph", b"CGPH\1\1\xff\xff" + b"\xff" * 4000),
    "commit graph chain": _beside("info/commit-graphs/commit-graph-chain", b"../../../etc/passwd\n" * 1000),
    "bitmap": _beside("pack/pack-0000000000000000000000000000000000000000.bitmap", b"BITM" + b"\xff" * 4000),
    "pack without index": _beside("pack/pack-0000000000000000000000000000000000000000.pack", b"PACK" + b"\xff" * 4000),
    "promisor pack": _beside("pack/pack-0000000000000000000000000000000000000000.promisor", b"x"),
    "alternates of a device": _alternate("/dev/zero\n/dev\n/proc/self/root\n"),
    "alternates that lead up": _alternate("../" * 2000 + "\n"),
    "alternates of a pipe": _alternate("ELSEWHERE/pipe\n"),
    "alternates in quotes": _alternate('"\\057etc"\n"unfinished\n'),
    "shallow of garbage": lambda repo, _: (_git(repo) / "shallow").write_bytes(b"\xff\n" * 1000) and None,
    "grafts": lambda repo, _: (_git(repo) / "info" / "grafts").write_bytes(b"a" * 100_000) and None,
    "names of two dots": _named("..", ".", "a.py"),
    "name of the git folder": _named(".git", "a.py"),
    "name of the git folder in capitals": _named(".GIT", ".Git", "GIT~1", "a.py"),
    "name of the git folder with dots": _named(".git ", ".git.", ".git...", ".git::$INDEX_ALLOCATION", "a.py"),
    "name of the git folder with what is not seen": _named(".g\u200cit", ".git\ufeff", "a.py"),
    "names with slashes": _named("../up.py", "/etc/passwd", "a/b.py", "a.py"),
    "names of controls": _named("\x1b]0;x\x07.py", "a\nb.py", "a\rb.py", "\x7f.py", "a.py"),
    "names of one letter twice": _named("a.py", "a.py", "A.py", "\u00e9.py", "e\u0301.py"),
    "name without end": _named("n" * 5000 + ".py", "a.py"),
    "empty name": _named("", "a.py"),
    "odd modes": _tree_of(
        lambda r: [(m, f"m{m}.py", _blob(r)) for m in ("0", "777", "100777", "60000", "999999", "-1")]
    ),
    "mode without end": _tree_of(lambda r: [("1" * 400, "a.py", _blob(r))]),
    "file is a tree": _tree_of(lambda r: [("100644", "a.py", r.git("rev-parse", "HEAD^{tree}"))]),
    "folder is a blob": _tree_of(lambda r: [("40000", "a", _blob(r)), ("100644", "b.py", _blob(r))]),
    "submodule within": _tree_of(lambda r: [("160000", "sub", "ab" * 20), ("100644", "a.py", _blob(r))]),
    "link to everything": _tree_of(
        lambda r: [("120000", "a.py", _blob(r, b"/etc/passwd")), ("120000", "b", _blob(r, b"/"))]
    ),
    "link without end": _tree_of(lambda r: [("120000", "a.py", _blob(r, b"a/" * 50_000))]),
    "link with nothing": _tree_of(lambda r: [("120000", "a.py", _blob(r, b"")), ("120000", "b.py", _blob(r, b"\0"))]),
    "five hundred folders deep": _nested(500),
    "four thousand folders deep": _nested(4000),
    "commit of no tree": _commit(lambda _: b"author t <t> 0 +0000\n\nx\n"),
    "commit of a missing tree": _commit(lambda _: planting.commit_of("ab" * 20)),
    "commit of a blob": _commit(lambda repo: planting.commit_of(_blob(repo))),
    "commit without end": _commit(lambda r: planting.commit_of(r.git("rev-parse", "HEAD^{tree}")) + b"x" * 20_000_000),
    "commit of many parents": _commit(
        lambda r: (
            f"tree {r.git('rev-parse', 'HEAD^{tree}')}\n".encode()
            + f"parent {r.head}\n".encode() * 100_000
            + b"author t <t> 0 +0\n\nx\n"
        )
    ),
    "commit of an odd time": _commit(
        lambda r: f"tree {r.git('rev-parse', 'HEAD^{tree}')}\nauthor t <t> 99999999999999999999 +9999\n\n".encode()
    ),
}


# ---- The working tree --------------------------------------------------------------------------------------------


def _file(name: str, content: bytes) -> Plant:
    def plant(repo: Repo, _: Path) -> None:
        path = repo.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return plant


def _special(name: str, make: Callable[[Path, Path], object]) -> Plant:
    def plant(repo: Repo, elsewhere: Path) -> None:
        path = repo.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        make(path, elsewhere)

    return plant


def _socket(path: Path, _: Path) -> None:
    made = socket.socket(socket.AF_UNIX)
    folder = os.getcwd()
    os.chdir(path.parent)
    made.bind(path.name)
    os.chdir(folder)
    made.close()


def _sparse(path: Path, _: Path, size: int = 1 << 40) -> None:
    with open(path, "wb") as file:
        file.truncate(size)


def _deep(repo: Repo, _: Path) -> None:
    at = os.open(repo.path, os.O_RDONLY)
    for _number_of in range(4000):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("a.py", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def _odd_names(repo: Repo, _: Path) -> None:
    for name in (b"\xff\xfe.py", b"\x1b]0;x\x07.py", b"a\nb.py", b" .py", b"-rf.py", b"\\.py", b'".py', b"*.py"):
        with open(os.path.join(os.fsencode(repo.path), name), "wb") as file:
            file.write(b"x = 1\n")


def _inner_git(make: Callable[[Path], object]) -> Plant:
    """A subfolder with its own `.git`."""

    def plant(repo: Repo, _: Path) -> None:
        (repo.path / "inner").mkdir()
        (repo.path / "inner" / "a.py").write_text("x = 1\n")
        make(repo.path / "inner" / ".git")

    return plant


def _git_file(text: str) -> Plant:
    """The git folder is a file that leads elsewhere."""

    def plant(repo: Repo, elsewhere: Path) -> None:
        _git(repo).rename(elsewhere / "moved")
        _git(repo).write_text(text.replace("ELSEWHERE", str(elsewhere)).replace("SELF", str(_git(repo))))

    return plant


ATTRIBUTES = b"""*.py working-tree-encoding=UTF-16LE-BOM eol=crlf text ident filter=lfs diff=python merge=union export-subst
[attr]a b
[attr]b a
*.py a
*.py -text whitespace=\xff\xfe conflict-marker-size=99999999999999999999
"""
TREE: dict[str, Plant] = {
    "attributes": _file(".gitattributes", ATTRIBUTES),
    "attributes of macros": _file(".gitattributes", b"".join(b"[attr]m%d m%d\n" % (n, n + 1) for n in range(20_000))),
    "attributes without end": _file(".gitattributes", b"*.py " + b"a" * 3_000_000),
    "attributes of a device": _special(".gitattributes", lambda path, _: path.symlink_to("/dev/zero")),
    "attributes of a pipe": _special(".gitattributes", lambda path, _: os.mkfifo(path)),
    "ignore rules of a pipe": _special(".gitignore", lambda path, _: os.mkfifo(path)),
    "ignore rules of a device": _special(".gitignore", lambda path, _: path.symlink_to("/dev/zero")),
    "ignore rules of a folder": _special(".gitignore", lambda path, _: path.mkdir()),
    "ignore rules of brackets": _file(".gitignore", b"[" * 20_000 + b"\n" + b"[!a-\n[[:x:]]\n" + b"**/" * 600 + b"x\n"),
    "exclude of a pipe": _special(".git/info/exclude", lambda path, _: os.mkfifo(path)),
    "exclude of a device": _special(".git/info/exclude", lambda path, _: path.symlink_to("/dev/zero")),
    "attributes within of a pipe": _special(".git/info/attributes", lambda path, _: os.mkfifo(path)),
    "modules": _file(
        ".gitmodules", b'[submodule "../../x"]\n\tpath = ../../../x\n\turl = ext::sh -c touch\n\tupdate = !touch x\n'
    ),
    "modules of garbage": _file(".gitmodules", b"\xff\0[" * 5000),
    "mail map": _file(".mailmap", b"\xff" * 500_000),
    "index of garbage": _file(".git/index", b"DIRC" + b"\xff" * 5000),
    "index of very many": _file(".git/index", b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"\0" * 5000),
    "index of version 9": _file(".git/index", b"DIRC\0\0\0\x09\0\0\0\1" + b"\0" * 100),
    "index of a device": _special(".git/index", lambda path, _: path.symlink_to("/dev/zero")),
    "index that is split": _file(".git/index", b"DIRC\0\0\0\2\0\0\0\0link\0\0\0\x14" + b"\xab" * 20 + b"\0" * 20),
    "a pipe": _special("pipe.py", lambda path, _: os.mkfifo(path)),
    "a socket": _special("socket.py", _socket),
    "a link to a device": _special("device.py", lambda path, _: path.symlink_to("/dev/zero")),
    "a link to the processes": _special("proc", lambda path, _: path.symlink_to("/proc")),
    "a link to itself": _special("loop.py", lambda path, _: path.symlink_to(path)),
    "a link to above": _special("up/up", lambda path, _: path.symlink_to("..")),
    "a link to a secret": _special("secret.py", lambda path, elsewhere: path.symlink_to(elsewhere / "secret")),
    "a file without end": _special("huge.py", _sparse),
    "many files of half a GB": lambda repo, _: (
        [_sparse(repo.path / f"huge{n}.py", repo.path, 1 << 29) for n in range(2000)] and None
    ),
    "four thousand folders": _deep,
    "odd names": _odd_names,
    "many folders": lambda repo, _: [(repo.path / f"d{n}").mkdir() for n in range(20_000)] and None,
    "one line of 30 MB": _file("long.py", b"x = '" + b"a" * 30_000_000 + b"'\n"),
    "brackets without end": _file("deep.py", b"x = " + b"(" * 100_000 + b")" * 100_000 + b"\n"),
    "a chain without end": _file("chain.py", b"x = a" + b".b" * 200_000 + b"\n"),
    "minus without end": _file("minus.py", b"x = " + b"-" * 500_000 + b"1\n"),
    "classes in classes": _file(
        "inner.py", b"".join(b" " * n + b"class A:\n" for n in range(99)) + b" " * 99 + b"x = 1\n"
    ),
    "an encoding that is none": _file("coding.py", b"# coding: evil\nx = 1\n"),
    "an encoding that bombs": _file("coding.py", b"# coding: zlib_codec\nx = 1\n"),
    "null bytes": _file("null.py", b"x = 1\n\0\ndef f(): pass\n"),
    "an inner git file in a ring": _inner_git(lambda path: path.write_text("gitdir: .git\n")),
    "an inner git folder of nothing": _inner_git(lambda path: path.mkdir()),
    "an inner git pipe": _inner_git(os.mkfifo),
    "an inner git link": _inner_git(lambda path: path.symlink_to("/")),
    "git file of itself": _git_file("gitdir: SELF\n"),
    "git file of a device": _git_file("gitdir: /dev/zero\n"),
    "git file of garbage": _git_file("gitdir: " + "x" * 9000),
    "git file of a pipe": _git_file("gitdir: ELSEWHERE/pipe\n"),
    "git file that has moved": _git_file("gitdir: ELSEWHERE/moved\n"),
}
ALL = {f"{kind}: {name}": plant for kind, table in (
    ("setting", {name: _setting(text) for name, text in SETTINGS.items()}),
    ("ref", REFS), ("object", OBJECTS), ("tree", TREE),
) for name, plant in table.items()}  # fmt: skip


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _ends(host: Host, *arguments: object) -> Result:
    is_sanitized = b"__asan_init" in host.program.read_bytes()  # a sanitizer takes terabytes of address space
    result = host.run(*arguments, timeout=120, preexec_fn=None if is_sanitized else _limit)
    assert result.exit in (0, 1, ENVIRONMENT), result.told()
    if result.exit == ENVIRONMENT:
        assert len(result.err.splitlines()) == 1, result.told()
    assert b"do not read" not in result.stdout + result.stderr, result.told()
    assert not [at for at in result.err if ord(at) < 32 and at not in "\n\t"], result.told()
    return result


@pytest.fixture
def find_whole_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find all functions of a leak, even above a library without frame pointers; this takes long (see lsan.supp)."""
    for name, value in whole_stacks().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def attempt(
    host: Host, make_repo: Callable[..., Repo], script: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[[str], None]:
    """Make one kind of repository and run the verbs: nothing outside the repository is read, written or started."""
    return lambda name: _attempt(host, make_repo(TINY, name="tiny"), script, tmp_path, request, name)


def _attempt(host: Host, repo: Repo, script: Path, tmp_path: Path, request: pytest.FixtureRequest, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.mkfifo(elsewhere / "pipe")
    (elsewhere / "secret").write_text("SECRET = 'do not read'\n")
    (elsewhere / "regular").write_text("[core]\n\tbare = false\n")
    ALL[name](repo, elsewhere)
    request.addfinalizer(lambda: subprocess.run(["rm", "-rf", repo.path], check=True))  # deeper than Python can go
    before = deep_digest(elsewhere)
    if "repositoryformatversion = 1" in SETTINGS.get(name.replace("setting: ", ""), ""):  # extensions are searched for
        request.getfixturevalue("find_whole_stacks")
    for revision in ([], ["--rev", "HEAD"]):
        _ends(host, "search", "--repo", repo, *revision, HALF, 'search_code("do not")')
        _ends(host, "index", "--repo", repo, *revision)
    _ends(host, *tiny_run(repo, tmp_path / "out", script), "--apply")
    assert deep_digest(elsewhere) == before
    assert not (elsewhere / "marker").exists()


# Kinds that once failed, and every sixth of the others.
USUAL = {"ref: HEAD is huge", "ref: branch is huge", "tree: a file without end", "object: deltas that double"}
USUAL |= {name for name in ALL if zlib.crc32(name.encode()) % 9 == 0}


@pytest.mark.parametrize("name", sorted(USUAL))
def test_every_verb_ends_well_or_says_what_is_wrong(attempt: Callable[[str], None], name: str) -> None:
    """Whatever lies there."""
    attempt(name)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(set(ALL) - USUAL))
def test_every_verb_ends_well_or_says_what_is_wrong_of_the_others(attempt: Callable[[str], None], name: str) -> None:
    """Likewise."""
    attempt(name)
