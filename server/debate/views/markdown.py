"""Debates as Markdown: the transcript, a round, the verdict."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import assert_never

from server.debate.answer.lines import Finding, format_lines
from server.debate.ballots.hollow import SignalRow
from server.debate.ballots.report import describe_ballot, describe_ballot_event, list_belief_lines
from server.debate.facts.advice import AdviceEvent
from server.debate.facts.answers import DefaultPlanUsed, PassageRead, Remark, SlotFact
from server.debate.facts.causes import END_SENTENCES, tell_reason
from server.debate.facts.events import BallotEvent, BlockEnded, Recorded, RoundClosed, RoundOpened, Spoke
from server.debate.facts.interventions import InstructionGiven, TextIntervention
from server.debate.facts.quoting import disarm_markup, quote, quote_heading, quote_inline
from server.debate.facts.text import clean_line, format_count, format_heading
from server.debate.machine.decide import status
from server.debate.prompts.transcript import LATE_NOTE, NO_PASSAGE, place_turns
from server.debate.rules.schedule import is_unanswered
from server.debate.seats.registry import SEATS, find_seat
from server.debate.state.debate import Debate, RoundPlan
from server.debate.state.memo import once
from server.debate.views.advice import describe_advice, is_answer_of
from server.debate.views.findings import visible_judgments
from server.debate.views.names import find_recorded_turn, list_shown_points, name_debate, show_turn
from server.debate.views.state import (
    framing_line,
    known_debaters,
    list_lookups,
    origin_line,
    status_reason,
    tell_standing,
)
from server.debate.views.verdict import Position, Report, build_report, build_verdict
from server.debate.views.visibility import hide_answers, is_hidden, is_visible, shows_seat
from server.debate.votes.readings import order_turns

OfficerEvent = RoundPlan | Remark | RoundClosed


@once
def render_transcript(
    debate: Debate, entries: Sequence[Recorded], since_round: int = 0, debate_id: str = ""
) -> str:
    """The rounds from one on, then the verdict, or why there is none yet."""
    parts = [f"# {quote_heading(debate.setup.question)}"]
    if since_round <= 1:
        parts += [f"- **{d.name}**: {quote_heading(d.stance)}" for d in known_debaters(debate.setup)]
        parts += [f"\n{line}" for line in filter(None, [framing_line(debate.setup)])]
        parts += [
            f"\n### Answer of {answer.usage.model}, before positions were named\n\n{quote(answer.text)}"
            for answer in debate.blind_answers
        ]
        setup = debate.setup
        origin = origin_line(setup.mirror_of, setup.forked_from, setup.forked_at_round)
        parts.append(f"\nFormat {setup.format}, opened {entries[0].at}. {origin}".rstrip())
    for entry in debate.rounds:
        if entry.round >= since_round:
            parts.append(f"\n## Round {entry.round}: {entry.phase}")
            parts += round_lines(debate, entry.round)
    if has_result(debate):
        parts.append("\n" + render_verdict(debate, debate_id))
    elif status_reason(debate):
        parts.append(
            f"\n*{tell_standing(status(debate))}: {format_item(tell_reason(status_reason(debate)))}*"
        )
    return "\n".join(parts) + "\n"


def round_lines(recorded: Debate, round_number: int) -> list[str]:
    debate = name_debate(recorded)
    ballots = [b for b in debate.round_ballots(round_number) if shows_seat(debate, b.seat)]
    advice = [advice_block(recorded, event) for event in debate.advice if event.round == round_number]
    lines = [f"\n*{describe_ballot(ballot)}*" for ballot in ballots if ballot.wave == "blind"]
    lines += [*talk_lines(debate, recorded, round_number), *advice]
    lines += [
        f"\n*{describe_passage(passage)}*" for passage in debate.passages if passage.round == round_number
    ]
    for ballot in ballots:
        if ballot.wave != "blind":
            lines += [f"\n*{describe_ballot(ballot)}*", *lookup_lines(debate, ballot)]
    for seat in SEATS:
        readings = (fact for fact in debate.find_readings(seat.fact) if fact.round == round_number)
        visible = (fact for fact in readings if seat.is_visible(debate) and not isinstance(fact, Remark))
        descriptions = (seat.describe(hide_answers(recorded), debate, fact) for fact in visible)
        lines += [f"\n### {seat.title}\n\n{text}" for text in descriptions]
    instructions = debate.find_interventions(InstructionGiven)
    lines += [
        note_block(instruction) for instruction in instructions if max(instruction.round, 1) == round_number
    ]
    for judgment in visible_judgments(debate):
        if judgment.round == round_number:
            finding = f"for {judgment.winner}, margin {judgment.margin}" if judgment.winner else "for no side"
            lines.append(f"\n### {judgment.seat}, reading {judgment.slot_index}: {finding}")
            lines.append(f"\n{quote(judgment.verdict)}")
            lines += lookup_lines(debate, judgment)
    if debate.deliverable and debate.deliverable.round == round_number:
        lines += lookup_lines(debate, debate.deliverable)
    found: tuple[BallotEvent, ...] = (*debate.convergence, *debate.alerts)
    ballot_events = [event for event in found if event.round == round_number and not is_hidden(debate, event)]
    lines += [f"\n*{format_item(describe_ballot_event(debate, event))}*" for event in ballot_events]
    block_ends = (ending for ending in debate.ended_blocks if ending.round == round_number)
    lines += [f"\n*{describe_block_end(ending)}*" for ending in block_ends]
    return lines + [
        f"\n*{failure.seat} failed: {format_item(failure.detail)}*"
        for failure in debate.all_failures
        if failure.round == round_number
    ]


def advice_block(debate: Debate, event: AdviceEvent) -> str:
    """What a seat of the answer format wrote; the report stands at the end, as the answer."""
    title, text = describe_advice(debate, event)
    is_below = debate.ended and is_answer_of(debate, event)
    return f"\n*{title}: the answer below.*" if is_below else f"\n### {title}\n\n{quote(text)}"


def describe_passage(passage: PassageRead) -> str:
    result = f"characters {passage.start:,} to {passage.end:,}"
    if passage.found != "passage":
        result = NO_PASSAGE[passage.found]
    return f"{passage.seat} asked for {quote_heading(passage.query)} in document {passage.document}: {result}"


def describe_block_end(ending: BlockEnded) -> str:
    times, why = format_count(ending.passes, "time"), END_SENTENCES[ending.cause]
    return f"The phases from {ending.block} on were held {times}, and not again: {why}."


def talk_lines(debate: Debate, recorded: Debate, round_number: int) -> list[str]:
    """Turns, notes and texts of officers in a round, in the order of the prompts."""
    groups = order_turns(debate, round_number, reading=1)
    # If the next speaker was drawn, a failure says so.
    chosen = (handoff for handoff in debate.handoffs if handoff.because == "chosen")
    next_speakers = {handoff.seat: handoff.to for handoff in chosen if handoff.round == round_number}
    lines = []
    for event, is_late in place_turns(debate, round_number, groups, shows_all=True):
        if isinstance(event, TextIntervention):
            note = note_block(event, LATE_NOTE if is_late else "")
            lines += [] if is_hidden(debate, event) else [note]
        elif not isinstance(event, Spoke):
            lines += officer_blocks(debate, round_number, [event])
        elif shows_seat(debate, event.seat):
            lines += [turn_block(recorded, find_recorded_turn(recorded, event)), *lookup_lines(debate, event)]
            if event.seat in next_speakers:
                lines.append(f"\n*{event.seat} hands over to {next_speakers[event.seat]}.*")
    return lines


def lookup_lines(debate: Debate, answer: SlotFact) -> list[str]:
    """What a seat looked up before an answer, a line each."""
    return [
        f"\n*{row['seat']} looked up {format_item(row['tool'])} {quote_heading(row['arguments'])}: "
        f"{quote_heading(row['failed'] or row['result'])}*"
        for row in list_lookups(debate)
        if (row["seat"], row["round"], row["slot_index"]) == (answer.seat, answer.round, answer.slot_index)
    ]


def note_block(note: TextIntervention, late: str = "") -> str:
    return f"\n### {note.title} to {note.to or 'everybody'}{late}\n\n{quote(note.text)}"


def turn_block(debate: Debate, turn: Spoke) -> str:
    stance = quote_heading(debate.debater(turn.seat).stance)
    recipient = "" if turn.act == "argument" else f", {turn.act} to {turn.to}"
    recipient += f", now for {turn.holds}" if turn.holds not in ("", turn.seat) else ""
    recipient += ", never answered" if is_unanswered(debate, turn) else ""
    title = f"\n### {turn.seat} ({stance}){recipient}"
    if debate.is_active(turn):
        cut_note = ["*(cut at the length limit)*"] if turn.cut else []
        return "\n\n".join([title, *point_blocks(debate, turn), *cut_note])
    lines = show_turn(debate, turn).splitlines()
    struck = "\n".join(f"~~{line}~~" if line.strip() else "" for line in lines)
    return f"{title}, retracted\n\n{quote(struck)}"


def point_blocks(debate: Debate, turn: Spoke) -> list[str]:
    """The points of a turn, each under its id."""
    parts = list_shown_points(debate, turn)
    return [f"[{name}]\n{quote(text)}" if name else quote(text) for name, text in parts]


def officer_blocks(debate: Debate, round_number: int, facts: Iterable[OfficerEvent]) -> list[str]:
    """The texts of the moderator and of seats that remark on a round, if clients may see them."""
    lines = []
    for fact in facts:
        seat = find_seat(fact) if isinstance(fact, Remark) else None
        is_shown = seat.is_visible(debate) if seat else is_visible(debate, "moderator")
        if fact.round == round_number and is_shown:
            lines.append(officer_block(fact))
            lines += [] if isinstance(fact, DefaultPlanUsed) else lookup_lines(debate, fact)
    return lines


def officer_block(event: OfficerEvent) -> str:
    title = "Moderator"
    match event:
        case Remark():
            title, parts = find_seat(event).title, [quote(event.text)]
        case RoundClosed():
            status = "SETTLED" if event.settled else "CONTINUE"
            title, parts = "Moderator's summary", [quote(event.summary), f"**Status**: {status}"]
            parts += [f"**Decision**\n\n{quote(event.decision)}"] if event.decision else []
        case DefaultPlanUsed():
            parts = [list_speakers(event), f"*{format_item(event.reason)}*"]
        case RoundOpened():
            parts = [list_speakers(event)]
            parts += ["**Briefing**", quote(event.briefing)] if event.briefing else []
            parts += ["**New angle**", quote(event.new_angle)] if event.new_angle else []
            parts += ["*The last round.*"] if event.done else []
        case _:
            assert_never(event)
    return f"\n### {title}\n\n" + "\n\n".join(parts)


def list_speakers(plan: RoundPlan) -> str:
    return f"Speakers: {', '.join(plan.next_speakers) or 'nobody'}."


def format_item(text: str) -> str:
    """A line of ours; names and quoted words in it come from others."""
    return disarm_markup(format_heading(text))


def render_moderation(debate: Debate, round_number: int) -> str:
    """The texts of the moderator and of seats that remark on a round."""
    debate = name_debate(debate)
    facts = (*debate.round_plans, *debate.find_readings(Remark), *debate.round_summaries)
    return "\n".join(officer_blocks(debate, round_number, facts)).strip()


def has_result(debate: Debate) -> bool:
    """Whether there is a verdict, a result, or the reason why there is no result."""
    has_failed = debate.ended is not None and bool(build_verdict(debate).deliverable_problem)
    return has_failed or debate.verdict is not None or debate.deliverable is not None


def render_verdict(debate: Debate, debate_id: str = "") -> str:
    """The outcome, readable without the rest of the debate: the lines, then how they came about."""
    report = build_report(debate)
    parts = ["## Verdict\n"]
    parts += [f"**Question**: {quote_heading(report.question)}\n"] if report.positions else []
    return "\n".join([*parts, format_report(report, debate_id), format_details(report)])


def format_report(report: Report, debate_id: str = "") -> str:
    """The lines that say what to do, and the result in the shape asked for; it comes first where it is all there is."""
    parts = [format_lines(report.answer, debate_id)]
    if report.deliverable:
        parts.insert(len(parts) if report.outcome else 0, format_deliverable(report.deliverable))
    parts = ["\n\n".join(parts)]
    origin = origin_line(report.mirror_of, report.forked_from, report.forked_at_round)
    return "\n".join([*parts, *filter(None, [origin and f"\n{origin}"])])


def format_details(report: Report) -> str:
    """How a finding came about, and what weakens it."""
    parts = section("Everybody's words", map(format_finding, report.answer.findings))
    parts += section("Votes", [*report.votes, *panel_lines(report)])
    parts += section("Ballots", report.ballots)
    if report.advisors:
        parts += section("What each held", list_belief_lines(report.beliefs, "reading the others"))
    else:
        ballots = "Private ballots (how likely the debaters' models hold each position)"
        parts += section(ballots, list_belief_lines(report.beliefs))
    parts += section("Mirror (stances swapped)", list_mirror_lines(report))
    parts += section("The same tokens on a blind vote", filter(None, [report.baseline]))
    parts += section("Public against private", [*report.alerts, *map(format_signal, report.signals)])
    for field, title in chain.from_iterable(seat.sections.items() for seat in SEATS):
        parts += section(title, getattr(report, field))
    parts += section("Dissent", map(quote_dissent, report.dissent))
    parts += section("What it hangs on", map(close_quotation, report.claims.hangs_on))
    parts += section("What speaks against it", map(close_quotation, report.claims.against))
    parts += section("Common ground", map(close_quotation, report.claims.common_ground))
    parts += section("Between the positions", map(close_quotation, report.claims.between))
    parts += section("Points", claim_lines(report))
    kept = report.answer.keep_in_mind
    parts += section(
        "What keeps it from being surer", [caution for caution in report.cautions if caution not in kept]
    )
    parts += section("Failures", report.failures)
    parts += section("No result in the shape asked for", filter(None, [report.deliverable_problem]))
    parts += section("Positions", map(format_position, report.positions))
    return "\n".join([*parts, "", summarize_talk(report)])


def format_signal(row: SignalRow) -> str:
    raised = " raised" if row.raised else ""
    return f"{row.name}: {row.value}{raised} (from {row.threshold} on): {row.counts}"


def format_finding(finding: Finding) -> str:
    return f"{finding.seat}, {finding.stand}: {quote_inline(clean_line(finding.text), 10**9)}"


def list_mirror_lines(report: Report) -> list[str]:
    mirror = report.mirror
    is_named = not mirror.debate_id or mirror.debate_id in mirror.told
    return [*filter(None, (mirror.told, "" if is_named else f"debate {mirror.debate_id}"))]


def format_position(position: Position) -> str:
    return f"{position.debater} ({position.model}): {quote_heading(position.stance)}"


def quote_dissent(line: str) -> str:
    """A dissent with the judge's words quoted."""
    judge, _, finding = line.partition(": ")
    return f"{judge}: {quote_inline(finding, 10**9)}"  # no limit in bytes


