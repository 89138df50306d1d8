"""acr.issue_examples: which statements of an issue run, and what the script prints."""

from __future__ import annotations

import subprocess
import sys

import pytest
from acr import issue_examples


def shown(issue: str) -> str:
    script = issue_examples.script(issue.encode())
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("issue", "said"),
    [
        ("Fails:\n\n    >>> a = 6\n    >>> a // 2\n    2\n", "3\n"),
        (">>> for i in range(2):\n...     print(i)\n...\n0\n1\n", "0\n1\n"),
        ("In [1]: sum([1,\n   ...: 2])\nOut[1]: 4\n", "3\n"),
        ("```python\nx = [\n  1,\n]\n\n@staticmethod\ndef f():\n    return x\nprint(x)\n```\n", "[1]\n"),
        ("```pycon\n>>> int('x')\nTraceback (most recent call last):\nValueError: no\n>>> 1 +   <-- wrong\n```", "raises ValueError\n"),
        ("```\n>>> object()\n```\n~~~py\nimport sys; sys.exit(3)\n~~~\n", "<object object at 0x>\nraises SystemExit\n"),
    ],
)  # fmt: skip
def test_examples_are_run_as_a_session_runs_them(issue: str, said: str) -> None:
    assert shown(issue) == said


@pytest.mark.parametrize(
    "issue", ["prose", "```sh\nls\n```", "```\nsome log: 3 <\n```", "```diff\n- x\n```", ">>> a b", "```\nx"]
)
def test_what_is_no_python_is_no_example(issue: str) -> None:
    assert issue_examples.script(issue.encode()) == b""
