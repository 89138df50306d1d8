"""acr.patch_doubts: what a patch is barred or doubted for, that honest ones are not, and which lines count as changed."""

from __future__ import annotations

import json

import pytest
from acr import patch_doubts
from acr.packing import pack, unpack
from test_verdict_cases import CASES, sections


def read(*files: tuple[str, str | None, str | None]) -> dict:
    """What is found in files given as path, before, after; None is a side that does not exist."""
    fields = []
    for path, *sides in files:
        fields += [path.encode(), *(b"" if side is None else b"+" + side.encode() for side in sides)]
    (result,) = unpack(patch_doubts.find(pack(fields)))
    return json.loads(result)


def kinds(before: str, after: str, path: str = "pkg/mod.py") -> tuple[bool, bool]:
    """Whether anything is (barred, told)."""
    found = read((path, before, after))
    return bool(found["barred"]), bool(found["told"])


F = "def f(x):\n    return x\n"
FRAMED = "import sys\ndef f(x):\n    y = sys._getframe(1)\n    return x\n"
BARRED = {
    "frame": FRAMED,
    "frame under another name": "from sys import _getframe as look\n" + F,
    "frame by a module's other name": "import sys as s\nt = s\ndef f(x):\n    return t._getframe()\n",
    "stack": "import inspect\ndef f(x):\n    return inspect.stack()\n",
    "traceback": "def f(x):\n    try:\n        g()\n    except E as e:\n        return e.__traceback__.tb_frame\n",
    "name in pieces": "import sys\ndef f(x):\n    return getattr(sys, '_get' + 'frame')\n",
    "name in a list": "def f(x):\n    return getattr(x, '_'.join(['f', 'back']))\n",
    "names of a path": "import operator\ndef f(x):\n    return operator.attrgetter('a.f_globals')(x)\n",
    "module in pieces": "import importlib\ndef f(x):\n    return importlib.import_module('cty' + 'pes')\n",
    "module imported in place": "def f(x):\n    return __import__('gc').get_objects()\n",
    "objects": "import gc\ndef f(x):\n    return gc.get_referrers(x)\n",
    "memory": "import ctypes\n" + F,
    "trace": "import sys\nsys.settrace(None)\n" + F,
    "code put in": "def f(x):\n    x.__code__ = g.__code__\n",
    "code put in by setattr": "def f(x):\n    setattr(x, '__code__', 1)\n",
    "function made": "import types\ndef f(x):\n    return types.FunctionType(x, {})\n",
    "closure": "def f(x):\n    return x.__closure__\n",
    "descriptors copied": "import os\ndef f(x):\n    os.dup2(1, 7)\n",
    "descriptor by number": "import os\ndef f(x):\n    os.write(3, b'')\n",
    "descriptors counted": "import os\ndef f(x):\n    for n in range(9):\n        os.write(n, b'')\n",
    "process": "def f(x):\n    return open('/proc/self/cmdline')\n",
    "process by id": "def f(x):\n    return open(f'/proc/{x}/mem')\n",
    "main module": "import __main__\n" + F,
    "main module in the table": "import sys\ndef f(x):\n    return sys.modules['__main__']\n",
    "start of Python": "import os\nos.environ['PYTHONSTARTUP'] = 'x'\n" + F,
    "script's name": "import sys\ndef f(x):\n    return 'reproducer' in sys.argv[0]\n",
    "built-in names": "def f(x):\n    return __builtins__\n",
}
TOLD = {
    "end": "import sys\ndef f(x):\n    return map(sys.exit, [0])\n",
    "end by an error": "def f(x):\n    raise SystemExit(0)\n",
    "other process": "import os\ndef f(x):\n    os.execv('/bin/true', [])\n",
    "fork": "from os import fork\n" + F,
    "thread": "import threading\ndef f(x):\n    threading.Thread(target=f).start()\n",
    "signal": "import signal\n" + F,
    "hook": "import sys\nsys.excepthook = print\n" + F,
    "at the end": "import atexit\n" + F,
    "built-in replaced": "import builtins\nbuiltins.abs = len\n" + F,
    "library replaced": "import json\njson.loads = len\n" + F,
    "library replaced by setattr": "import json\nsetattr(json, 'loads', len)\n" + F,
    "library's table": "import copy\ncopy._deepcopy_dispatch[list] = len\n" + F,
    "modules": "import sys\ndef f(x):\n    return 'pytest' in sys.modules\n",
    "arguments": "import sys\ndef f(x):\n    return sys.argv\n",
    "environment": "import os\ndef f(x):\n    return os.environ.get('USER')\n",
    "test library": "from unittest import mock\n" + F,
    "equal to all": "class E:\n    def __eq__(self, other):\n        '''Text.'''\n        return True\n",
    "equal by hand": "class E:\n    __eq__ = id\n",
    "never different": "class E:\n    def __ne__(self, other): return False\n",
    "class": "class E:\n    __class__ = int\n",
    "contains all": "class E:\n    def __contains__(self, x): return True\n",
    "computed module": "import importlib\ndef f(x):\n    return importlib.import_module(x)\n",
    "computed name": "import os\ndef f(x):\n    return getattr(os, x)\n",
    "all names": "from os import *\n" + F,
    "look at code": "def f(x):\n    return x.__code__\n",
    "text as code": "def f(x):\n    return eval(x)\n",
    "names of a function by text": "def f(x):\n    return safe_getattr(x, '__globals__', {})\n",
    "start of Python compared": "import os\ndef f(x):\n    return 'PYTHONWARNINGS' in os.environ\n",
    "main module compared": "def f(x):\n    return x.__module__ == '__main__'\n",
}
HONEST = {
    "value": "def f(x):\n    return x + 1\n",
    "main guard": F + "if __name__ == '__main__':\n    f(1)\n",
    "words": 'def f(x):\n    """Calls sys._getframe, f_back, __main__."""\n    return x  # sys.exit\n',
    "own equality": "class V:\n    def __eq__(self, other):\n        return self.v == other.v\n    __hash__ = None\n",
    "contains nothing": "class V:\n    def __contains__(self, x): return False\n",
    "own names": "def exit(x):\n    return x\ndef f(x, quit=None):\n    return exit(quit)\n",
    "own module": "from . import signal, json\njson.loads = signal.alarm\n",
    "pattern": "import re\nP = re.compile('x')\n" + F,
    "lock": "import threading\nL = threading.Lock()\n" + F,
    "method": "class V:\n    def exit(self):\n        return self.exec(self.compile)\n",
    "read what the processor is": "def f(x):\n    return open('/proc/cpuinfo')\n",
    "kind of thing": "import types\ndef f(x):\n    return isinstance(x, types.MethodType)\n",
    "file of its own": "import os\ndef f(fd):\n    os.write(fd, b'')\n",
}


