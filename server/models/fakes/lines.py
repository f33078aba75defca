"""What the scripted model says: a line for everything that a seat can be asked for.

Everything follows from the request: words are chosen by its hash, and names in turn.
"""

import json
import re
from typing import Any

from server.models import Cue, FunctionCall, Request
from server.models.fakes.instances import fitted, instance, number
from server.models.fakes.next_speaker import next_of

HANDOFF = "handoff"
"""The function that chooses the next speaker. All others look something up."""

_LOOKED_UP = re.compile(r"^#* ?What you looked up[^\n]*\n(.*)", re.MULTILINE | re.DOTALL)

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
_WORDS = 80  # about what a debater on this model says in a turn


def calls(request: Request, chars: int = 0) -> tuple[FunctionCall, ...]:
    """The functions it calls in place of an answer: a look-up once, and then a hand-off, where offered."""
    cue = request.prompt.cue
    for function in request.functions:
        if function.name != HANDOFF and not findings(request):
            arguments = instance(function.parameters, cue.question, lambda _: excerpt(cue.question)) or {}
            return (FunctionCall(function.name, json.dumps(arguments, ensure_ascii=False)),)
    if cue.handoff == "tool" and any(function.name == HANDOFF for function in request.functions):
        return (FunctionCall(HANDOFF, json.dumps(handoff(request, chars), ensure_ascii=False)),)
    return ()


def answer(request: Request, chars: int = 0) -> str:
    schema, cue = request.prompt.schema, request.prompt.cue
    if schema is None:
        return prose(request, chars)
    said = saying(request, chars)
    values = instance(schema, cue.question, lambda name: left_open(cue, name))
    if isinstance(values, dict):
        values |= {key: within(schema, key, said[key]) for key in said if key in values}
        if cue.asks == "judgment":
            values = with_winner(values, cue)
    return json.dumps(values, ensure_ascii=False)


def within(schema: dict[str, Any], name: str, value: Any) -> Any:
    """The value of a property, no longer than it may be."""
    longest = schema["properties"][name].get("maxLength")
    return value if longest is None or not isinstance(value, str) else fitted(value, 0, longest)


def prose(request: Request, chars: int) -> str:
    match request.prompt.cue.asks:
        case "answer":
            return reply_to(request)
        case "audit":
            return audit(request.prompt.cue)
        case "deliverable":
            return result(request.prompt.cue)
    text = argument(request, chars)
    if request.prompt.cue.handoff == "text" and (to := next_of(request)):
        text += f"\n\nTransition to {to}"
    return text


def saying(request: Request, chars: int) -> dict[str, Any]:
    """What it has to say by itself to a question with a schema. The schema decides what of it is wanted."""
    cue = request.prompt.cue
    match cue.asks:
        case "argument":
            return handoff(request, chars)
        case "message":
            return message(request)
        case "ballot":
            return ballot(cue)
        case "opening":
            return opening(request)
        case "closing":
            return closing(cue)
    return {}


def argument(request: Request, chars: int = 0) -> str:
    cue = request.prompt.cue
    stance = named(cue)
    turn = number(request.seat, cue.stance, str(cue.round), str(request.seed))
    parts = []
    if cue.opponent:
        parts.append(f'Against this it was said: "{excerpt(cue.opponent)}" That does not settle the matter.')
    else:
        parts.append(f"The question is: {excerpt(cue.question)} My answer is {stance}.")
    length = len(parts[0])
    words = len(parts[0].split())
    step = 0
    while length < chars if chars else words < _WORDS and step < len(_SENTENCES):
        # 3 and the number of sentences have no common divisor: each comes up before one is repeated.
        parts.append(_SENTENCES[(turn + 3 * step) % len(_SENTENCES)].format(stance=stance))
        length += 1 + len(parts[-1])
        words += len(parts[-1].split())
        step += 1
    text = " ".join(parts)
    return text[: chars - 1].rstrip().ljust(chars - 1, ".") + "." if chars else text


def handoff(request: Request, chars: int) -> dict[str, Any]:
    said: dict[str, Any] = {"response": argument(request, chars)}
    if to := next_of(request):
        said["next_agent_name"] = to
    return said


def message(request: Request) -> dict[str, Any]:
    """A question, in each round to the next but one more."""
    cue = request.prompt.cue
    to = next_of(request, step=cue.round)
    if not to:
        return {}
    stance = dict(cue.positions).get(to, "")
    side = f'"{excerpt(stance)}"' if stance else "your position"
    questions = (
        f"{to}, what would have to be observed within a year for you to give up {side}?",
        f"{to}, who bears the cost if {side} turns out to be wrong, and how do they get out of it?",
        f"{to}, which single fact does {side} depend on most, and where can it be looked up?",
    )
    return {"to": to, "kind": "question", "text": questions[number(request.seat, to) % len(questions)]}


