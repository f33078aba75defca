"""What a call means whose arguments have other names, or stand in other places: one table for all tools.

A model has read the list of tools and nothing else. What it can only mean one way is taken so, and said; what it may
mean in several ways is refused, with the places where it may belong (`refusals`).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args, get_origin

from server.debate.commands.inputs import Input, parse_json_text

Path = tuple[str | int, ...]

MAX_SAID = 5  # words that a result says how it took

SYNONYMS = {
    "question": "topic prompt query motion claim proposition statement task problem decision issue subject q",
    "documents": "document docs context background file files attachment attachments source sources evidence material "
    "materials references plan code",
    "my_answer": "answer draft draft_answer my_opinion my_view my_position my_draft proposed_answer proposal "
    "current_answer initial_answer existing_answer candidate_answer",
    "models": "model model_names llms",
    "debaters": "speakers",
    "format": "mode style type debate_format debate_type",
    "effort": "depth effort_level quality rigor thoroughness",
    "max_cost_usd": "budget max_cost budget_usd max_budget cost_limit max_usd max_budget_usd budget_limit",
    "max_rounds": "rounds num_rounds n_rounds number_of_rounds round_count",
    "wait_seconds": "wait timeout timeout_seconds max_wait max_wait_seconds wait_time",
    "run": "run_to_end auto_run autorun run_now execute",
    "thinking": "reasoning reasoning_effort thinking_level",
    "judges": "judge judge_model judge_models num_judges judge_count number_of_judges",
    "count": "number size",
    "output_schema": "schema response_format json_schema result_schema",
    "instructions": "instruction system_prompt guidelines criteria constraints requirements goal",
    "voting": "voting_rule consensus_rule",
    "tags": "tag labels",
    "debate_id": "id debate",
    "title": "name heading filename",
    "text": "content body path file message note instruction instructions argument turn response prompt",
    "url": "link uri href source",
    "published": "date published_at",
    "stance": "position side view claim thesis",
    "role": "persona description character",
    "system_prompt": "instructions prompt persona_prompt",
    "action": "type command intervention operation",
    "to": "target seat recipient debater speaker",
    "speaker": "seat agent debater name",
    "view": "section kind",
    "limit": "max_chars max_characters max_length page_size max_results num_results",
    "query": "q search text keyword keywords topic question",
    "status": "state filter",
    "at_round": "round from_round",
    "round": "round_number expected_round",
    "changes": "modifications overrides options",
}
"""By the name of an argument: other words for it, where an object has that argument and no other of that word."""

CHOICES = {
    "format": {
        "second_opinion": "answer opinion review critique check fact_check sanity_check red_team",
        "advocates": "debate pros_and_cons pro_con pros_cons for_and_against adversarial devils_advocate",
        "round_robin": "roundtable round_table panel",
    },
    "effort": {
        "quick": "low fast minimal light cheap",
        "standard": "medium normal default balanced",
        "assured": "high max thorough deep full careful",
    },
    "action": {
        "conclude": "end stop finish close end_debate",
        "resume": "continue unpause",
        "inject": "note add_note message comment",
        "extend": "add_rounds extend_rounds",
        "replace_model": "change_model swap_model",
    },
    "view": {"verdict": "summary votes answer", "transcript": "full text", "usage": "cost"},
    "status": {"any": "all", "concluded": "done completed finished ended", "running": "active"},
}
"""By the name of an argument and a value of it: other words for the value."""

ELSEWHERE = {
    "positions sides stances choices alternatives": (
        'pass debaters=[{"name": …, "stance": …}], one for each, or name them in `question`'
    ),
    "advisors participants agents personas roles panel experts": (
        'pass models=[…], one for each, or debaters=[{"name": …, "role": …}]'
    ),
    "num_debaters num_models num_advisors n_models number_of_debaters": "each of `models` answers: name as many",
    "temperature top_p max_tokens": "models are asked as they are set up. Leave it out",
    "urls url links": "nothing is opened: pass what they say as `documents`",
    "output_format": "results are text and data. options.output_schema asks for a result of your shape",
    "async background": "wait_seconds=0 returns at once, and the debate goes on",
    "page": "pass `offset`: the `next_offset` of the page before",
    "rounds num_rounds": "each call runs one round. start_debate with run=true runs all",
    "language": "models answer in the language of the question. Leave it out",
}
"""What to do instead, for words that no argument stands for."""

INSTEAD = {word: advice for words, advice in ELSEWHERE.items() for word in words.split()}


def invert(table: Mapping[str, str]) -> dict[str, list[str]]:
    inverted: dict[str, list[str]] = {}
    for name, words in table.items():
        for word in words.split():
            inverted.setdefault(word, []).append(name)
    return inverted


MEANINGS = invert(SYNONYMS)
CHOSEN = {name: invert(words) for name, words in CHOICES.items()}


def normalize(word: str) -> str:
    """A word as names are written here: myAnswer, "My answer" and my-answer are my_answer."""
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word.strip())).lower()


def find_names(word: str, names: Iterable[str]) -> list[str]:
    """The arguments that a word may stand for, of these."""
    name, known = normalize(word), {*names}
    return [name] if name in known else [meant for meant in MEANINGS.get(name, ()) if meant in known]


def find_inner(annotation: Any) -> type[Input] | None:
    """The object that a field holds, or a list of such objects."""
    if isinstance(annotation, type) and issubclass(annotation, Input):
        return annotation
    return next(filter(None, map(find_inner, get_args(annotation))), None)


def holds_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(holds_list, get_args(annotation)))


@cache
def list_places(model: type[Input]) -> Mapping[str, list[tuple[Path, type[Input]]]]:
    """By name, where an argument belongs, and in which object. Objects in lists have no place of their own."""
    places: dict[str, list[tuple[Path, type[Input]]]] = {}
    for path, owner in walk_fields(model, ()):
        places.setdefault(str(path[-1]), []).append((path, owner))
    return places


def walk_fields(model: type[Input], path: Path) -> Iterator[tuple[Path, type[Input]]]:
    for name, info in model.model_fields.items():
        yield (*path, name), model
        inner = find_inner(info.annotation)
        if inner and not holds_list(info.annotation):
            yield from walk_fields(inner, (*path, name))


def find_places(model: type[Input], word: str) -> list[Path]:
    """The places nearest to the top where an argument belongs that a word stands for."""
    places = list_places(model)
    paths = [path for name in find_names(word, places) for path, _ in places[name]]
    return [path for path in paths if len(path) == min(map(len, paths))]


def has_names(given: Mapping[str, Any], model: type[Input]) -> bool:
    return any(find_names(key, model.model_fields) for key in given)


def format_path(path: Path) -> str:
    """As one would write it: debaters[0].stance."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


