"""Checks of the debates of a chaos run, read from the database and from the ledger of model calls.

Nothing here trusts the processes that wrote them: hash chains are checked, events are replayed, and the call
of each answer and the fault injected into that call are computed again.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from benchmarks.crashes.ledger_server import ANSWERS_SUFFIX
from server.debate.facts.answers import Answer
from server.debate.facts.errors import DebateError
from server.debate.facts.events import Event, Failed, Paused, Resumed
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.debates import utc_now
from server.models import Prompt, PromptSummary, Request
from server.models.fakes.chaos import FAILURES, Chaos
from storage.sqlite import SqliteJournal

FINAL_STATUSES = ("concluded", "truncated", "paused")

COMMIT_SECONDS = 3.0
"""Seconds from a model's reply to its entry in the journal, at most, on a busy machine."""

MANUAL_PAUSE_REASON = "paused for a check"

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
"""(seed, seat) of a call, unique in a run."""


@dataclass
class CheckReport:
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {figure}" for name, figure in self.counts.items())
        return f"{counts}: {len(self.problems)} problems"


async def check_results(database: Path, ledger: Path, chaos: str, kills: Sequence[Kill]) -> CheckReport:
    report = CheckReport()
    report.counts["kills"] = len(kills)
    recorded: dict[CallKey, tuple[str, float]] = {}
    journal = await SqliteJournal.open(database)
    try:
        store = DebateStore(journal, utc_now)
        for row in await journal.find(limit=10_000):
            name = row.stream
            try:
                snapshot = await store.load(name)
            except DebateError as error:
                report.problems.append(f"{name}: {error}")
                continue
            if row.status != snapshot.status:
                report.problems.append(f"{name}: is {snapshot.status}, and the listing says {row.status}")
            check_debate(report, snapshot, Chaos.parse(chaos), recorded)
    finally:
        await journal.close()
    check_payments(
        report, recorded, read_ledger(ledger), read_ledger(ledger.with_suffix(f".{ANSWERS_SUFFIX}")), kills
    )
    return report


def check_debate(
    report: CheckReport, snapshot: DebateSnapshot, chaos: Chaos, recorded: dict[CallKey, tuple[str, float]]
) -> None:
    report.counts["debates"] += 1
    report.counts[snapshot.status] += 1
    if snapshot.status not in FINAL_STATUSES:
        report.problems.append(f"{snapshot.id}: is neither ended nor paused, but {snapshot.status}")
    if snapshot.status == "concluded" and not (snapshot.debate.ended and snapshot.debate.ended.reason):
        report.problems.append(f"{snapshot.id}: concluded without a reason")
    check_no_repeats(report, snapshot)
    check_pauses(report, snapshot)
    tries: Counter[tuple[str, int, int]] = Counter()
    for entry in snapshot.entries:
        event = entry.event
        if (slot := answered_slot(event)) is None:
            continue
        seat, slot_index, round_ = slot
        key = f"{round_}.{seat}.{slot_index}.{tries[slot] + 1}"
        tries[slot] += isinstance(event, Failed)
        seed = int.from_bytes(sha256(f"{snapshot.debate.setup.seed}:{key}".encode()).digest()[:4]) >> 1
        report.counts["recorded answers"] += 1
        report.counts["failed answers"] += isinstance(event, Failed)
        if (seed, seat) in recorded:
            report.problems.append(f"{snapshot.id}: the call {key} was answered twice")
        recorded[seed, seat] = (f"{snapshot.id} {key}", datetime.fromisoformat(entry.at).timestamp())
        if wrong := find_fault_problem(event, chaos, round_, seed, seat):
            report.problems.append(f"{snapshot.id}: {key}: {wrong}")


def answered_slot(event: Event) -> tuple[str, int, int] | None:
    """(seat, slot index, round) of an answer or a failed answer; None for other events."""
    return (event.seat, event.slot_index, event.round) if isinstance(event, Answer | Failed) else None


def check_no_repeats(report: CheckReport, snapshot: DebateSnapshot) -> None:
    slots = [answered_slot(entry.event) for entry in snapshot.entries if not isinstance(entry.event, Failed)]
    answers = Counter(slot for slot in slots if slot)
    for slot in [slot for slot, count in answers.items() if count > 1]:
        report.problems.append(f"{snapshot.id}: answered twice: {slot}")


