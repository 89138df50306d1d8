"""acr.report.pull_request: text from models and repositories mentions nobody, closes nothing and shows as text."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from acr.byte_fields import pack
from acr.report import service
from acr.report.markdown import disarmed
from acr.report.pull_request import MAX_BODY, MAX_TITLE, title
from acr.report.story import run_of

URL = "https://gitlab.com/group/sub/name/-/issues/12"
HOSTILE = [
    "Fixes #1", "fixes: #1", "CLOSES owner/name#2", "resolved GH-3", "closing issue #4 and #5", "Implements PROJ-6",
    "fix https://github.com/o/n/issues/7", "@everyone and @org/team", "/close\n/assign @bob\n/merge", "!8 &9 %10 ~bug",
    "``` \n@eve fixes #1\n```", "`@eve` fixes #1", "</details><script>alert(1)</script><img src=x>", "![x](https://evil.test/p.png)",
    "[x](https://evil.test)", "\x1b[31m\u202e\u200bhidden", "{{cost}} {{nothing}}", "~~~\nfixes #1\n~~~", "a\r/close\r\n/close", "",
    "[skip ci] [CI-skip] [no ci] ***NO_CI***", "PROJ-1 #close #time 2w",
]  # fmt: skip
# The words that close an issue in GitLab and Gitea, which include GitHub's.
CLOSING = re.compile(
    r"(?i)(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?):?\s+(?:issues?\s+)?"
    r"(?:[\w./-]*[#!]\d|GH-\d|[A-Z][A-Z0-9_]+-\d|https?://)"
)


def make(text: str, template: str | None = None, issue: object = URL) -> dict[str, Any]:
    """The draft for a run in which every text is `text`."""
    made: dict[str, Any] = json.loads(rendered("pull request", text, template, issue))
    return made


def rendered(form: str, text: str, template: str | None = None, issue: object = URL) -> bytes:
    """A report of that run in this format."""
    place = {"role": "bug", "file": text, "class": text, "func": text, "start": 3, "end": 4, "intended_behavior": text}
    ran = {"result": text, "exit": 1, "stdout": text}
    tests = {"compared": 9, "regressions": [text], "expected": [{"test": text, "reason": text}]}
    files: dict[str, Any] = {
        "meta.json": {"options": {"model": [text]}, "issue_url": issue, "snapshot": {"commit": text}},
        "result.json": {"verdict": "unverified", "why": text, "tests": tests},
        "selected_patch.json": {"selected": "attempt_0/extracted_patch_1.diff"},
        "attempt_0/search/bug_locations_after_process.json": [place],
        "attempt_0/execution_0_1.json": ran,
        "attempt_0/execution_1_1.json": ran,
        "attempt_0/review_p1_t1.json": {"patch-correct": text, "test-correct": text},
    }
    fields = [part for name, value in files.items() for part in (name.encode(), json.dumps(value).encode())]
    fields += [b"issue.md", f"# {text}\n\n{text}".encode(), b"attempt_0/reproducer_1.py", text.encode()]
    path = " ".join(text.split())
    fields += [b"patch.diff", f"--- a/{path}\n+++ b/{path}\n@@ -1,2 +1 @@\n-{path}\n-b\n+a\n".encode()]
    fields += [b"(template)", template.encode()] if template is not None else []
    return service.run(pack([form.encode(), b"1", *fields]))


def outside_code(body: str) -> str:
    """The body without blocks and spans of code, by CommonMark's rules."""
    body = re.sub(r"(?ms)^( *)(`{3,})\w*\n.*?^\1\2$", "", body)
    return re.sub(r"(?s)(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", body)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_others_does_nothing(text: str) -> None:
    made = make(text)
    title, body, message = made["title"], made["body"], made["message"]
    assert len(title) <= MAX_TITLE and "\n" not in title
    own = f"Fixes {URL}\n"
    assert body.count(own) == 1
    for shown in (title, body.replace(own, ""), message.replace(f"Issue: {URL}\n", "")):
        assert not CLOSING.search(shown), CLOSING.search(shown)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\u200b]", shown)
        assert not re.search(r"(?m)^/", shown)
    shown = make(text, "{{title}}|{{verdict}}|{{commit}}")["body"] + outside_code(body).replace(own, "")
    for seen in (title, message.replace(URL, ""), shown):
        assert not re.search(r"@\w|#\w|!\d|://|(?i:\[(skip|no)[ -]|[ -]skip\])|\*NO", seen), seen
    assert not re.search(r"(?<!\\)<script|(?<!\\)<img|(?<!\\)\]\(h", shown), shown
    assert outside_code(body).count("details>") == (2 if text else 0)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comment_mentions_and_links_nothing(text: str) -> None:
    shown = rendered("markdown", text).decode()
    assert not CLOSING.search(shown) and not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\u200b]", shown)
    assert not re.search(r"[@#!~%&<]\w|://|\]\(|(?m:^/)", outside_code(shown)), shown


