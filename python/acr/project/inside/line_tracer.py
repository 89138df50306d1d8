"""Which lines below a folder a test runs: by sys.monitoring where Python has it (3.12), else by a trace function.

Lines of functions alone: what runs while a module is imported says nothing of the test that happened to import it.
"""

import os
import sys
import threading

TOOL = 3  # a number that neither debuggers nor coverage tools take
IMPORTING = (
    "_call_with_frames_removed",
    "exec_module",
)  # functions of importlib, and of pytest, that run a module's code
OPTIMIZED = 1  # the flag of a function's code, which a module's and a class's have not


class Tracer:
    """Lines between `begin` and `end`."""

    def __init__(self, root):
        self.root = os.path.realpath(root) + os.sep
        self.files = {}  # a code's file -> (path below the root, its lines), or None
        self.locals = {}
        self.imports = 0  # modules whose code is running
        self.monitoring = getattr(sys, "monitoring", None)
        if self.monitoring is not None and self.monitoring.get_tool(TOOL) is not None:
            self.monitoring = None
        if self.monitoring is not None:
            self.monitoring.use_tool_id(TOOL, "acr")
            events = self.monitoring.events
            self.events = events.LINE | events.PY_START | events.PY_UNWIND
            self.monitoring.register_callback(TOOL, events.LINE, self._on_line)
            self.monitoring.register_callback(TOOL, events.PY_START, self._on_start)
            self.monitoring.register_callback(TOOL, events.PY_RETURN, self._on_end)
            self.monitoring.register_callback(TOOL, events.PY_UNWIND, self._on_end)

    def begin(self):
        """From now on."""
        for found in self.files.values():
            if found:
                found[1].clear()
        self.imports = 0
        if self.monitoring is not None:
            self.monitoring.restart_events()
            self.monitoring.set_events(TOOL, self.events)
        else:
            threading.settrace(self._on_call)
            sys.settrace(self._on_call)

    def end(self):
        """Until now: {path: "1-3,7"}."""
        if self.monitoring is not None:
            self.monitoring.set_events(TOOL, 0)
        else:
            sys.settrace(None)
            threading.settrace(None)
        return {found[0]: ranges(found[1]) for found in list(self.files.values()) if found and found[1]}

    def _find(self, name):
        if name not in self.files:
            path = os.path.realpath(name)
            below = path.startswith(self.root) and not name.startswith("<")
            self.files[name] = (path[len(self.root) :], set()) if below else None
        return self.files[name]

    def _on_start(self, code, offset):
        if code.co_name != "<module>":
            return self.monitoring.DISABLE
        if not is_imported(sys._getframe(1)):
            return None
        self.imports += 1
        self.monitoring.set_local_events(TOOL, code, self.monitoring.events.PY_RETURN)
        return None

    def _on_end(self, code, offset, value):
        if code.co_name == "<module>" and self.imports and is_imported(sys._getframe(1)):
            self.imports -= 1

    def _on_line(self, code, line):
        if not code.co_flags & OPTIMIZED:
            return self.monitoring.DISABLE
        if self.imports:
            return None
        found = self._find(code.co_filename)
        if found:
            found[1].add(line)
        return self.monitoring.DISABLE

    def _on_call(self, frame, event, arg):
        code = frame.f_code
        if code.co_name == "<module>" and is_imported(frame):
            self.imports += 1
            return self._in_module
        if self.imports or not code.co_flags & OPTIMIZED:
            return None
        name = code.co_filename
        if name not in self.locals:
            self.locals[name] = self._make_local(self._find(name))
        return self.locals[name]

    def _in_module(self, frame, event, arg):
        if event == "return":
            self.imports -= 1
        return self._in_module

    @staticmethod
    def _make_local(found):
        if found is None:
            return None
        add = found[1].add

        def local(frame, event, arg):
            if event == "line":
                add(frame.f_lineno)
            return local

        return local


def is_imported(frame):
    """Whether the frame of a module's code is there because it is imported, and not run as a script or a doctest."""
    return frame.f_back is not None and frame.f_back.f_code.co_name in IMPORTING


def ranges(lines):
    """Numbers as text: "1-3,7"."""
    parts, first, last = [], None, None
    for line in sorted(lines):
        if last is not None and line == last + 1:
            last = line
            continue
        if last is not None:
            parts.append((first, last))
        first = last = line
    parts.append((first, last))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
