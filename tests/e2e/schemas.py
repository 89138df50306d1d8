"""Validates all JSON that the program prints or writes against its schema in runtime/schemas."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).resolve().parents[2] / "runtime" / "schemas"
PRINTED = {path.stem: path.stem for path in SCHEMAS.glob("*.json")}
PRINTED |= dict.fromkeys(("run", "replay", "reproduce", "verify"), "result")
PRINTED["swe-bench"] = "summary"
MOST = 100  # maximum number of checked values per run


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """The schema of that name, which must be a valid schema."""
    from jsonschema import Draft202012Validator  # imported here, because it takes long to load and few tests need it

    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults(name: str, value: Any) -> list[str]:
    """The schema errors in a value, one per line."""
    return [f"{name}: {error.message[:300]} at {error.json_path}" for error in validator(name).iter_errors(value)]


def of_run(words: list[str], out: bytes, is_whole: bool) -> Iterator[str]:
    """The schema errors in a run's output; `words` is its command. is_whole: the last line is complete."""
    options = words[: words.index("--")] if "--" in words else words
    if not {"--json", "--format=json"} & {*options} or options[0] not in PRINTED:
        return
    name = "plan" if "--dry-run" in options and options[0] == "run" else PRINTED[options[0]]
    if name == "report":  # formatted on several lines, for people
        out = json.dumps(json.loads(out)).encode() if is_whole else b""
    for line in [line for line in out.split(b"\n") if line][:MOST]:
        try:
            value = json.loads(line)
        except ValueError:
            if is_whole:
                yield f"no JSON: {line[:200]!r}"
            return
        is_error = isinstance(value, dict) and value.get("error", {}) and value["error"].keys() == {"class", "message"}
        yield from faults("error" if is_error and len(value) == 1 else name, value)


def of_folder(words: list[str]) -> Iterator[str]:
    """The schema errors in the files of a run's folder."""
    if "--out" not in words[:-1] or words[0] not in ("run", "reproduce", "verify", "swe-bench", "eval"):
        return
    folder = Path(words[words.index("--out") + 1])
    finds = {"result": folder.glob, "summary": folder.glob, "verdict": folder.rglob, "sbfl": folder.rglob}
    for name, find in finds.items():
        for path in [*find(f"{name}.json")][:MOST] if folder.is_dir() else []:
            yield from faults(name, json.loads(path.read_bytes()))
