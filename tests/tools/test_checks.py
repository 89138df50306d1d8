"""Each check of tools/checks finds the faults injected into a small tree, and nothing in a correct tree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[2] / "tools" / "checks"
sys.path.insert(0, str(CHECKS))

import python_style  # noqa: E402

README = "# A\n\nWhat is here.\n\n- `open.c`: it.\n"
CLEAN = {
    "README.md": README,
    "docs/design/glossary.md": (CHECKS.parents[1] / "docs/design/glossary.md").read_text("utf-8"),
    "CMakeLists.txt": "acr_library(vcs native/vcs USES base PRIVATE acr::git2)\n",
    "native/base/base.h": "#include <glib.h>\nGBytes *acr_base_read(void);\n",
    "native/base/README.md": README,
    "native/vcs/vcs.h": '#include "base/base.h"\nvoid acr_vcs_open(void);\n',
    "native/vcs/vcs_private.h": "#include <git2.h>\n",
    "native/vcs/open.c": '#include "vcs/vcs.h"\n#include "vcs_private.h"\n/* strcpy(a, b) */\n'
    'void acr_vcs_open(void)\n{\n    g_message("system(ls)"); // fork()\n}\n',
    "native/vcs/README.md": README,
    "runtime/main.c": '#include "vcs/vcs.h"\nint main(void)\n{\n    acr_vcs_open();\n    return 0;\n}\n',
    "runtime/README.md": README,
    "runtime/task/task.h": '#include "vcs/vcs.h"\n#include "loops/loops.h"\n',
    "runtime/task/README.md": README,
    "runtime/loops/loops.h": "int acr_loops(void);\n",
    "runtime/loops/README.md": README,
    "runtime/layout/layout.h": '#define ACR_FILE_COST "cost.json"\n#define ACR_DIR_TRY "try_%u"\n',
    "runtime/layout/README.md": README,
    "python/acr/layout.py": 'COST = "cost.json"\n',
    "python/acr/README.md": README,
}


def run(name: str, root: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    """Exit code and findings of a check on the correct tree with `files` added."""
    for path, text in (CLEAN | files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    command = [sys.executable, str(CHECKS / f"{name}.py"), str(root)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


ALL = [
    "arrows",
    "banned",
    "circles",
    "declarations",
    "headers",
    "layout",
    "marks",
    "messages",
    "names",
    "readmes",
    "sizes",
    "unused",
    "words",
]


@pytest.mark.parametrize("name", ALL)
def test_clean_tree_has_no_finding(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path, {}) == (0, [])


PLANTED = [
    (
        "layout",
        "runtime/task/a.c",
        'const char *a = "attempt_1/" "cost.json";\n',
        'a.c:1: spells "cost.json": use ACR_FILE_COST',
    ),
    ("layout", "runtime/task/a.c", 'const char *a = "%s/try_%u/x";\n', 'spells "try_%u": use ACR_DIR_TRY'),
    ("layout", "python/acr/a.py", 'a = f"{b}/try_{c}"\n', 'python/acr/a.py:1: spells "try_%u"'),
    ("layout", "python/acr/layout.py", 'A = "gone.json"\n', '"gone.json" is not in runtime/layout/layout.h'),
    ("arrows", "native/base/a.c", '#include "vcs/vcs.h"\n', 'native/base/a.c:1: "vcs/vcs.h": no arrow'),
    ("arrows", "native/vcs/a.c", '\n#include "task/task.h"\n', "native/vcs/a.c:2: "),
    ("arrows", "native/vcs/a.c", "# include <Python.h>\n", "stays inside runtime/py"),
    ("arrows", "native/base/a.c", "#include <git2/diff.h>\n", "stays inside native/vcs"),
    ("arrows", "native/vcs/vcs.h", "#include <git2.h>\n", "into a public header"),
    ("arrows", "native/base/a.c", "#include <gio/gio.h>\n", "GLib's core"),
    ("arrows", "native/vcs/a.c", '#include "gone.h"\n', "there is no such file"),
    ("arrows", "runtime/loops/a.c", '#include "task/task.h"\n', "from runtime/loops to runtime/task"),
    ("arrows", "runtime/task/a.c", '#include "vcs/vcs_private.h"\n', "private to native/vcs"),
    ("arrows", "CMakeLists.txt", "acr_library(base native/base USES\n  vcs PRIVATE acr::x)\n", "base USES vcs"),
    ("banned", "native/vcs/a.c", "int f(void)\n{\n    return system (0);\n}\n", "native/vcs/a.c:3: system"),
    ("banned", "native/vcs/a.c", 'char *s = "\\"", *t = strcpy(a, "/*"); /* */\n', ":1: strcpy"),
    ("banned", "tests/unit/a.c", "int x = /* a */ atoi(s);\n", "tests/unit/a.c:1: atoi"),
    ("banned", "native/vcs/a.c", "int x = PyRun_SimpleString(s);\n", "PyRun_SimpleString"),
    ("banned", "native/vcs/a.c", "void f(void) { assert(1); }\n", "use g_assert"),
    ("banned", "native/vcs/a.c", "void f(void) { g_spawn_sync(1); }\n", "acr_spawn_run"),
    ("banned", "tools/a.py", "try:\n    pass\nexcept:\n    pass\n", "tools/a.py:3: a bare except"),
    ("banned", "tools/a.py", "def (:\n", "tools/a.py:1: cannot be parsed"),
    ("headers", "native/base/base.h", "GBytes *x(void);\n", "native/base/base.h: does not compile alone"),
    ("headers", "runtime/loops/loops.h", "size_t x(void);\n", "runtime/loops/loops.h: does not"),
    ("readmes", "native/http/http.c", "int x;\n", "native/http: has code and no README.md"),
    ("readmes", "tools/check", "#!/bin/sh\n", "tools: has code and no README.md"),
    ("readmes", "tests/unit/vcs/a.c", "int x;\n", "nor has the folder above"),
    ("readmes", "native/vcs/README.md", "# A\n", "has 1 lines"),
    ("readmes", "native/vcs/README.md", "a\n" * 26, "has 26 lines"),
    ("readmes", "native/vcs/README.md", README + "- `gone.c`: it.\n", "native/vcs/README.md: there is no gone.c"),
    ("sizes", "native/vcs/a.c", "int x;\n" * 601, "native/vcs/a.c: has 601 lines"),
    ("sizes", "native/vcs/a.c", "static int\nf(int (*g)(void))\n{\n" + "    g();\n" * 58 + "}\n", ":2: f has 61"),
    ("sizes", "tools/a.py", "class A:\n    def f(self):\n" + "        pass\n" * 60, "tools/a.py:2: f has 61"),
    ("sizes", "native/vcs/vcs_private.h", "int %s;\n" % ("i" * 94) * 105, "10500 bytes, 10240 are allowed"),
    ("readmes", "README.md", "a\n" * 201, "README.md: has 201 lines"),
    ("readmes", "README.md", "a a a a\n" * 5 + "b " * 1720, "README.md: has 1740 words"),
    ("declarations", "native/vcs/vcs.h", "bool acr_x(GError **error);\n", "vcs.h:1: acr_x can fail"),
    ("declarations", "native/vcs/vcs.h", "int a;\nAcrX *acr_x(int a,\n  GError **error);\n", "vcs.h:2: acr_x can fail"),
    (
        "declarations",
        "native/vcs/a.c",
        "static bool f(GError **error)\n{\n    return g(error);\n}\nvoid h(void)\n{\n    f(NULL);\n}\n",
        "a.c:7: the result of f is dropped",
    ),
    ("declarations", "native/vcs/a.c", "void f(void)\n{\n    g_autofree char *a;\n}\n", "a.c:3: 'char *a' is owned"),
    ("declarations", "native/vcs/a.c", "void f(void)\n{\n    g_auto(AcrX) a, b;\n}\n", "a.c:3: 'a, b' is owned"),
    ("declarations", "native/vcs/a.c", "G_DEFINE_QUARK(acr - x - error, acr_x_error)\n", "'acr - x - error' is not an"),
    ("names", "native/vcs/common.c", "int x;\n", "native/vcs/common.c: the name does not say"),
    ("names", "native/base/open.c", "int x;\n", "native/base, native/vcs each have a file of this name"),
    ("names", "native/vcs/opens.c", "int x;\n", "native/vcs/open.c: opens.c stands beside it"),
    ("names", "scratch/a.txt", "x\n", "scratch: is not known at the top level"),
    ("names", "tests/fixtures/a.json", "x" * 262145, "has 262145 bytes, 262144 are allowed"),
    ("unused", "native/vcs/a.c", "int g(void)\n{\n    return 1;\n}\n", "native/vcs/a.c:1: g is reached by no part"),
    ("marks", "native/vcs/a.c", 'char *s = "/ho' + 'me/someone/x";\n', "a path of one machine"),
    ("marks", "README.md", README + "see /ro" + "ot/x\n", "README.md:6: "),
    ("marks", "tools/a.py", "# TO" + "DO: more\n", "undone"),
    (
        "messages",
        "native/vcs/a.c",
        'char *s = "cannot open "\n    "\'%s\'";\n',
        "messages.txt: lacks native/vcs/a.c: \"cannot open '%s'\"",
    ),
    (
        "messages",
        "python/acr/a.py",
        'raise ValueError(f"no such {a} here")\n',
        "lacks python/acr/a.py: 'no such {} here'",
    ),
    ("messages", "tests/cases/messages.txt", "== a.c\na b c\n", "no longer in a.c: 'a b c'"),
    ("words", "README.md", README + "It goes on\nwhere it was.\n", "README.md:6: 'goes on where it was' paraphrases"),
    ("words", "native/vcs/vcs.h", "/* a\n * is taken\n * to be b */\n", "vcs.h:2: 'is taken to be' paraphrases"),
    (
        "words",
        "native/vcs/a.c",
        'char *s = "closed for "\n    "good";\n',
        "a.c:1: 'for good' paraphrases a term; say: permanent",
    ),
]


@pytest.mark.parametrize(
    ("name", "path", "text", "finding"), PLANTED, ids=[f"{row[0]}-{row[3][:40]}" for row in PLANTED]
)
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


def test_marks_lets_stand_ins_for_a_home_be(tmp_path: Path) -> None:
    code = 'const char *a = "/home/me/x.py", *b = "/home/user/x", *c = "a/home/b/";\n'
    assert run("marks", tmp_path, {"native/vcs/a.c": code}) == (0, [])


def function(name: str, *calls: str) -> str:
    """An exported C function that calls others."""
    return f"void {name}(void)\n{{\n" + "".join(f"    {call}();\n" for call in calls) + "}\n"


def test_circles_finds_headers_that_include_each_other(tmp_path: Path) -> None:
    files = {"native/vcs/a.h": '#include "b.h"\n', "native/vcs/b.h": '#include "vcs/c.h"\n'}
    files["native/vcs/c.h"] = '#include "a.h"\n'
    assert run("circles", tmp_path, files) == (1, ["native/vcs/a.h: include each other in a circle: a.h b.h c.h"])


def test_circles_finds_files_that_call_each_other(tmp_path: Path) -> None:
    files = {"native/vcs/a.c": function("a", "b"), "native/vcs/b.c": function("b", "c")}
    files["native/vcs/c.c"] = function("c", "a") + function("d", "main")
    assert run("circles", tmp_path, files) == (1, ["native/vcs/a.c: call each other in a circle: a.c b.c c.c"])


def test_circles_lets_static_functions_of_one_name_be(tmp_path: Path) -> None:
    files = {"native/vcs/a.c": "static " + function("x") + function("a", "b", "x")}
    files["native/vcs/b.c"] = "static " + function("x") + function("b", "x")
    assert run("circles", tmp_path, files) == (0, [])


def test_unused_follows_tables_macros_and_calls_but_no_prototype(tmp_path: Path) -> None:
    code = function("in_table", "called") + function("called") + function("freed") + function("alone", "by_alone")
    code += "static const F table[] = {in_table};\nG_DEFINE_AUTOPTR_CLEANUP_FUNC(X, freed)\nvoid alone(void);\n"
    found = run("unused", tmp_path, {"native/vcs/a.c": code + "static " + function("by_alone")})[1]
    assert [line.split()[1] for line in found] == ["alone", "by_alone"]


def test_declarations_lets_be_what_is_used_begun_or_always_fails(tmp_path: Path) -> None:
    code = (
        "static bool fail(GError **error)\n{\n    return false;\n}\n"
        "static bool f(GError **error)\n{\n    g_auto(X) x = {0};\n    return fail(error) || x.a;\n}\n"
        "void h(void)\n{\n    if (f(NULL))\n        (void)f(NULL);\n    fail(NULL);\n}\n"
    )
    header = "bool acr_f(GError **error) ACR_MUST_USE;\nvoid acr_g(GError **error);\n"
    assert run("declarations", tmp_path, {"native/vcs/a.c": code, "native/vcs/a.h": header}) == (0, [])


def test_words_lets_terms_be_paraphrased_in_tests_alone(tmp_path: Path) -> None:
    files = {"tests/unit/a.c": "/* is taken to be */\n", "tests/unit/README.md": README}
    assert run("words", tmp_path, files) == (0, [])


def test_sentences_of_a_suspicious_form_are_warned_of(tmp_path: Path) -> None:
    text = "Where it is, if it is, it stays. What is missing is named. It takes that of it.\n\nThe host reads a file.\n"
    (tmp_path / "README.md").write_text(text)
    (tmp_path / "a.c").write_text("int n; /* of each */\n/* What the run comes to. */\n")
    command = [sys.executable, str(CHECKS / "words.py"), "--kinds", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    kinds = ["the subject comes after two clauses", "the subject is a clause", "a riddle"]
    kinds += ["a fragment without its noun", "a clause for a noun"]
    assert [line.split(": ")[1] for line in found] == kinds


def test_functions_that_cannot_be_found_by_name(tmp_path: Path) -> None:
    code = "".join(f"static int run_{n}(void)\n{{\n    return 0;\n}}\n" for n in range(41))
    files = {f"native/vcs/{part}.c": code for part in ("a", "b", "c")}
    assert any("41 function names stand in more than two files" in line for line in run("names", tmp_path, files)[1])
    assert run("names", tmp_path, {"native/vcs/c.c": ""})[1] == []


def test_room_over_its_budget_is_found(tmp_path: Path) -> None:
    files = {f"native/spectrum/part{n}.c": "int x;\n" * 600 for n in range(2)}
    assert any("native/spectrum: has 1200 lines" in line for line in run("sizes", tmp_path, files)[1])


def test_room_without_a_budget_is_found(tmp_path: Path) -> None:
    assert any(
        "native/attic: has no budget" in line for line in run("sizes", tmp_path, {"native/attic/a.c": "int x;\n"})[1]
    )


def stand_in(folder: Path, name: str, script: str) -> Path:
    """A shell script that replaces the program of that name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("lines", "code"), [(40, 0), (41, 1)])
