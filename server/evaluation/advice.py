"""What a second opinion answered to a question, in each of its ways, from three debates.

one           the first advisor's own answer, before it was checked     } of one debate
no_exchange   what the answers and reviews came to                      }
standard      what it came to where those who differ have argued        }
check         an answer of the first model, which it checked itself
quick         an answer of each family, checked once
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from string import ascii_uppercase

from server.debate.answer.count import AdviceCount, count_panel
from server.debate.answer.debates import build_panel
from server.debate.answer.panel import Panel
from server.debate.answer.sides import OWN
from server.debate.facts.advice import Advice
from server.debate.state.debate import Debate
from server.evaluation.plan import build_names
from server.evaluation.questions import Question
from server.evaluation.scores import FAILED, Answer, build_answer, sum_facts, sum_usage

ADVICE_ARMS = ("one", "check", "quick", "no_exchange", "standard")
"""In the order of what they add."""

_LETTER = re.compile(r"\W*(?:option\s+)?([A-Z])(?:\W*$|[:.)\]*]+\s)", re.IGNORECASE)


def read_advice(name: str, question: Question, debate: Debate, debate_id: str) -> dict[str, Answer]:
    """The answers of the arms that the debate of this name holds."""
    panel, facts = build_panel(debate), [*debate.answers, *debate.research, *debate.failures]
    spending = sum_facts(facts)
    if debate.verdict is None:
        answers = {name: build_answer(question, (), FAILED, spending, debate_id=debate_id)}
    else:
        count = count_panel(panel)
        choices = tuple(list_chosen(question, panel, count))
        answers = {name: build_answer(question, choices, count.outcome, spending, debate_id=debate_id)}
    if name != "standard":
        return answers
    panel_before = replace(panel, exchanged=())
    count = count_panel(panel_before)
    facts_before = [fact for fact in facts if debate.round_phase(fact.round).wants != "exchange"]
    choices = tuple(list_chosen(question, panel_before, count))
    answers["no_exchange"] = build_answer(question, choices, count.outcome, sum_facts(facts_before))
    return {**answers, "one": read_first(question, panel)}


def read_first(question: Question, panel: Panel) -> Answer:
    """The first advisor's own answer, as sure as it says."""
    first = panel.advised.get(panel.advisors[0])
    if first is None:
        return build_answer(question, (), "", sum_usage(()))
    spending, option = sum_usage([first.usage]), find_option(question, first)
    if not option:
        return build_answer(question, (), "", spending)
    share = first.probability / 100
    beliefs = dict.fromkeys(build_names(question), (1 - share) / (len(question.options) - 1))
    return build_answer(question, (option,), "", spending, beliefs | {option: share}, (option, share))


def list_chosen(question: Question, panel: Panel, count: AdviceCount) -> Iterator[str]:
    """The option of the side ahead; none where there is no such side, or it names none.

    The option is that of the answer which the side follows, and of what its seats advise where they follow none.
    """
    if not count.ahead:
        return
    if count.ahead.startswith(OWN):
        seat = count.ahead.removeprefix(OWN)
        advice = panel.find_advice(seat)
    else:
        advice = panel.answers[count.ahead]
    if option := find_option(question, advice):
        yield option


def find_option(question: Question, advice: Advice) -> str:
    """The name of the one option that an advice gives as its value, or else in its recommendation; "" for none."""
    for text in (advice.value, advice.recommendation):
        if option := find_named(question, text):
            return option
    return ""


def find_named(question: Question, text: str) -> str:
    """The option that a text is, begins with the letter of, or is the only one to mention."""
    names = dict(zip(build_names(question), question.options, strict=True))
    said = text.strip().casefold()
    if same := [name for name, option in names.items() if option.strip().casefold() == said]:
        return same[0]
    letter = _LETTER.match(text)
    if letter and (place := ascii_uppercase.index(letter[1].upper())) < len(names):
        return [*names][place]
    told = [name for name, option in names.items() if holds_words(said, option.strip().casefold())]
    return told[0] if len(told) == 1 else ""


def holds_words(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
