"""The count: from sides to an outcome, with what caps it. No winner is forced, and silence is no opposition."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from server.debate.answer.languages import join_sentences, say
from server.debate.answer.panel import Panel
from server.debate.answer.sides import OWN, Sides, find_sides
from server.debate.facts.advice import MINE
from server.debate.facts.events import Outcome
from server.debate.facts.setup.seats import WRITTEN
from server.debate.votes.counting import Count, CountedVote, count_votes, grade_lead

SILENCES = {
    "nothing": "gave no usable answer",
    "unread": "has a review that could not be used",
    "apart": "followed different answers in its two readings",
    "small": "is a model too small for its advice to count",
}
"""Why a seat has no vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceCount(Count):
    """The count of this format. `caps`: why it is at most leaning, each as a sentence."""

    sides: Sides
    caps: tuple[str, ...] = ()

    @property
    def is_of_mine(self) -> bool:
        """Whether the side ahead is that of the caller's own answer."""
        return MINE in self.sides.blind and self.ahead == self.sides.blind[MINE]


def count_panel(panel: Panel) -> AdviceCount:
    sides = find_sides(panel)
    votes = tuple(find_vote(panel, sides, seat) for seat in panel.voters)
    caps = find_caps(panel, sides)
    count = count_votes(votes, is_capped=bool(caps))
    outcome, against = count.outcome, count.against
    if count.ahead and not any(vote.margin for vote in count.votes_ahead):
        outcome = "contested" if against else "undecided"  # nobody of them is sure of it
    if outcome in ("decided", "leaning") and count.ahead.startswith(OWN):
        outcome = "synthesis"
    if votes and not count.ahead:  # each side is against the others
        against = Fraction(sum(bool(vote.side) for vote in votes), len(votes))
    return AdviceCount(votes, outcome, count.ahead, against, count.probability, sides=sides, caps=caps)


def find_vote(panel: Panel, sides: Sides, seat: str) -> CountedVote:
    """What a seat comes to: by its review, else by its own answer, if anybody has compared the answers."""
    answer = panel.advised.get(seat)
    is_small = answer is not None and not answer.informative
    is_read = bool(panel.reviewed.get(seat))
    side, margin, silence = "", 0, ""
    if is_small or (is_read and not panel.reviewed[seat][0].informative):
        silence = SILENCES["small"]
    elif is_read:
        side, margin = sides.held[seat], grade_probability(find_probability(panel, seat))
        silence = "" if side else SILENCES["apart"]
    elif answer is None:
        silence = SILENCES["unread" if panel.has_judges else "nothing"]
    elif not panel.readers:
        silence = SILENCES["unread"]
    else:
        side = sides.blind[seat]
        margin = 0 if seat in panel.reviewers else grade_probability(answer.probability)
    return CountedVote(
        seat, panel.models[seat], side, margin, trained_by=panel.families[seat], abstains=silence
    )


def find_probability(panel: Panel, seat: str) -> int:
    """How likely a reviewer holds its advice to be right: its last word, of two readings the less sure one."""
    said = panel.find_exchange(seat)
    return said.probability if said else min(review.probability for review in panel.reviewed[seat])


def grade_probability(percent: int) -> int:
    """The margin of an advice: 60 % has 1, 75 % has 2, 90 % has 3."""
    return grade_lead(2 * percent - 100)


def find_caps(panel: Panel, sides: Sides) -> tuple[str, ...]:
    """Why the outcome is at most leaning, each as a sentence."""
    caps = []
    if len(list_families(panel)) == 1:
        caps.append("One model family gave all answers: its models make the same mistakes.")
    if panel.is_quick:
        who = "reviewer" if panel.has_judges else "advisor"
        caps.append(
            f"Only one {who} has checked the answers{'' if panel.has_judges else ', its own among them'}."
        )
    caps += list_missing(panel)
    if moved := sides.moved:
        who = "One model" if len(moved) == 1 else f"{len(moved)} models"
        caps.append(f"{who} had answered otherwise before reading the others.")
    if any(review.usage.sent_tokens for review in panel.reviews):
        caps.append("A reviewer was shown only a part of the documents.")
    if panel.reads_digests:
        caps.append("Whoever checked the answers read only a digest of the documents.")
    return tuple(caps)


def list_missing(panel: Panel) -> Iterator[str]:
    """The answers and reviews that never came, or were retracted, in sentences."""
    yield from (f"The answer of {seat} is missing." for seat in panel.advisors if seat not in panel.advised)
    for seat in panel.reviewers:
        missing = panel.readings - len(panel.reviewed.get(seat, ()))
        if missing == panel.readings > 1:
            yield f"Both reviews of {seat} are missing."
        elif missing > 0:
            which = "The review" if panel.readings == 1 else "One of the two reviews"
            yield f"{which} of {seat} is missing."


def list_families(panel: Panel) -> list[str]:
    """The model families behind the answers and reviews that there are, in the order of seats."""
    seats = (*filter(panel.advised.get, panel.advisors), *panel.readers)
    return [*dict.fromkeys(panel.families[seat] for seat in seats)]


