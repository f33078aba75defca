"""The facts of the answer format: advice given apart, reviews, exchanges, the report and its check.

Texts have ids in place of the labels that their author read, in brackets: [A1] is the answer of the first advisor, [R1]
the review of the first reviewer. `sources` have the same ids without brackets; E1 is the exchange of the first
reviewer, and C1 the check. Fields that name answers or reviewers hold seats.
"""

from typing import Annotated, Literal

from pydantic import Field

from server.debate.facts.answers import Answer
from server.debate.facts.fact import Count, Fact
from server.debate.facts.setup.phases import AdviceTask
from server.debate.facts.setup.seats import CHECKER, WRITER

MINE = "you"
"""The seat of the caller's own answer (`options.my_answer`). It costs no call and casts no vote."""

Percent = Annotated[int, Field(ge=0, le=100)]

Difference = Literal["words", "fact", "assumption", "value", ""]
"""What two who advise differently differ in."""


class Advice(Fact):
    """What somebody advises. Texts are "" where there is nothing to say."""

    recommendation: str
    because: str = ""
    value: str = ""  # the number, date or name that was asked for
    probability: Percent = 50  # that an expert who knew every fact would advise the same
    informative: bool = True  # False: the model is too small for its advice to mean anything


class Opinion(Advice):
    """A whole answer, which a report may be made of."""

    premise: str = ""  # what is false or unproven in the question
    assumed: str = ""
    changes_if: str = ""
    next: str = ""


class Advised(Answer, Opinion):
    """An answer that was given apart, before its author had read any other."""

    kind: Literal["advised"] = "advised"


class Correction(Fact):
    """An error of answers. `words`: where they say it; "" where the reviewer quoted what nobody had written."""

    answers: tuple[str, ...]
    words: str
    right: str
    matters: bool = False  # it changes what to do


class Reviewed(Answer, Advice):
    """One reading of all answers: what is wrong in them, what to keep, and what the reader advises."""

    kind: Literal["reviewed"] = "reviewed"
    errors: tuple[Correction, ...] = ()
    missing: tuple[str, ...] = ()  # what no answer says and the person needs
    best: str = ""  # whose answer serves the person best as it stands
    keep: tuple[str, ...] = ()  # words of answers that the final one must not lose
    groups: tuple[tuple[str, ...], ...] = ()  # answers that come to the same: each is in exactly one
    differ_in: str = ""
    follows: tuple[str, ...] = ()  # the answers whose advice this is
    against: str = ""
    unfound: Count = 0  # quotations of answers that no answer holds
    text: str = ""  # the answer as it would give it, for people; its first paragraph stands alone


class Branch(Fact):
    """Advice for a case. `condition` is "" where the advice is one of several, without a case."""

    condition: str
    advice: str
    sources: tuple[str, ...] = ()  # ids


class Exchanged(Answer):
    """What a reviewer advises after it has read those who advise otherwise."""

    kind: Literal["exchanged"] = "exchanged"
    difference: Difference = ""
    reply: str = ""
    decides: str = ""
    branches: tuple[Branch, ...] = ()
    recommendation: str
    same_as: tuple[str, ...] = ()  # reviewers who advise the same
    moved: bool = False
    moved_by: str = ""  # the words that moved it; "" where nobody had written them
    value: str = ""  # the number, date or name that was asked for, as it has it now
    next: str = ""
    against: str = ""
    probability: Percent = 50


class Sourced(Fact):
    """A sentence with the ids of what it is taken from."""

    text: str
    sources: tuple[str, ...] = ()


class FinalAnswer(Fact):
    """What the person reads."""

    recommendation: str
    because: str = ""
    premise: str = ""
    branches: tuple[Branch, ...] = ()
    changes_if: str = ""
    corrected: tuple[Sourced, ...] = ()
    missed: tuple[Sourced, ...] = ()
    next: str = ""
    against: Sourced | None = None
    assumed: str = ""


AFTER_CHECK = 2
"""The slot index of the report that is written after a check that found faults."""


class Reported(Answer):
    """The answer as the writer has it. `slot_index`: 1 for the version with what the first one lost."""

    kind: Literal["reported"] = "reported"
    seat: str = WRITER
    text: str  # plain text; its first paragraph stands alone


class Fault(Fact):
    """What a check found wrong in a report."""

    words: str
    right: str
    matters: bool = False


class Checked(Answer):
    """The check of a report by somebody who did not write it."""

    kind: Literal["checked"] = "checked"
    seat: str = CHECKER
    faults: tuple[Fault, ...] = ()
    agrees: bool = True


AdviceEvent = Advised | Reviewed | Exchanged | Reported | Checked
ADVICE_FACTS: dict[AdviceTask, type[AdviceEvent]] = {
    "advice": Advised,
    "review": Reviewed,
    "exchange": Exchanged,
    "report": Reported,
    "check": Checked,
}
"""What answers each task of this format."""


def find_advice_task(event: AdviceEvent) -> AdviceTask:
    return next(task for task, fact in ADVICE_FACTS.items() if isinstance(event, fact))
