"""Tags, under which a debate is found: two actions, which add and remove them."""

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
        del fact, fork


class Tag(TagAction[Tagged]):
    name = "tag"
    facts = (Tagged,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        tags = parse_tags(debate, request.text)
        new = tuple(name for name in tags if name not in debate.tags)
        for name in new:
            require_length("A tag has", len(name), MAX_TAG_LENGTH)
        count = len(debate.tags) + len(new)
        require(count <= MOST_TAGS, f"A debate has {MOST_TAGS} tags at most, and these would make {count}.")
        if not new:
            return [], "It has these tags already."
        return [Tagged(tags=new)], f"It is found under {', '.join(new)} from now on."


class Untag(TagAction[Untagged]):
    name = "untag"
    facts = (Untagged,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        tags = parse_tags(debate, request.text)
        held = tuple(name for name in tags if name in debate.tags)
        own = f"Its tags: {', '.join(debate.tags)}." if debate.tags else "It has no tags."
        require(held == tags, f"It has no tag {next((t for t in tags if t not in held), '')[:60]!r}. {own}")
        return [Untagged(tags=held)], f"It no longer has {', '.join(held)}."


def parse_tags(debate: Debate, text: str) -> tuple[str, ...]:
    """Tags, one a line, or several with commas between them where the line is no tag of the debate itself."""
    lines = [clean_line(line) for line in text.splitlines()]
    split = [[line] if line in debate.tags else map(clean_line, line.split(",")) for line in lines]
    found = tuple(dict.fromkeys(name for names in split for name in names if name))
    require(found, "Pass in `text` the tags, with commas between them.")
    return found
