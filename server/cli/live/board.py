"""The board of a running debate: its phases as steps, a panel a side, progress, money against its limit, and keys.

A panel shows the card of a seat in a round: what it said, or what is known of the text that it is writing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from server.cli.live.events import choose_colour
from server.cli.terminal import Terminal
from server.debate.ballots.report import describe_ballot
from server.debate.facts.answers import Usage
from server.debate.facts.causes import PAUSED_ON_REQUEST
from server.debate.facts.events import Judged
from server.debate.facts.text import clean_line, format_dollars, remove_invisible
from server.debate.machine.decide import status
from server.debate.rules.budget import compute_spending
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.state.seats import current_model, phase_seats
from server.debate.views.advice import describe_advice
from server.debate.views.names import name_debate, show_turn_with_ids
from server.debate.views.progress import Progress, build_progress
from server.debate.views.state import status_reason
from server.debate.views.visibility import is_hidden, shows_seat
from server.debate.views.writing import show_piece

State = Literal["idle", "thinking", "writing", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Card:
    seat: str
    stance: str
    model: str
    colour: str
    state: State
    text: str
    note: str  # how long it took and what it cost, or what it is doing


class Deck:
    """The cards of one state of a debate. What does not depend on the streamed text is computed once."""

    def __init__(self, debate: Debate) -> None:
        self.debate = debate

    @cached_property
    def progress(self) -> Progress:
        return build_progress(self.debate)

    @cached_property
    def calls(self) -> dict[str, Call]:
        """What each seat is asked now."""
        return {} if self.debate.ended else {call.seat: call for call in pending_calls(self.debate)}

    @cached_property
    def recorded_cards(self) -> dict[str, Card]:
        """The cards of this round by seat, as far as answers have been recorded."""
        setup, phase = self.debate.setup, self.debate.phase
        if phase is None or setup.needs_framing:
            return {}
        return {seat: self.build_card(seat) for seat in phase_seats(setup, phase)}

    def build_card(self, seat: str) -> Card:
        debate, text = self.debate, self.build_text(seat)
        stance = debate.debater(seat).stance if seat in debate.names else ""
        answers = [fact for fact in debate.answers if fact.seat == seat and fact.round == debate.round]
        failures = [failure for failure in name_debate(debate).round_failures if failure.seat == seat]
        state: State = "idle"
        note = ""
        if seat in self.calls:
            state, note = "thinking", "thinking …"
        elif answers:
            state, note = "done", format_usage([fact.usage for fact in answers])
        elif failures:
            state, note = "failed", f"failed: {clean_line(failures[-1].detail)}"
        model = clean_line(current_model(debate, seat))
        colour = choose_colour(debate.names, seat)
        return Card(clean_line(seat), clean_line(stance), model, colour, state, text, note)

    def build_text(self, seat: str) -> str:
        """The visible text of a seat in this round: its turns, else its readings, else its latest ballot."""
        debate, number = self.debate, self.debate.round
        if not shows_seat(debate, seat):
            return ""
        named_debate = name_debate(debate)
        if turns := [turn for turn in named_debate.round_turns(number) if turn.seat == seat]:
            return "\n\n".join(remove_invisible(show_turn_with_ids(debate, turn)) for turn in turns)
        own_readings = (row for row in named_debate.judgments if (row.seat, row.round) == (seat, number))
        if readings := sorted(own_readings, key=lambda row: row.slot_index):
            return "\n\n".join(
                f"{describe_reading(row)}\n{remove_invisible(row.verdict)}" for row in readings
            )
        if advice := [row for row in named_debate.advice if (row.seat, row.round) == (seat, number)]:
            return "\n\n".join(remove_invisible(describe_advice(debate, row)[1]) for row in advice)
        ballots = [
            ballot
            for ballot in named_debate.round_ballots(number)
            if ballot.seat == seat and not is_hidden(debate, ballot)
        ]
        return remove_invisible(describe_ballot(ballots[-1])) if ballots else ""

    def list_cards(self, partial_texts: Mapping[str, str]) -> list[Card]:
        """The cards, with what is being written."""
        return [
            self.add_piece(card, seat, partial_texts[seat]) if partial_texts.get(seat) else card
            for seat, card in self.recorded_cards.items()
        ]

    def add_piece(self, card: Card, seat: str, piece: str) -> Card:
        """The card of a seat that is writing. Its text is shown only if it is a turn that readers may see already."""
        call = self.calls.get(seat)
        visible_text = show_piece(self.debate, call, piece) if call else ""
        text = "\n\n".join(filter(None, (card.text, visible_text)))
        return replace(card, state="writing", text=text, note="writing …")


def describe_reading(judged: Judged) -> str:
    """The finding of a reading in a few words: the winner's name and the margin."""
    finding = (
        f"for {clean_line(judged.winner)}, margin {judged.margin} of 3" if judged.winner else "for no side"
    )
    return f"reading {judged.slot_index}: {finding}"