def reply_to(request: Request) -> str:
    cue = request.prompt.cue
    stance = named(cue)
    asked = f'Asked: "{excerpt(cue.opponent)}" ' if cue.opponent else ""
    turn = number(request.seat, cue.opponent, str(cue.round))
    reason = _SENTENCES[turn % len(_SENTENCES)].format(stance=stance)
    moved = f"I would change my mind if nothing came of {stance} where it was tried in earnest."
    return f"{asked}{moved} {reason}"


def ballot(cue: Cue) -> dict[str, Any]:
    """The letter, by the question's hash: debaters on this model vote alike, whatever they had to argue."""
    letters = sorted(letter for letter, _ in cue.positions)
    if not letters:
        return {}
    choice = letters[number(cue.question, "choice") % len(letters)]
    stance = dict(cue.positions)[choice]
    return {
        "reasoning": f'The points for "{excerpt(stance)}" ({choice}) were answered least of all.',
        "choice": choice,
    }


def opening(request: Request) -> dict[str, Any]:
    cue = request.prompt.cue
    found = findings(request)
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
        "next_speakers": list(cue.others),
        "done": False,
    }


def closing(cue: Cue) -> dict[str, Any]:
    if cue.round < 2:  # noqa: PLR2004  (one round is no debate)
        summary = f"Round {cue.round}: the cases were made; nobody has answered the other side yet."
        return {"summary": summary, "status": "CONTINUE", "decision": ""}
    stances = sorted(stance for _, stance in cue.positions)
    chosen = f'"{excerpt(stances[number(cue.question, "decision") % len(stances)])}"' if stances else "it"
    decision = f"Try {chosen} on a small scale first, and look again when there are results."
    summary = f"Round {cue.round}: the objections were answered, and what is left is a matter of trying it."
    return {"summary": summary, "status": "SETTLED", "decision": decision}


def audit(cue: Cue) -> str:
    if not cue.opponent:
        return "There is nothing to check yet: no claim was made in this round."
    claim = excerpt(cue.opponent.partition(". ")[2] or cue.opponent)
    return (
        f'This can be checked: "{claim}" It names no source and no number. Whoever said it should say where '
        "it was seen; until then it counts as an opinion. I found no argument that attacks a person."
    )


def result(cue: Cue) -> str:
    stances = [stance for _, stance in cue.positions]
    sides = " and ".join(f'"{excerpt(stance)}"' for stance in stances[:3])
    compared = f" Compared were {sides}." if sides else ""
    return (
        f"The question was: {excerpt(cue.question)}{compared} What holds on every side: begin small, "
        "measure, and keep the way back open. What stays open is how large the effect is."
    )


def findings(request: Request) -> str:
    """The first line of what was looked up; "" as long as nothing was.

    Results are quoted; what stands before each is what was called.
    """
    found = _LOOKED_UP.search(request.prompt.messages[-1].content)
    if not found:
        return ""
    lines = (line.lstrip("> ").strip() for line in found[1].splitlines() if line.startswith(">"))
    return next((line for line in lines if line), "nothing was found")


def left_open(cue: Cue, name: str) -> str:
    """The text of a property that it has nothing particular to say to."""
    label = " ".join(re.findall(r"[^\W_]+", name)) or "this"
    if cue.asks != "deliverable":
        return f"{name or 'This'}: nothing more to say."
    stances = [stance for _, stance in cue.positions]
    if not stances:
        return f"{label.capitalize()}: as the record has it, with no objection left unanswered."
    stance = excerpt(sorted(stances)[number(cue.question, "decision") % len(stances)], 60)
    return f'{label.capitalize()}: the stronger reasons in the record were for "{stance}".'


def with_winner(values: dict[str, Any], cue: Cue) -> dict[str, Any]:
    """The same values; where they name a winner, the rest fits it."""
    winner = values.get("winner")
    if isinstance(winner, str) and {"reasoning", "verdict"} <= values.keys():
        stance = dict(cue.positions).get(winner, winner)
        values["reasoning"] = f"{winner} answered what was said against it; the others left points open."
        values["margin"] = 2
        values["verdict"] = f'"{excerpt(stance)}" ({winner}) was better supported.'
    return values


def named(cue: Cue) -> str:
    """The stance as the grammar of a sentence takes it: "my side" where it is a mere yes or no."""
    stance = " ".join(cue.stance.split()).rstrip(".")
    if stance.casefold() in ("", "for", "against", "pro", "con", "yes", "no"):
        return f'the answer "{stance}"' if stance else "this side"
    return f'"{stance}"'


def excerpt(text: str, longest: int = 120) -> str:
    line = " ".join(text.split())
    head = line[:longest]
    return line if len(line) <= longest else (head.rpartition(" ")[0] or head) + "…"
