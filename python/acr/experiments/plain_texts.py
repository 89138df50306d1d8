"""Finds texts with which code could reach what plain code may not use: attributes, formats, files and code as data."""

from __future__ import annotations

import ast
import re

from acr.experiments import plain_names as names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.experiments.plain import Finding, Unit

_STARTS = re.compile(r"eval_str$|PYTHON[A-Z]+$|/proc\b|/dev/(?:fd|std)")
_OPEN_FIELD = re.compile(r"\{\w*[.\[][^{}]*$|__[\].}]")  # a part of a format that reads an attribute
# String methods that return a string with other characters.
_EDITS = frozenset(
    "replace translate decode format format_map swapcase upper lower removeprefix removesuffix chr bytes bytearray reversed pop".split()
)
# Data that a library turns into code or objects: YAML's tags, attributes in templates, and pickles.
_LOADED = re.compile(
    rb"!!python/|\{[{%][^}\n]*(?:__\w|\.\w*_(?:frame|back|globals)\b|\|\s*attr\b)|^\(?c[\w.]+\n\w[\w.]*\n|^\x80[\x02-\x05]",
    re.M,
)


def constant(x: ast.Constant, compared: set[int]) -> Iterator[Finding]:
    """Findings about one string. compared: nodes that the code only compares, or uses as names of attributes."""
    if not isinstance(x.value, str):
        return
    special, alone = re.fullmatch(r"__(\w+)__", x.value), id(x) not in compared
    starts = x.value == "__main__" and alone or special and special[1] in names.DECIDING and alone
    inner = names.fields(x.value)
    hidden = any(names.HIDDEN.search(at) or at[:2] == "__" and at not in names.ATTRIBUTES for at in inner)
    if starts or hidden or _STARTS.match(x.value) or "{" in x.value and _OPEN_FIELD.search(x.value):
        yield "name in a string", x.value[:30]


def templates(unit: Unit) -> Iterator[Finding]:
    """Computed format strings, because such a string can read any attribute of the formatted values."""
    first = {id(x.func): x.args[0] for x in unit.nodes if isinstance(x, ast.Call) and x.args}
    for x in unit.nodes:
        if not isinstance(x, ast.Attribute) or x.attr not in ("format", "format_map"):
            continue
        at = first.get(id(x)) if ast.unparse(x.value) == "str" else x.value
        name = getattr(getattr(at, "func", None), "id", "")
        if name and name not in _EDITS and all(isinstance(y, ast.Constant) for y in at.args):
            continue  # a translated text
        parts = [*unit.parts(at)]
        made = any(isinstance(y, (ast.BinOp, ast.JoinedStr, ast.Call)) for y in parts)
        if at is None or made and any(map(_asks, parts)):
            yield "computed format", ast.unparse(x)[:60]


def _asks(at: ast.AST) -> bool:
    """Whether a part of a computed format string could read an attribute."""
    if isinstance(at, ast.Call):
        return getattr(at.func, "attr", getattr(at.func, "id", "")) in _EDITS
    return isinstance(at, ast.Constant) and bool(re.search(r"^[^:{]*[.\[]|\{[^:}]*[.\[]|__", str(at.value)))


def loaded(base: bytes | None, patched: bytes | None) -> bool:
    """Whether a patch adds data that a library turns into code or objects."""
    old = set((base or b"").splitlines())
    return bool(_LOADED.search(b"\n".join(line for line in (patched or b"").splitlines() if line not in old)))
