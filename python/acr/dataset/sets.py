"""Converts the rows of other data sets to rows with SWE-bench's fields, with one table per data set (`sets/*.json`).

A table defines the meaning of a row's fields: "known_by" (a row belongs to the first set all of whose fields it has;
sets with most fields come first), "image" (templates; the first whose fields exist is used), "fields" (ours: theirs),
"statement" (the text of the issue), "folder" of the project, "activates" conda's environment there, "before" and "test"
(fields with commands) or "test_text", "adds_files" (the test files follow the command), "parser" (the field with its
name) or "parser_text", "parser_source" (its Python code), "python", "pip", "install", "counts" ("passed": skipped tests
count as failed; "not failed": PASS_TO_PASS tests count as passed unless they fail), "strips_times" from test names,
"results" (the file that the set's own harness writes), "reversed" (the patch breaks the code), "sets_tests" (a field
whose last line installs the hidden tests), "run_scripts" (the field with the files for the scripts in the folder
run_scripts beside the data). The user's tables in $XDG_CONFIG_HOME/acr-host/datasets come first.
"""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]

LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")


class BadRow(ValueError):
    """The error in a row: the field and the reason, in one line."""


def tables() -> list[Row]:
    """The user's tables, then the program's, each sorted from most to least specific. Raises BadRow."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    found: list[Row] = []
    for folder in (Path(config) / "acr-host" / "datasets", Path(__file__).with_name("sets")):
        some = []
        for path in sorted(folder.glob("*.json")):
            try:
                some.append(json.loads(path.read_text(encoding="utf-8")))
            except ValueError as error:
                raise BadRow(f"the table '{path}' is not JSON: {error}") from error
        found += sorted(some, key=lambda table: -len(table["known_by"]))
    return found


def canonical(row: Row, known: list[Row], folder: Path) -> Row:
    """The row in SWE-bench's fields. `folder` contains the data set. Raises BadRow."""
    table = next((at for at in known if all(_get(row, field) is not None for field in at["known_by"])), {})
    if table.get("reversed") and row.get("test_patch"):
        table = {}
    made = {**row, **{ours: _get(row, theirs) for ours, theirs in table.get("fields", {}).items()}}
    for key in LISTS:
        made[key] = (
            json.dumps(_list(made.get(key), key)) if isinstance(made.get(key), str) else _list(made.get(key), key)
        )
    if table:
        made.update(_described(row, table))
        if table.get("run_scripts"):
            made.update(_scripted(row, table, folder))
        if table.get("reversed"):
            made.update(_turned(made))
    for key in ("instance_id", "repo"):
        if not isinstance(made.get(key), str) or not made[key]:
            raise BadRow(f'lacks the string "{key}"')
    for key in ("base_commit", "problem_statement"):
        made[key] = str(made.get(key) or "")
    return made


def _described(row: Row, table: Row) -> Row:
    """The properties that the table gives its rows, besides SWE-bench's fields."""
    activate = ["source /opt/miniconda3/bin/activate", "conda activate testbed"] if table.get("activates") else []
    setter = str(_get(row, table.get("sets_tests", "")) or "").strip().split("\n")[-1]
    runs = {
        "begin": [*activate, f"cd {table['folder']}"],
        "before": _commands(row, table.get("before", ())),
        "test": _commands(row, table.get("test", ())) or [at for at in [table.get("test_text")] if at],
        "adds_files": table.get("adds_files", False),
        "sets_tests": setter,
    }
    packages = [line for field in table.get("pip", ()) for line in _packages(_get(row, field))]
    python = str(_get(row, table.get("python", "")) or "")
    install = "; ".join(_commands(row, table.get("install", ())))
    told = {
        "set": table["name"],
        "test_patch": str(row.get("test_patch") or ""),
        "image": _image(row, table),
        "runs": runs,
        "log_parser": _parser(row, table),
    }
    told["environment"] = {"python": python, "pip": packages, "install": install}
    told.update((key, table[key]) for key in ("counts", "strips_times", "results") if key in table)
    source = _get(row, table.get("parser_source", ""))
    if isinstance(source, str) and re.search(r"^\s*def ", source, re.MULTILINE):
        told["parser_source"] = source
    if "statement" in table:
        told["problem_statement"] = "\n\n".join(str(row[at]) for at in table["statement"] if row.get(at))
    return told


