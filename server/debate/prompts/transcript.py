"""The transcript as prompts quote it: question, documents and positions, then the rounds.

It only grows at its end, and is the same for every seat, with four exceptions: a judge's second reading has
other labels and, in rounds that were written together, another order of turns; debaters who write at the same
time do not see each other's turns; messages between two debaters are not shown to a third; and a debate may
hide a kind of seat from the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Literal, NamedTuple, assert_never

from server.debate.arguments.points import find_claims, format_id, split_turn
from server.debate.arguments.sources import Source, list_sources
from server.debate.documents.digests import render_digest
from server.debate.documents.marks import disarm_marks, mark_quotes
from server.debate.documents.sections import describe_section
from server.debate.facts.answers import DefaultPlanUsed, PassageRead, Reading, Remark, SlotFact
from server.debate.facts.events import PhaseEntered, RoundClosed, RoundOpened, Spoke
from server.debate.facts.interventions import Challenged, NoteAdded
from server.debate.facts.quoting import quote_inline, quote_verbatim
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import MODERATOR, Debater
from server.debate.facts.text import clean_line, shorten
from server.debate.prompts.earlier import reads_earlier, render_earlier
from server.debate.prompts.wording import describe_phase
from server.debate.rules.calls import WITHOUT_POSITIONS, Call
from server.debate.rules.schedule import is_unanswered
from server.debate.state.debate import Debate, TranscriptEvent
from server.debate.state.labels import SECOND_READING, order_sides, side_labels, turn_text
from server.debate.state.memo import once
from server.debate.state.seats import hides
from server.debate.votes.readings import order_turns

MAX_STANCE_TAG_LENGTH = 40
NO_PASSAGE: dict[Literal["known", "nothing", "no_room"], str] = {
    "known": "it was shown before",
    "nothing": "nothing was found",
    "no_room": "there is no room for more passages",
}
LATE_NOTE = ", made while the turns above were written, which had not seen it"


def render_preamble(debate: Debate, call: Call) -> str:
    """The question, the documents and the positions: the part that never changes within a debate.

    The last one is kept: documents may be long, and are searched for what cannot be seen.
    """
    reader = (call.task in WITHOUT_POSITIONS, call.reading, len(debate.digests), reads_earlier(debate, call))
    known = debate.cache.get("preamble")
    if known is None or known[0] is not debate.setup or known[1] != reader:
        text = "\n\n".join(list_preamble(debate, call))
        known = debate.cache["preamble"] = (debate.setup, reader, text)
    return str(known[2])


def list_preamble(debate: Debate, call: Call) -> list[str]:
    parts = ["# Question\n" + quote_verbatim(debate.setup.question)]
    parts += [render_document(debate, source) for source in list_sources(debate) if source.document]
    if call.task in WITHOUT_POSITIONS:
        return parts
    parts.append("# Positions\n" + quote_verbatim("\n".join(position_lines(debate, call.reading))))
    if (framing := debate.setup.framing) and framing.assumption:
        parts.append(
            "# Taken for given where the question leaves it open\n" + quote_verbatim(framing.assumption)
        )
    return [*parts, *render_earlier(debate, call)]


def render_document(debate: Debate, document: Source) -> str:
    """A document, or the digest of one that does not fit the windows of all seats."""
    title = clean_line(f"{document.title} {document.url}".strip())
    reader = debate.setup.reader
    if reader and reader.has_digest(document.document):
        digest = disarm_marks(render_digest(debate, document.document, document.number))
        heading = f"# Document {document.number}, too long to be shown whole: a digest of it"
        return f"{heading}\n{quote_verbatim(title)}\n>\n{quote_verbatim(digest)}"
    return f"# Document {document.number}\n{quote_verbatim(title)}\n>\n{quote_verbatim(document.text)}"


def show_text(
    debate: Debate, text: str, reading: int, seen: int, start: int = 0, end: int | None = None
) -> str:
    """A text of the talk, or a part of it, as the seat of a reading is shown it, with the marks of the server.

    `seen`: the version of the debate that its author had read.
    """
    marked = mark_quotes(debate, text, seen, lambda part: turn_text(debate, part, reading), start, end)
    return quote_verbatim(marked)


def position_lines(debate: Debate, reading: int = 0) -> list[str]:
    """A line "LABEL. stance" for each position, in the order of the labels."""
    sides = order_sides(debate, reading)
    return [f"{label}. {clean_line(debate.debater(name).stance)}" for label, name in sides.items()]


class Finished(NamedTuple):
    """The text of finished rounds, for readers to whom they look alike, and all that it was made of."""

    rounds: tuple[PhaseEntered, ...] = ()
    events: tuple[TranscriptEvent, ...] = ()
    note_versions: tuple[int, ...] = ()
    retracted: frozenset[tuple[str, int, int]] = frozenset()
    readings: tuple[Reading, ...] = ()  # some divide turns
    text: str = ""

    def is_of(self, debate: Debate) -> bool:
        """Whether these rounds, as they were, are the first of this debate."""
        return (
            self.rounds == debate.rounds[: len(self.rounds)]
            and self.events == debate.transcript_events[: len(self.events)]
            and self.note_versions == debate.note_versions[: len(self.note_versions)]
            and self.retracted == debate.retracted_turns
            and self.readings == debate.readings[: len(self.readings)]
        )


def render_transcript(debate: Debate, call: Call) -> list[str]:
    """The rounds so far as the seat of `call` may see them: a heading and blocks for each."""
    if not debate.rounds:
        return []
    past = find_finished(debate, call)
    return [*filter(None, [past.text, render_round(debate, debate.round, call)])]


def find_finished(debate: Debate, call: Call) -> Finished:
    """The rounds before this one. The set-up no longer changes once there are any, so that none is rendered twice."""
    reader = (
        is_debater_call(debate, call),
        call.reading,
        call.seat if debate.setup.hidden_from_seats else "",
    )
    known: Finished = debate.cache.get(reader, Finished())
    if not known.is_of(debate) or len(known.rounds) >= debate.round:
        known = Finished()
    if len(known.rounds) == debate.round - 1:
        return known
    numbers = range(len(known.rounds) + 1, debate.round)
    texts = [known.text, *(render_round(debate, number, call) for number in numbers)]
    made = debate.cache[reader] = Finished(
        rounds=debate.rounds[:-1],
        events=debate.transcript_events[: debate.round_starts[-1]],
        note_versions=debate.note_versions[: sum(note.round < debate.round for note in debate.notes)],
        retracted=debate.retracted_turns,
        readings=tuple(reading for reading in debate.readings if reading.round < debate.round),
        text="\n\n".join(filter(None, texts)),
    )
    return made


def render_round(debate: Debate, round_number: int, call: Call) -> str:
    entered, phase = debate.rounds[round_number - 1], debate.round_phase(round_number)
    blocks = (
        render_block(debate, event, call.reading, is_late)
        for event, is_late in arrange_round(debate, round_number, call)
        if is_visible(debate, event, call)
    )
    passages = [
        render_passage(debate, passage, call.reading)
        for passage in debate.passages
        if passage.round == round_number and is_visible(debate, passage, call)
    ]
    said = [*filter(None, blocks), *passages]
    if not (said or phase.is_talk):
        return ""  # ballots and findings are read by nobody here
    is_new = round_number == 1 or debate.rounds[round_number - 2].phase != entered.phase
    heading = f"# Round {round_number}: {entered.phase.replace('_', ' ')}"
    notes = describe_phase(phase) if is_new else ""
    return "\n\n".join([f"{heading}\n{notes}".rstrip(), *said])


def render_passage(debate: Debate, passage: PassageRead, reading: int) -> str:
    """What the server found of a long document for a debater who asked for it."""
    asked = f"{side_labels(debate, reading)[passage.seat]} asked for: {quote_inline(passage.query, 400)}"
    number = next(s.number for s in list_sources(debate) if s.document == passage.document)
    text = debate.setup.documents[passage.document - 1].text
    if passage.found != "passage":
        return f"[doc {number}, {asked}: {NO_PASSAGE[passage.found]}]"
    place = describe_section(text, passage.start, passage.end)
    return f"[doc {number}, {place}, {asked}]\n{quote_verbatim(text[passage.start : passage.end])}"


def arrange_round(debate: Debate, round_number: int, call: Call) -> Iterator[tuple[TranscriptEvent, bool]]:
    """The events of a round for the prompt of this call, as `place_turns` has them."""
    phase = debate.round_phase(round_number)
    is_open = round_number == debate.round and call.task not in ("ballot", "answer")
    is_being_written = phase.order == "together" and is_open
    groups = order_turns(debate, round_number, call.reading)
    if is_debater_call(debate, call):  # messages are in the last words of the two whom they concern
        groups = () if is_being_written else tuple(group for group in groups if group[0].act == "argument")
    return place_turns(debate, round_number, groups)


def place_turns(
    debate: Debate, round_number: int, groups: Iterable[tuple[Spoke, ...]], *, shows_all: bool = False
) -> Iterator[tuple[TranscriptEvent, bool]]:
    """The events of a round as a reader gets them, each with whether it is a note that turns above it had not seen.

    A turn stands after what it had seen, and before the notes that it had not. `groups`: the turns in reading
    order, those that belong together in one. `shows_all`: also the notes for one debater, which stand at the end of
    that debater's own prompt.
    """
    versions = (version for _, version in debate.round_notes(round_number))
    waiting, above, recorded = list(groups), list[Spoke](), set[tuple[str, int]]()
    for event in debate.round_events(round_number):
        is_note = isinstance(event, NoteAdded | Challenged)
        version = next(versions) if is_note else 0
        if isinstance(event, Spoke):
            recorded.add((event.seat, event.slot_index))
        elif shows_all or not (isinstance(event, NoteAdded) and event.to):
            ready = waiting if isinstance(event, Remark | RoundClosed) else []
            ready = [group for group in waiting if group[0].seen < version] or ready
            waiting = [group for group in waiting if group not in ready]
            turns = list(chain.from_iterable(ready))
            yield from ((turn, False) for turn in turns)
            above += turns
            yield event, is_note and any((t.seat, t.slot_index) not in recorded for t in above)
    yield from ((turn, False) for turn in chain.from_iterable(waiting))


@once
def find_other_argument(debate: Debate, call: Call) -> Spoke | None:
    """The last argument of another seat that the prompt of this call shows."""
    hides_round = is_debater_call(debate, call) and debate.round_phase(call.round).order == "together"
    numbers = range(call.round - hides_round, 0, -1)
    turns = chain.from_iterable(reversed(debate.transcript_turns(number)) for number in numbers)
    others = (turn for turn in turns if turn.seat != call.seat and turn.act == "argument")
    shown = (turn for turn in others if debate.is_active(turn) and is_visible(debate, turn, call))
    return next(shown, None)


def is_debater_call(debate: Debate, call: Call) -> bool:
    return call.seat in debate.names


def is_visible(debate: Debate, event: TranscriptEvent | PassageRead, call: Call) -> bool:
    """Whether the prompt of this call shows the event: debates may hide seats from the others.

    Judges and officers always see what debaters say.
    """
    hidden = debate.setup.hidden_from_seats
    if isinstance(event, NoteAdded | Challenged | DefaultPlanUsed) or event.seat == call.seat:
        return True
    is_read_anyway = event.seat in debate.names and not is_debater_call(debate, call)
    return is_read_anyway or not hides(debate.setup, hidden, event.seat)


def render_block(debate: Debate, event: TranscriptEvent, reading: int, is_late: bool) -> str:
    late = LATE_NOTE if is_late else ""
    labels = side_labels(debate, reading)
    match event:
        case Challenged():
            heading = f"challenge to {labels.get(event.to, 'everybody')}, to be answered{late}"
            text = event.text
        case NoteAdded():
            heading, text = f"note to everybody{late}", event.text
        case RoundOpened():
            return render_briefing(debate, event, reading)
        case DefaultPlanUsed():
            return ""
        case Remark():
            heading, text = event.heading, event.text
        case RoundClosed():
            heading = "the moderator sums up"
            text = event.summary + (f"\nSettled: {event.decision}" if event.settled else "")
        case Spoke():
            return render_turn(debate, event, reading)
        case _:
            assert_never(event)
    seen = event.seen if isinstance(event, SlotFact) else 1  # whoever adds notes knows the documents
    return f"[{heading}]\n{show_text(debate, text, reading, seen)}"


def render_turn(debate: Debate, turn: Spoke, reading: int) -> str:
    """A turn under its heading: its points, each below its id, which stands outside the quotation."""
    is_turned, is_active = reading == SECOND_READING, debate.is_active(turn)
    key = ("turn", turn.seat, turn.slot_index, is_turned)
    claims = find_claims(debate).get((turn.seat, turn.round, turn.slot_index), ())  # which divide it
    known = debate.cache.get(key)  # of the last round in which it was needed
    if known is None or known[:3] != (turn, is_active, claims):
        known = debate.cache[key] = (turn, is_active, claims, write_turn(debate, turn, reading))
    return str(known[3])


def write_turn(debate: Debate, turn: Spoke, reading: int) -> str:
    labels = side_labels(debate, reading)
    heading = render_turn_heading(debate, turn, labels)
    if not debate.is_active(turn):
        return f"[{heading}: retracted]"
    parts = split_turn(debate, turn)
    lines = [f"[{heading}]"]
    if parts.before:
        lines.append(show_text(debate, turn.text, reading, turn.seen, 0, len(parts.before)))
    for point in parts.points:
        text = show_text(debate, turn.text, reading, turn.seen, point.span.start, point.span.end)
        lines.append(f"[{format_id(point.id, labels[turn.seat])}]\n{text}")
    return "\n".join(lines)


def render_briefing(debate: Debate, round_opened: RoundOpened, reading: int) -> str:
    parts = {
        "the moderator's briefing for this round": round_opened.briefing,
        "the moderator asks this round to focus on": round_opened.new_angle,
    }
    return "\n\n".join(
        f"[{title}]\n{show_text(debate, text, reading, round_opened.seen)}"
        for title, text in parts.items()
        if text
    )


def render_turn_heading(debate: Debate, turn: Spoke, labels: dict[str, str]) -> str:
    if turn.act != "argument":
        unanswered = ", never answered" if is_unanswered(debate, turn) else ""
        return f"{labels[turn.seat]} to {labels[turn.to]}, {turn.act}{unanswered}"
    if not debate.is_active(turn):
        return labels[turn.seat]
    moved = f", now for {labels.get(turn.holds, turn.holds)}" if turn.holds not in ("", turn.seat) else ""
    return f"{labels[turn.seat]}: {stance_tag(debate.debater(turn.seat))}{moved}"


def stance_tag(debater: Debater) -> str:
    return shorten(clean_line(debater.stance), MAX_STANCE_TAG_LENGTH)


def describe_record(debate: Debate) -> str:
    """How the record that a judge reads is ordered, and what is left out of it (requirement C22)."""
    phases = {entered.round: debate.round_phase(entered.round) for entered in debate.rounds}
    talk = [number for number, phase in phases.items() if phase.is_talk and debate.round_turns(number)]
    messages = [number for number in talk if phases[number].wants == "message"]
    together = [number for number in talk if phases[number].is_written_together]
    in_turn = [number for number in talk if number not in (*together, *messages)]
    sentences = []
    if together:
        sentences.append(
            f"The turns of {format_rounds(together)} were written without seeing each other; "
            "their order within a round means nothing."
        )
    if in_turn:
        made = "were made one after the other and stand in that order"
        sentences.append(f"The turns of {format_rounds(in_turn)} {made}.")
    if messages:
        written = "were written without seeing each other; each stands with its answer"
        sentences.append(f"The messages of {format_rounds(messages)} {written}.")
    if beside := [n for n in (*together, *in_turn) if debate.round_exchanges(n)]:
        stand = "stands after the turns with its answer, or is marked as never answered"
        sentences.append(f"With turns of {format_rounds(sorted(beside))} messages were sent; each {stand}.")
    sentences.append(
        "What was first said in the last turns could not be answered: silence about it counts against nobody."
    )
    missing = list_missing(debate, phases)
    sentences.append(f"Left out: {', '.join(missing)}." if missing else "No turn is left out.")
    return " ".join(sentences)


def list_missing(debate: Debate, phases: Mapping[int, Phase]) -> list[str]:
    """What a judge does not read. `phases`: of the rounds held, by number."""
    missing = []
    if retracted := sum(not debate.is_active(turn) for turn in debate.turns):
        missing.append("a retracted turn" if retracted == 1 else f"{retracted} retracted turns")
    remarks = {event.seat for event in debate.transcript_events if isinstance(event, Remark)}
    hidden = debate.setup.hidden_from_seats
    missing += [f"what the {seat} said" for seat in hidden if seat in (MODERATOR, *remarks)]
    for_all = (n for n, phase in phases.items() if phase.is_talk and phase.order in ("together", "declared"))
    absent = [n for n in for_all if len({turn.seat for turn in debate.round_turns(n)}) < len(debate.names)]
    missing += [f"turns in {format_rounds(absent)} that were never made"] if absent else []
    if debate.setup.memory and debate.setup.memory.in_force:
        missing.append("what the debaters were told of earlier debates")
    missing += ["the debaters' private ballots"] if debate.setup.ballots != "none" else []
    votes = [n for n, phase in phases.items() if phase.is_vote and n < debate.round]
    return missing + ([f"the ballots of {format_rounds(votes)}"] if votes else [])


def format_rounds(numbers: list[int]) -> str:
    listed = ", ".join(map(str, numbers[:-1])) + " and " if len(numbers) > 1 else ""
    return f"round{'s' if len(numbers) > 1 else ''} {listed}{numbers[-1]}"
