"""Which lines below a folder a test runs: by sys.monitoring where Python has it (3.12), else by a trace function."""

import os
import sys
import threading

TOOL = 3  # a number that neither debuggers nor coverage tools take


class Tracer:
    """Lines between `begin` and `end`."""

    def __init__(self, root):
        self.root = os.path.realpath(root) + os.sep
        self.files = {}  # a code's file -> (path below the root, its lines), or None
        self.locals = {}
        self.monitoring = getattr(sys, "monitoring", None)
        if self.monitoring is not None and self.monitoring.get_tool(TOOL) is not None:
            self.monitoring = None
        if self.monitoring is not None:
            self.monitoring.use_tool_id(TOOL, "acr")
            self.monitoring.register_callback(TOOL, self.monitoring.events.LINE, self._on_line)

    def begin(self):
        """From now on."""
        for found in self.files.values():
            if found:
                found[1].clear()
        if self.monitoring is not None:
            self.monitoring.restart_events()
            self.monitoring.set_events(TOOL, self.monitoring.events.LINE)
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

    def _on_line(self, code, line):
        found = self._find(code.co_filename)
        if found:
            found[1].add(line)
        return self.monitoring.DISABLE

    def _on_call(self, frame, event, arg):
        name = frame.f_code.co_filename
        if name not in self.locals:
            self.locals[name] = self._make_local(self._find(name))
        return self.locals[name]

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