def format_usage(usages: list[Usage]) -> str:
    """Seconds of the slowest answer, and dollars of all, where known."""
    seconds = max(usage.milliseconds for usage in usages) / 1000
    known_costs = [Decimal(usage.cost_usd) for usage in usages if usage.cost_usd]
    cost = f"  {format_dollars(sum(known_costs, Decimal()))}" if any(known_costs) else ""
    return f"{seconds:.1f} s{cost}"


BAR_WIDTH = 20
MIN_PANEL_WIDTH, MIN_PANEL_HEIGHT = 36, 5
MAX_PANEL_HEIGHT, MAX_JUDGE_HEIGHT = 20, 9  # lines
MIN_HEIGHT = 8  # lines of a window that has room for more than the progress
MIN_LIST_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the board shows."""

    deck: Deck
    cards: Sequence[Card]
    seconds: int  # since this view began
    activity: str = ""  # what goes on, and why it does not
    estimate: str = ""  # dollars that the whole may cost, where nobody set a limit
    keys: str = ""  # help on the keys
    message: str = ""  # the effect of the last key
    note: str | None = None  # the note being typed


def build_board(scene: Scene, out: Terminal, columns: int, lines: int) -> RenderableType:
    foot = [*build_progress_lines(scene, out, columns), *build_prompt(scene, columns)]
    if lines < MIN_HEIGHT or not scene.cards:
        return Group(*foot[-lines:])
    head = [Text(), crop(Text(clean_line(scene.deck.debate.setup.question), "bold"), columns)]
    head.append(build_steps(scene.deck.debate, out, columns))
    room = lines - len(head) - len(foot)
    return Group(*head, build_cards(scene.cards, out, columns, room), *foot)


def build_steps(debate: Debate, out: Terminal, columns: int) -> Text:
    """The past phases, the current one and those to come; as many around the current one as fit."""
    phases = [(name, len([*group])) for name, group in groupby(entered.phase for entered in debate.rounds)]
    names = [phase.name for phase in debate.setup.phases]
    here = names.index(phases[-1][0]) if phases else -1
    done_style, tick = ("green", "✓ " if out.has_unicode else "x ")
    steps = [Text(f"{tick}{format_step(name, times)}", done_style) for name, times in phases[:-1]]
    steps += [Text(f"[{format_step(*phases[-1])}]", "bold reverse")] if phases else []
    current = max(len(steps) - 1, 0)
    steps += [Text(format_step(name), "dim") for name in names[here + 1 :]]
    while sum(step.cell_len + 2 for step in steps) > columns and len(steps) > 1:
        drops_first = current > 0 and current >= len(steps) - 1 - current
        steps.pop(0 if drops_first else -1)
        current -= drops_first
    return crop(Text("  ").join(steps), columns)


def format_step(name: str, times: int = 1) -> str:
    plain = clean_line(name).replace("_", " ").replace("cross examination", "cross-exam")
    return f"{plain} {times}" if times > 1 else plain


def build_cards(cards: Sequence[Card], out: Terminal, columns: int, room: int) -> RenderableType:
    """Panels side by side where they fit, else a line for each seat."""
    across = min(max(columns // MIN_PANEL_WIDTH, 1), len(cards))
    rows = -(-len(cards) // across)
    across = -(-len(cards) // rows)  # as even as can be
    max_height = MAX_PANEL_HEIGHT if any(card.stance for card in cards) else MAX_JUDGE_HEIGHT
    height = min(room // rows, max_height)
    if height < MIN_PANEL_HEIGHT or columns < MIN_LIST_WIDTH:
        return build_list(cards, columns, room)
    grid = Table.grid(expand=True)
    for _ in range(across):
        grid.add_column(ratio=1)
    for start in range(0, len(cards), across):
        row = cards[start : start + across]
        width = columns // across - 4
        panels: list[RenderableType] = [build_panel(card, out, width, height) for card in row]
        grid.add_row(*panels, *[""] * (across - len(row)))
    return grid


def build_panel(card: Card, out: Terminal, width: int, height: int) -> Panel:
    """A panel with the beginning of what was said, or with the end of what is being written."""
    lines = Text(card.text).wrap(out, width)
    room = height - 2
    visible_lines = list(lines[-room:] if card.state == "writing" else lines[:room])
    if card.state != "writing" and len(lines) > room:
        visible_lines[-1] = Text(f"… {len(lines) - room + 1} more lines, below when the round is over", "dim")
    title = Text(card.seat, f"bold {card.colour}".strip())
    if card.stance:
        title.append(f" {card.stance}", "not bold")
    foot = Text(card.model, "dim").append(f"  {card.note}", "not dim red" if card.state == "failed" else "")
    return Panel(
        Text("\n").join(visible_lines),
        title=crop(title, width - 2),
        subtitle=crop(foot, width - 2),
        title_align="left",
        subtitle_align="right",
        border_style=card.colour if card.state != "idle" else "dim",
        box=box.ROUNDED if out.has_unicode else box.ASCII,
        height=height,
    )


def build_list(cards: Sequence[Card], columns: int, room: int) -> Group:
    """A line for each seat; those at work come first where not all of them fit."""
    if len(cards) > room:
        busy = sorted(cards, key=lambda card: card.state not in ("writing", "thinking"))
        cards = busy[: max(room - 1, 0)]
        note = [Text(f"and {len(busy) - len(cards)} more", "dim")]
    else:
        note = []
    return Group(*(build_card_line(card, columns) for card in cards), *note)


def build_card_line(card: Card, columns: int) -> Text:
    line = Text(card.seat, f"bold {card.colour}".strip()).append(f" {card.note or card.stance}  ", "dim")
    line.append(clean_line(card.text))
    return crop(line, columns)


def build_progress_lines(scene: Scene, out: Terminal, columns: int) -> list[Text]:
    """Answers that came and are expected, seconds, money and its limit; what goes on, below if it does not fit."""
    progress = scene.deck.progress
    filled = BAR_WIDTH * min(progress.done, progress.expected) // progress.expected
    full, empty = ("━", "─") if out.has_unicode else ("#", "-")
    line = Text(full * filled, "green").append(empty * (BAR_WIDTH - filled), "dim")
    if columns < 2 * BAR_WIDTH:
        line = Text()
    money = format_money(scene)
    parts = [f"{progress.done} of {progress.expected}", f"{scene.seconds} s", *filter(None, [money])]
    line.append(f"{' ' if line else ''}{'  '.join(parts)}  ")
    activity = Text(scene.activity, "dim")
    if line.cell_len + activity.cell_len <= columns:
        return [line + activity]
    return [crop(line, columns), crop(activity, columns)]


def format_money(scene: Scene) -> str:
    """The cost so far, and the limit that was set, or else the estimate."""
    debate = scene.deck.debate
    cost, limit = compute_spending(debate).cost_usd, debate.limits.max_cost_usd
    if limit:
        return f"{format_dollars(cost)} of ${limit}"
    return f"{format_dollars(cost)}, estimate up to ${scene.estimate}" if scene.estimate else ""


def build_prompt(scene: Scene, columns: int) -> list[Text]:
    """The note that is being typed; else the effect of the last key and what the keys do."""
    if scene.note is not None:
        lead = Text("note to all: ", "bold")
        typed_text = crop_left(Text(f"{scene.note}▏"), columns - lead.cell_len)
        return [crop(lead + typed_text, columns), crop(Text("Enter sends it, Esc drops it", "dim"), columns)]
    message = [crop(Text(clean_line(scene.message), "yellow"), columns)] if scene.message else []
    return [*message, *([crop(Text(scene.keys, "dim"), columns)] if scene.keys else [])]


def describe_pause(debate: Debate) -> str:
    """Why a debate is paused or waits for its caller; "" while it does neither."""
    paused, word = debate.paused, status(debate)
    if paused and paused.reason == PAUSED_ON_REQUEST:
        return paused.reason
    return clean_line(f"{word}: {status_reason(debate)}") if word in ("paused", "waiting") else ""


def crop(text: Text, columns: int) -> Text:
    text.truncate(max(columns, 1), overflow="ellipsis")
    text.no_wrap = True
    return text


def crop_left(text: Text, columns: int) -> Text:
    """The end of a text, as much of it as fits."""
    while text.cell_len > max(columns, 1) and len(text):
        text = text[1:]
    return text
