"""The referee: does a file compile?

Asked in every run, so it imports nothing that is not there already.
"""

from __future__ import annotations

import os
import warnings

from acr.packing import unpack

MAX_MESSAGE = 500  # characters


def compiles(payload: bytes) -> bytes:
    """Whether a file compiles. Takes fields path, source; gives nothing if it does, else why not (UTF-8, one line)."""
    path, source = unpack(payload)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, os.fsdecode(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        shown = f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    except (ValueError, OverflowError) as error:
        shown = str(error)
    except RecursionError:
        shown = "nested too deeply"
    except MemoryError:
        shown = "too deep or too large for the parser"
    else:
        return b""
    return " ".join(shown.split())[:MAX_MESSAGE].encode("utf-8", "replace")
