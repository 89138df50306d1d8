"""Parses the text of one search call into its name and arguments, bound to the registered signature.

A model reads the messages: each names the error and shows the correct form of the call. A process may be started for a
single call, so this module calls Python's parser directly, and loads the module `ast` only for unusual calls.
"""

from __future__ import annotations

import _ast
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

from acr.byte_fields import pack, unpack  # noqa: E402

MAX_TEXT = 64 * 1024  # longest call in characters
MAX_INTEGER = 2**31 - 1
MAX_SHOWN = 80  # characters of a call's text that a message quotes

# (name, ((parameter, kind), ...)); a kind is "str" or "int", followed by the default if there is one: "int = 10"
Spec = tuple[str, tuple[tuple[str, str], ...]]


class BadCall(ValueError):
    """The text is not a call, names an unknown call, or has wrong arguments."""


def bind(payload: bytes) -> bytes:
    """Bind a call. Takes fields: its text (UTF-8), and each known call: name, parameters and kinds, separated by NUL.

    Returns fields: `ok`, the name, and for each parameter "=" and its value, or nothing if omitted; or `bad`, message.
    """
    text, *known = (field.decode("utf-8", "replace") for field in unpack(payload))
    try:
        name, values = bind_text([_spec(row) for row in known], text)
        given = ("" if value is None else f"={value}" for value in values)
        return pack(part.encode("utf-8") for part in ("ok", name, *given))
    except UnicodeEncodeError:
        return pack([b"bad", b"an argument holds half of a surrogate pair: write the character itself"])
    except BadCall as error:
        return pack([b"bad", str(error).encode("utf-8", "replace")])


def _spec(row: str) -> Spec:
    name, *params = row.split("\0")
    return name, tuple(zip(params[::2], params[1::2]))


def bind_text(specs: Iterable[Spec], text: str) -> tuple[str, list[str | None]]:
    """Return the call's name and its values as text: integers in decimal, None if omitted. Raises BadCall."""
    table = dict(specs)
    call = _parse(text)
    name = _name(call, table)
    usage = _usage(name, table[name])
    arguments, keywords = _literals(call, usage)
    try:
        bound = _bind(table[name], arguments, keywords)
    except TypeError as error:
        raise BadCall(f"{name}: {error}; usage: {usage}") from None
    return name, [_value(bound[param], param, kind, usage) if param in bound else None for param, kind in table[name]]


def _parse(text: str) -> _ast.Call:
    text = text.strip()
    if len(text) > MAX_TEXT:
        raise BadCall(f"the call is longer than {MAX_TEXT} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(text, "<call>", "eval", _ast.PyCF_ONLY_AST)
    except SyntaxError as error:
        raise BadCall(f"{_shown_call(text)} is not a Python call: {_advice(error)}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadCall(f"{_shown_call(text)} is not a Python call: {error or 'nested too deeply'}") from None
    if not isinstance(tree.body, _ast.Call):
        raise BadCall(f'{_shown_call(text)} is not a call: write name("argument", ...)')
    return tree.body


def _advice(error: SyntaxError) -> str:
    if error.msg.startswith("unterminated string literal"):
        return "a string is not closed on its line; write a line break in quotes as \\n"
    return error.msg


def _name(call: _ast.Call, table: dict[str, tuple[tuple[str, str], ...]]) -> str:
    known = ", ".join(table)
    if not isinstance(call.func, _ast.Name):
        raise BadCall(f"{_unparsed(call.func)} is not a search call; there are: {known}")
    if call.func.id not in table:
        import difflib

        near = "".join(f"did you mean {name}? " for name in difflib.get_close_matches(call.func.id, table, 1))
        raise BadCall(f"there is no call {_shown_call(call.func.id)}; {near}there are: {known}")
    return call.func.id


def _literals(call: _ast.Call, usage: str) -> tuple[list[object], dict[str, object]]:
    keywords: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise BadCall(f"** cannot be used here; usage: {usage}")
        if keyword.arg in keywords:
            raise BadCall(f"{keyword.arg} is given twice; usage: {usage}")
        keywords[keyword.arg] = _literal(keyword.value, usage)
    return [_literal(argument, usage) for argument in call.args], keywords


def _literal(node: _ast.expr, usage: str) -> object:
    if isinstance(node, _ast.Constant):
        return node.value
    import ast

    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        shown = "an argument" if isinstance(node, _ast.Starred) else _unparsed(node)
        quoted = f": should it be {node.id!r}, in quotes?" if isinstance(node, _ast.Name) else ""
        raise BadCall(f"{shown} is not a literal string or number{quoted}; usage: {usage}") from None


def _unparsed(node: _ast.expr) -> str:
    import ast

    try:
        return _shown_call(ast.unparse(node))
    except RecursionError:
        return "an expression that is nested too deeply"


def _bind(
    params: tuple[tuple[str, str], ...], arguments: list[object], keywords: dict[str, object]
) -> dict[str, object]:
    """Return a dict from each given parameter to its value. Raises TypeError."""
    if len(arguments) > len(params):
        raise TypeError("too many positional arguments")
    names = [param for param, _ in params]
    bound = dict(zip(names, arguments))
    for name, value in keywords.items():
        if name not in names:
            raise TypeError(f"got an unexpected keyword argument {_shown_call(name)}")
        if name in bound:
            raise TypeError(f"multiple values for argument {name!r}")
        bound[name] = value
    for name, kind in params:
        if "=" not in kind and name not in bound:
            raise TypeError(f"missing a required argument: {name!r}")
        if "=" in kind and bound.get(name) is None:
            bound.pop(name, None)
    return bound


def _usage(name: str, params: tuple[tuple[str, str], ...]) -> str:
    return f"{name}({', '.join(f'{param}: {kind}' for param, kind in params)})"


def _value(value: object, param: str, kind: str, usage: str) -> str:
    if kind.startswith("int"):
        return _integer(value, param, usage)
    if not isinstance(value, str):
        raise BadCall(f"{param} must be a string in quotes, not {type(value).__name__}; usage: {usage}")
    if "\0" in value:
        raise BadCall(f"{param} contains a NUL character, which no text file has")
    return value


def _integer(value: object, param: str, usage: str) -> str:
    if isinstance(value, str) and len(value) < 20:
        digits = value.strip()
        if digits.isascii() and digits.removeprefix("-").isdigit():
            value = int(digits)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadCall(f"{param} must be a whole number; usage: {usage}")
    if abs(value) > MAX_INTEGER:
        raise BadCall(f"{param} is too large; usage: {usage}")
    return str(value)


def _shown_call(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "...")
