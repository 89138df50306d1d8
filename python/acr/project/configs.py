"""Reads files in which a project says how to run its tests; returns the commands in them, as text."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TEST_NAME = re.compile(r"(^|[^a-z])(py\d*|tests?|unit\w*|check|pytest|default|testing)([^a-z]|$)", re.IGNORECASE)
_FACTOR = re.compile(r"^[\w{},!.\-]+:\s+(?=\S)")
MAX_COMMAND = 5_000  # reading a command takes time proportional to the square of its length
_POSARGS = re.compile(r"\{(?:posargs|args|\[\]):?((?:[^{}]|\{[^{}]*\})*)\}")


def read_toml(text: str) -> dict:
    """A TOML file; {} if it cannot be read."""
    for name in ("tomllib", "tomli", "pip._vendor.tomli"):
        try:
            return import_module(name).loads(text)
        except ImportError:
            continue
        except (ValueError, RecursionError):
            break
    return {}


def read_ini(text: str) -> configparser.RawConfigParser:
    """An INI file, parsed as far as possible."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return parser  # the parser keeps the lines before the error
    return parser


def table(value: object, *names: str) -> dict:
    """A table in nested tables; {} if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def substitute(command: str) -> str:
    """Replace tox's and hatch's substitutions, as far as their values are known."""
    if len(command) > MAX_COMMAND:
        return command
    for _ in range(3):
        command = _POSARGS.sub(r"\1", command)
        command = re.sub(r"\{env:\w+:([^{}]*)\}", r"\1", command)
    command = command.replace("{envpython}", "python").replace("{/}", "/").replace("{envtmpdir}", "/tmp/env")
    return re.sub(r"\{(toxinidir|tox_root|root)\}/?", "", command)


def tox(text: str) -> Iterator[tuple[str, str, str]]:
    """(command, folder, source) in tox.ini; the commands of [testenv] come first."""
    parser = read_ini(text)
    sections = [name for name in parser.sections() if name.startswith("testenv")]
    for section in sorted(sections, key=lambda name: name != "testenv"):
        if section != "testenv" and not _TEST_NAME.search(section.partition(":")[2]):
            continue
        changed = parser.get(section, "changedir", fallback=None) or parser.get(section, "change_dir", fallback="")
        lines = _references(parser, parser.get(section, "commands", fallback="") or "")
        for line in lines.replace("\\\n", " ").splitlines():
            command = substitute(_FACTOR.sub("", line.strip()).lstrip("- "))
            folder = substitute(changed or "")
            is_own = folder.startswith("/") or "{" in folder  # not a folder of the project
            if command:
                yield command, "" if is_own else folder, f"[{section}] of tox.ini"


def _references(parser: configparser.RawConfigParser, text: str) -> str:
    def value(match: re.Match[str]) -> str:
        return parser.get(match[1], match[2], fallback="") or ""

    for _ in range(3):
        text = re.sub(r"\{\[([\w:.\-]+)\](\w+)\}", value, text)
    return text


def pyproject(text: str) -> Iterator[tuple[str, str]]:
    """(command, source) of the tables of tox, hatch, pdm, poe and others in pyproject.toml."""
    tool = table(read_toml(text), "tool")
    legacy = table(tool, "tox").get("legacy_tox_ini")
    if isinstance(legacy, str):
        for command, _, _ in tox(legacy):
            yield command, "tox's settings in pyproject.toml"
    tables = [("env_run_base", table(tool, "tox", "env_run_base"))]
    tables += [(name, env) for name, env in table(tool, "tox", "env").items() if _TEST_NAME.search(name)]
    for name, env in tables:
        for command in env.get("commands", ()) if isinstance(env, dict) else ():
            yield _command_words(command), f"tox's {name} in pyproject.toml"
    yield from _scripts(tool, "tool", "pyproject.toml")


def pixi(text: str) -> Iterator[tuple[str, str]]:
    """(command, source) of the test tasks of pixi.toml."""
    yield from _scripts({"pixi": read_toml(text)}, "", "pixi.toml")


def _command_words(command: object) -> str:
    if not isinstance(command, list):
        return substitute(str(command))
    words = []
    for word in command:
        if isinstance(word, dict):
            word = " ".join(map(str, word.get("default", ()))) if word.get("replace") == "posargs" else ""
        words.append(str(word))
    return substitute(" ".join(words))


def _scripts(value: object, name: str, file: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Tables of commands: [tool.hatch.envs.test.scripts], [tool.poe.tasks], [tool.pdm.scripts], and pixi's tables."""
    if not isinstance(value, dict) or depth > 6:
        return
    for key, member in value.items():
        inner = f"{name}.{key}".removeprefix(".")
        if key in ("scripts", "tasks") and isinstance(member, dict) and name != "tool.poetry":
            for script, command in member.items():
                if _TEST_NAME.search(script):
                    yield from ((each, f"[{inner.removeprefix('pixi.')}] of {file}") for each in _of_script(command))
        else:
            yield from _scripts(member, inner, file, depth + 1)


