"""The code words that stand for positions in prompts.

Prompts speak of "Walnut" and "Sorrel", people read names. The words occur nowhere else in the material of a
debate, so that a text can be relabelled exactly: for a judge's second reading, for seats that are not to know
names, and for people. All have six letters: no position gets a longer text by its label.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import chain

from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import Debater
from server.debate.state.debate import Debate

SECOND_READING = 2

_WORDS = """
    Acacia Almond Avocet Azalea Betony Borage Cassia Catnip Cicely Cobalt Crocus Curlew Dahlia Dunlin Fennel
    Gannet Garnet Linden Linnet Lupine Mallow Cashew Medlar Nutmeg Orache Osprey Papaya Plover Poplar Privet
    Quince Salvia Siskin Sorrel Bryony Teasel Thrush Toucan Turnip Walnut Yarrow Zinnia Zircon
"""
LABEL_WORDS = tuple(_WORDS.split())

_INVENTED_LABEL = re.compile("[BDFGKLMNPRSTVZ][aeiou](?:[bdfgklmnprstvz][aeiou]){2}")

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts without spaces between words, or with endings joined to names: a name ends where it ends."""

_SPACED = re.compile(rf"[^\W{_UNSPACED}]")


def draw_labels(seed: int, count: int, texts: Iterable[str]) -> tuple[str, ...]:
    """Draw so many words that occur in none of the texts, invented ones where the list does not suffice.

    The draw is a hash and not a random generator: every release and every Python draws the same.

    Raises:
        InvalidRequestError: the texts hold them all.
    """
    material = "\n".join(texts).casefold()
    words = sorted(LABEL_WORDS, key=lambda word: sha256(f"{seed}:label:{word}".encode()).digest())
    invented = (
        "".join("bdfgklmnprstvz"[byte % 14] + "aeiou"[byte // 14 % 5] for byte in digest[:3]).title()
        for digest in (sha256(f"{seed}:{number}".encode()).digest() for number in range(1000))
    )
    drawn: dict[str, None] = {}  # in order, each once
    for word in chain(words, invented):
        if len(drawn) == count:
            break
        if word.casefold() not in material:
            drawn[word] = None
    require(len(drawn) == count, "The texts hold every word that could stand for a position. Shorten them.")
    return tuple(drawn)


def is_label(word: str) -> bool:
    """Whether a word is one that is drawn as a label."""
    return word in LABEL_WORDS or bool(_INVENTED_LABEL.fullmatch(word))


def label_debaters(setup: Opened, debaters: Iterable[Debater]) -> tuple[str, ...]:
    """Draw labels for these debaters, none of which any text of the set-up holds."""
    rows = [f"{d.name} {d.stance} {d.role} {d.system_prompt}" for d in debaters]
    documents = (f"{document.title} {document.url} {document.text}" for document in setup.documents)
    officers = (setup.moderator, setup.referee, setup.observer, setup.analyst, setup.synthesizer)
    seats = (setup.judges, *officers)
    prompts = (seat.prompt for seat in seats if seat)
    phases = (f"{phase.name} {phase.instruction}" for phase in setup.phases)
    recalled = (text for one in (setup.memory.recalled if setup.memory else ()) for text in one.texts)
    own = (setup.question, setup.instructions, setup.output_schema)
    texts = (*own, *documents, *recalled, *prompts, *phases, *rows)
    return draw_labels(setup.seed, len(rows), texts)


def turn_labels(debate: Debate, reading: int) -> tuple[str, ...]:
    """The labels of the debaters, in the order declared; turned by one in a second reading."""
    labels = debate.setup.labels
    return (*labels[-1:], *labels[:-1]) if reading == SECOND_READING else labels


def side_labels(debate: Debate, reading: int = 1) -> dict[str, str]:
    """The label of each debater by name."""
    return dict(zip(debate.names, turn_labels(debate, reading), strict=True))


def find_first_side(debate: Debate, reading: int) -> str:
    """The debater whose position stands first in a reading."""
    labels = side_labels(debate, reading)
    return next(name for name, label in labels.items() if label == debate.setup.labels[0])


def relabel(debate: Debate, text: str, reading: int = 1) -> str:
    """A text as prompts show it: labels in place of names, turned in a second reading.

    A name that question, documents or stances hold is no secret, and may be what the debate is about: it stays.
    """
    setup = debate.setup
    public = (setup.question, *(d.stance for d in setup.debaters), *(d.text for d in setup.documents))
    new = side_labels(debate, reading)
    return _replace(text, _find_secret_names(debate.names, public), setup.labels, tuple(new.values()))


def name_sides(debate: Debate, text: str, reading: int = 1) -> str:
    """A model's text as people read it: names in place of labels."""
    return _replace(text, (), turn_labels(debate, reading), debate.names) if text else text


def locate_labels(debate: Debate, text: str, reading: int = 1) -> list[tuple[int, int, str]]:
    """Where `name_sides` puts names into a text: (start, end, name), in order."""
    return list(_find_replacements(text, (), turn_labels(debate, reading), debate.names))


@lru_cache(maxsize=64)
def _find_secret_names(names: tuple[str, ...], public: tuple[str, ...]) -> tuple[str, ...]:
    material = "\n".join(public)
    return tuple("" if _occurs(name, material) else name for name in names)


def _occurs(word: str, text: str) -> bool:
    return any(_is_whole(word, text, found.start()) for found in re.finditer(re.escape(word), text))


def locate_relabelled(debate: Debate, text: str, start: int, end: int) -> tuple[int, int]:
    """Where a part of `relabel(debate, text)` stands in the text itself; a word that was replaced is in it whole."""
    setup, shift = debate.setup, 0
    public = (setup.question, *(d.stance for d in setup.debaters), *(d.text for d in setup.documents))
    changes = _find_replacements(text, _find_secret_names(debate.names, public), setup.labels, setup.labels)
    first = last = None
    for begin, stop, word in changes:
        shown, shown_end = begin + shift, begin + shift + len(word)
        if first is None and start < shown_end:
            first = begin if start >= shown else start - shift
        if last is None and end <= shown_end:
            last = stop if end > shown else end - shift
        shift += len(word) - (stop - begin)
    return (start - shift if first is None else first), (end - shift if last is None else last)


def _find_replacements(
    text: str, names: tuple[str, ...], labels: tuple[str, ...], new: tuple[str, ...]
) -> Iterator[tuple[int, int, str]]:
    """(start, end, what takes its place), in order."""
    replacements = _list_replacements(names, labels, new)
    if not any(word in text for word in replacements):  # to compile a pattern takes longer than most else
        return
    for match in _compile(tuple(replacements)).finditer(text):
        found, start = match[0], match.start()
        whole = (w for w in replacements if found.startswith(w) and _is_whole(w, text, start))
        if word := next(whole, ""):
            yield start, start + len(word), replacements[word]


@lru_cache(maxsize=4096)  # the same turns stand in prompt after prompt
def _replace(text: str, names: tuple[str, ...], labels: tuple[str, ...], new: tuple[str, ...]) -> str:
    parts, end = list[str](), 0
    for start, stop, word in _find_replacements(text, names, labels, new):
        parts += (text[end:start], word)
        end = stop
    return "".join((*parts, text[end:]))


@lru_cache(maxsize=256)
def _list_replacements(
    names: tuple[str, ...], labels: tuple[str, ...], new: tuple[str, ...]
) -> Mapping[str, str]:
    """What may be replaced, the longest first, and by what."""
    replacements: dict[str, str] = {}
    written = [(label, (label, label.upper(), label.lower())) for label in labels]
    # Not in lower case: names such as Will and Mark are words as well.
    written += [(name, (name, name.upper(), name.title())) for name in names]
    for (old, forms), label in zip(written, (*new, *new), strict=False):
        for form in forms if old else ():
            replacements.setdefault(form, label)
    return {word: replacements[word] for word in sorted(replacements, key=len, reverse=True)}


@lru_cache(maxsize=256)
def _compile(words: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern of the words alone: one with the limits of words in it takes 18 ms to compile."""
    return re.compile("|".join(map(re.escape, words)))


def _is_whole(word: str, text: str, start: int) -> bool:
    """Whether a word stands there as a whole. One letter is a name only before a colon or a genitive."""
    end = start + len(word)
    if len(word) == 1 and word.isascii() and text[end : end + 1] != ":":
        return text[end : end + 2] in ("'s", "\u2019s") and not _joins(text[start - 1 : start], word)
    return not (_joins(text[start - 1 : start], word[0]) or _joins(text[end : end + 1], word[-1]))


def _joins(one: str, other: str) -> bool:
    """Whether two neighbouring characters belong to one word, in a script that sets words apart."""
    return bool(_SPACED.match(one) and _SPACED.match(other))
