"""The page as one HTML document that needs nothing from the network: it contains styles, scripts and data.

Its policy allows only the inline scripts and styles of this document, by their hashes.
"""

import base64
import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from server.debate.views.state import STANDINGS

FOLDER = Path(__file__).parent
LIBRARIES = ("vendor/preact.js", "vendor/htm.js")
SCRIPTS = (
    *("chain.js", "model.js", "text.js", "finding.js", "panel.js", "graph.js", "time.js", "forks.js"),
    *("record.js", "live.js", "ask.js", "list.js", "app.js"),
)
STYLES = ("page.css", "drawings.css")

NO_SCRIPT = "The rest of this page is drawn by its own script, which this viewer does not run."


@dataclass(frozen=True, slots=True)
class Place:
    """What the page needs in the place where it is shown.

    `script`: JavaScript that feeds the page and handles its buttons; it runs after the page's own (docs/page.md).
    `connect`: where this script may connect to, and `send`: where forms may be sent to, as in the policy.
    """

    script: str = ""
    connect: str = "'none'"
    send: str = "'none'"


def build_page(data: Mapping[str, Any] | None = None, place: Place = Place(), content: str = "") -> str:
    """The whole document. `data`: from `web.record.build_data`; None for a page that its place feeds.

    `content`: a list of debates as HTML, in place of a preview.

    Raises ValueError if a script contains the end of a script element.
    """
    scripts, style = [*read_scripts(), *filter(None, (place.script,))], read_style()
    if any("</script" in script.lower() or "<!--" in script for script in scripts):
        raise ValueError("a script holds what ends a script element")
    record = encode_record(data)
    digest = sha256(record.encode()).hexdigest()
    title, preview = ("Debates - Counterpoint", content) if content else build_preview(data)
    policy = html.escape(build_policy(place, scripts, style), quote=True)
    return "".join(
        [
            '<!doctype html>\n<html lang="en" data-chain="checking">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n',
            f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n",
            f'<div id="page">{preview}</div>\n',
            f'<script type="application/json" id="counterpoint-data" data-sha256="{digest}">{record}</script>\n',
            *(f"<script>{script}</script>\n" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def encode_record(data: Mapping[str, Any] | None) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def build_policy(place: Place, scripts: Iterable[str], style: str) -> str:
    """The content security policy of the document."""
    hashes = " ".join(map(hash_source, scripts))
    return (
        f"default-src 'none'; script-src {hashes}; style-src {hash_source(style)}; connect-src {place.connect}; "
        f"base-uri 'none'; form-action {place.send}"
    )


def hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


@lru_cache(maxsize=1)
def read_scripts() -> tuple[str, ...]:
    """The libraries, then the page's own files as one script, so that their names stay private."""
    libraries = [(FOLDER / name).read_text(encoding="utf-8") for name in LIBRARIES]
    page_script = "\n".join((FOLDER / "assets" / name).read_text(encoding="utf-8") for name in SCRIPTS)
    words = f"const STANDINGS = {json.dumps(STANDINGS)};"
    return (*libraries, f'"use strict";\n(() => {{\n{words}\n{page_script}}})();\n')


@lru_cache(maxsize=1)
def read_style() -> str:
    return "\n".join((FOLDER / "assets" / name).read_text(encoding="utf-8") for name in STYLES)


def build_preview(data: Mapping[str, Any] | None) -> tuple[str, str]:
    """(title, HTML): the question and the finding, for viewers that run no scripts."""
    debates = data["debates"] if data else []
    if not debates:
        return "Counterpoint", f"<noscript>{NO_SCRIPT}</noscript>"
    debate, report = debates[0], debates[0]["drawing"]["report"]
    rows = debates[0]["drawing"]["lines"]
    answer = [f"{row['head']}: {row['text']}" if row["head"] else row["text"] for row in rows]
    finding = answer or [report["headline"], report["verdict"], report["reasoning"]]
    lines = [*finding, report["deliverable"], debate["reason"], debate["recorded"]]
    paragraphs = "".join(f'<p dir="auto" class="words">{html.escape(line)}</p>' for line in lines if line)
    heading = f'<h1 dir="auto">{html.escape(debate["question"])}</h1>'
    title = " ".join(debate["question"].split())[:120]
    content = f"<main>{heading}{paragraphs}<noscript><p>{NO_SCRIPT}</p></noscript></main>"
    return f"{title} - Counterpoint", content
