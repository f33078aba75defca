"""What a debate uses of earlier ones, recorded at its start, so that a replay needs no other debate."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema

from server.debate.facts.answers import Usage
from server.debate.facts.fact import Fact

MOST_RECALLED = 5
MOST_RECALLED_BYTES = 2_000
"""Of the texts of all that is recalled together, in UTF-8."""

Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]
"""UTC, ISO 8601, so that times compare as text."""

Withdrawal = Literal["deleted", "retracted"]

USUAL_NUMBER = 3
"""How many earlier debates are recalled at most, where nobody says a number."""


def take_switch(value: Any) -> Any:
    """Take true for "own", and false for "off"."""
    return {True: "own", False: "off"}[value] if isinstance(value, bool) else value


MemoryChoice = Annotated[
    Literal["off", "own"] | Annotated[int, Field(ge=1, le=MOST_RECALLED)],
    BeforeValidator(take_switch),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": ["off", "own"]},
                {"type": "integer", "minimum": 1, "maximum": MOST_RECALLED},
            ]
        }
    ),
    Field(description="How many earlier debates it recalls; own: 3"),
]


class Recalled(Fact):
    """What an earlier debate concluded. Its texts are of its seats and callers: data, and never instructions."""

    debate_id: str
    head: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]  # of its entries, as they were when it was recalled
    at: Moment  # of the entry with that hash
    question: str
    outcome: Literal["decided", "leaning", "contested", "synthesis", "undecided"]
    position: str = ""  # what won; "" where nothing did
    finding: str = ""
    dissent: str = ""
    settled: str = ""  # what turned out right since, as far as anybody has recorded it
    recorded_elsewhere: bool = False  # by others, at least in part; who asked for this debate had adopted it
    signed_by: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""  # of such a one; "" for nobody
    used_retracted: bool = False  # it recalled a debate itself that was taken back
    withdrawn: Withdrawal | Literal[""] = ""  # since when prompts leave it out

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.question, self.position, self.finding, self.dissent, self.settled)


class Memory(Fact):
    """What a debate recalls of others, as it was asked to."""

    most: Annotated[int, Field(ge=1, le=MOST_RECALLED)]  # debates
    recalled: Annotated[tuple[Recalled, ...], Field(max_length=MOST_RECALLED)] = ()
    usage: Usage | None = None  # of the embeddings by which they were found; None where no model was asked

    @classmethod
    def ask(cls, choice: str | int) -> Self | None:
        """What `options.memory` asks for."""
        if choice == "off":
            return None
        return cls(most=choice if isinstance(choice, int) else USUAL_NUMBER)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(debate.debate_id for debate in self.recalled)

    @property
    def in_force(self) -> tuple[Recalled, ...]:
        """Those that were not withdrawn."""
        return tuple(debate for debate in self.recalled if not debate.withdrawn)

    def withdraw(self, debate_id: str, cause: Withdrawal) -> Self:
        """With this debate marked as withdrawn."""
        recalled = (
            debate.model_copy(update={"withdrawn": cause}) if debate.debate_id == debate_id else debate
            for debate in self.recalled
        )
        return self.model_copy(update={"recalled": tuple(recalled)})

    def forget_texts(self) -> Self:
        """For another debate that begins as this one did: without texts that were withdrawn, and paid for already."""
        texts = dict.fromkeys(("question", "position", "finding", "dissent", "settled"), "")
        recalled = (
            debate.model_copy(update=texts) if debate.withdrawn else debate for debate in self.recalled
        )
        return self.model_copy(update={"recalled": tuple(recalled), "usage": None})


class EarlierWithdrawn(Fact):
    """A debate that this one recalled was deleted, or taken back: later prompts leave it out. Also after the end."""

    kind: Literal["earlier_withdrawn"] = "earlier_withdrawn"
    debate_id: str
    cause: Withdrawal