def panel_lines(report: Report) -> list[str]:
    """Who is ahead, and how the votes were counted."""
    panel = report.panel
    if not panel.asked or report.advisors:
        return []
    proven = f", proven: {', '.join(panel.proven)}" if panel.proven else ""
    counts = f"{panel.asked} asked, {panel.voted} voted, {panel.abstained} abstained, {panel.failed} failed"
    shares = f"support {panel.support} of the weight, against {panel.against}"
    rule = f"rule: {panel.rule}" if panel.rule else ""
    ahead = f"ahead: {report.ahead}" if report.ahead else ""
    count_text = f"counted: {counts}; {shares}; {panel.voices} independent voices{proven}"
    confidence = f"confidence: {format_confidence(report)}"
    return [*filter(None, (ahead, count_text, rule, panel.consensus, confidence, report.settled))]


def close_quotation(line: str) -> str:
    """A line of ours; a quotation whose end was cut off is closed again."""
    return f'{line}"' if line.count('"') % 2 else line


def claim_lines(report: Report) -> list[str]:
    """How many points, unanswered attacks and checked quotes there are."""
    claims = report.claims
    points = format_count(claims.total, "point")
    late = f", {claims.late_attacks} of them too late for an answer" if claims.late_attacks else ""
    open_attacks = f"{format_count(claims.open_attacks, 'attack')} never answered{late}"
    quotes = f"quotes of documents: {claims.checked_quotes} checked, {claims.failed_quotes} not found"
    lines = [f"{points}, {open_attacks}"] if claims.total else []
    return [*lines, quotes] if claims.checked_quotes or claims.failed_quotes else lines


def format_confidence(report: Report) -> str:
    """The confidence, its basis, and the pooled belief in each position."""
    confidence = report.confidence
    value = f"{confidence.value:.2f}. " if confidence.value else ""
    beliefs = ", ".join(confidence.beliefs)
    return f"{value}{confidence.basis}{f' Beliefs: {beliefs}.' if beliefs else ''}"


def summarize_talk(report: Report) -> str:
    """Rounds and turns, why the talk ended, and the cost, in a few sentences."""
    rounds, turns = format_count(report.rounds_of_talk, "round"), format_count(report.turn_count, "turn")
    parts = [f"{rounds} of talk, {turns}."] if report.turn_count or not report.answer.head else []
    is_told = report.answer.head and report.reason.startswith("phases_held")
    if report.status in ("concluded", "truncated") and not is_told:
        parts.append(f"The talk ended: {format_heading(tell_reason(report.reason))}.")
    return " ".join(filter(None, [*parts, report.effort]))


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
