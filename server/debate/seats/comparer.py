"""Whether what judges advise of their own is the same: one of their models is asked, and sees no judge's name."""

from collections.abc import Iterator
from typing import Any

from server.debate.facts.events import Compared
from server.debate.facts.quoting import quote_verbatim
from server.debate.prompts.response_schemas import enum_schema, list_schema, object_schema
from server.debate.replies.extract import Reply, find_json, normalize_keys
from server.debate.rules.calls import Call
from server.debate.seats.seat import Duty
from server.debate.state.debate import Debate
from server.debate.state.labels import turn_text
from server.debate.votes.panel import list_own_readings

STEPS = (
    "Judges have read this debate apart, and each piece of advice below is none of the positions. Say which of them "
    "come to the same for whoever acts on it: following one is following the other, whatever the words and the "
    "reasons. Judge none of them."
)


class Comparison(Duty):
    task = "comparison"
    fact = Compared
    is_data = True
    template = '{"groups": [["R1", "R3"], ["R2"]]}'

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        yield STEPS
        for key, text in list_advice(debate).items():
            yield f"{key}:\n{quote_verbatim(text)}"

    def build_schema(self, debate: Debate) -> dict[str, Any]:
        return object_schema(groups=list_schema(list_schema(enum_schema([*list_advice(debate)]))))

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        """What stands in no group is the same as nothing else."""
        if not reply.informative:
            raise ValueError("the model is too small to compare anything")
        keys = [*list_advice(debate)]
        groups = normalize_keys(find_json(text, ("groups",))).get("groups")
        if not (isinstance(groups, list) and all(isinstance(group, list) for group in groups)):
            raise ValueError('"groups" must be a list of lists')
        places = {key: [n for n, group in enumerate(groups) if key in group] for key in keys}
        if twice := [key for key, found in places.items() if len(found) > 1]:
            raise ValueError(f"groups: {', '.join(twice)} stands in several")
        found_in = [tuple(places[key]) or key for key in keys]
        order = list(dict.fromkeys(found_in))
        return {"groups": tuple(order.index(place) for place in found_in)}


def list_advice(debate: Debate) -> dict[str, str]:
    """What judges advise of their own, in the labels of the first reading, under keys that name nobody."""
    return {
        f"R{number}": turn_text(debate, reading.recommendation, 1, written_in=reading.slot_index)
        for number, reading in enumerate(list_own_readings(debate), start=1)
    }