@dataclass
class Reading:
    """The arguments of a call as they are meant, and what was taken for what."""

    model: type[Input]
    listed: Collection[str]  # arguments at the top that clients are shown
    arguments: dict[str, Any] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)
    moved: dict[Path, Path] = field(default_factory=dict)  # by the new place, the old one
    _waiting: list[tuple[Path, Path, Any]] = field(default_factory=list)

    def take(self, given: Mapping[str, Any]) -> None:
        self.arguments = self._read_object(given, self.model, ())
        for old, place, value in self._waiting:
            if put(self.arguments, place, value):
                self.moved[place] = old
                if not self.is_listed(old):
                    self.taken.append(f"`{format_path(old)}` as `{format_path(place)}`")
            else:
                put(self.arguments, old, value)

    def is_listed(self, path: Path) -> bool:
        return len(path) == 1 and path[0] in self.listed

    def describe(self) -> str:
        """What was taken for what; "" if all was as it is called here."""
        said = "; ".join(self.taken[:MAX_SAID])
        return f"Taken: {said}." if said else ""

    def _read_field(self, value: Any, model: type[Input], path: Path) -> Any:
        annotation = model.model_fields[str(path[-1])].annotation
        if (inner := find_inner(annotation)) is None:
            return value
        value = parse_json_text(value)
        if isinstance(value, list):
            return [
                self._read_object(item, inner, (*path, index)) if isinstance(item, dict) else item
                for index, item in enumerate(value)
            ]
        if not isinstance(value, dict) or (holds_list(annotation) and not has_names(value, inner)):
            return value  # a mapping by name is read by the list's own type
        return self._read_object(value, inner, path)

    def _read_object(self, given: Mapping[str, Any], model: type[Input], path: Path) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, value in given.items():
            names = [key] if key in model.model_fields else find_names(key, model.model_fields)
            if len(names) == 1 and (names[0] == key or names[0] not in given):
                [name] = names
                if name != key:
                    self.taken.append(f"`{format_path((*path, key))}` as `{name}`")
                fields[name] = self._choose(name, self._read_field(value, model, (*path, name)))
            elif names or not self._move(key, value, path):
                fields[key] = value
        return fields

    def _move(self, key: str, value: Any, path: Path) -> bool:
        """Whether an argument belongs in one other place only. It goes there once the others are read."""
        places = find_places(self.model, key)
        is_guess = len(path) > 1 and normalize(key) not in list_places(self.model)
        if len(places) != 1 or is_guess or any(isinstance(part, int) for part in path):
            return False
        [place] = places
        owner = dict(list_places(self.model)[str(place[-1])])[place]
        value = self._choose(str(place[-1]), self._read_field(value, owner, place))
        self._waiting.append(((*path, key), place, value))
        return True

    def _choose(self, name: str, value: Any) -> Any:
        """The value that a word stands for."""
        if name not in CHOSEN or not isinstance(value, str):
            return value
        word = normalize(value)
        [chosen] = CHOSEN[name].get(word, [word])
        if chosen != word:
            self.taken.append(f"`{name}` {value[:60]!r} as {chosen!r}")
        return chosen


def put(root: dict[str, Any], place: Path, value: Any) -> bool:
    """Whether a value could be put there: nothing else is there, and nothing but objects on the way."""
    here = root
    for part in place[:-1]:
        if here.get(str(part)) in (None, ""):
            here[str(part)] = {}
        inner = here[str(part)]
        if not isinstance(inner, dict):
            return False
        here = inner
    return bool(here.setdefault(str(place[-1]), value) == value)


def holds(root: dict[str, Any], place: Path) -> bool:
    """Whether there is a value at that place."""
    here: Any = root
    for part in place:
        here = here.get(str(part)) if isinstance(here, dict) else None
    return here is not None
