"""acr.reproducer_doubts: suspicious reproducers raise doubts, honest ones do not."""

from __future__ import annotations

import sys

import pytest
from acr import reproducer_doubts
from acr.byte_fields import unpack


def said(source: str) -> list[str]:
    """The doubts about a script that runs the project."""
    return [field.decode() for field in unpack(reproducer_doubts.find(f"{source}\nimport app\napp.half(4)\n".encode()))]


HONEST = {
    "assertion": "import app\nassert app.half(4) == 2, app.half(4)\n",
    "exception of the issue": "import app\ntry:\n    app.half(4)\nexcept ZeroDivisionError as e:\n    raise AssertionError('it raises') from e\n",
    "broad, but raises": "import app\ntry:\n    app.half(4)\nexcept Exception as e:\n    raise AssertionError(str(e))\n",
    "expected error": "import app\ntry:\n    app.half('x')\nexcept TypeError:\n    pass\nelse:\n    raise AssertionError\n",
    "files of its own": "import pathlib, tempfile\nd = pathlib.Path(tempfile.mkdtemp())\n(d / 'a.py').write_text('x')\nopen(d / 'b.py', 'w')\n",
    "its own place": "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\n",
    "text of a value": "import app\nassert eval(repr(app.half(2))) == 1\n",
    "chance with a seed": "import random\nrandom.seed(1)\nassert random.random() < 1\n",
    "a command of the project": "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'app'], check=True)\n",
    "in words only": "# sys.exit, os._exit\nprint('os._exit(1)')\n",
}


@pytest.mark.skipif(sys.version_info < (3, 10), reason="before 3.10 Python cannot tell what is its own")
@pytest.mark.parametrize("starts", ["", "import app", "from app import half", "import subprocess", "os.system('app')"])
def test_a_script_that_runs_nothing_of_the_project_is_doubted(starts: str) -> None:
    source = f"import os\n{starts}\nassert os.path.getsize('app.py') == 7\n"
    told = [field.decode() for field in unpack(reproducer_doubts.find(source.encode()))]
    looks = "the script imports the project but runs none of its code"
    none = "the script neither imports the project nor starts a process"
    assert told == ([looks] if "import" in starts and "app" in starts else [] if starts else [none])


LOOKS = [
    "import app\nassert app.half.__doc__\n",
    "import app\nassert 'half' in dir(app) and hasattr(app, 'twice')\n",
    "import app, inspect\nassert 'exact' in inspect.signature(app.half).parameters\n",
    "import app\nassert getattr(app, 'ROUNDING', None) == 'up'\n",
]
RUNS = [
    "from app import Half\nassert Half + 1 == 2\n",
    "from app import half\nassert list(map(half, [4])) == [2]\n",
    "import app\n\n\nclass Mine(app.Half):\n    pass\n",
    "from app import cached\n\n\n@cached\ndef f():\n    pass\n",
    "import unittest, app\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertRaises(ValueError, app.half, 'x')\n",
]


@pytest.mark.skipif(sys.version_info < (3, 10), reason="before 3.10 Python cannot tell what is its own")
def test_to_look_is_told_from_to_run() -> None:
    assert all(b"runs none of it" in reproducer_doubts.find(source.encode()) for source in LOOKS)
    assert [reproducer_doubts.find(source.encode()) for source in RUNS] == [b""] * len(RUNS)


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_script_is_not_doubted(name: str) -> None:
    assert said(HONEST[name]) == []


DOUBTED = [
    ("import os\nos._exit(1)\n", "the script calls os._exit (line 2)"),
    ("import os\nos.fork()\n", "the script calls os.fork (line 2)"),
    ("import sys\nsys.excepthook = print\n", "the script replaces sys.excepthook (line 2)"),
    ("import sys\nsetattr(sys, 'excepthook', print)\n", "the script replaces sys.excepthook (line 2)"),
    ("exec('raise AssertionError')\n", "the script runs text as code with exec (line 1)"),
    ("eval('1')\n", "the script runs text as code with eval (line 1)"),
    ("import time\nx = time.time() % 2\n", "the script reads the clock with time.time (line 2)"),
    ("import random\nx = random.random()\n", "the script depends on randomness, from random.random (line 2)"),
    ("import numpy as np\nx = np.random.rand()\n", "the script depends on randomness, from np.random.rand (line 2)"),
    ("import os\nx = os.urandom(1)\n", "the script depends on randomness, from os.urandom (line 2)"),
    ("import secrets\nx = secrets.choice([1])\n", "the script depends on randomness, from secrets.choice (line 2)"),
    ("x = open('app.py').read()\n", "the script reads a file of Python code (line 1)"),
    (
        "from pathlib import Path\nx = Path('a', 'app.py').read_text()\n",
        "the script reads a file of Python code (line 2)",
    ),
    ("import app\nx = open(app.__file__)\n", "the script reads a file of Python code (line 2)"),
    ("try:\n    x = 1\nfinally:\n    break\n", "the script drops errors by leaving a finally clause (line 1)"),
    (
        "import subprocess\nsubprocess.run(['python3', '-c', 'import app; assert app.half(4) == 2'])\n",
        "the script lets a child process decide its own exit code (line 2)",
    ),
    (
        "import subprocess\nsubprocess.run(['python3', '-c', 'import app; print(app.half(4) == 2)'])\n",
        "the script lets a child process decide its own exit code (line 2)",
    ),
    (
        "import inspect, app\nx = inspect.getsource(app)\n",
        "the script reads source code with inspect.getsource (line 2)",
    ),
    ("import app\nx = app.half.__code__\n", "the script inspects app.half.__code__ (line 2)"),
    ("import subprocess\nsubprocess.run(['grep', 'x', 'y'])\n", "the script runs grep (line 2)"),
    ("import subprocess\nsubprocess.run('cat x', shell=True)\n", "the script runs cat (line 2)"),
    (
        "import contextlib\nwith contextlib.suppress(Exception):\n    import app\n",
        "the script swallows errors with suppress (line 2)",
    ),
    ("def f(:\n", "acr-host's own Python cannot parse the script"),
    ("x = 1\0\n", "acr-host's own Python cannot parse the script"),
    ("x = " + "(" * 50_000 + ")" * 50_000, "acr-host's own Python cannot parse the script"),
]


@pytest.mark.parametrize(("source", "doubt"), DOUBTED)
def test_what_it_may_be_red_or_green_for_is_told(source: str, doubt: str) -> None:
    assert said(source) == [doubt]


def test_there_is_a_most_and_the_order_is_that_of_lines() -> None:
    many = "import os\n" + "os._exit(1)\n" * 20
    assert said(many) == [f"the script calls os._exit (line {n})" for n in range(2, 2 + reproducer_doubts.MAX_DOUBTS)]
    assert said("import os\ndef f():\n    os._exit(1)\nos.abort()\n") == [
        "the script calls os._exit (line 3)",
        "the script calls os.abort (line 4)",
    ]


def test_deep_expressions_are_no_crash() -> None:
    assert len(said("x = " + "1+" * 50_000 + "1")) <= 1
    assert len(said("x = " + "-" * 50_000 + "1")) <= 1