def test_help_longer_than_a_screen_is_found(
    lines: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overview = "[ $1 = --help ] && echo '  ask  Ask a model' && exit\n"
    monkeypatch.setenv("ACR_BINARY", str(stand_in(tmp_path / "bin", "acr-host", f"{overview}seq {lines}\n")))
    found = run("help", tmp_path, {})
    assert found == (code, [f"acr-host ask --help: has {lines} lines, 40 are allowed"] * code)


@pytest.mark.skipif(not shutil.which("clang-format-14"), reason="clang-format 14 is not installed")
def test_c_style_finds_the_line_that_would_change(tmp_path: Path) -> None:
    style = (CHECKS.parents[1] / ".clang-format").read_text(encoding="utf-8")
    clean = {path: "int x;\n" for path in CLEAN if path.endswith((".c", ".h"))} | {".clang-format": style}
    assert run("c_style", tmp_path, clean) == (0, [])
    code, found = run("c_style", tmp_path, clean | {"native/vcs/open.c": "int a;\nint  b;\n"})
    assert code == 1 and found[0].startswith("native/vcs/open.c:2: ")


@pytest.mark.skipif(not python_style.ruff(), reason="ruff is not installed")
def test_python_style_finds_rules_and_layout(tmp_path: Path) -> None:
    assert run("python_style", tmp_path, {"a.py": "x = 1\n"}) == (0, [])
    code, found = run("python_style", tmp_path, {"a.py": "import os\nx = 1\n", "b.py": "x  = 1\n"})
    assert code == 1 and any("F401" in line for line in found) and any("b.py" in line for line in found)


@pytest.mark.skipif(not shutil.which("clang-tidy"), reason="clang-tidy is not installed")
def test_c_faults_finds_a_condition_that_stands_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "int f(int a, int b)\n{\n    return a == 1 || b == 2 || a == 1;\n}\n"
    command = {"directory": str(tmp_path), "file": str(tmp_path / "native/vcs/a.c"), "command": "cc -c native/vcs/a.c"}
    monkeypatch.setenv("ACR_BINARY", str(tmp_path / "acr-host"))
    files = {"native/vcs/a.c": code, "compile_commands.json": json.dumps([command])}
    found = run("c_faults", tmp_path, files)
    assert found[0] == 1 and "native/vcs/a.c:3: " in found[1][0]


@pytest.mark.parametrize("name", ["help", "c_faults", "c_style", "python_style"])
def test_check_without_its_tool_skips_aloud(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACR_BINARY", str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(tmp_path))
    if name == "python_style" and python_style.ruff():
        pytest.skip("ruff lies in build/tools")
    code, said = run(name, tmp_path, {})
    assert code == 77 and said[0].startswith("skipped: ")
