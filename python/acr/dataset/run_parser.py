"""Runs a data set's own parser of logs; the host starts this text in a sandbox that contains only Python.

Standard input: JSON {"source", "log"}. The source defines a function that takes the log, or is a program
`OUT ERR JSON` that writes {"tests": [{"name", "status"}]}. Prints {test: outcome} as JSON, alone on the last line.
"""

import json
import re
import sys
from pathlib import Path

NAMES = ("parser", "log_parser", "parse_log", "parse")
OUTCOMES = {"pass": "PASSED", "fail": "FAILED", "skip": "SKIPPED", "error": "ERROR", "xfail": "XFAIL", "ok": "PASSED"}


def of_function(source, log):
    """Call the named function, or else the last function that the source defines, with the log."""
    space = {"__name__": "parser"}
    exec(compile(source, "<parser>", "exec"), space)
    defined = re.findall(r"^def (\w+)", source, re.MULTILINE)
    return space[next((name for name in NAMES if name in defined), defined[-1])](log)


def of_program(source, log):
    """Run the program; it gets the log as output and no errors, and writes the results to a file."""
    out, err, found = (Path("/tmp") / name for name in ("out", "err", "found.json"))
    out.write_text(log)
    err.write_text("")
    sys.argv = ["parser.py", str(out), str(err), str(found)]
    exec(compile(source, "parser.py", "exec"), {"__name__": "__main__"})
    return {at["name"]: at["status"] for at in json.loads(found.read_text())["tests"]}


def outcome(word):
    """Convert a word of the data set to an outcome."""
    lower = str(word).lower()
    return next((OUTCOMES[at] for at in sorted(OUTCOMES, key=len, reverse=True) if lower.startswith(at)), str(word))


def main():
    given = json.load(sys.stdin)
    run = of_program if "__main__" in given["source"] or "sys.argv" in given["source"] else of_function
    found = run(given["source"], given["log"])
    print("\n" + json.dumps({str(test): outcome(word) for test, word in found.items()}))


main()
