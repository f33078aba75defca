"""Adds and removes tags, by which debates are found: two actions."""

from collections.abc import Iterable
from typing import TypeVar

from server.debate.facts.errors import require, require_length
from server.debate.facts.interventions import Tagged, Untagged
from server.debate.facts.text import clean_line
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.state.debate import Debate

MOST_TAGS = 20
MAX_TAG_LENGTH = 60

T = TypeVar("T", bound=Tagged | Untagged)


class TagAction(Action[T]):
    when = "always"
    for_hooks = True
    needs_text = True

    def rebuild(self, fact: T) -> InterventionRequest:
        return InterventionRequest(text="\n".join(fact.tags))

    def describe(self, fact: T) -> tuple[str, str]:
        return "", ", ".join(fact.tags)

    def inherit(self, fact: T, fork: Inheritance) -> None:
        """A fork begins with the tags in force."""


class Tag(TagAction[Tagged]):
    name = "tag"
    hint = "add the tag `text`"
    facts = (Tagged,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        tags = parse_tags(debate, request.text)
        new_tags = tuple(name for name in tags if name not in debate.tags)
        for name in new_tags:
            require_length("A tag has", len(name), MAX_TAG_LENGTH)
        count = len(debate.tags) + len(new_tags)
        require(count <= MOST_TAGS, f"A debate has {MOST_TAGS} tags at most, and these would make {count}.")
        if not new_tags:
            return [], "It has these tags already."
        return [Tagged(tags=new_tags)], f"Searches find it by {', '.join(new_tags)} now."

    def list_words(self, debate: Debate, fact: Tagged) -> Iterable[str]:
        return (tag for tag in fact.tags if tag in debate.tags)


class Untag(TagAction[Untagged]):
    name = "untag"
    hint = "remove it"
    facts = (Untagged,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        tags = parse_tags(debate, request.text)
        present = tuple(name for name in tags if name in debate.tags)
        advice = f"Its tags: {', '.join(debate.tags)}." if debate.tags else "It has no tags."
        require(
            present == tags,
            f"It has no tag {next((t for t in tags if t not in present), '')[:60]!r}. {advice}",
        )
        return [Untagged(tags=present)], f"It no longer has {', '.join(present)}."


def parse_tags(debate: Debate, text: str) -> tuple[str, ...]:
    """Tags, one a line; a line with commas has several, unless the whole line is a tag of the debate."""
    lines = [clean_line(line) for line in text.splitlines()]
    names_by_line = [[line] if line in debate.tags else map(clean_line, line.split(",")) for line in lines]
    tags = tuple(dict.fromkeys(name for names in names_by_line for name in names if name))
    require(tags, "Name the tags in `text`, with commas between them.")
    return tags
