"""The list of debates as HTML, for browsers with and without scripts; and the form that narrows it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from html import escape
from typing import Any
from urllib.parse import urlencode

from server.debate.facts.text import format_dollars, remove_invisible
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import tell_standing
from server.engine.database.values import COSTS, KINDS, OUTCOMES, choose_values
from server.engine.debates import DebateManager
from server.engine.queries import STATUSES, list_debates

Choice = tuple[str, str]
"""A value, and the words for it."""

NARROWING = ("query", "status", *KINDS)
"""The parameters of an address that narrow the list."""

CHOICES: Mapping[str, Sequence[Choice]] = {
    "status": [("", "any"), *((name, tell_standing(name)) for name in STATUSES)],
    "outcome": [("", "any"), *((name, tell_standing(name)) for name in OUTCOMES)],
    "cost": [("", "any"), *((least, f"${least} or more") for least in COSTS)],
}


async def load_list(manager: DebateManager, search: Mapping[str, str]) -> dict[str, Any]:
    """A page of the list, newest first: {rows, cursor, html}. Raises InvalidRequestError for a cursor of no page.

    `search`: words (`query`), `status`, `cursor`, and values by kind.
    """
    query, status, cursor = (search.get(name, "") for name in ("query", "status", "cursor"))
    listed, next_cursor = await list_debates(manager, query, status, cursor, values=choose_values(search))
    rows = [row.model_dump() | {"recorded": describe_provenance(row.provenance)} for row in listed]
    return {"rows": rows, "cursor": next_cursor, "html": build_list(rows, next_cursor, search)}


def build_list(rows: Sequence[Mapping[str, Any]], cursor: str, search: Mapping[str, str]) -> str:
    narrowing = {name: text for name, text in search.items() if text}
    if not rows:
        return f'<p class="aside">No debates{" that match" if narrowing else " yet"}.</p>'
    older = escape(urlencode({**narrowing, "cursor": cursor}))
    more = f'<p><a href="?{older}">Older debates</a></p>' if cursor else ""
    return f'<ul class="rows card">{"".join(map(build_row, rows))}</ul>{more}'


def build_row(row: Mapping[str, Any]) -> str:
    notes = (
        row["forked_from"] and f"fork of {row['forked_from']}",
        row["mirror_of"] and f"mirror of {row['mirror_of']}",
        row["recorded"],
        ", ".join(row["tags"]),
    )
    small = "".join(build_words("small", note) for note in notes if note)
    standing, position = (
        tell_standing(row["outcome"] or row["status"]),
        row["winner_stance"] or row["position"],
    )
    kind = "outcome" if row["outcome"] else row["status"]
    models = [row["format"].replace("_", " "), *(name.rpartition("/")[2] for name in row["models"])]
    cost, opened_at = Decimal(row["cost_usd"] or 0), escape(row["opened_at"])
    return (
        f'<li><a href="debates/{row["debate_id"]}"><span class="q">{build_words("b", row["question"])}{small}</span>'
        f'<span class="o"><span class="chip {kind}">{escape(standing)}</span> {build_words("span", position)}</span>'
        f'<span class="m">{escape(", ".join(models))}</span>'
        f'<span class="n">{format_dollars(cost) if cost else ""}</span>'
        f'<time class="n" datetime="{opened_at}">{opened_at[:16].replace("T", " ")}</time></a></li>'
    )


def build_words(tag: str, text: str) -> str:
    """Words of callers and models, in a box of their own."""
    return f'<{tag} class="words" dir="auto">{escape(remove_invisible(text))}</{tag}>'


def build_form(search: Mapping[str, str], known: Mapping[str, Sequence[str]], *, is_hidden: bool) -> str:
    """`is_hidden`: there is no debate yet."""
    words = escape(search.get("query", ""))
    fields = "".join(
        build_select(name, search.get(name, ""), CHOICES[name])
        if name in CHOICES
        else build_field(name, search.get(name, ""), known[name])
        for name in NARROWING[1:]
    )
    hidden = " hidden" if is_hidden else ""
    back = ' <a href="./">Show all</a>' if any(map(search.get, (*NARROWING, "cursor"))) else ""
    return (
        f'<form class="search" role="search" method="get"{hidden}><label class="query">Search questions, positions and '
        f'turns<input type="search" name="query" value="{words}"></label>{fields}'
        f'<p class="buttons"><button type="submit">Search</button>{back}</p></form>'
    )


def build_select(name: str, chosen: str, choices: Sequence[Choice]) -> str:
    options = "".join(
        f'<option value="{value}"{" selected" if value == chosen else ""}>{words}</option>'
        for value, words in choices
    )
    return f'<label>{name.capitalize()}<select name="{name}">{options}</select></label>'


def build_field(name: str, chosen: str, known: Sequence[str]) -> str:
    options = "".join(f'<option value="{escape(value)}"></option>' for value in known)
    return (
        f'<label>{name.capitalize()}<input name="{name}" list="{name}s" value="{escape(chosen)}" placeholder="any" '
        f'autocomplete="off" autocapitalize="off"></label><datalist id="{name}s">{options}</datalist>'
    )
