"""Labels that are no words: "K73". They stand for debaters, answers and reviews in every prompt.

A label is a letter and two digits, drawn from the debate's seed, that occur in none of its texts. So it can be replaced
exactly, whatever stands beside it in any language: "K73s Argument", "K73的", "_K73_". Nothing else is ever replaced: no
model is shown the name of a seat. People read names where models read labels.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import chain

from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import Debater
from server.debate.state.debate import Debate

SECOND_READING = 2

_LETTERS = "GHJKQVWXYZ"  # others begin ids (A1), look like digits, or are words of some field: P95, B12, F35
_NUMBERS = [number for number in range(31, 99) if number % 5]  # and so are Q4, V8, G20, K12, Z80

_LABEL = re.compile("[A-Z][0-9]{1,2}")
_TAKEN = re.compile("[A-Za-z][0-9]{2}")
_IN_TEXT = re.compile("(?<![A-Za-z0-9])[A-Za-z][0-9]{1,2}(?![0-9])")  # no part of a longer code


def draw_labels(seed: int, count: int, texts: Iterable[str]) -> tuple[str, ...]:
    """Draw so many labels that occur in none of the texts; as far as there are letters, each with one of its own.

    The draw is a hash and not a random generator: every release and every Python draws the same.

    Raises:
        InvalidRequestError: the texts leave too few.
    """
    label_like_words = find_taken(texts)
    free = [label for label in order_labels(seed) if label not in label_like_words]
    first_of_letter: dict[str, str] = {}
    for label in free:
        first_of_letter.setdefault(label[0], label)
    labels = tuple(dict.fromkeys(chain(first_of_letter.values(), free)))[:count]
    require(len(labels) == count, "The texts use nearly all labels there are, such as K73. Shorten them.")
    return labels


@lru_cache(maxsize=16)
def order_labels(seed: int) -> list[str]:
    """All labels there are, in the order in which they are drawn."""
    labels = [f"{letter}{number}" for letter in _LETTERS for number in _NUMBERS]
    return sorted(labels, key=lambda label: sha256(f"{seed}:label:{label}".encode()).digest())


def find_taken(texts: Iterable[str]) -> set[str]:
    """What looks like a label in these texts, in capitals, also inside longer words and numbers."""
    return {match.upper() for text in texts for match in _TAKEN.findall(text)}


def is_label(word: str) -> bool:
    """Whether a word has the form of a label."""
    return bool(_LABEL.fullmatch(word))


def turn(seats: Sequence[str], labels: Sequence[str], by: int) -> dict[str, str]:
    """The seat behind each label for a reader, in the order in which it reads them.

    The first place always has the first label, so that one rotation turns places and labels.
    """
    start = by % len(seats) if seats else 0
    return dict(zip(labels, (*seats[start:], *seats[:start]), strict=False))


def replace_labels(text: str, words: Mapping[str, str]) -> str:
    """The text with these words in place of labels. `words`: by label."""
    return _IN_TEXT.sub(lambda match: words.get(match[0].upper(), match[0]), text)


def locate_labels(text: str, words: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Where `replace_labels` puts words into a text: (start, end, word), in order."""
    for match in _IN_TEXT.finditer(text):
        if word := words.get(match[0].upper()):
            yield *match.span(), word


def find_labels(value: object, seats: Mapping[str, str]) -> tuple[str, ...]:
    """The seats whose labels a field of a reply names, in the order in which they were read."""
    fields = value if isinstance(value, list | tuple) else [value]
    named = {seat for field in fields for _, _, seat in locate_labels(str(field), seats)}
    return tuple(seat for seat in seats.values() if seat in named)


# The labels of debaters.


def label_debaters(setup: Opened, debaters: Sequence[Debater]) -> tuple[str, ...]:
    """Draw labels for these debaters, none of which any text of the set-up holds."""
    return draw_labels(setup.seed, len(debaters), list_texts(setup, debaters))


def label_seats(setup: Opened, kept: Sequence[str] = ()) -> Opened:
    """The set-up with a label for each of its debaters, or of its answers and reviews: these, then others drawn."""
    answering = setup.answering
    count = len(answering.labels) if answering else len(setup.debaters)
    drawn = draw_labels(setup.seed, count, list_texts(setup, setup.debaters))
    labels = tuple(dict.fromkeys((*kept, *drawn)))[:count]
    answering = answering and answering.model_copy(update={"labels": labels})
    return setup.model_copy(update={"labels": labels[: len(setup.debaters)], "answering": answering})


def list_texts(setup: Opened, debaters: Iterable[Debater]) -> tuple[str, ...]:
    """Every text of a set-up that prompts show, and the names."""
    rows = [f"{d.name} {d.stance} {d.role} {d.system_prompt}" for d in debaters]
    documents = (f"{document.title} {document.url} {document.text}" for document in setup.documents)
    seats = (setup.judges, setup.moderator, *setup.officers, setup.synthesizer)
    prompts = (seat.prompt for seat in seats if seat)
    phases = (f"{phase.name} {phase.instruction}" for phase in setup.phases)
    recalled = (text for earlier in (setup.memory.recalled if setup.memory else ()) for text in earlier.texts)
    own = (
        setup.question,
        setup.instructions,
        setup.output_schema,
        setup.answering.mine if setup.answering else "",
    )
    return (*own, *documents, *recalled, *prompts, *phases, *rows)


def turn_labels(debate: Debate, reading: int) -> tuple[str, ...]:
    """The labels of the debaters, in the order declared; turned by one in a second reading."""
    labels = debate.setup.labels
    return (*labels[-1:], *labels[:-1]) if reading == SECOND_READING else labels


def side_labels(debate: Debate, reading: int = 1) -> dict[str, str]:
    """The label of each debater by name."""
    return dict(zip(debate.names, turn_labels(debate, reading), strict=True))


def order_sides(debate: Debate, reading: int = 1) -> dict[str, str]:
    """The name behind each label, in the order in which a reader gets the positions."""
    names = {label: name for name, label in side_labels(debate, reading).items()}
    return {label: names[label] for label in debate.setup.labels}


def find_first_side(debate: Debate, reading: int) -> str:
    """The debater whose position stands first in a reading."""
    return next(iter(order_sides(debate, reading).values()))


def turn_text(debate: Debate, text: str, reading: int, *, written_in: int = 1) -> str:
    """A text as the seat of a reading is shown it. `written_in`: the reading of its author."""
    before, after = turn_labels(debate, written_in), turn_labels(debate, reading)
    return text if before == after else replace_labels(text, dict(zip(before, after, strict=True)))


def name_sides(debate: Debate, text: str, reading: int = 1) -> str:
    """A model's text as people read it: names in place of labels."""
    return replace_labels(text, order_sides(debate, reading))