def test_placeholders_in_what_is_filled_in_stay() -> None:
    assert "Written by" not in make("{{cost}}", "{{places}}")["body"]
    assert make("x_y", "{{title}}{{commit}}")["body"] == "\\[unverified\\] Fix: x\\_y\n"
    assert "{{nothing}}" in make("x", "{{nothing}}")["error"]


def test_words_that_only_look_alike_stay() -> None:
    for text in ("fixture-1.py", "prefix #", "fix the 2nd", "fixes nothing", "def close(self): ...", "closed-loop 3"):
        assert disarmed(text) == text
    assert disarmed("fixes #1, closes owner/n#2") == "fixes [#1,] closes [owner/n#2]"


def test_a_title_without_an_issue_names_no_folder_of_this_machine() -> None:
    meta = {"options": {"repo": "/srv/hidden/place"}}
    assert title(run_of({"meta.json": json.dumps(meta).encode()})) == "[unverified] Fix: an issue"
    made = {
        "issue.md": b"Verify a patch with reproduce.py",
        "patch.diff": b"--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-1\n+2\n",
    }
    assert title(run_of(made)) == "[unverified] Fix: b.py"


def test_a_body_is_bounded() -> None:
    body = make("long `` \n" * 100_000)["body"]
    assert len(body) <= MAX_BODY and "## Evidence" in body
    assert make("x", issue="https://evil.test/x](y)/issues/1")["issue"] is None


@pytest.mark.parametrize("ended, words", [(0, "passes with the patch"), (1, "fails with the patch (exit 1)")])
def test_the_evidence_names_the_validation_and_the_broken_tests(ended: int, words: str) -> None:
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-b\n+a\n"
    request = {"patch": hashlib.sha256(patch).hexdigest(), "command": "make check"}
    ran = {"event": "execution", "request": request, "answer": {"exit": ended}}
    other = {"event": "execution", "request": {**request, "patch": None}, "answer": {"exit": 7}}
    tests = {"compared": 9, "regressions": ["t.py::test_a"], "fixed": ["t.py::test_b"]}
    files = {
        "meta.json": json.dumps({"options": {"validate": "make check"}}).encode(),
        "result.json": json.dumps({"verdict": "validated", "tests": tests}).encode(),
        "journal.jsonl": "".join(json.dumps(each) + "\n" for each in (ran, other)).encode(),
        "patch.diff": patch,
    }
    fields = [part for name, value in files.items() for part in (name.encode(), value)]
    forms = {
        form: service.run(pack([form.encode(), b"1", *fields])).decode() for form in ("pull request", "text", "html")
    }
    assert f"- validation: `make check` {words}\n" in json.loads(forms["pull request"])["body"]
    assert f"validated 'make check' {words}\n" in forms["text"]
    assert f"<code>make check</code> {words}" in forms["html"]
    broken = "- regressions: 1 among 9 tests that passed before\n  - fails now: `t.py::test_a`\n  - fixed: 1\n"
    assert broken in json.loads(forms["pull request"])["body"]
