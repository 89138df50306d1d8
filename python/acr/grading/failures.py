"""Finds signs in a task's log that its environment failed, as version 5 of SWE-bench's package does."""

from __future__ import annotations

import re
from typing import NamedTuple

ENVIRONMENT, AMBIGUOUS = "environment", "ambiguous"


class Failure(NamedTuple):
    """`reason`: a word; `tier`: ENVIRONMENT if a patch cannot be the cause, else AMBIGUOUS."""

    reason: str
    tier: str


# With each sign, the literal beginnings of its alternatives: a search for these is ten times as fast in a long log.
_SIGNS = [
    (
        Failure(reason, tier),
        [re.sub(r"^\^?([\w ]*).*", r"\1", part) for part in pattern.split("|")],
        re.compile(pattern, re.MULTILINE),
    )
    for reason, tier, pattern in (
        ("browser_launch_failed", ENVIRONMENT, r"Failed to launch|Failed to connect to the bus"),
        ("display_unavailable", ENVIRONMENT, r"cannot open display|Missing X server|unable to open X display"),
        ("out_of_memory", ENVIRONMENT, r"Cannot allocate memory|OutOfMemoryError|^Killed$"),
        ("container_unavailable", ENVIRONMENT, r"Error response from daemon|Cannot connect to the Docker daemon"),
        ("network_unreachable", ENVIRONMENT, r"Could not resolve host|Temporary failure in name resolution"),
        ("missing_module", AMBIGUOUS, r"Cannot find module|MODULE_NOT_FOUND|ModuleNotFoundError"),
        ("no_tests_collected", AMBIGUOUS, r"no tests ran|collected 0 items"),
        ("tests_timed_out", AMBIGUOUS, r"Timeout error: \d+ seconds exceeded"),
    )
]


def classify(log: str) -> Failure | None:
    """The first sign in the log, in the package's order; None: there is none."""
    return next(
        (failure for failure, words, sign in _SIGNS if any(word in log for word in words) and sign.search(log)), None
    )
