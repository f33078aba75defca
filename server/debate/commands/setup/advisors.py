"""The set-up of the answer format: its advisors, who reviews and writes, and the options that it refuses."""

from collections.abc import Iterable, Sequence

from server.debate.answer.debates import list_reviewers
from server.debate.commands.requests import (
    DEFAULT_FORMAT,
    FORMAT_WITH_STANCES,
    DebaterInput,
    OptionsInput,
)
from server.debate.commands.setup.debaters import build_debaters
from server.debate.commands.setup.formats import FORMATS, Format
from server.debate.facts.advice import MINE
from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import EffortLevel
from server.debate.facts.setup.seats import AWAITED, EMBEDDED, WRITTEN, Answering, Debater, JudgePanel
from server.debate.facts.text import clean
from server.debate.replies.extract import normalize_name
from server.debate.seats.registry import BY_NAME
from server.debate.state.debate import Debate
from server.debate.state.labels import label_seats
from server.debate.votes.families import family

MOST_ADVISORS, MOST_NAMED = 3, 6
"""Advisors of different families if nobody names them; and advisors that a request may name."""

EXCHANGES: dict[EffortLevel, int] = {"quick": 0, "standard": 1, "assured": 2}
"""The most exchanges, if a request does not say."""

NOT_TAKEN = (
    *("moderator", *BY_NAME, "ballots", "mirror", "stop", "baseline", "voting", "speaking", "phases", "team"),
)
"""Options about arguments and votes, which this format does not have."""

NOT_TAKEN_UNLESS_DEFAULT = {"challenges": "report", "claims": "asked"}

JUDGE_OPTIONS = {"models", "prompt", "replaces_task", "tools"}


def check_advice_options(options: OptionsInput, row: Format) -> None:
    """Raises InvalidRequestError for an option of formats with arguments; the text names a format that takes it."""
    refused = [name for name in NOT_TAKEN if getattr(options, name) not in (None, False, [])]
    refused += [name for name, usual in NOT_TAKEN_UNLESS_DEFAULT.items() if getattr(options, name) != usual]
    hides = options.visibility.hide_from_client or options.visibility.hide_from_seats
    refused += ["visibility"] if hides else []
    judges = options.judges.model_dump(exclude_defaults=True) if options.judges else {}
    refused += [f"judges.{name}" for name in sorted(judges.keys() - JUDGE_OPTIONS)]
    refused += (
        ["judges"] if judges and not judges.keys() & {"models"} and judges.keys() <= JUDGE_OPTIONS else []
    )
    options_text = ", ".join(f"options.{name}" for name in refused)
    advice = f"Leave it out, or pass format={FORMAT_WITH_STANCES!r}, which takes it: debaters argue for stances there."
    require(not refused, f"{row.name} has no use for {options_text}. {advice}")


def drop_defaults(options: OptionsInput) -> OptionsInput:
    """The options without objects in which nothing is set: clients with forms send every option, with its default."""
    sent = {"voting": options.voting, "team": options.team, "judges": options.judges}
    empty = [name for name, value in sent.items() if value and not value.model_dump(exclude_defaults=True)]
    return options.model_copy(update=dict.fromkeys(empty))


def choose_advisors(models: Iterable[str], level: EffortLevel) -> tuple[Debater, ...]:
    """One for each family of the models: at least two, at most three.

    A single family gets two seats, or one with little effort. The embedded model is asked once: it only answers.
    """
    models = [*models]
    first_of_family: dict[str, str] = {}
    for model in models:
        first_of_family.setdefault(family(model), model)
    picks = [*first_of_family.values()][:MOST_ADVISORS]
    if len(picks) == 1 and picks[0] != EMBEDDED and level != "quick":
        others = [model for model in models if model != picks[0]]
        picks += [*others, *picks][:1]
    return tuple(
        Debater(name=f"Advisor {number}", stance="", model=model)
        for number, model in enumerate(picks, start=1)
    )


def build_named_advisors(debaters: Sequence[DebaterInput], models: Sequence[str]) -> tuple[Debater, ...]:
    stances = [debater.name for debater in debaters if clean(debater.stance)]
    problem = f"Advisors have roles and no stances, and there is one for {', '.join(stances)}."
    require(not stances, f"{problem} Pass format={FORMAT_WITH_STANCES!r}, where debaters argue for stances.")
    require(len(debaters) <= MOST_NAMED, f"There can be {MOST_NAMED} advisors, not {len(debaters)}.")
    is_reserved = any(normalize_name(debater.name) == MINE for debater in debaters)
    require(
        not is_reserved, f"An advisor cannot be called {MINE!r}: that is the name of the caller's own answer."
    )
    return build_debaters(debaters, FORMATS[DEFAULT_FORMAT], models)


def build_reviewing_judges(options: OptionsInput) -> JudgePanel:
    """The judges who review in place of the advisors; nobody unless models are named for it."""
    judges = options.judges
    if judges is None:
        return JudgePanel(models=())
    return JudgePanel(**judges.model_dump(exclude={"count"}) | {"models": tuple(judges.models)})


def add_answering(setup: Opened, row: Format, mine: str, level: EffortLevel) -> Opened:
    """The set-up with the phases that its effort pays for, its labels, and who writes and checks."""
    models = [debater.model for debater in setup.debaters]
    tasks = {"answer"} if {*models} == {EMBEDDED} else {"answer", "review", "exchange"}
    able = [model for model in models if model not in (*AWAITED, EMBEDDED)] or [
        model for model in models if model not in (*WRITTEN, EMBEDDED)
    ]
    if len(tasks) > 1 and level != "quick" and able:
        tasks |= {"report", "check"} if level == "assured" else {"report"}
    tasks -= {"exchange"} if level == "quick" else set()
    effort = setup.effort and setup.effort.model_copy(update={"level": level})
    other_phases = [phase for phase in setup.phases if not phase.is_advice]
    participants = {"review": "judges", "exchange": "judges"} if setup.judges.models else {}
    phases = tuple(
        phase.model_copy(update={"participants": participants.get(phase.name, phase.participants)})
        for phase in row.phases
        if phase.name in tasks
    )
    changed_setup = setup.model_copy(update={"phases": (*phases, *other_phases), "effort": effort})
    count = len(setup.debaters) + 1 + len(list_reviewers(Debate(changed_setup)))
    answering = Answering(
        labels=("",) * count,
        writer=able[0] if "report" in tasks else "",
        checker=able[-1] if "check" in tasks else "",
        mine=mine,
    )
    return label_seats(changed_setup.model_copy(update={"answering": answering}))
