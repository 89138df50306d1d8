"""Tells the host which run of a verdict comes next, from the outcomes of the runs so far. Bytes in, bytes out.

`step` takes packed fields: a JSON object {"seed", "tree", "file" (of the script, in the
run without the patch), "packages", "exits": [[code, whether it ended by itself]…]}; the
script; the changed files, packed as (path, before, after) with "+" before each content; then standard error and output of
the run without the patch and of each run so far. It gives packed fields: a JSON object; the script of the next run; path
and content (with "+" before it) of each file that differs, in this run, from the same file of the side. The object is {"run": {"name",
"is_patched", "file", "is_pipe", "hash_seed", "user"}}, or {"refusal", "rows", "runs"}.
"""

from __future__ import annotations

import hashlib
import json

from acr.byte_fields import pack, unpack
from acr.experiments import plain
from acr.experiments.outcome import Outcome
from acr.experiments.verdict import Case, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from acr.experiments.tree_variants import Files
    from acr.experiments.verdict import Run

MAX_TOLD = 8
# The order of the table for people, as in docs/verifying.md; the runs themselves are made in random order.
ORDER = ("plain code", "negated", "perturbed", "pinned", "written out", "stated", "replayed", "decoy", "nothing", "shifted",
         "other inputs", "rewritten")  # fmt: skip


class _Session:
    """A verdict in progress: its generator, and the number of outcomes sent to it so far."""

    def __init__(self, key: bytes, fields: list[bytes]) -> None:
        given = json.loads(fields[0])
        self.key, self.sent = key, 0
        self.base, self.patched = _files(fields[2])
        code, ended = given["exits"][0]
        first = Outcome(code, ended, fields[3], fields[4], given["file"])
        script = fields[1].decode("utf-8", "replace")
        self.case = Case(script, first, given["tree"], self.base, self.patched, set(given["packages"]), given["seed"])
        self.steps: Generator[Run, Outcome, str] = judge(self.case)
        self.run: Run | None = None
        self.refusal = ""
        self._go(None)

    def _go(self, outcome: Outcome | None) -> None:
        try:
            self.run = self.steps.send(outcome)  # type: ignore[arg-type]
        except StopIteration as end:
            self.run, self.refusal = None, end.value

    def catch_up(self, exits: list[list], streams: list[bytes]) -> None:
        while self.sent < len(exits) and self.run:
            code, ended = exits[self.sent]
            err, out = streams[2 * self.sent : 2 * self.sent + 2]
            self.sent += 1
            self._go(Outcome(code, ended, err, out, self.run.file))


_sessions: list[_Session] = []  # holds only the latest session; the next step continues it


def step(argument: bytes) -> bytes:
    """The next run, or the verdict; the module's docstring describes the fields."""
    fields = unpack(argument)
    given = json.loads(fields[0])
    start = json.dumps([given["seed"], given["tree"], given["packages"], given["exits"][0]]).encode()
    key = hashlib.sha256(pack([start, *fields[1:5]])).digest()
    exits, streams = given["exits"][1:], fields[5:]
    if not _sessions or _sessions[0].key != key or _sessions[0].sent > len(exits):
        _sessions[:] = [_Session(key, fields)]
    session = _sessions[0]
    session.catch_up(exits, streams)
    if session.run is None:
        _sessions.clear()
        rows = sorted(session.case.rows, key=lambda row: ORDER.index(str(row["experiment"])))
        told = {"refusal": session.refusal, "rows": rows, "runs": session.case.runs}
        return pack([json.dumps(told).encode()])
    return _describe(session, session.run)


def _describe(session: _Session, run: Run) -> bytes:
    told = {
        "name": run.name, "is_patched": run.is_patched, "file": run.file, "is_pipe": run.is_pipe,
        "hash_seed": str(run.hash_seed), "user": run.user,
    }  # fmt: skip
    side = session.patched if run.is_patched else session.base
    wanted = {**(session.case.patched if run.is_patched else {}), **run.files}
    other = {path: text for path, text in wanted.items() if side.get(path) != text}
    files = [field for path, text in other.items() for field in (path.encode("utf-8", "surrogateescape"), _side(text))]
    return pack([json.dumps({"run": told}).encode(), run.script.encode("utf-8", "surrogatepass"), *files])


def _side(text: bytes | None) -> bytes:
    return b"" if text is None else b"+" + text


def _files(packed: bytes) -> tuple[Files, Files]:
    """The changed files on both sides, from packed (path, before, after)."""
    fields = unpack(packed)
    if len(fields) % 3:
        raise ValueError("each file of a patch needs three fields")
    base: Files = {}
    patched: Files = {}
    for path, before, after in zip(fields[::3], fields[1::3], fields[2::3]):
        name = path.decode("utf-8", "surrogateescape")
        base[name] = before[1:] if before else None
        patched[name] = after[1:] if after else None
    return base, patched


def construct(argument: bytes) -> bytes:
    """Packed ("reaches" or "all", packages as JSON, files) -> the constructs in a patch that are not plain, one text
    each.

    "reaches": only constructs that make every check of the patch meaningless.
    """
    which, packages, files = unpack(argument)
    base, patched = _files(files)
    found = plain.find(base, patched, set(json.loads(packages)))
    kept = [at for at in found if which != b"reaches" or plain.reaches(at)]
    return pack(f"{kind}: {detail}".encode() for kind, detail in kept[:MAX_TOLD])
