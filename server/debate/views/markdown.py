"""Debates as Markdown: the transcript, a round, the verdict; and cost and estimate in a sentence."""

import json
from collections.abc import Iterable, Sequence

from server.debate.arguments.extraction import describe_extraction
from server.debate.arguments.points import format_id, split_turn
from server.debate.ballots.challenges import describe_signs
from server.debate.ballots.report import describe_ballot, describe_ballot_event, list_belief_lines
from server.debate.ballots.rhetoric import describe_observation
from server.debate.facts.answers import DefaultPlanUsed, PassageRead, SlotFact
from server.debate.facts.causes import format_end_cause
from server.debate.facts.events import Audited, BlockEnded, Recorded, RoundClosed, Spoke
from server.debate.facts.interventions import InstructionGiven, TextIntervention
from server.debate.facts.quoting import disarm_markup, quote, quote_heading, quote_inline
from server.debate.facts.setup.seats import SeatKind
from server.debate.facts.text import clean_line, format_count, format_heading
from server.debate.machine.decide import status
from server.debate.prompts.transcript import LATE_NOTE, NO_PASSAGE, place_turns
from server.debate.rules.schedule import is_unanswered
from server.debate.state.debate import Debate, RoundPlan
from server.debate.state.memo import once
from server.debate.views.names import find_recorded, name_debate, show_turn
from server.debate.views.state import (
    framing_line,
    known_debaters,
    origin_line,
    status_reason,
    visible_lookups,
)
from server.debate.views.verdict import (
    Position,
    Report,
    build_report,
    build_verdict,
    visible_judgments,
)
from server.debate.views.visibility import is_hidden, is_visible, shows_claims, shows_marks, shows_seat
from server.debate.votes.readings import order_turns

END_REASONS: dict[str, str] = {
    "max_rounds": "the last round was held",
    "max_turns": "the last turn was spoken",
    "settled": "the moderator settled it",
    "moderator_done": "the moderator ended the talk",
    "terminate_when": "its condition for ending was met",
    "consensus": "a vote found consensus",
    "converged": "the private ballots say that nothing more comes of it",
    "skipped": "the blind ballots agreed before anybody spoke",
    "block_limit": "its phases were held as often as they may be",
}
"""Reasons for the end of the talk that are no texts."""

OfficerEvent = RoundPlan | Audited | RoundClosed


@once
def render_transcript(debate: Debate, entries: Sequence[Recorded], since_round: int = 0) -> str:
    """The rounds from one on, then the verdict or why there is none yet."""
    parts = [f"# {quote_heading(debate.setup.question)}"]
    if since_round <= 1:
        parts += [f"- **{d.name}**: {quote_heading(d.stance)}" for d in known_debaters(debate.setup)]
        parts += [f"\n{line}" for line in filter(None, [framing_line(debate.setup)])]
        setup = debate.setup
        origin = origin_line(setup.mirror_of, setup.forked_from, setup.forked_at_round)
        parts.append(f"\nFormat {setup.format}, opened {entries[0].at}. {origin}".rstrip())
    for entered in debate.rounds:
        if entered.round >= since_round:
            parts.append(f"\n## Round {entered.round}: {entered.phase}")
            parts += round_lines(debate, entered.round)
    if has_result(debate):
        parts.append("\n" + render_verdict(debate))
    elif status_reason(debate):
        parts.append(f"\n*{status(debate)}: {format_item(status_reason(debate))}*")
    return "\n".join(parts) + "\n"