@pytest.mark.parametrize("name", BARRED)
def test_barred(name: str) -> None:
    assert kinds(F, BARRED[name])[0]
    assert kinds(BARRED[name], BARRED[name] + "\n\nz = 1\n") == (False, False)  # it was there before
    assert not kinds(F, BARRED[name], "tests/helper.py")[0]


@pytest.mark.parametrize("name", TOLD)
def test_told(name: str) -> None:
    assert kinds(F, TOLD[name]) == (False, True)
    assert kinds(TOLD[name], TOLD[name] + "\n\nz = 1\n") == (False, False)


@pytest.mark.parametrize("name", HONEST)
def test_neither(name: str) -> None:
    assert kinds(F, HONEST[name]) == (False, False)


def test_a_kind_that_the_function_held_is_not_added_but_in_another_function_it_is() -> None:
    assert kinds(FRAMED, FRAMED.replace("(1)", "(2)")) == (False, False)
    assert kinds(FRAMED, FRAMED + "def g():\n    return sys._getframe(1)\n") == (True, False)


def test_a_later_import_does_not_hide_a_module() -> None:
    assert kinds(F, "import os\ndef f(x):\n    os.fork()\ndef g():\n    import json as os\n") == (False, True)


ADDED_BARRED = ["conftest.py", "tests/conftest.py", "a/sitecustomize.py", "usercustomize.py", "x.pth", "json.py"]
ADDED_BARRED += ["src/unittest/__init__.py", "lib/hmac.py", "pytest.py", "_pytest/__init__.py", "math.cpython-311.so"]


