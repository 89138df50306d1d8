"""Reports that the runner did not write, or only in part: each gives a reason, soon, and none raises."""

from __future__ import annotations

import hashlib
import json
import time

import pytest
from acr import verdict
from acr.packing import pack, unpack

TAG, KEY = b"0123abcd", bytes(range(32))
SCRIPT = b"from m import f\n\ndef check():\n    assert f(1) == 2\n\ntry:\n    check()\nexcept ValueError:\n    pass\n"
FILES = pack([b"m.py", b"+def f(x):\n    return x\n", b"+def f(x):\n    return x + 1\n"])
COUNTS = "{(4, 4, 0): 1, (4, 4, 1): %d, (6, 0, 0): 1, (6, 0, 1): %d, (7, 4, 0): 1, (7, 4, 1): %d}"
BEFORE = ["'failed', 'AssertionError', [7, 4], '=', 'check', 4", f"'counts', {COUNTS % (0, 0, 0)}", "'end', 'ended'"]
HELD = "'held', 4, 4, '==', ('plain', '2'), ('plain', '2'), True"
AFTER = [HELD, f"'counts', {COUNTS % (1, 1, 1)}", "'end', 'end'"]
MAX_SECONDS = 60  # only what hangs takes so long


def _numbered(bodies: list[str]) -> list[str]:
    return [f"({number}, {body})" for number, body in enumerate(bodies, 1)]


def _frame(body: bytes) -> bytes:
    mac = hashlib.blake2b(body, key=KEY, digest_size=16).hexdigest().encode()
    return b"\x1e" + TAG + mac + body + b"\x1e"


def _end(text: bytes) -> list[str]:
    return json.loads(verdict.end(pack([TAG, KEY.hex().encode(), text])))


def _judge(before: list[str], after: list[str]) -> list[str]:
    started = time.monotonic()
    argument = pack([SCRIPT, json.dumps(before).encode(), json.dumps(after).encode(), FILES])
    reasons = [at.decode() for at in unpack(verdict.judge(argument))]
    assert time.monotonic() - started < MAX_SECONDS
    return reasons


def test_reports_of_the_runner_prove() -> None:
    assert _judge(_numbered(BEFORE), _numbered(AFTER)) == []


GARBAGE = {
    "nothing": "",
    "a number": "7",
    "no tuple": "[1, 'end', 'end']",
    "an empty tuple": "()",
    "a kind that is none": "(1, 7)",
    "a kind alone": "(1, 'held')",
    "code": "(1, __import__('os').getpid())",
    "no Python": "(1, 'held', ",
    "a null character": "(1, 'held\0')",
    "deep brackets": "(1, 'read', " + "(" * 100_000 + ")" * 100_000 + ")",
    "many signs": "(1, 'read', " + "-" * 100_000 + "1)",
    "a long sum": "(1, 'read', " + "1+" * 100_000 + "1)",
    "a large number": "(1, 'end', " + "9" * 5000 + ")",
    "an unhashable key": "(1, 'counts', {[1]: 2})",
    "no counts": "(1, 'counts', 7)",
    "classes of another shape": "(1, 'own', 4, 4, '==', 'bool', [[], []], [(1, 2)], [])",
    "codes of another shape": "(1, 'own', 4, 4, '==', 'bool', [(1, 2, 3, 4)], [], [])",
    "operands of another shape": "(1, 'held', 4, 4, '==', 'x', (), True)",
    "an operand that is code": "(1, 'held', 4, 4, '==', ('plain', 'exit()'), ('plain', '1'), True)",
    "a failure without lines": "(1, 'failed', 'AssertionError', 7, '=', 'check', 4)",
    "a failure of lists": "(1, 'failed', 'AssertionError', [[]], [], [], [])",
    "a handler of another shape": "(1, 'caught', 8, 0)",
}


@pytest.mark.parametrize("body", GARBAGE.values(), ids=list(GARBAGE))
def test_garbage_gives_a_reason(body: str) -> None:
    later = [f"({number}, {at})" for number, at in enumerate(AFTER, 2)]
    assert _judge(_numbered(BEFORE), [body, *later])
    _judge([body, *_numbered(BEFORE)], _numbered(AFTER))


@pytest.mark.parametrize("bodies", [[], ["(2, 'end', 'end')"], ["(1, 'end', 'end')"] * 2, _numbered(AFTER)[:-1]])
def test_reports_that_are_missing_or_doubled_give_a_reason(bodies: list[str]) -> None:
    assert _judge(_numbered(BEFORE), bodies)
    assert _judge(bodies, _numbered(AFTER))


@pytest.mark.parametrize(
    "body",
    [
        HELD,
        "'failed', 'AssertionError', [%d], '=', 'check', 4",
        "'caught', 8, 0, 'AssertionError', [%d], 'm.py', 'f', %d",
        "'own', 4, 4, '==', 'bool', [('m.py', 1, 'f', ('x',))], [('m.py', 'K')], []",
    ],
)
@pytest.mark.parametrize("times", [5_000, 100_000])
def test_many_reports_take_no_time(body: str, times: int) -> None:
    many = [body.replace("%d", str(number)) for number in range(times)]
    _judge(_numbered(many + BEFORE), _numbered(AFTER))
    _judge(_numbered(BEFORE), _numbered(many + AFTER))


def test_frames_are_found_among_other_output() -> None:
    assert _end(b"\xff\xfe noise" + _frame(b"(1, 'a')") + b"\x1e\x1e\n" + _frame(b"(2, 'b')")) == [
        "(1, 'a')",
        "(2, 'b')",
    ]


@pytest.mark.parametrize("cut", range(1, len(_frame(b"(1, 'end', 'end')"))))
def test_a_frame_that_is_cut_in_half_is_none(cut: int) -> None:
    frame = _frame(b"(1, 'end', 'end')")
    assert _end(frame[:cut]) == [] and _end(frame[cut:]) == []


def test_a_frame_of_another_key_or_too_long_is_none() -> None:
    forged = b"\x1e" + TAG + b"0" * 32 + b"(1, 'end', 'end')\x1e"
    assert _end(forged + _frame(b"(1, '" + b"x" * verdict.MAX_BODY + b"')")) == []


@pytest.mark.parametrize("text", [b"\x1e", b"\x1e" + TAG, b"\x1e" + TAG + b"0" * 32 + b"x" * 500, bytes(range(256))])
def test_a_megabyte_of_anything_is_read_at_once(text: bytes) -> None:
    started = time.monotonic()
    assert _end(text * (1_000_000 // len(text))) == []
    assert time.monotonic() - started < MAX_SECONDS


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ("def f(x):\n    raise SystemExit\n", "end the process by SystemExit"),
        ("import os\nif os.fork():\n    os.wait()\n", "processes by os.fork"),
        ("import atexit\natexit.register(print)\n", "runs code later by atexit"),
        ("def f(x):\n    return x + 1\n", ""),
        ("import subprocess\ndef f(x):\n    return subprocess.call([x])\n", ""),
    ],
)
def test_what_a_command_that_ends_well_does_not_prove(after: str, why: str) -> None:
    found = [at.decode() for at in unpack(verdict.barred(pack([b"m.py", b"+", b"+" + after.encode()])))]
    assert why in "".join(found) if why else found == []