def round_lines(recorded: Debate, round_number: int) -> list[str]:
    debate = name_debate(recorded)
    ballots = [b for b in debate.round_ballots(round_number) if shows_seat(debate, b.seat)]
    lines = [f"\n*{describe_ballot(ballot)}*" for ballot in ballots if ballot.wave == "blind"]
    lines += talk_lines(debate, recorded, round_number)
    lines += [
        f"\n*{describe_passage(passage)}*" for passage in debate.passages if passage.round == round_number
    ]
    for ballot in ballots:
        if ballot.wave != "blind":
            lines += [f"\n*{describe_ballot(ballot)}*", *lookup_lines(debate, ballot)]
    seen = [one for one in debate.observations if one.round == round_number and shows_marks(debate)]
    lines += [f"\n### Observer\n\n{describe_observation(debate, observed)}" for observed in seen]
    if shows_claims(debate) and any(one.round == round_number for one in debate.extractions):
        lines.append(f"\n### Analyst\n\n{describe_extraction(recorded, debate, round_number)}")
    instructions = debate.find_interventions(InstructionGiven)
    lines += [note_block(given) for given in instructions if max(given.round, 1) == round_number]
    for judged in visible_judgments(debate):
        if judged.round == round_number:
            finding = f"for {judged.winner}, margin {judged.margin}" if judged.winner else "for no side"
            lines.append(f"\n### {judged.seat}, reading {judged.slot_index}: {finding}")
            lines.append(f"\n{quote(judged.verdict)}")
            lines += lookup_lines(debate, judged)
    if debate.deliverable and debate.deliverable.round == round_number:
        lines += lookup_lines(debate, debate.deliverable)
    found = [
        event
        for event in (debate.skipped, *debate.convergence, *debate.alerts)
        if event and event.round == round_number and not is_hidden(debate, event)
    ]
    lines += [f"\n*{format_item(describe_ballot_event(debate, event))}*" for event in found]
    ended = (ended for ended in debate.ended_blocks if ended.round == round_number)
    lines += [f"\n*{describe_block_end(block)}*" for block in ended]
    return lines + [
        f"\n*{failure.seat} failed: {format_item(failure.detail)}*"
        for failure in debate.all_failures
        if failure.round == round_number
    ]


def describe_passage(passage: PassageRead) -> str:
    what = NO_PASSAGE.get(passage.found, f"characters {passage.start:,} to {passage.end:,}")
    return f"{passage.seat} asked for {quote_heading(passage.query)} in document {passage.document}: {what}"


def describe_block_end(ended: BlockEnded) -> str:
    times, why = format_count(ended.passes, "time"), format_end_cause(ended.cause)
    return f"The phases from {ended.block} on were held {times}, and not again: {why}."


def talk_lines(debate: Debate, recorded: Debate, round_number: int) -> list[str]:
    """Turns, notes and what officers wrote in a round, in the order in which the prompts have them."""
    groups = order_turns(debate, round_number, reading=1)
    # If the next speaker was drawn, a failure says so.
    chosen = {h.seat: h.to for h in debate.handoffs if h.round == round_number and h.because == "chosen"}
    lines = []
    for event, is_late in place_turns(debate, round_number, groups, shows_all=True):
        if isinstance(event, TextIntervention):
            note = note_block(event, LATE_NOTE if is_late else "")
            lines += [] if is_hidden(debate, event) else [note]
        elif not isinstance(event, Spoke):
            lines += officer_blocks(debate, round_number, [event])
        elif shows_seat(debate, event.seat):
            lines += [turn_block(recorded, find_recorded(recorded, event)), *lookup_lines(debate, event)]
            lines += [f"\n*{event.seat} hands over to {chosen[event.seat]}.*"] if event.seat in chosen else []
    return lines


def lookup_lines(debate: Debate, answer: SlotFact) -> list[str]:
    """What a seat looked up before an answer, a line for each."""
    return [
        f"\n*{found.seat} looked up {format_item(found.tool)} {quote_heading(found.arguments)}: "
        f"{quote_heading(found.failed or found.result)}*"
        for found in visible_lookups(debate)
        if (found.seat, found.round, found.slot_index) == (answer.seat, answer.round, answer.slot_index)
    ]


def note_block(note: TextIntervention, late: str = "") -> str:
    return f"\n### {note.title} to {note.to or 'everybody'}{late}\n\n{quote(note.text)}"


def turn_block(debate: Debate, turn: Spoke) -> str:
    stance = quote_heading(debate.debater(turn.seat).stance)
    recipient = "" if turn.act == "argument" else f", {turn.act} to {turn.to}"
    recipient += ", never answered" if is_unanswered(debate, turn) else ""
    title = f"\n### {turn.seat} ({stance}){recipient}"
    if debate.is_active(turn):
        cut = ["*(cut at the length limit)*"] if turn.cut else []
        return "\n\n".join([title, *point_blocks(debate, turn), *cut])
    lines = show_turn(debate, turn).splitlines()
    struck = "\n".join(f"~~{line}~~" if line.strip() else "" for line in lines)
    return f"{title}, retracted\n\n{quote(struck)}"


