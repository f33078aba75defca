"""The referee: it audits the arguments of each round, and the others read its audit."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from server.debate.commands.inputs import Input, OfficerInput
from server.debate.facts.answers import Remark
from server.debate.replies.extract import MAX_TURN_LENGTH
from server.debate.seats.seat import Commentator
from server.debate.state.debate import Debate

NAME = "referee"


class RefereeOptions(Input):
    referee: Annotated[bool | OfficerInput, Field(description="Audits the arguments of each round")] = False


class Audited(Remark):
    """The referee's review of the arguments of a round. It steers nothing."""

    kind: Literal["audited"] = "audited"
    seat: str = NAME
    heading: ClassVar[str] = "the referee on this round"


class Referee(Commentator[Audited]):
    name = NAME
    title = "Referee"
    help = "A referee audits the arguments of each round."
    task = "audit"
    steps = (
        "You are the referee. For each argument of this round say whether it is supported or asserted, answers or "
        "evades what was said, argues for another position than its own, or repeats. Favour nobody and propose "
        "nothing: you do not steer the debate."
    )
    fact = Audited
    texts = {Audited: {"text": MAX_TURN_LENGTH}}

    def build_round_fields(self, debate: Debate, named: Debate, round_number: int) -> dict[str, Any]:
        audits = (audit for audit in named.find_readings(Audited) if audit.round == round_number)
        return {"audits": [audit.text for audit in audits]}