def find_case(panel: Panel, count: AdviceCount) -> str:
    """What a report has to say: "agreed", "majority" or "divided"; "none" where nothing was reviewed."""
    if not panel.readers:
        return "none"
    if not count.against and count.ahead:
        return "agreed"
    return "majority" if count.ahead else "divided"


def describe_count(panel: Panel, count: AdviceCount) -> str:
    """The tally, for the writer."""
    held, total = len(count.supporters), len(panel.voters)
    if find_case(panel, count) == "divided":
        return "two advisors, divided" if total == 2 else f"{total} advisors, no two for the same"  # noqa: PLR2004
    return "one advisor" if total == 1 else f"{held} of {total} advisors for the same"


OUTCOME_WORDS: dict[Outcome, str] = {
    "decided": "Agreed",
    "leaning": "Leaning",
    "synthesis": "Agreed on a combination",
    "contested": "Divided",
    "undecided": "Open",
}
"""The outcomes as people read them, wherever they do."""


def name_outcome(count: AdviceCount) -> str:
    """What stands before the recommendation."""
    held, asked = len(count.supporters), len(count.votes)
    if count.outcome == "contested" and held > 1:
        return f"{held} of {asked} advise"
    if count.outcome == "undecided" and held:
        return "Unsure"
    if count.outcome == "synthesis" and held == 1:
        return OUTCOME_WORDS["leaning"]
    return OUTCOME_WORDS[count.outcome]


def describe_agreement(panel: Panel, count: AdviceCount, language: str = "en") -> str:
    """What agreed with what, in a sentence or two: how sure the answer is."""
    if not panel.advised:
        return ""
    families, course = list_families(panel), describe_course(panel, count, language)
    listed = ", ".join(families)
    if len(families) == 1:
        who = say("One model family ({0}) {1}.", language, listed, course)
    elif WRITTEN.isdisjoint(families):
        who = say("{0} model families ({1}) {2}.", language, len(families), listed, course)
    else:  # a person is no model
        who = say("{0} authors ({1}) {2}.", language, len(families), listed, course)
    shares = describe_probabilities(panel, count, language) if panel.readers else ""
    caveat = (
        "That says little about being right: models of one family make the same mistakes."
        if len(families) == 1
        else ""
    )
    return join_sentences((who, shares, say(caveat, language)), language)


def describe_probabilities(panel: Panel, count: AdviceCount, language: str) -> str:
    """How likely the reviewers hold their advice to be right; of those against the side ahead apart."""
    alike = [seat for seat in panel.readers if not count.ahead or seat in count.supporters]
    shares, others = (
        ", ".join(f"{find_probability(panel, seat)}%" for seat in seats)
        for seats in (alike, [seat for seat in panel.readers if seat not in alike])
    )
    who = "It says" if len(panel.readers) == 1 else "Each says"
    if not shares:  # the only one who checked the answers advises something else
        return say(f"{who} how likely its other advice is right: {{0}}.", language, others)
    if others:
        return say(
            "Each says how likely its advice is right: {0}; for other advice {1}.", language, shares, others
        )
    return say(f"{who} how likely its advice is right: {{0}}.", language, shares)


def describe_course(panel: Panel, count: AdviceCount, language: str) -> str:
    """How those who answered came to where they stand, after "2 model families": the first course that holds."""
    held, asked, moved = len(count.supporters), len(panel.voters), len(count.sides.moved)
    case, missing = find_case(panel, count), len(panel.advisors) - len(panel.advised)
    readers, is_small = len(panel.readers), not any(answer.informative for answer in panel.advised.values())
    courses: tuple[tuple[bool, str, tuple[int, ...]], ...] = (
        (case == "none" and is_small, "answered, far too small for that to count", ()),
        (case == "none", "answered; nothing was checked", ()),
        (case == "majority", "answered; {0} of {1} advise this", (held, asked)),
        (case == "divided" and panel.is_quick, "answered differently; one checked", ()),
        (case == "divided", "stay{s} divided", ()),
        (asked == moved == 1, "answered otherwise at first, and changed that when checking", ()),
        (moved > 0, "agree{s} after checking; {0} of {1} had answered otherwise", (moved, asked)),
        (
            missing > 0 and len(panel.advised) == readers == 1,
            "gave this answer, and checked it; {0} of {1} answers missing",
            (missing, len(panel.advisors)),
        ),
        (missing > 0, "agree{s} after checking; {0} of {1} answers missing", (missing, len(panel.advisors))),
        (held < asked, "agree{s}, as far as they could be read: {0} of {1}", (held, asked)),
        (asked == 1, "gave this answer, and checked it", ()),
        (readers == 1, "gave this answer independently; one checked it", ()),
        (readers < asked, "gave this answer independently; {0} of {1} checked it", (readers, asked)),
        (True, "gave this answer independently, and again after checking each other's", ()),
    )
    course, values = next((course, values) for holds, course, values in courses if holds)
    return say(course, language, *values, s="s" if len(list_families(panel)) == 1 else "")
