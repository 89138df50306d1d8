"""Each check of tools/checks finds what is planted in a small tree, and says nothing of one without fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[2] / "tools" / "checks"
README = "# A\n\nWhat is here.\n\n- `a.c`: it.\n"
CLEAN = {
    "README.md": README,
    "CMakeLists.txt": "acr_library(vcs native/vcs USES base PRIVATE acr::git2)\n",
    "native/base/base.h": "#include <glib.h>\nGBytes *acr_base_read(void);\n",
    "native/base/README.md": README,
    "native/vcs/vcs.h": '#include "base/base.h"\nvoid acr_vcs_open(void);\n',
    "native/vcs/vcs_private.h": "#include <git2.h>\n",
    "native/vcs/open.c": '#include "vcs/vcs.h"\n#include "vcs_private.h"\n/* strcpy(a, b) */\n'
    'void acr_vcs_open(void)\n{\n    g_message("system(ls)"); // fork()\n}\n',
    "native/vcs/README.md": README,
    "runtime/task/task.h": '#include "vcs/vcs.h"\n#include "loops/loops.h"\n',
    "runtime/task/README.md": README,
    "runtime/loops/loops.h": "int acr_loops(void);\n",
    "runtime/loops/README.md": README,
}


def run(name: str, root: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    """Exit code and findings of a check over the clean tree with `files` put over it."""
    for path, text in (CLEAN | files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    command = [sys.executable, str(CHECKS / f"{name}.py"), str(root)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("name", ["arrows", "banned", "headers", "readmes", "sizes", "words"])
def test_clean_tree_has_no_finding(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path, {}) == (0, [])


PLANTED = [
    (
        "arrows",
        "native/base/a.c",
        '#include "vcs/vcs.h"\n',
        'native/base/a.c:1: "vcs/vcs.h": no arrow',
    ),
    ("arrows", "native/vcs/a.c", '\n#include "task/task.h"\n', "native/vcs/a.c:2: "),
    ("arrows", "native/vcs/a.c", "# include <Python.h>\n", "stays inside runtime/py"),
    (
        "arrows",
        "native/base/a.c",
        "#include <git2/diff.h>\n",
        "stays inside native/vcs",
    ),
    ("arrows", "native/vcs/vcs.h", "#include <git2.h>\n", "into a public header"),
    ("arrows", "native/base/a.c", "#include <gio/gio.h>\n", "GLib's core"),
    ("arrows", "native/vcs/a.c", '#include "gone.h"\n', "there is no such file"),
    (
        "arrows",
        "runtime/loops/a.c",
        '#include "task/task.h"\n',
        "from runtime/loops to runtime/task",
    ),
    (
        "arrows",
        "runtime/task/a.c",
        '#include "vcs/vcs_private.h"\n',
        "private to native/vcs",
    ),
    (
        "arrows",
        "CMakeLists.txt",
        "acr_library(base native/base USES\n  vcs PRIVATE acr::x)\n",
        "base USES vcs",
    ),
    (
        "banned",
        "native/vcs/a.c",
        "int f(void)\n{\n    return system (0);\n}\n",
        "native/vcs/a.c:3: system",
    ),
    (
        "banned",
        "native/vcs/a.c",
        'char *s = "\\"", *t = strcpy(a, "/*"); /* */\n',
        ":1: strcpy",
    ),
    (
        "banned",
        "tests/unit/a.c",
        "int x = /* a */ atoi(s);\n",
        "tests/unit/a.c:1: atoi",
    ),
    (
        "banned",
        "native/vcs/a.c",
        "int x = PyRun_SimpleString(s);\n",
        "PyRun_SimpleString",
    ),
    ("banned", "native/vcs/a.c", "void f(void) { assert(1); }\n", "use g_assert"),
    (
        "banned",
        "native/vcs/a.c",
        "void f(void) { g_spawn_sync(1); }\n",
        "acr_spawn_run",
    ),
    (
        "banned",
        "tools/a.py",
        "try:\n    pass\nexcept:\n    pass\n",
        "tools/a.py:3: a bare except",
    ),
    ("banned", "tools/a.py", "def (:\n", "tools/a.py:1: cannot be parsed"),
    (
        "headers",
        "native/base/base.h",
        "GBytes *x(void);\n",
        "native/base/base.h: does not compile alone",
    ),
    (
        "headers",
        "runtime/loops/loops.h",
        "size_t x(void);\n",
        "runtime/loops/loops.h: does not",
    ),
    (
        "readmes",
        "native/http/http.c",
        "int x;\n",
        "native/http: has code and no README.md",
    ),
    ("readmes", "tools/check", "#!/bin/sh\n", "tools: has code and no README.md"),
    ("readmes", "tests/unit/vcs/a.c", "int x;\n", "nor has the folder above"),
    ("readmes", "native/vcs/README.md", "# A\n", "has 1 lines"),
    ("readmes", "native/vcs/README.md", "a\n" * 26, "has 26 lines"),
    ("sizes", "native/vcs/a.c", "int x;\n" * 601, "native/vcs/a.c: has 601 lines"),
    (
        "sizes",
        "native/vcs/a.c",
        "static int\nf(int (*g)(void))\n{\n" + "    g();\n" * 78 + "}\n",
        ":2: f has 81",
    ),
    (
        "sizes",
        "tools/a.py",
        "class A:\n    def f(self):\n" + "        pass\n" * 80,
        "tools/a.py:2: f has 81",
    ),
    (
        "words",
        "native/vcs/a.c",
        'char *s = "/ho' + 'me/someone/x";\n',
        "a path of one machine",
    ),
    ("words", "README.md", README + "see /ro" + "ot/x\n", "README.md:6: "),
    ("words", "tools/a.py", "# TO" + "DO: more\n", "undone"),
]


@pytest.mark.parametrize(("name", "path", "text", "finding"), PLANTED)
def test_planted_fault_is_found(name: str, path: str, text: str, finding: str, tmp_path: Path) -> None:
    code, found = run(name, tmp_path, {path: text})
    assert code == 1
    assert any(finding in line and path.split("/")[0] in line for line in found), found


def test_sizes_takes_no_struct_or_table_for_a_function(tmp_path: Path) -> None:
    table = "static const int table[] = {\n" + "    1,\n" * 90 + "};\nstruct s {\n" + "    int a;\n" * 90 + "};\n"
    assert run("sizes", tmp_path, {"native/vcs/a.c": table}) == (0, [])


def test_banned_lets_members_and_longer_names_be(tmp_path: Path) -> None:
    code = "void f(void) { ops->system(1); g_snprintf(1); my_fork(2); g_assert(3); }\n"
    assert run("banned", tmp_path, {"native/vcs/a.c": code}) == (0, [])


def test_words_lets_stand_ins_for_a_home_be(tmp_path: Path) -> None:
    code = 'const char *a = "/home/me/x.py", *b = "/home/user/x", *c = "a/home/b/";\n'
    assert run("words", tmp_path, {"native/vcs/a.c": code}) == (0, [])
