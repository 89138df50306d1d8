"""The referee: decides whether a file compiles, or if it is a data file, whether the standard library can read it.
Every run uses this module, so it imports further modules only for data files and for files that do not compile.
"""

from __future__ import annotations

import importlib
import os
import warnings

from acr.byte_fields import unpack

MAX_MESSAGE = 500  # maximum characters of a message
MAX_BREAKS = 8
MAX_SEARCHED = 256 * 1024  # size of the largest file in which more than the first error is searched for
_SPACE = b" \t\f"


def compiles(payload: bytes) -> bytes:
    """Whether a file compiles. Takes fields path, source; returns nothing if it does, else why not (UTF-8, one line).

    For Python that does not compile, it lists all errors that are found when each line with an error is skipped, so
    that the errors of a file before and after an edit can be compared.
    """
    path, source = unpack(payload)
    suffix = os.path.splitext(path)[1].lower()
    shown = _data_error(suffix, source) if suffix in _DATA else "; ".join(_breaks(path, source))
    return " ".join(shown.split())[:MAX_MESSAGE].encode("utf-8", "replace")


def _breaks(path: bytes, source: bytes) -> list[str]:
    """List the errors, in the order in which the parser finds them."""
    found: list[str] = []
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(source, os.fsdecode(path), "exec", dont_inherit=True)
        except SyntaxError as error:
            found.append(_shown_error(error, source))
            passed = _without_line(source, error.lineno or 0)
            if passed is None or len(found) == MAX_BREAKS:
                return found
            source = passed
        except (ValueError, OverflowError) as error:
            return [*found, str(error)]
        except RecursionError:
            return [*found, "nested too deeply"]
        except MemoryError:
            return [*found, "too deep or too large for the parser"]
        else:
            return found


def _shown_error(error: SyntaxError, source: bytes) -> str:
    if not error.lineno:
        return str(error.msg)
    lines = source.split(b"\n")
    line = lines[error.lineno - 1] if error.lineno <= len(lines) else b""
    newer = _is_newer(line, str(error.msg))
    import platform

    judge = f" (parsed with Python {platform.python_version()}, which does not support newer syntax)" if newer else ""
    return f"line {error.lineno}: {error.msg}{judge}"


def _is_newer(line: bytes, message: str) -> bool:
    """Whether the line of an error may be later syntax: type parameters, `type`, `except A, B`, t-strings."""
    import re

    forms = rb"\s*(?:async\s+def|def|class)\s+\w+\s*\[|\s*type\s+\w+.*=|\s*except\s+[\w.]+\s*,|.*\b[tT][rR]?['\"]"
    return re.match(forms, line) is not None or message.startswith("f-string")


def _without_line(source: bytes, number: int) -> bytes | None:
    """The source with one line replaced by one that compiles; None if that should not be tried."""
    import re

    lines = source.split(b"\n")
    if not 0 < number <= len(lines) or len(source) > MAX_SEARCHED:
        return None
    line = lines[number - 1]
    lead = line[: len(line) - len(line.lstrip(_SPACE))]
    plain = re.sub(rb"^(\s*(?:async\s+def|def|class)\s+\w+)\s*\[[^]]*\]", rb"\1", line)
    if plain == line:
        word = line.split(None, 1)[0] if line.strip() else b""
        opens = line.rstrip().endswith(b":")
        header = {b"def": b"def _():", b"class": b"class _:", b"except": b"except Exception:"}.get(word, b"if 1:")
        plain = lead + (header if opens else b"pass")
    if plain.strip() == line.strip():
        return None
    lines[number - 1] = plain
    return b"\n".join(lines)


# Data files that an edit must not break. The standard library cannot read YAML.
_DATA = (b".json", b".ipynb", b".toml", b".xml", b".ini", b".cfg")


def _read_source(suffix: bytes, text: str) -> None:
    """Raise the standard library's error about a data file."""
    if suffix in (b".json", b".ipynb"):
        importlib.import_module("json").loads(text)
    elif suffix == b".toml":
        importlib.import_module("tomllib").loads(text)
    elif suffix == b".xml":
        importlib.import_module("xml.parsers.expat").ParserCreate().Parse(text.encode(), True)
    else:
        importlib.import_module("configparser").RawConfigParser(strict=False, allow_no_value=True).read_string(text)


def _data_error(suffix: bytes, source: bytes) -> str:
    try:
        _read_source(suffix, source.decode("utf-8-sig"))
    except ImportError:
        return ""
    except Exception as error:  # noqa: BLE001 - each reader has its own errors
        return f"not valid {suffix[1:].decode().upper()}: {error}"
    return ""
