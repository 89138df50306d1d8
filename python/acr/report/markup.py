"""Makes HTML by functions that escape all their arguments, and the page around it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template

from acr.report.plain import visible


class Html(str):
    """Text that is already HTML, made by the functions below or from constants."""


def esc(text: object) -> Html:
    """Any value as HTML text; HTML stays unchanged."""
    return text if isinstance(text, Html) else Html(escape(visible(str(text)), quote=True))


def tag(name: str, *content: object, **attributes: object) -> Html:
    """An element. Attributes: `class_`, `data_key` for `class`, `data-key`; False and None are omitted."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(str(value)), quote=True)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{written}>{''.join(map(esc, content))}</{name}>")


def join(parts: Iterable[object]) -> Html:
    """Joins parts."""
    return Html("".join(map(esc, parts)))


def pre(text: str, label: str) -> Html:
    """Preformatted text that can be scrolled with the keyboard."""
    return tag("pre", text or "(nothing)", tabindex="0", role="region", aria_label=label)


def table(heads: list[str], rows: Iterable[list[object]], caption: str = "") -> Html:
    """A table; numbers are aligned right. A narrow page shows a row as lines, each with its heading."""
    rows = list(rows)
    kinds = ["n" if any(isinstance(row[at], int) for row in rows) else None for at in range(len(heads))]
    top = join(tag("th", head, scope="col", class_=kind) for head, kind in zip(heads, kinds)) if any(heads) else ""
    names = [None, *heads[1:]]
    body = [
        tag("tr", *(tag("td", cell, class_="n" if isinstance(cell, int) else None, data_head=names[at] or None)
                    for at, cell in enumerate(row))) for row in rows
    ]  # fmt: skip
    inside = join([tag("caption", caption)] if caption else [])
    return tag("div", tag("table", inside, tag("thead", tag("tr", top)) if top else "", tag("tbody", *body)), class_="scroll", tabindex="0",
               role="region", aria_label=caption or "table")  # fmt: skip


def fold(summary: object, *content: object, is_open: bool = False) -> Html:
    """A part that opens on a click."""
    inside = join([tag("summary", summary), *content])
    return Html(f"<details{' open' if is_open else ''}>{inside}</details>")


def section(key: str, title: str, *content: object) -> tuple[str, str, Html]:
    """(key, title, HTML) of a section; an empty section is omitted from the page."""
    return key, title, tag("section", tag("h2", title), *content, id=key, tabindex="-1") if any(content) else Html("")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _now() -> tuple[str, str, Html]:
    """The element in which live.js shows running tasks."""
    heads = join(tag("th", head, scope="col") for head in ("task", "stage", "time", "calls", "cost"))
    top = tag("thead", tag("tr", heads))
    running = tag("table", tag("caption", "tasks that run"), top, tag("tbody"), id="running", hidden="")
    return section("now", "Now", tag("p", "", id="state", role="status"), tag("div", running, class_="scroll"))


def page(title: str, summary: Html, sections: list[tuple[str, str, Html]], version: str, is_live: bool = False) -> str:
    """The whole page. It loads nothing from elsewhere and runs only its own script. A live page gets changes from its
    own server, and contacts no other."""
    here = Path(__file__).parent
    style, script, live = ((here / name).read_text("utf-8") for name in ("page.css", "page.js", "live.js"))
    if is_live:
        script, sections = script + live, [_now(), *sections]
    sections = [each for each in sections if each[2]]
    links = join(tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in sections)
    return Template((here / "page.html").read_text("utf-8")).substitute(
        title=esc(title), summary=summary, links=links, body=join(part for _, _, part in sections), version=esc(version),
        style=style, script=script, style_hash=_hash(style), script_hash=_hash(script),
        connect="connect-src 'self'; " if is_live else "",
    )  # fmt: skip
