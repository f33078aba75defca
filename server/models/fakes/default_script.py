"""What the scripted model says: a line for everything that a seat can be asked for.

Everything follows from the request: words are chosen by its hash, and names in turn.
"""

import json
import re
from typing import Any

from server.models import FunctionCall, PromptSummary, Request
from server.models.fakes.instances import build_instance, fit_text, hash_to_int
from server.models.fakes.next_speaker import choose_next_speaker

HANDOFF = "handoff"
"""The function that chooses the next speaker. All others look something up."""

_LOOKUP_SECTION = re.compile(r"^#* ?What you looked up[^\n]*\n(.*)", re.MULTILINE | re.DOTALL)

_SENTENCES = (
    "The strongest reason for {stance} is what it spares people later, when changing course is dear.",
    "Where {stance} was tried, the effort fell on those who could carry it and the gain went to everybody.",
    "The costs of {stance} are known in advance; the costs of the alternatives appear afterwards.",
    "Nobody has to take {stance} on faith, because it can be tried small and undone.",
    "Much that is said against {stance} describes a careless version that nobody here defends.",
    "I am unsure how large the effect is, but its direction favours {stance} in every case I know.",
    "Those who decide this live with it for years, and {stance} leaves them the most room to move.",
    "A decision has to work on a bad day too, and on a bad day {stance} fails gently.",
    "What is easy to measure speaks against it, what matters in the end speaks for {stance}.",
    "Simple arrangements are the ones people keep to, and {stance} is the simplest on offer.",
)
_TURN_WORDS = 80  # about what a debater on this model says in a turn


def build_function_calls(request: Request, chars: int = 0) -> tuple[FunctionCall, ...]:
    """The functions it calls in place of an answer: a look-up once, and then a hand-off, where offered."""
    cue = request.prompt.summary
    for function in request.functions:
        if function.name != HANDOFF and not find_lookup_result(request):
            arguments = (
                build_instance(function.parameters, cue.question, lambda _: excerpt(cue.question)) or {}
            )
            return (FunctionCall(function.name, json.dumps(arguments, ensure_ascii=False)),)
    if cue.handoff_mode == "tool" and any(function.name == HANDOFF for function in request.functions):
        return (FunctionCall(HANDOFF, json.dumps(build_handoff(request, chars), ensure_ascii=False)),)
    return ()


def build_reply_text(request: Request, chars: int = 0) -> str:
    schema, cue = request.prompt.schema, request.prompt.summary
    if schema is None:
        return build_prose(request, chars)
    said = build_values(request, chars)
    values = build_instance(schema, cue.question, lambda name: build_filler_text(cue, name))
    if isinstance(values, dict):
        values |= {key: clip_to_schema(schema, key, said[key]) for key in said if key in values}
        if cue.task == "judgment":
            values = align_with_winner(values, cue)
    return json.dumps(values, ensure_ascii=False)


def clip_to_schema(schema: dict[str, Any], name: str, value: Any) -> Any:
    """The value of a property, no longer than it may be."""
    longest = schema["properties"][name].get("maxLength")
    return value if longest is None or not isinstance(value, str) else fit_text(value, 0, longest)


def build_prose(request: Request, chars: int) -> str:
    match request.prompt.summary.task:
        case "answer":
            return build_answer(request)
        case "audit":
            return build_audit(request.prompt.summary)
        case "deliverable":
            return build_deliverable(request.prompt.summary)
    text = build_argument(request, chars)
    if request.prompt.summary.handoff_mode == "text" and (to := choose_next_speaker(request)):
        text += f"\n\nTransition to {to}"
    return text


def build_values(request: Request, chars: int) -> dict[str, Any]:
    """What it has to say by itself to a question with a schema. The schema decides what of it is wanted."""
    cue = request.prompt.summary
    match cue.task:
        case "argument":
            return build_handoff(request, chars)
        case "message":
            return build_message(request)
        case "ballot":
            return build_ballot(cue)
        case "opening":
            return build_round_briefing(request)
        case "closing":
            return build_round_summary(cue)
    return {}


