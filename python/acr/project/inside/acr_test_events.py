"""Writes what the reporters of test runners report, one line of JSON for each event; imports nothing of the project."""

import json
import os

FOLDER = os.environ.get("ACR_TESTS") or os.path.dirname(os.path.abspath(__file__))


class Report:
    """Writes events to the file `path` (None: nowhere). `owner`: the only process that writes; None: forks write, too."""

    def __init__(self, path, owner=None):
        self.file, self.owner = open(path, "a", encoding="utf-8") if path else None, owner

    def tell(self, **event):
        """Writes an event."""
        if self.file is not None and self.owner in (None, os.getpid()):
            self.file.write(json.dumps(event) + "\n")
            self.file.flush()


def take_report_path():
    """Returns the path of the report, and hides it from processes that the tests start."""
    os.environ.pop("ACR_TESTS", None)
    return os.environ.pop("ACR_TESTS_REPORT", None)


def read_request(name):
    """A list in the request: the selected tests, or the order of files. None if the request has none."""
    try:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def load_tracer():
    """Makes the tracer for the tree, if one was requested."""
    path = os.environ.get("ACR_TESTS_TRACE")
    if not path:
        return None
    space = {"__name__": "acr_line_tracer"}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), space)
    return space["Tracer"](os.environ["ACR_TESTS_ROOT"])