def _of_script(script: object) -> Iterator[str]:
    """The commands of a script, with its folder and its variables."""
    folder = before = ""
    if isinstance(script, dict):
        folder = str(script.get("cwd") or "")
        before = f"cd {folder} && " if folder and " " not in folder else ""
        before += "".join(f"{name}={value} " for name, value in table(script, "env").items() if " " not in str(value))
        script = script.get("cmd") or script.get("shell") or ""
        if isinstance(script, list):
            script = " ".join(map(str, script))
    for command in script if isinstance(script, list) else [script]:
        if command:
            yield before + _command_words(command)


def nox(text: str) -> Iterator[tuple[str, str]]:
    """(command, source) of the test sessions of noxfile.py."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or not _TEST_NAME.search(function.name):
            continue
        for call in ast.walk(function):
            is_run = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "run"
            words = [word for arg in call.args for word in _literals(arg)] if is_run else []
            if words:
                yield " ".join(words), f"session {function.name} of noxfile.py"


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Starred):
        yield from _literals(node.value)
    elif isinstance(node, ast.BoolOp):
        yield from _literals(node.values[-1])
    elif isinstance(node, (ast.List, ast.Tuple)):
        for element in node.elts:
            yield from _literals(element)


def workflow(name: str, text: str) -> Iterator[tuple[str, str]]:
    """(command, source) for each line of a CI file that may be a command."""
    joined = re.sub(r"\\\n\s*", " ", text)
    for line in joined.splitlines():
        if len(line) > MAX_COMMAND:
            continue
        command = re.sub(r"^\s*(?:-\s+)?(?:(?:run|script|test|command|bash):\s*)?[|>]?-?\s*", "", line)
        command = re.sub(r"\$\{\{.*?\}\}", "", command).strip()
        if len(command) > 1 and command[0] == command[-1] and command[0] in "\"'":
            command = command[1:-1]
        if "test" in command and len(command) < 1000:
            yield command, name


def devcontainer(name: str, text: str) -> Iterator[tuple[str, str]]:
    """(command, source) of the tests that devcontainer.json runs, or that its editor settings name."""
    whole = read_json(text)
    for key in LIFECYCLE:
        yield from ((command, f"{key} of {name}") for command in lifecycle(whole.get(key)))
    settings = table(whole, "customizations", "vscode", "settings") or table(whole, "settings") or whole
    for runner, command in (("pytest", "pytest"), ("unittest", "python -m unittest discover")):
        args = settings.get(f"python.testing.{runner}Args")
        args = [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []
        if args or settings.get(f"python.testing.{runner}Enabled") is True:
            yield " ".join([command, *map(shlex.quote, args)]), f"python.testing of {name}"


LIFECYCLE = ("onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand")


def lifecycle(value: object) -> Iterator[str]:
    """The commands in a member of devcontainer.json: a line, a list of words, or an object of lines or lists."""
    if isinstance(value, dict):
        for member in value.values():
            yield from lifecycle(member) if not isinstance(member, dict) else ()
    elif isinstance(value, list):
        yield shlex.join(map(str, value))
    elif value:
        yield str(value)


def read_json(text: str) -> dict:
    """A JSON file with comments and trailing commas; {} if it cannot be read."""
    text = re.sub(
        r'("(?:\\.|[^"\\])*(?:"|\\?\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', lambda match: match[1] or " ", text, flags=re.DOTALL
    )
    text = re.sub(r'("(?:\\.|[^"\\])*(?:"|\\?\Z))|,(?=\s*[}\]])', lambda match: match[1] or "", text, flags=re.DOTALL)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def makefile(text: str, name: str = "Makefile") -> Iterator[tuple[str, str, str]]:
    """(target, command, its place) of the test targets of a Makefile, or of the recipes of a justfile."""
    values = dict(re.findall(r"^(\w+)\s*[:?]?=\s*(.*)$", text, re.MULTILINE))
    target = None
    for line in text.replace("\\\n", " ").splitlines():
        rule = re.match(r"@?([\w.-]+)(?![\w.-])[^:=]*:(?!=)", line)
        if rule:
            target = rule[1]
        elif line.startswith(("\t", "  ")) and target and _TEST_NAME.search(target):
            command = re.sub(r"\$[({](\w+)[)}]", lambda match: values.get(match[1], ""), line.strip().lstrip("@-"))
            yield target, command, f"target {target} of the {name}"
