"""The list of debates as HTML. Browsers that run no scripts show all of it; the page's script keeps the form."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

from server.engine.database.values import COSTS, KINDS, OUTCOMES
from server.engine.queries import STATUSES

Choice = tuple[str, str]
"""A value, and the words for it."""

NARROWING = ("query", "status", *KINDS)
"""The parameters of an address that narrow the list."""

CHOICES: Mapping[str, Sequence[Choice]] = {
    "status": [("", "any"), *((name, name) for name in STATUSES)],
    "outcome": [("", "any"), *((name, name) for name in OUTCOMES)],
    "cost": [("", "any"), *((least, f"${least} or more") for least in COSTS)],
}


def build_list(
    list_page: Mapping[str, Any], search: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> str:
    """`list_page`: of `load_list_data`; `known`: values to choose from, where others can be written."""
    rows = "".join(map(build_row, list_page["rows"]))
    older = urlencode(
        {**{name: text for name, text in search.items() if text}, "cursor": list_page["cursor"]}
    )
    more = f'<p><a href="?{escape(older)}">Older debates</a></p>' if list_page["cursor"] else ""
    table = f'<ul class="rows card">{rows}</ul>' if rows else '<p class="aside">No debates.</p>'
    return (
        f'<header class="head"><h1>Debates</h1></header><main id="main">{build_form(search, known)}'
        f"{table}{more}</main>"
    )


def build_form(search: Mapping[str, str], known: Mapping[str, Sequence[str]]) -> str:
    words = escape(search.get("query", ""))
    fields = "".join(
        build_select(name, search.get(name, ""), CHOICES[name])
        if name in CHOICES
        else build_field(name, search.get(name, ""), known[name])
        for name in NARROWING[1:]
    )
    back = ' <a href="./">Show all</a>' if any(map(search.get, (*NARROWING, "cursor"))) else ""
    return (
        '<form class="search" role="search" method="get"><label class="query">Search questions, positions and '
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


def build_row(row: Mapping[str, Any]) -> str:
    outcome = ", ".join(
        filter(None, (row["outcome"] or row["status"], row["winner_stance"] or row["position"]))
    )
    cost = f"${row['cost_usd'][:6]}" if row["cost_usd"].strip("0.") else ""
    cells = (
        ("o", outcome),
        ("m", ", ".join(row["models"])),
        ("n", cost),
        ("n", row["opened_at"][:16].replace("T", " ")),
    )
    spans = "".join(f'<span class="{name} words" dir="auto">{escape(text)}</span>' for name, text in cells)
    tags = f'<small class="words" dir="auto">{escape(", ".join(row["tags"]))}</small>'
    question = f'<span class="q"><b class="words" dir="auto">{escape(row["question"])}</b>{tags}</span>'
    return f'<li><a href="debates/{row["debate_id"]}">{question}{spans}</a></li>'
