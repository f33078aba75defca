"""What must hold of debates whatever happened to them, read from the database and from the ledger of calls.

Nothing here trusts the processes that wrote them: the chain is checked, the facts are replayed, and which
call an answer belongs to, and which fault that call met, is worked out anew.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from benchmarks.paying import ANSWERED
from server.debate.facts.events import (
    Audited,
    Balloted,
    Event,
    Failed,
    Judged,
    Paused,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.engine.errors import DebateError
from server.engine.model_calls import Questions
from server.engine.runner import Case, Runner
from server.models import Cue, Prompt, Request
from server.models.fakes.chaos import Chaos
from server.models.fakes.faults import FAILURES, one_of
from server.models.registry import Models
from storage.sqlite import SqliteJournal

SETTLED = ("concluded", "truncated", "paused")

COMMITTING = 3.0
"""Seconds from an answer to its being recorded, at the most, while everything is busy."""

BY_HAND = "meddling"

_QUORUM = re.compile(
    r"(\d+) of (\d+) answered in round (\d+) \(\w+\), (\d+) needed\. (.*?)(?:; and \d+ more)?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Death:
    pid: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Paid:
    at: float
    pid: int


Key = tuple[int, str]
"""(seed of the call, its seat): no two calls of the soak have the same."""


@dataclass
class Books:
    figures: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {figure}" for name, figure in self.figures.items())
        return f"{told}: {len(self.wrong)} things wrong"


async def read_books(database: Path, ledger: Path, chaos: str, deaths: Sequence[Death]) -> Books:
    books = Books()
    books.figures["kills"] = len(deaths)
    recorded: dict[Key, tuple[str, float]] = {}
    journal = await SqliteJournal.open(database)
    try:
        runner = Runner(journal, Questions(Models()), lambda: datetime.now(UTC))
        for name in await journal.begun_with("", limit=10_000):
            try:
                case = await runner.load(name)
            except DebateError as error:
                books.wrong.append(f"{name}: {error}")
                continue
            row = await journal.listed(name)
            if row is None or row.status != case.status:
                books.wrong.append(f"{name}: is {case.status}, and the list says {row and row.status}")
            check_debate(books, case, Chaos.parse(chaos), recorded)
    finally:
        await journal.close()
    check_payments(books, recorded, lines_of(ledger), lines_of(ledger.with_suffix(f".{ANSWERED}")), deaths)
    return books


def check_debate(books: Books, case: Case, chaos: Chaos, recorded: dict[Key, tuple[str, float]]) -> None:
    books.figures["debates"] += 1
    books.figures[case.status] += 1
    if case.status not in SETTLED:
        books.wrong.append(f"{case.id}: is neither over nor paused, but {case.status}")
    if case.status == "concluded" and not (case.debate.ended and case.debate.ended.reason):
        books.wrong.append(f"{case.id}: concluded without a reason")
    check_once(books, case)
    check_pauses(books, case)
    tries: Counter[tuple[str, int, int]] = Counter()
    for entry in case.log:
        event = entry.event
        if (place := place_of(event)) is None:
            continue
        seat, number, round_ = place
        key = f"{round_}.{seat}.{number}.{tries[place] + 1}"
        tries[place] += isinstance(event, Failed)
        seed = int.from_bytes(sha256(f"{case.debate.setup.seed}:{key}".encode()).digest()[:4]) >> 1
        books.figures["recorded answers"] += 1
        books.figures["failed ones among them"] += isinstance(event, Failed)
        if (seed, seat) in recorded:
            books.wrong.append(f"{case.id}: the call {key} was answered twice")
        recorded[seed, seat] = (f"{case.id} {key}", datetime.fromisoformat(entry.at).timestamp())
        if wrong := untrue(event, chaos, round_, seed, seat):
            books.wrong.append(f"{case.id}: {key}: {wrong}")


def place_of(event: Event) -> tuple[str, int, int] | None:
    """(seat, number, round) of what somebody was asked for and gave, or failed to give."""
    match event:
        case Spoke():
            number = event.turn
        case Judged() | Failed():
            number = event.reading
        case RoundClosed():
            number = 1
        case Balloted() | Audited() | Synthesized() | RoundOpened():
            number = 0
        case _:
            return None
    of_no_call = (isinstance(event, Failed) and event.handoff) or (
        isinstance(event, RoundOpened) and event.usage is None
    )
    return None if of_no_call else (event.seat, number, event.round)


def check_once(books: Books, case: Case) -> None:
    given = [place_of(entry.event) for entry in case.log if not isinstance(entry.event, Failed)]
    answers = Counter(place for place in given if place)
    for place in [place for place, times in answers.items() if times > 1]:
        books.wrong.append(f"{case.id}: answered twice: {place}")


def check_pauses(books: Books, case: Case) -> None:
    """Every pause that nobody asked for tells what failed, and how many answered, as it was."""
    missed: list[Failed] = []
    heard: set[tuple[str, int, int]] = set()
    for entry in case.log:
        event = entry.event
        place = place_of(event)
        if isinstance(event, Failed):
            missed.append(event)
        elif place:
            heard.add(place)
        elif isinstance(event, Resumed):
            missed.clear()
        elif isinstance(event, Paused) and event.reason != BY_HAND:
            books.figures["pauses"] += 1
            if wrong := false_reason(event.reason, missed, heard):
                books.wrong.append(f"{case.id}: paused because {event.reason!r}, but {wrong}")


def false_reason(reason: str, missed: Sequence[Failed], heard: set[tuple[str, int, int]]) -> str:
    found = _QUORUM.fullmatch(reason)
    if found is None:
        return "that is no cause that it knows"
    answered, of, number, needed = map(int, found.groups()[:4])
    really = sum(place[2] == number for place in heard)
    if answered > really or answered >= needed or answered > of:
        return f"{really} answers are recorded in round {number}"
    here = {f"{failure.seat}: {failure.detail}" for failure in missed if failure.round == number}
    told = [cause for cause in here if cause in found[5]]
    if not told or len("; ".join(told)) < len(found[5]):
        return f"what failed was {sorted(here)}"
    return ""


def untrue(event: Event, chaos: Chaos, round_: int, seed: int, seat: str) -> str:
    """What is recorded of a call whose fault is known, where it cannot be true."""
    request = Request(Prompt((), Cue("argument", "", round_)), seat, 0, 0, seed)
    fault = chaos.fault(request)
    cause = event.cause if isinstance(event, Failed) else ""
    told = f"{cause}: {event.detail}" if isinstance(event, Failed) else "an answer"
    expected: tuple[str, ...] = {
        # A busy machine is late; a choice of the next speaker may have been spoilt before.
        None: ("", "timeout"),
        "failure": (one_of(FAILURES, chaos.drawn(request, "cause"))[0],),
        "timeout": ("timeout",),
        "never": ("timeout",),
        "empty": ("empty", "timeout"),
        "crash": ("crashed", "timeout"),
        "truncated": ("", "unreadable", "empty", "timeout"),
        "corrupt": ("", "unreadable", "empty", "crashed", "timeout"),
    }[fault]
    return "" if cause in expected else f"met the fault {fault}, and recorded is {told}"


def lines_of(ledger: Path) -> dict[Key, list[Paid]]:
    found: dict[Key, list[Paid]] = defaultdict(list)
    for line in ledger.read_text(encoding="utf-8").splitlines():
        at, pid, seed, seat = line.split(" ", 3)
        found[int(seed), seat].append(Paid(float(at), int(pid)))
    return found


def check_payments(
    books: Books,
    recorded: dict[Key, tuple[str, float]],
    asked: dict[Key, list[Paid]],
    answered: dict[Key, list[Paid]],
    deaths: Sequence[Death],
) -> None:
    """A call is paid once for its recorded answer, and else only where its process was killed meanwhile."""
    died = {death.pid: death for death in deaths}
    for key in recorded.keys() - asked.keys():
        books.wrong.append(f"{recorded[key][0]}: answered, and nobody was asked")
    lost_with: Counter[int] = Counter()
    for key, calls in asked.items():
        books.figures["calls paid"] += len(calls)
        what, at = recorded.get(key, (f"{key}, of which nothing is recorded", 0.0))
        lost = calls[:-1] if key in recorded else calls
        if key in recorded and calls[-1].at > at + 0.01:
            books.wrong.append(f"{what}: paid again after its answer was recorded")
        for call, following in zip(lost, [*calls[1:], None], strict=False):
            death = died.get(call.pid)
            lost_with[call.pid] += 1
            if death is None:
                books.wrong.append(f"{what}: paid and lost in a process that was not killed")
            elif following and following.at < death.before:
                books.wrong.append(f"{what}: paid twice at the same time")
            else:
                check_answer(books, what, call, answered[key], death)
    books.figures["lost at kills"] = sum(lost_with.values())
    books.figures["most lost at one kill"] = max(lost_with.values(), default=0)


def check_answer(books: Books, what: str, call: Paid, answers: list[Paid], death: Death) -> None:
    """What is lost at a kill was on its way, or about to be recorded."""
    came = [answer.at for answer in answers if answer.pid == call.pid and answer.at >= call.at]
    if not came:
        return
    books.figures["of these answered and not yet recorded"] += 1
    if death.before - came[0] > COMMITTING:
        books.wrong.append(f"{what}: answered {death.before - came[0]:.1f} s before a kill, and not recorded")
