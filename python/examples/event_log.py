"""Observers: each event of a run as one line of JSON, in the file that $ACR_EXTENSION_LOG names."""

from __future__ import annotations

import json
import time

from acr.extensions import EVENTS, Event, Repo, on, setting

API = 1
LOG = setting("log", "", "File to which events are added")


def write(event: Event) -> None:
    """Adds a line for an event; does nothing if no file is set."""
    if LOG:
        with open(LOG, "a", encoding="utf-8") as log:
            log.write(json.dumps({"time": time.time(), "event": event.kind, **event.data}) + "\n")


for kind in EVENTS:
    globals()[f"write_{kind}"] = on(kind)(lambda event: write(event))  # a function for each event


def test_writes_lines(repo: Repo) -> None:
    """The test writes to the working folder, which belongs to the extension alone."""
    global LOG
    before, LOG = LOG, "events.jsonl"
    write(Event("call", {"call": "search_class('A')"}, repo))
    LOG = before
    with open("events.jsonl", encoding="utf-8") as log:
        assert json.loads(log.read())["event"] == "call"