def point_blocks(debate: Debate, turn: Spoke) -> list[str]:
    """The points of a turn, each below its id."""
    parts = split_turn(debate, turn)
    blocks = [quote(show_turn(debate, turn, 0, len(parts.before)))] if parts.before else []
    for point in parts.points:
        text = show_turn(debate, turn, point.span.start, point.span.end)
        blocks.append(f"[{format_id(point.id, turn.seat)}]\n{quote(text)}")
    return blocks


def officer_blocks(debate: Debate, round_number: int, facts: Iterable[OfficerEvent]) -> list[str]:
    """What moderator and referee wrote in a round, if clients may see it."""
    lines = []
    for fact in facts:
        kind: SeatKind = "referee" if isinstance(fact, Audited) else "moderator"
        if fact.round == round_number and is_visible(debate, kind):
            lines.append(officer_block(fact))
            lines += [] if isinstance(fact, DefaultPlanUsed) else lookup_lines(debate, fact)
    return lines


def officer_block(written: OfficerEvent) -> str:
    title = "Moderator"
    match written:
        case Audited():
            title, parts = "Referee", [quote(written.text)]
        case RoundClosed():
            standing = "SETTLED" if written.settled else "CONTINUE"
            title, parts = "Moderator's summary", [quote(written.summary), f"**Status**: {standing}"]
            parts += [f"**Decision**\n\n{quote(written.decision)}"] if written.decision else []
        case _:
            parts = [f"Speakers: {', '.join(written.next_speakers) or 'nobody'}."]
            if isinstance(written, DefaultPlanUsed):
                parts.append(f"*{format_item(written.reason)}*")
            else:
                parts += ["**Briefing**", quote(written.briefing)] if written.briefing else []
                parts += ["**New angle**", quote(written.new_angle)] if written.new_angle else []
                parts += ["*The last round.*"] if written.done else []
    return f"\n### {title}\n\n" + "\n\n".join(parts)


def format_item(text: str) -> str:
    """A line of ours in which names, or words between quotation marks, are foreign."""
    return disarm_markup(format_heading(text))


def render_moderation(debate: Debate, round_number: int) -> str:
    """What the moderator and the referee wrote in a round."""
    debate = name_debate(debate)
    facts = (*debate.round_plans, *debate.audits, *debate.round_summaries)
    return "\n".join(officer_blocks(debate, round_number, facts)).strip()


def has_result(debate: Debate) -> bool:
    """Whether there is a verdict, a result, or the reason why there is no result."""
    has_failed = debate.ended is not None and bool(build_verdict(debate).deliverable_problem)
    return has_failed or debate.verdict is not None or debate.deliverable is not None


def render_verdict(debate: Debate) -> str:
    """The outcome, to be read without the rest of the debate."""
    return format_report(build_report(debate))


def format_report(found: Report) -> str:
    """A report as Markdown, from nothing but its fields."""
    parts = [
        f"## {disarm_markup(clean_line(found.headline))}\n",
        f"**Question**: {quote_heading(found.question)}",
    ]
    parts += [f"\n{quote(found.verdict)}"] if found.verdict else []
    parts += [f"\n{format_deliverable(found.deliverable)}"] if found.deliverable else []
    parts += [f"\n{quote(found.reasoning)}"] if found.reasoning else []
    return "\n".join([*parts, format_details(found)])