@pytest.mark.parametrize("path", ADDED_BARRED)
def test_added_file_that_is_loaded_in_place_of_another(path: str) -> None:
    assert read((path, None, ""))["barred"] and not read((path, "", "x = 1\n"))["barred"]


@pytest.mark.parametrize("path", ["pkg/json.py", "json/deep.py", "test/__init__.py", "src/pkg/code.py", "json.md"])
def test_added_file_with_a_free_name(path: str) -> None:
    assert not read((path, None, ""))["barred"]


def test_settings_of_test_runners_are_told() -> None:
    found = read(("setup.cfg", "[a]\n", "[a]\naddopts = -p evil\n"))
    assert found["told"] == ["the patch sets how tests are run: `addopts = -p evil` (setup.cfg:2)"]


def test_text_is_one_line_with_the_place() -> None:
    found = read(("pkg/a\nb.py", None, "import sys\nx = sys._getframe(1)  # \x1b[0m \u202e\n"))
    assert found["barred"] == [
        r"the patch reads frames by sys._getframe: `x = sys._getframe(1)  # \x1b[0m \u202e` (pkg/a\nb.py:2)"
    ]
    long = read(("m.py", None, f"import sys\nx = sys._getframe('{'y' * 300}')\n"))["barred"][0]
    assert len(long) < 160 and "…`" in long


def test_lists_are_bounded() -> None:
    many = "import sys, os\n" + "".join(f"def f{n}():\n    sys._getframe(), os.fork()\n" for n in range(20))
    found = read(("m.py", None, many))
    assert len(found["barred"]) == len(found["told"]) == patch_doubts.MAX_TEXTS


@pytest.mark.parametrize("bad", [b"x", pack([b"a", b""]), pack([b"a", b"no sign", b"+"])])
def test_other_input_is_refused(bad: bytes) -> None:
    with pytest.raises(ValueError, match="fields"):
        patch_doubts.find(bad)


def test_unreadable_file_has_ranges_and_one_text() -> None:
    found = read(("m.py", "print 1\nprint 2\n", "print 1\nprint 3\n"))
    assert (found["barred"], len(found["told"]), found["changed"]) == ([], 1, {"m.py": [[2, 2]]})
    assert read(("m.py", "a = 1\n", "a = " + "-" * 100_000 + "1\n"))["changed"] == {"m.py": [[1, 1]]}


