"""What is asked for about each question: a debate in each format, with a blind vote for the same tokens after it.

A second opinion chooses no option by votes: it is asked which one is right, in the ways of `WAYS`.

The request of a debate follows from the question and the plan alone, so that it is the debate's identity: run again,
an evaluation joins the debates that it began. The right answer is no part of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from string import ascii_uppercase
from types import MappingProxyType

from server.debate.commands.requests import DEFAULT_FORMAT, DebateRequest
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import require
from server.debate.facts.setup.options import CacheMode, EffortLevel
from server.evaluation.questions import Question

ACTOR = "evaluate"
TAG = "evaluate"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to hold a second opinion. `is_alone`: by the first model."""

    effort: EffortLevel
    is_alone: bool = False


WAYS: Mapping[str, Way] = MappingProxyType(
    {"check": Way("quick", is_alone=True), "quick": Way("quick"), "standard": Way("standard")}
)


@dataclass(frozen=True, slots=True)
class Plan:
    """`judges`: () for those that a debate chooses by itself. `rounds`: 0 for the format's.

    `effort`: None for that of the settings. `votes`: with a blind vote for as many tokens after each debate; without,
    where the effort has one. `cache`: whether turns may be answers of other debates.
    """

    models: tuple[str, ...]
    judges: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("advocates",)
    rounds: int = 0
    seed: int = 1
    effort: EffortLevel | None = None
    votes: bool = True
    cache: CacheMode = "off"

    @property
    def debates(self) -> tuple[str, ...]:
        """Those about each question: by their format, or the way of a second opinion."""
        return tuple(name for row in self.formats for name in (WAYS if row == DEFAULT_FORMAT else (row,)))

    @property
    def voting_formats(self) -> tuple[str, ...]:
        return tuple(name for name in self.formats if name != DEFAULT_FORMAT)


def list_comparable_formats() -> list[str]:
    """The formats that choose one of the positions by votes."""
    return [name for name, row in FORMATS.items() if any(p.is_judgment or p.is_vote for p in row.phases)]


def check_formats(formats: Sequence[str]) -> None:
    """Raises InvalidRequestError for formats that have no answer to compare, or stand there twice."""
    formats_known = [*list_comparable_formats(), DEFAULT_FORMAT]
    choice = f"Choose among {', '.join(formats_known)}."
    for name in formats:
        require(name in formats_known, f"The format {name} chooses no option by votes. {choice}")
        require(formats.count(name) == 1, f"The format {name} is given twice. Leave one out.")
    needed = (
        f"{DEFAULT_FORMAT} is compared with the blind votes of another format. Name one beside it: advocates."
    )
    require([*formats] != [DEFAULT_FORMAT], needed)


def build_names(question: Question) -> tuple[str, ...]:
    """The debaters' names, in the order of the options."""
    return tuple(f"Option {letter}" for letter in ascii_uppercase[: len(question.options)])


def build_request(plan: Plan, question: Question, name: str) -> DebateRequest:
    """The debate of the plan with this name about a question."""
    digest = sha256(f"{plan.seed}:{question.id}".encode()).digest()
    seed = (int.from_bytes(digest[:4]) >> 1) or 1
    if name in WAYS:
        return build_advice_request(plan, question, WAYS[name], seed)
    return build_vote_request(plan, question, name, seed, turn=digest[4])


def build_advice_request(plan: Plan, question: Question, way: Way, seed: int) -> DebateRequest:
    """A second opinion on which option is right. Advisors check each other: no judges."""
    options = "\n".join(
        f"{letter}: {option}" for letter, option in zip(ascii_uppercase, question.options, strict=False)
    )
    return DebateRequest.model_validate(
        {
            "question": f"{question.text}\n\nWhich one of these is right? Its letter is the value.\n{options}",
            "format": DEFAULT_FORMAT,
            "models": list(plan.models[:1] if way.is_alone else plan.models),
            "options": {"effort": way.effort, "seed": seed, "cache": plan.cache, "tags": [TAG]},
            "run": True,
        }
    )


def build_vote_request(
    plan: Plan, question: Question, format_name: str, seed: int, turn: int
) -> DebateRequest:
    """A debate whose debaters have an option each as their position.

    Which model argues for which option is turned by the question: no model argues always for the first one.
    """
    debaters = [
        {
            "name": name,
            "stance": build_stance(option),
            "model": plan.models[(turn + place) % len(plan.models)],
        }
        for place, (name, option) in enumerate(zip(build_names(question), question.options, strict=True))
    ]
    options = {
        "judges": {"models": list(plan.judges)} if plan.judges else None,
        "effort": plan.effort,
        "baseline": True if plan.votes else None,
        "framing": False,
        "seed": seed,
        "cache": plan.cache,
        "tags": [TAG],
    }
    return DebateRequest.model_validate(
        {
            "question": question.text,
            "format": format_name,
            "debaters": debaters,
            "models": list(plan.models),
            "max_rounds": plan.rounds,
            "options": options,
            "run": True,
        }
    )


def build_stance(option: str) -> str:
    """The option itself, but for the word that makes a debater a neutral one."""
    return f"{option} (as the answer)" if option.casefold() == "neutral" else option