def build_argument(request: Request, chars: int = 0) -> str:
    cue = request.prompt.summary
    stance = format_stance(cue)
    turn = hash_to_int(request.seat, cue.stance, str(cue.round), str(request.seed))
    parts = []
    if cue.opponent_text:
        parts.append(
            f'Against this it was said: "{excerpt(cue.opponent_text)}" That does not settle the matter.'
        )
    else:
        parts.append(f"The question is: {excerpt(cue.question)} My answer is {stance}.")
    length = len(parts[0])
    words = len(parts[0].split())
    step = 0
    while length < chars if chars else words < _TURN_WORDS and step < len(_SENTENCES):
        # 3 and the number of sentences have no common divisor: each comes up before one is repeated.
        parts.append(_SENTENCES[(turn + 3 * step) % len(_SENTENCES)].format(stance=stance))
        length += 1 + len(parts[-1])
        words += len(parts[-1].split())
        step += 1
    text = " ".join(parts)
    return text[: chars - 1].rstrip().ljust(chars - 1, ".") + "." if chars else text


def build_handoff(request: Request, chars: int) -> dict[str, Any]:
    said: dict[str, Any] = {"response": build_argument(request, chars)}
    if to := choose_next_speaker(request):
        said["next_agent_name"] = to
    return said


def build_message(request: Request) -> dict[str, Any]:
    """A question, in each round to the next but one more."""
    cue = request.prompt.summary
    to = choose_next_speaker(request, step=cue.round)
    if not to:
        return {}
    stance = dict(cue.positions).get(to, "")
    side = f'"{excerpt(stance)}"' if stance else "your position"
    questions = (
        f"{to}, what would have to be observed within a year for you to give up {side}?",
        f"{to}, who bears the cost if {side} turns out to be wrong, and how do they get out of it?",
        f"{to}, which single fact does {side} depend on most, and where can it be looked up?",
    )
    return {"to": to, "kind": "question", "text": questions[hash_to_int(request.seat, to) % len(questions)]}


def build_answer(request: Request) -> str:
    cue = request.prompt.summary
    stance = format_stance(cue)
    asked = f'Asked: "{excerpt(cue.opponent_text)}" ' if cue.opponent_text else ""
    turn = hash_to_int(request.seat, cue.opponent_text, str(cue.round))
    reason = _SENTENCES[turn % len(_SENTENCES)].format(stance=stance)
    moved = f"I would change my mind if nothing came of {stance} where it was tried in earnest."
    return f"{asked}{moved} {reason}"


def build_ballot(prompt_summary: PromptSummary) -> dict[str, Any]:
    """The letter, by the question's hash: debaters on this model vote alike, whatever they had to argue."""
    letters = sorted(letter for letter, _ in prompt_summary.positions)
    if not letters:
        return {}
    choice = letters[hash_to_int(prompt_summary.question, "choice") % len(letters)]
    stance = dict(prompt_summary.positions)[choice]
    return {
        "reasoning": f'The points for "{excerpt(stance)}" ({choice}) were answered least of all.',
        "choice": choice,
    }


def build_round_briefing(request: Request) -> dict[str, Any]:
    cue = request.prompt.summary
    found = find_lookup_result(request)
    if found:
        briefing = f'What was looked up says: "{excerpt(found)}" Weigh that in round {cue.round}.'
    elif cue.round == 1:
        briefing = "Begin with the strongest reason you have, and say what it rests on."
    else:
        briefing = f"Round {cue.round}: answer what was said against you before you bring anything new."
    angles = (
        "What does each position cost those who did not choose it?",
        "What would be seen first if the position were wrong?",
        "How does the answer change if circumstances become worse?",
    )
    return {
        "briefing": briefing,
        "new_angle": angles[cue.round % len(angles)] if cue.round > 1 else None,
        "next_speakers": list(cue.choices),
        "done": False,
    }