V = """class V(Base):
    size = 1

    def __init__(self, v):
        if v:
            self.v = v

    def key(self):
        return self.v

    def __eq__(self, other):
        return self.v == other.v


def f(x):
    return V(x)
"""
CHANGED = [
    ("a line", V, V.replace("V(x)", "V(x + 1)"), [[16, 16]]),
    ("nothing", V, V, []),
    ("comment of a function", V, V.replace("    return V", "    # text\n    return V"), []),
    ("a method above another is removed", V, V.replace("    def key(self):\n        return self.v\n\n", ""), [[1, 1]]),
    (
        "a comparison is removed",
        V,
        V.replace("    def __eq__(self, other):\n        return self.v == other.v\n", ""),
        [[1, 1]],
    ),
    ("a line of a function is removed", V, V.replace("        if v:\n            self", "        self"), [[5, 5]]),
    ("the last line of a function", "def f():\n    a()\n    b()\ndef g():\n    c()\n", None, [[2, 2]]),
    ("a member of the class is removed", V, V.replace("    size = 1\n\n", ""), [[1, 1]]),
    ("a base class", V, V.replace("(Base)", "(Loose)"), [[1, 1]]),
    ("a base class on its own line", V.replace("(Base)", "(\n    Base\n)"), None, [[1, 2]]),
    ("a decorator", "@data\n" + V, "@data(eq=False)\n" + V, [[1, 2]]),
    ("a decorator is removed", "@data\n" + V, V, [[1, 1]]),
    ("a constant", "LIMIT = 1\n\n" + V, "LIMIT = 2\n\n" + V, [[1, 1]]),
    ("a method between equal lines", V, V.replace("    def __eq__", "    def b(self):\n        return self.v\n\n    def __eq__"), [[11, 13]]),
    ("two of one name change places", "def f():\n    a()\ndef f():\n    b()\n", "def f():\n    b()\ndef f():\n    a()\n", [[2, 4]]),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "lines"), [row[1:] for row in CHANGED], ids=[row[0] for row in CHANGED])
def test_changed_lines(before: str, after: str | None, lines: list[list[int]]) -> None:
    after = before.replace("    b()\n", "").replace("    Base\n", "    Loose\n") if after is None else after
    assert read(("m.py", before, after))["changed"] == {"m.py": lines}


def of_case(name: str) -> dict:
    """What is found in the patch of a case of tests/cases/verdict."""
    (case,) = (sections(path) for path in CASES if path.stem == name)
    paths = dict.fromkeys(part.split(" ", 1)[1] for part in case if part.startswith(("before ", "after ")))
    return read(*((path, case.get(f"before {path}"), case.get(f"after {path}")) for path in paths))


@pytest.mark.parametrize("name", [path.stem for path in CASES if path.stem.startswith("honest_")])
def test_honest_case(name: str) -> None:
    found = of_case(name)
    assert found["barred"] == [] and len(found["told"]) <= 2


SURE = (
    "forged_frame_",
    "forged_gc_",
    "forged_hook_trace_",
    "forged_shadow_conftest",
    "forged_shadow_site",
    "forged_only_argv0",
)


def test_forged_cases() -> None:
    found = {path.stem: of_case(path.stem) for path in CASES if path.stem.startswith("forged_")}
    barred = {name for name, at in found.items() if at["barred"]}
    told = {name for name, at in found.items() if at["told"]} - barred
    assert all(name in barred for name in found if name.startswith(SURE))
    assert len(barred) >= 64 and len(told) >= 94


@pytest.mark.parametrize("name", ["deleted_above_eq", "len_fixed_eq_untouched"])
def test_unchanged_comparison_of_an_honest_case_is_not_in_a_range(name: str) -> None:
    (case,) = (sections(path) for path in CASES if path.stem == f"honest_{name}")
    lines = case["after m.py"].splitlines()
    ranges = of_case(f"honest_{name}")["changed"]["m.py"]
    (first,) = (at for at, line in enumerate(lines, 1) if "def __eq__" in line)
    assert not any(start <= at <= end for start, end in ranges for at in (first, first + 1))


@pytest.mark.parametrize("name", ["eq_removed_override", "eq_base_swapped", "eq_class_attribute"])
def test_comparison_that_is_changed_from_afar_marks_its_class_or_constant(name: str) -> None:
    (case,) = (sections(path) for path in CASES if path.stem == f"forged_{name}")
    lines = case["after m.py"].splitlines()
    marked = [lines[first - 1].strip() for first, _ in of_case(f"forged_{name}")["changed"]["m.py"]]
    assert any(line.startswith(("class ", "slack")) for line in marked)


def test_lines_that_repeat_without_end_count_as_changed_together() -> None:
    found = read(("m.py", "x\ny\n" * 900 + "z\n", "y\nx\nx\n" * 700 + "z\n"))
    assert found["changed"] == {"m.py": [[1, 2100]]}
