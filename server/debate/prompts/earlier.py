"""What earlier debates concluded, as prompts quote it.

It stands at the end of what never changes within a debate, so that seats which do not read it share all before it.
"""

from collections.abc import Iterator

from server.debate.ballots.waves import is_blind_ballot
from server.debate.documents.marks import disarm_marks
from server.debate.facts.earlier import Recalled
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.setup.seats import is_judge
from server.debate.facts.text import clean_line
from server.debate.prompts import wording
from server.debate.rules.calls import WITHOUT_POSITIONS, Call
from server.debate.state.debate import Debate


def reads_earlier(debate: Debate, call: Call) -> bool:
    """Whether a seat reads what was recalled: no judge, and nobody in a blind ballot."""
    memory = debate.setup.memory
    is_apart = is_judge(call.seat) or is_blind_ballot(call.slot_index) or call.task in WITHOUT_POSITIONS
    return memory is not None and bool(memory.in_force) and not is_apart


def render_earlier(debate: Debate, call: Call) -> Iterator[str]:
    """The section on earlier debates, for a seat that reads it."""
    if reads_earlier(debate, call) and debate.setup.memory:
        quoted = map(quote_recalled, debate.setup.memory.in_force)
        yield "\n\n".join([f"# Earlier debates\n{wording.EARLIER_MATERIAL}", *quoted])


def quote_recalled(one: Recalled) -> str:
    """A line of ours with id, date and outcome, and the texts of the debate as a quotation."""
    rows = {
        "Question": one.question,
        "Ahead": one.position,
        "Finding": one.finding,
        "Dissent": one.dissent,
        "Since then": one.settled,
    }
    lines = [f"{name}: {clean_line(text)}" for name, text in rows.items() if text]
    quoted = quote_verbatim(disarm_marks("\n".join(lines)))
    mark = f"; {wording.USED_RETRACTED}" if one.used_retracted else ""
    return f"[{one.debate_id}, {one.at[:10]}, {one.outcome}{mark}]\n{quoted}"