def check_pauses(report: CheckReport, snapshot: DebateSnapshot) -> None:
    """The reason of every automatic pause names what failed and how many answered, correctly."""
    failures: list[Failed] = []
    answered: set[tuple[str, int, int]] = set()
    for entry in snapshot.entries:
        event = entry.event
        slot = answered_slot(event)
        if isinstance(event, Failed):
            failures.append(event)
        elif slot:
            answered.add(slot)
        elif isinstance(event, Resumed):
            failures.clear()
        elif isinstance(event, Paused) and event.reason != MANUAL_PAUSE_REASON:
            report.counts["pauses"] += 1
            if wrong := find_pause_problem(event.reason, failures, answered):
                report.problems.append(f"{snapshot.id}: paused because {event.reason!r}, but {wrong}")


def find_pause_problem(
    reason: str, round_failures: Sequence[Failed], answered_slots: set[tuple[str, int, int]]
) -> str:
    found = _QUORUM.fullmatch(reason)
    if found is None:
        return "this is not a known cause"
    answered, expected, round_number, needed = map(int, found.groups()[:4])
    recorded = sum(slot[2] == round_number for slot in answered_slots)
    if answered > recorded or answered >= needed or answered > expected:
        return f"{recorded} answers are recorded in round {round_number}"
    causes = {
        f"{failure.seat}: {failure.detail}" for failure in round_failures if failure.round == round_number
    }
    named = [cause for cause in causes if cause in found[5]]
    if not named or len("; ".join(named)) < len(found[5]):
        return f"what failed was {sorted(causes)}"
    return ""


def find_fault_problem(event: Event, chaos: Chaos, round_number: int, seed: int, seat: str) -> str:
    """What is wrong with the event of a call, given the fault injected into it; "" for nothing."""
    request = Request(Prompt((), PromptSummary("argument", "", round_number)), seat, 0, 0, seed)
    fault = chaos.choose_fault(request)
    cause = event.cause if isinstance(event, Failed) else ""
    result = f"{cause}: {event.detail}" if isinstance(event, Failed) else "an answer"
    expected: tuple[str, ...] = {
        # On a busy machine any call may be late.
        None: ("", "timeout"),
        "failure": (chaos.choose_item(request, "cause", FAILURES)[0],),
        "timeout": ("timeout",),
        "never": ("timeout",),
        "empty": ("empty", "timeout"),
        "crash": ("crashed", "timeout"),
        "truncated": ("", "unreadable", "empty", "timeout"),
        "corrupt": ("", "unreadable", "empty", "crashed", "timeout"),
    }[fault]
    return "" if cause in expected else f"met the fault {fault}, and {result} is recorded"


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
    """A call is paid for once, and again only if its process was killed before the answer was recorded."""
    kills_by_pid = {kill.pid: kill for kill in kills}
    for key in recorded.keys() - calls_by_key.keys():
        report.problems.append(f"{recorded[key][0]}: an answer without a model call")
    lost_with: Counter[int] = Counter()
    for key, calls in calls_by_key.items():
        report.counts["calls paid"] += len(calls)
        label, at = recorded.get(key, (f"{key}, without a recorded answer", 0.0))
        lost = calls[:-1] if key in recorded else calls
        if key in recorded and calls[-1].at > at + 0.01:
            report.problems.append(f"{label}: paid again after its answer was recorded")
        for call, following in zip(lost, [*calls[1:], None], strict=False):
            kill = kills_by_pid.get(call.pid)
            lost_with[call.pid] += 1
            if kill is None:
                report.problems.append(f"{label}: paid and lost in a process that was not killed")
            elif following and following.at < kill.before:
                report.problems.append(f"{label}: paid twice at the same time")
            else:
                check_lost_answer(report, label, call, answers_by_key[key], kill)
    report.counts["lost at kills"] = sum(lost_with.values())
    report.counts["most lost at one kill"] = max(lost_with.values(), default=0)


def check_lost_answer(
    report: CheckReport, label: str, call: PaidCall, answers: list[PaidCall], kill: Kill
) -> None:
    """A call that was lost at a kill was in flight, or its reply was about to be recorded."""
    replies = [answer.at for answer in answers if answer.pid == call.pid and answer.at >= call.at]
    if not replies:
        return
    report.counts["lost after the reply"] += 1
    if kill.before - replies[0] > COMMIT_SECONDS:
        report.problems.append(
            f"{label}: answered {kill.before - replies[0]:.1f} s before a kill, and not recorded"
        )