def build_round_summary(prompt_summary: PromptSummary) -> dict[str, Any]:
    if prompt_summary.round < 2:  # noqa: PLR2004  (one round is no debate)
        summary = (
            f"Round {prompt_summary.round}: the cases were made; nobody has answered the other side yet."
        )
        return {"summary": summary, "status": "CONTINUE", "decision": ""}
    stances = sorted(stance for _, stance in prompt_summary.positions)
    chosen = (
        f'"{excerpt(stances[hash_to_int(prompt_summary.question, "decision") % len(stances)])}"'
        if stances
        else "it"
    )
    decision = f"Try {chosen} on a small scale first, and look again when there are results."
    summary = f"Round {prompt_summary.round}: the objections were answered, and what is left is a matter of trying it."
    return {"summary": summary, "status": "SETTLED", "decision": decision}


def build_audit(prompt_summary: PromptSummary) -> str:
    if not prompt_summary.opponent_text:
        return "There is nothing to check yet: no claim was made in this round."
    claim = excerpt(prompt_summary.opponent_text.partition(". ")[2] or prompt_summary.opponent_text)
    return (
        f'This can be checked: "{claim}" It names no source and no number. Whoever said it should say where '
        "it was seen; until then it counts as an opinion. I found no argument that attacks a person."
    )


def build_deliverable(prompt_summary: PromptSummary) -> str:
    stances = [stance for _, stance in prompt_summary.positions]
    sides = " and ".join(f'"{excerpt(stance)}"' for stance in stances[:3])
    compared = f" Compared were {sides}." if sides else ""
    return (
        f"The question was: {excerpt(prompt_summary.question)}{compared} What holds on every side: begin small, "
        "measure, and keep the way back open. What stays open is how large the effect is."
    )


def find_lookup_result(request: Request) -> str:
    """The first line of what was looked up; "" as long as nothing was.

    Results are quoted; what stands before each is what was called.
    """
    found = _LOOKUP_SECTION.search(request.prompt.messages[-1].content)
    if not found:
        return ""
    lines = (line.lstrip("> ").strip() for line in found[1].splitlines() if line.startswith(">"))
    return next((line for line in lines if line), "nothing was found")


def build_filler_text(prompt_summary: PromptSummary, name: str) -> str:
    """The text of a property that it has nothing particular to say to."""
    label = " ".join(re.findall(r"[^\W_]+", name)) or "this"
    if prompt_summary.task != "deliverable":
        return f"{name or 'This'}: nothing more to say."
    stances = [stance for _, stance in prompt_summary.positions]
    if not stances:
        return f"{label.capitalize()}: as the record has it, with no objection left unanswered."
    stance = excerpt(sorted(stances)[hash_to_int(prompt_summary.question, "decision") % len(stances)], 60)
    return f'{label.capitalize()}: the stronger reasons in the record were for "{stance}".'


def align_with_winner(values: dict[str, Any], prompt_summary: PromptSummary) -> dict[str, Any]:
    """The same values; where they name a winner, the rest fits it."""
    winner = values.get("winner")
    if isinstance(winner, str) and {"reasoning", "verdict"} <= values.keys():
        stance = dict(prompt_summary.positions).get(winner, winner)
        values["reasoning"] = f"{winner} answered what was said against it; the others left points open."
        values["margin"] = 2
        values["verdict"] = f'"{excerpt(stance)}" ({winner}) was better supported.'
    return values


def format_stance(prompt_summary: PromptSummary) -> str:
    """The stance as the grammar of a sentence takes it: "my side" where it is a mere yes or no."""
    stance = " ".join(prompt_summary.stance.split()).rstrip(".")
    if stance.casefold() in ("", "for", "against", "pro", "con", "yes", "no"):
        return f'the answer "{stance}"' if stance else "this side"
    return f'"{stance}"'


def excerpt(text: str, max_length: int = 120) -> str:
    line = " ".join(text.split())
    head = line[:max_length]
    return line if len(line) <= max_length else (head.rpartition(" ")[0] or head) + "…"
