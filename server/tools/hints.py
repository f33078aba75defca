"""What to call next: calls that are written so that they can be made literally, and that are never refused."""

from contextlib import suppress

from server.debate.commands.intervene import InterventionRequest, build_intervention
from server.debate.facts.errors import InvalidRequestError
from server.debate.views.state import StoredDebate, awaited_turns
from server.engine.debates import next_round


def suggest_next_tool(stored: StoredDebate, *, working: bool) -> str:
    debate, this = stored.debate, f"debate_id='{stored.id}'"
    if debate.ended:
        return f"Next: get_verdict({this}) for the finding, read_debate({this}) for everything said."
    conclude = ""
    with suppress(InvalidRequestError):
        build_intervention(debate, "conclude", InterventionRequest())
        conclude = f"; or get_verdict({this}, conclude=true) to have what was said judged"
    if turns := awaited_turns(debate):
        return f"Next: submit_turn({this}, speaker='{turns[0].speaker}', text=…)."
    if debate.paused:
        run = f"get_verdict({this})" if stored.is_unattended else f"step_round({this})"
        if until := debate.paused.until:
            return f"Next: {run}, from {until} on."
        is_wanted = debate.paused.cause in ("request", "pause_when")
        when = "to go on" if is_wanted else "when the cause is gone"
        return f"Next: {when}, intervene({this}, action='resume'), then {run}{conclude}."
    if working:
        return f"Next: get_verdict({this}) to wait for the end, or step_round({this}) for this round."
    return f"Next: step_round({this}, round={next_round(debate)}){conclude}."
