"""Turns a script that passes while the issue exists into a script that fails, by inverting the last assertion.

The method was published as AssertFlip: models write a passing script more reliably than a failing script, because a
failure shows a model its mistake.
"""

from __future__ import annotations

import ast
import random

from acr.experiments.script_variants import Script, negated
from acr.experiments.site import is_stop, tail

_SAYS = "the project still does what the issue reports"
_AWAITS = {"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "assertLogs"}


class _Speaking(Script):
    """A script whose failures carry a readable message instead of a random word."""

    def secret(self) -> ast.expr:
        return ast.Constant(_SAYS)


def _asserts(at: ast.AST) -> bool:
    if isinstance(at, (ast.With, ast.AsyncWith)):
        return tail(at.items[0].context_expr) in _AWAITS
    is_call = isinstance(at, ast.Expr) and isinstance(at.value, ast.Call) and tail(at.value).startswith("assert")
    is_constant = isinstance(at, ast.Assert) and isinstance(at.test, ast.Constant)
    return (isinstance(at, ast.Assert) and not is_constant) or is_call or is_stop(at)


def invert(argument: bytes) -> bytes:
    """The inverted script; empty if it has no assertion that can be inverted."""
    try:
        source = argument.decode()
        last = max((at.lineno for at in ast.walk(ast.parse(source)) if _asserts(at)), default=0)
        turned = negated(_Speaking(source, [last], random.Random(0))) if last else None
    except (ValueError, SyntaxError, RecursionError):
        return b""
    return (turned or "").encode("utf-8", "surrogatepass")
