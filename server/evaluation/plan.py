"""What is asked for about each question: a debate in each format, with a blind vote for the same tokens after it.

The request of a debate follows from the question and the plan alone, so that it is the debate's identity: run again,
an evaluation joins the debates that it began. The right answer is no part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from string import ascii_uppercase

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import require
from server.debate.facts.setup.options import CacheMode, EffortLevel
from server.evaluation.questions import Question

ACTOR = "evaluate"
TAG = "evaluate"


@dataclass(frozen=True, slots=True)
class Plan:
    """`judges`: () for those that a debate chooses by itself. `rounds`: 0 for the format's.

    `effort`: None for that of the settings. `votes`: with a blind vote for as many tokens after each debate; without,
    where the effort has one. `cache`: whether turns may be answers of other debates.
    """

    models: tuple[str, ...]
    judges: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("second_opinion",)
    rounds: int = 0
    seed: int = 1
    effort: EffortLevel | None = None
    votes: bool = True
    cache: CacheMode = "off"


def list_comparable_formats() -> list[str]:
    """The formats that choose one of the positions by votes."""
    return [name for name, row in FORMATS.items() if any(p.is_judgment or p.is_vote for p in row.phases)]


def check_formats(formats: Sequence[str]) -> None:
    """Raises InvalidRequestError for formats that have no answer to compare, or stand there twice."""
    known = list_comparable_formats()
    for name in formats:
        choice = f"Choose among {', '.join(known)}."
        require(name in known, f"The format {name} chooses no option by votes. {choice}")
        require(formats.count(name) == 1, f"The format {name} is given twice. Leave one out.")


def build_names(question: Question) -> tuple[str, ...]:
    """The debaters' names, in the order of the options."""
    return tuple(f"Option {letter}" for letter in ascii_uppercase[: len(question.options)])


def build_request(plan: Plan, question: Question, format_name: str) -> DebateRequest:
    """The debate about a question: each option is the position of a debater.

    Which model argues for which option is turned by the question: no model argues always for the first one.
    """
    digest = sha256(f"{plan.seed}:{question.id}".encode()).digest()
    turn, seed = digest[4], (int.from_bytes(digest[:4]) >> 1) or 1
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
        "same_stance": True,
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