def _parser(row: Row, table: Row) -> str:
    name = table.get("parser_text") or _get(row, table.get("parser", "")) or ""
    source = _get(row, table.get("parser_source", ""))
    name = name or (source if isinstance(source, str) and source.isidentifier() else "")
    return f"parse_log_{name}" if name and not str(name).startswith("parse_") else str(name)


def _image(row: Row, table: Row) -> str:
    name = str(row.get("instance_id", "")).lower()
    names = {**row, "id_1776": name.replace("__", "_1776_")}
    for template in table["image"]:
        fields = re.findall(r"\{(\w+)\}", template)
        if all(names.get(field) for field in fields):
            text = template.format(**names)
            return text if ":" in text.split("/")[-1] else f"{text}:latest"
    return ""


def _get(row: Row, field: str) -> Any:
    """The value of a field; "a.b" names a field of an object, which may be JSON text."""
    value: Any = row
    for part in field.split(".") if field else ():
        if isinstance(value, str) and value.startswith("{"):
            value = _parsed(value)
        value = value.get(part) if isinstance(value, dict) else None
    return value if field else None


def _parsed(text: str) -> Any:
    """A value in a text, as JSON or as a Python literal; None if it is neither."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _list(value: Any, field: str) -> list[str]:
    """A list of texts, or a text that contains such a list."""
    found = _parsed(value) if isinstance(value, str) and value.strip() else value or []
    if not isinstance(found, list) or not all(isinstance(at, str) for at in found):
        raise BadRow(f'"{field}" is not a list of strings')
    return found


def _commands(row: Row, fields: list[str]) -> list[str]:
    """The commands in some fields, each of which has one command or a list of them."""
    values = [(field, _get(row, field)) for field in fields]
    found = [[at] if isinstance(at, str) and at[:1] != "[" else _list(at, field) for field, at in values]
    return [at for some in found for at in some if at.strip()]


def _packages(value: Any) -> list[str]:
    lines = value.split("\n") if isinstance(value, str) else value or []
    return [at.strip() for at in lines if isinstance(at, str) and re.match(r"\s*[A-Za-z0-9]", at)]


def _scripted(row: Row, table: Row, folder: Path) -> Row:
    """The instance's own script and parser; the parser is a program: parser.py OUT ERR JSON."""
    place = folder / "run_scripts" / str(row.get("instance_id"))
    files = _list(row.get(table["run_scripts"]), table["run_scripts"])
    try:
        script, parser = ((place / name).read_text("utf-8") for name in ("run_script.sh", "parser.py"))
    except OSError as error:
        raise BadRow(f"has no script '{error.filename}'") from error
    return {"parser_source": parser, "log_parser": "", "run_script": script, "test_files": ",".join(files)}


def _turned(row: Row) -> Row:
    """A row whose patch breaks the code of a branch that is named after the instance."""
    files = dict.fromkeys(test.split("::")[0] for key in LISTS for test in _list(row[key], key) if "::" in test)
    return {
        "patch": reverse(str(row.get("patch") or "")),
        "base_commit": row.get("base_commit") or row.get("instance_id"),
        "checkout": row.get("instance_id"),
        "test_patch": "",
        "test_files": list(files),
    }


_HUNK = re.compile(r"@@ -(\S+) \+(\S+) @@(.*)", re.DOTALL)


def reverse(patch: str) -> str:
    """A unified diff that reverts the given diff."""
    out: list[str] = []
    left, right = 0, 0  # remaining lines of the hunk on each side
    for line in patch.splitlines(keepends=True):
        if left > 0 or right > 0:
            left -= line[:1] in (" ", "-", "\n")
            right -= line[:1] in (" ", "+", "\n")
            out.append({"+": "-", "-": "+"}.get(line[0], line[0]) + line[1:])
        elif found := _HUNK.match(line):
            left, right = (int((at.split(",") + ["1"])[1]) for at in found.groups()[:2])
            out.append(f"@@ -{found[2]} +{found[1]} @@{found[3]}")
        elif line.startswith("+++ ") and out and out[-1].startswith("--- "):
            old = out.pop()[4:]
            out += [f"--- {_side(line[4:], 'a')}", f"+++ {_side(old, 'b')}"]
        else:
            for one, other in (("new file mode", "deleted file mode"), ("old mode", "new mode")):
                if line.startswith((one, other)):
                    line = other + line[len(one) :] if line.startswith(one) else one + line[len(other) :]
                    break
            out.append(line)
    return "".join(out)


def _side(path: str, prefix: str) -> str:
    return path if path.startswith("/dev/null") else f"{prefix}/{path.split('/', 1)[-1]}"