def format_details(found: Report) -> str:
    """What stands below the finding: how it came about, and what weakens it."""
    parts = section("Votes", [*found.votes, *panel_lines(found)])
    parts += section("Ballots", found.ballots)
    parts += section(
        "Private ballots (how likely the debaters' models hold each position)",
        list_belief_lines(found.beliefs),
    )
    parts += section("Mirror (stances swapped)", list_mirror_lines(found))
    parts += section("The same tokens on a blind vote", filter(None, [found.baseline]))
    parts += section(*describe_signs(found.signals, found.alerts))
    parts += section("Rhetoric", found.rhetoric)
    parts += section("Dissent", map(quote_dissent, found.dissent))
    parts += section("What it hangs on", map(close_quotation, found.claims.hangs_on))
    parts += section("What speaks against it", map(close_quotation, found.claims.against))
    parts += section("Common ground", map(close_quotation, found.claims.common_ground))
    parts += section("Between the positions", map(close_quotation, found.claims.between))
    parts += section("Points", claim_lines(found))
    parts += section("Keep in mind", found.cautions)
    parts += section("Failures", found.failures)
    parts += section("No result in the shape asked for", filter(None, [found.deliverable_problem]))
    parts += section("Positions", map(format_position, found.positions))
    return "\n".join([*parts, "", summarize_talk(found)])


def list_mirror_lines(found: Report) -> list[str]:
    told = found.mirror
    debate_id = f"debate {told.debate_id}" if told.debate_id and told.debate_id not in told.told else ""
    return [*filter(None, (told.told, debate_id))]


def format_position(position: Position) -> str:
    return f"{position.debater} ({position.model}): {quote_heading(position.stance)}"


def quote_dissent(line: str) -> str:
    """A dissent with the judge's words between quotation marks."""
    judge, _, finding = line.partition(": ")
    return f"{judge}: {quote_inline(finding, 10**9)}"  # bytes: whole


def panel_lines(found: Report) -> list[str]:
    """Who is ahead, and how the votes were counted."""
    panel = found.panel
    if not panel.asked:
        return []
    proven = f", proven: {', '.join(panel.proven)}" if panel.proven else ""
    counts = f"{panel.asked} asked, {panel.voted} voted, {panel.abstained} abstained, {panel.failed} failed"
    shares = f"support {panel.support} of the weight, against {panel.against}"
    rule = f"rule: {panel.rule}" if panel.rule else ""
    ahead = f"ahead: {found.ahead}" if found.ahead else ""
    counted = f"counted: {counts}; {shares}; {panel.voices} independent voices{proven}"
    told = (ahead, counted, rule, panel.consensus, f"confidence: {format_confidence(found)}", found.settled)
    return [*filter(None, told)]


def close_quotation(line: str) -> str:
    """A line of ours with the quotation closed that it lost the end of where it was shortened."""
    return f'{line}"' if line.count('"') % 2 else line


def claim_lines(found: Report) -> list[str]:
    """How many points there are, attacks that were never answered, and quotes that were looked up."""
    claims = found.claims
    points = format_count(claims.total, "point")
    left = f"{format_count(claims.open_attacks, 'attack')} never answered"
    quotes = f"quotes of documents: {claims.checked_quotes} checked, {claims.failed_quotes} not found"
    lines = [f"{points}, {left}"] if claims.total else []
    return [*lines, quotes] if claims.checked_quotes or claims.failed_quotes else lines


def format_confidence(found: Report) -> str:
    """The confidence, how it was obtained, and the pooled belief in each position."""
    told = found.confidence
    value = f"{told.value:.2f}. " if told.value else ""
    told_beliefs = ", ".join(told.beliefs)
    return f"{value}{told.basis}{f' Beliefs: {told_beliefs}.' if told_beliefs else ''}"


def summarize_talk(found: Report) -> str:
    """Rounds and turns, why the talk ended, the origin of a fork, and the cost, in a few sentences."""
    rounds, turns = format_count(found.rounds_of_talk, "round"), format_count(found.turn_count, "turn")
    parts = [f"{rounds} of talk, {turns}."]
    if found.status in ("concluded", "truncated"):
        parts.append(f"The talk ended: {format_heading(END_REASONS.get(found.reason, found.reason))}.")
    parts.append(origin_line(found.mirror_of, found.forked_from, found.forked_at_round))
    return " ".join(filter(None, [*parts, found.cost, found.effort, found.more]))


def format_deliverable(text: str) -> str:
    """The synthesizer's result: JSON in a fence, prose as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict | list):
        return f"```json\n{json.dumps(value, ensure_ascii=False, indent=1)}\n```"
    return quote(text)


def section(title: str, lines: Iterable[str]) -> list[str]:
    items = [f"- {disarm_markup(clean_line(line))}" for line in lines]
    return [f"\n**{title}**", *items] if items else []
