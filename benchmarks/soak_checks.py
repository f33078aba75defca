"""What must hold of debates whatever happened to them, read from the database and from the ledger of calls.

Nothing here trusts the processes that wrote them: the chain is checked, the facts are replayed, and which
call an answer belongs to, and which fault that call met, is worked out anew.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from benchmarks.ledger_server import ANSWERS_SUFFIX
from server.debate.facts.events import Answer, Event, Failed, Paused, Resumed
from server.engine.debates import utc_now
from server.engine.errors import DebateError
from server.engine.store import DebateSnapshot, DebateStore
from server.models import Prompt, PromptSummary, Request
from server.models.fakes.chaos import Chaos
from server.models.fakes.faults import FAILURES, choose_item
from storage.sqlite import SqliteJournal

FINAL_STATUSES = ("concluded", "truncated", "paused")

COMMIT_SECONDS = 3.0
"""Seconds from an answer to its being recorded, at the most, while everything is busy."""

MANUAL_PAUSE_REASON = "meddling"

_QUORUM = re.compile(
    r"(\d+) of (\d+) answered in round (\d+) \(\w+\), (\d+) needed\. (.*?)(?:; and \d+ more)?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Kill:
    pid: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class PaidCall:
    at: float
    pid: int


CallKey = tuple[int, str]
"""(seed of the call, its seat): no two calls of the soak have the same."""


@dataclass
class CheckReport:
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {figure}" for name, figure in self.counts.items())
        return f"{told}: {len(self.problems)} things wrong"


async def check_results(database: Path, ledger: Path, chaos: str, kills: Sequence[Kill]) -> CheckReport:
    books = CheckReport()
    books.counts["kills"] = len(kills)
    recorded: dict[CallKey, tuple[str, float]] = {}
    journal = await SqliteJournal.open(database)
    try:
        store = DebateStore(journal, utc_now)
        for name in await journal.find_by_prefix("", limit=10_000):
            try:
                case = await store.load(name)
            except DebateError as error:
                books.problems.append(f"{name}: {error}")
                continue
            row = await journal.get_listing(name)
            if row is None or row.status != case.status:
                books.problems.append(f"{name}: is {case.status}, and the list says {row and row.status}")
            check_debate(books, case, Chaos.parse(chaos), recorded)
    finally:
        await journal.close()
    check_payments(
        books, recorded, read_ledger(ledger), read_ledger(ledger.with_suffix(f".{ANSWERS_SUFFIX}")), kills
    )
    return books


def check_debate(
    report: CheckReport, snapshot: DebateSnapshot, chaos: Chaos, recorded: dict[CallKey, tuple[str, float]]
) -> None:
    report.counts["debates"] += 1
    report.counts[snapshot.status] += 1
    if snapshot.status not in FINAL_STATUSES:
        report.problems.append(f"{snapshot.id}: is neither over nor paused, but {snapshot.status}")
    if snapshot.status == "concluded" and not (snapshot.debate.ended and snapshot.debate.ended.reason):
        report.problems.append(f"{snapshot.id}: concluded without a reason")
    check_no_repeats(report, snapshot)
    check_pauses(report, snapshot)
    tries: Counter[tuple[str, int, int]] = Counter()
    for entry in snapshot.entries:
        event = entry.event
        if (place := answered_slot(event)) is None:
            continue
        seat, number, round_ = place
        key = f"{round_}.{seat}.{number}.{tries[place] + 1}"
        tries[place] += isinstance(event, Failed)
        seed = int.from_bytes(sha256(f"{snapshot.debate.setup.seed}:{key}".encode()).digest()[:4]) >> 1
        report.counts["recorded answers"] += 1
        report.counts["failed ones among them"] += isinstance(event, Failed)
        if (seed, seat) in recorded:
            report.problems.append(f"{snapshot.id}: the call {key} was answered twice")
        recorded[seed, seat] = (f"{snapshot.id} {key}", datetime.fromisoformat(entry.at).timestamp())
        if wrong := find_fault_problem(event, chaos, round_, seed, seat):
            report.problems.append(f"{snapshot.id}: {key}: {wrong}")


def answered_slot(event: Event) -> tuple[str, int, int] | None:
    """(seat, number, round) of what somebody was asked for and gave, or failed to give."""
    return (event.seat, event.slot_index, event.round) if isinstance(event, Answer | Failed) else None


def check_no_repeats(report: CheckReport, snapshot: DebateSnapshot) -> None:
    given = [answered_slot(entry.event) for entry in snapshot.entries if not isinstance(entry.event, Failed)]
    answers = Counter(place for place in given if place)
    for place in [place for place, times in answers.items() if times > 1]:
        report.problems.append(f"{snapshot.id}: answered twice: {place}")


def check_pauses(report: CheckReport, snapshot: DebateSnapshot) -> None:
    """Every pause that nobody asked for tells what failed, and how many answered, as it was."""
    missed: list[Failed] = []
    heard: set[tuple[str, int, int]] = set()
    for entry in snapshot.entries:
        event = entry.event
        place = answered_slot(event)
        if isinstance(event, Failed):
            missed.append(event)
        elif place:
            heard.add(place)
        elif isinstance(event, Resumed):
            missed.clear()
        elif isinstance(event, Paused) and event.reason != MANUAL_PAUSE_REASON:
            report.counts["pauses"] += 1
            if wrong := find_pause_problem(event.reason, missed, heard):
                report.problems.append(f"{snapshot.id}: paused because {event.reason!r}, but {wrong}")


def find_pause_problem(
    reason: str, round_failures: Sequence[Failed], answered_slots: set[tuple[str, int, int]]
) -> str:
    found = _QUORUM.fullmatch(reason)
    if found is None:
        return "that is no cause that it knows"
    answered, of, number, needed = map(int, found.groups()[:4])
    really = sum(place[2] == number for place in answered_slots)
    if answered > really or answered >= needed or answered > of:
        return f"{really} answers are recorded in round {number}"
    here = {f"{failure.seat}: {failure.detail}" for failure in round_failures if failure.round == number}
    told = [cause for cause in here if cause in found[5]]
    if not told or len("; ".join(told)) < len(found[5]):
        return f"what failed was {sorted(here)}"
    return ""


def find_fault_problem(event: Event, chaos: Chaos, round_number: int, seed: int, seat: str) -> str:
    """What is recorded of a call whose fault is known, where it cannot be true."""
    request = Request(Prompt((), PromptSummary("argument", "", round_number)), seat, 0, 0, seed)
    fault = chaos.choose_fault(request)
    cause = event.cause if isinstance(event, Failed) else ""
    told = f"{cause}: {event.detail}" if isinstance(event, Failed) else "an answer"
    expected: tuple[str, ...] = {
        # A busy machine is late; a choice of the next speaker may have been spoilt before.
        None: ("", "timeout"),
        "failure": (choose_item(FAILURES, chaos.draw_fraction(request, "cause"))[0],),
        "timeout": ("timeout",),
        "never": ("timeout",),
        "empty": ("empty", "timeout"),
        "crash": ("crashed", "timeout"),
        "truncated": ("", "unreadable", "empty", "timeout"),
        "corrupt": ("", "unreadable", "empty", "crashed", "timeout"),
    }[fault]
    return "" if cause in expected else f"met the fault {fault}, and recorded is {told}"


def read_ledger(ledger: Path) -> dict[CallKey, list[PaidCall]]:
    found: dict[CallKey, list[PaidCall]] = defaultdict(list)
    for line in ledger.read_text(encoding="utf-8").splitlines():
        at, pid, seed, seat = line.split(" ", 3)
        found[int(seed), seat].append(PaidCall(float(at), int(pid)))
    return found


def check_payments(
    report: CheckReport,
    recorded: dict[CallKey, tuple[str, float]],
    calls_by_key: dict[CallKey, list[PaidCall]],
    answers_by_key: dict[CallKey, list[PaidCall]],
    kills: Sequence[Kill],
) -> None:
    """A call is paid once for its recorded answer, and else only where its process was killed meanwhile."""
    died = {death.pid: death for death in kills}
    for key in recorded.keys() - calls_by_key.keys():
        report.problems.append(f"{recorded[key][0]}: answered, and nobody was asked")
    lost_with: Counter[int] = Counter()
    for key, calls in calls_by_key.items():
        report.counts["calls paid"] += len(calls)
        what, at = recorded.get(key, (f"{key}, of which nothing is recorded", 0.0))
        lost = calls[:-1] if key in recorded else calls
        if key in recorded and calls[-1].at > at + 0.01:
            report.problems.append(f"{what}: paid again after its answer was recorded")
        for call, following in zip(lost, [*calls[1:], None], strict=False):
            death = died.get(call.pid)
            lost_with[call.pid] += 1
            if death is None:
                report.problems.append(f"{what}: paid and lost in a process that was not killed")
            elif following and following.at < death.before:
                report.problems.append(f"{what}: paid twice at the same time")
            else:
                check_lost_answer(report, what, call, answers_by_key[key], death)
    report.counts["lost at kills"] = sum(lost_with.values())
    report.counts["most lost at one kill"] = max(lost_with.values(), default=0)


def check_lost_answer(
    report: CheckReport, label: str, call: PaidCall, answers: list[PaidCall], kill: Kill
) -> None:
    """What is lost at a kill was on its way, or about to be recorded."""
    came = [answer.at for answer in answers if answer.pid == call.pid and answer.at >= call.at]
    if not came:
        return
    report.counts["of these answered and not yet recorded"] += 1
    if kill.before - came[0] > COMMIT_SECONDS:
        report.problems.append(
            f"{label}: answered {kill.before - came[0]:.1f} s before a kill, and not recorded"
        )
