"""The lines of a verdict by judges, voters or a moderator: what was found, how it was counted, everybody's words."""

from collections.abc import Iterable, Sequence

from server.debate.analysis.confidence import Confidence
from server.debate.answer.count import OUTCOME_WORDS
from server.debate.answer.lines import UNMEASURED, AnswerLines, Finding
from server.debate.facts.advice import Sourced
from server.debate.facts.beliefs import Vote
from server.debate.facts.events import Compared, Concluded, Judged, Outcome
from server.debate.facts.setup.seats import WRITTEN
from server.debate.facts.text import format_count
from server.debate.rules.verdict import count_panel, find_unmoved_side
from server.debate.state.debate import Debate, judge_seats
from server.debate.views.names import name_debate
from server.debate.views.state import describe_costs
from server.debate.views.visibility import shows_beliefs, shows_seat
from server.debate.votes.counting import SYNTHESIS, CountedVote
from server.debate.votes.families import family
from server.debate.votes.panel import list_readings_of, weigh_votes
from server.debate.votes.voters import verdict_source

MOST_CORRECTED, MOST_MISSED = 3, 2
"""Lines of each; the findings have all."""

IF_ASSUMED = ", if what is assumed holds"


def visible_judgments(debate: Debate) -> list[Judged]:
    """The judgments, first readings first, in an order that does not depend on arrival."""
    judgments = [found for found in name_debate(debate).judgments if shows_seat(debate, found.seat)]
    seats = judge_seats(debate.setup)
    return sorted(judgments, key=lambda found: (is_second(debate, found), seats.index(found.seat)))


def is_second(debate: Debate, found: Judged) -> bool:
    """Whether its judge had read the debate before."""
    return list_readings_of(debate, found.seat)[0].slot_index != found.slot_index


def build_finding_lines(debate: Debate, confidence: Confidence) -> AnswerLines:
    """The lines of a debate that judges, voters or a moderator concluded. Its cautions are added by the verdict."""
    conclusion = name_debate(debate).verdict
    if conclusion is None:
        written = "a synthesizer wrote the result" if debate.deliverable else "no result was written"
        problem = f"No judge or vote decided this; {written}."
        return AnswerLines(
            head="Result",
            problem=problem,
            cost=describe_costs(debate)[0],
            how_sure=describe_one_family(debate),
            findings=list_findings(debate),
        )
    side = find_side_ahead(debate, conclusion)
    votes = weigh_votes(debate, conclusion.votes)
    supporters = [vote for vote in votes if side and vote.side == side]
    judged, findings = visible_judgments(debate), list_findings(debate, conclusion.votes, side)
    first = next((one for one in judged if one.seat in {vote.seat for vote in supporters}), None)
    is_own_word = verdict_source(debate.setup) == "moderator" or conclusion.outcome in (
        "decided",
        "leaning",
        "synthesis",
    )
    advice, because = conclusion.verdict if is_own_word else "", conclusion.reasoning
    if first and not is_own_word:
        advice = first.recommendation or first.verdict
        because = first.verdict if first.recommendation else first.reasoning
    against = [one.text for one in findings if side and one.side not in ("", side)]
    framing = debate.setup.framing
    assumed = framing.assumption if framing else ""
    return AnswerLines(
        head=name_finding(debate, conclusion, supporters) + IF_ASSUMED * bool(assumed),
        recommendation=advice,
        value=find_position(debate, side, advice),
        because=because,
        corrected=list_sourced(judged, "corrected")[:MOST_CORRECTED],
        missed=list_sourced(judged, "missed")[:MOST_MISSED],
        changes_if=choose_words(first, judged, "would_change"),
        next=choose_words(first, judged, "next"),
        against=against[0] if against and conclusion.outcome in ("decided", "leaning") else "",
        assumed=assumed,
        how_sure=describe_support(debate, conclusion, supporters, confidence),
        cost=describe_costs(debate)[0],
        written_by=supporters[0].seat if supporters else "",
        problem="" if advice else conclusion.verdict,
        side=side,
        findings=findings,
    )


def find_side_ahead(debate: Debate, conclusion: Concluded) -> str:
    """The side whose words lead, won or not: a debater, `SYNTHESIS`, or "" for a tie or where nobody votes."""
    if verdict_source(debate.setup) == "swing":
        return conclusion.winner or find_unmoved_side(debate, conclusion.votes)
    return count_panel(debate, conclusion.votes).ahead if conclusion.votes else ""


def find_position(debate: Debate, side: str, advice: str) -> str:
    """The position ahead, unless the advice says it."""
    stance = debate.debater(side).stance if side in debate.names else ""
    return "" if stance.casefold() in advice.casefold() else stance


def name_finding(debate: Debate, conclusion: Concluded, supporters: Sequence[CountedVote]) -> str:
    """What stands before the advice: the label, and what was counted."""
    head = OUTCOME_WORDS[conclusion.outcome]
    if not conclusion.votes:
        return f"{head} (one moderator's decision)" if conclusion.outcome == "leaning" else head
    own = sum(vote.for_synthesis for vote in conclusion.votes)
    if conclusion.outcome == "contested" and not supporters and own > len(conclusion.votes) - own:
        known = "not the same" if debate.comparison else "not compared"
        return f"None of the positions ({own} of {format_count(len(conclusion.votes), 'judge')}, {known})"
    counted = count_voters(debate, conclusion, supporters)
    unsure = OUTCOME_WORDS["undecided"] if verdict_source(debate.setup) == "swing" else "Unsure"
    families = len(list_families(supporters))
    agreed = f"{head} ({counted}, {families} {'family' if families == 1 else 'families'})"
    heads: dict[Outcome, str] = {
        "decided": agreed,
        "leaning": agreed,
        "contested": f"{counted} advise" if len(supporters) > 1 else head,
        "undecided": f"{unsure} ({counted})" if supporters else head,
        "synthesis": f"None of the positions ({counted})",
    }
    return heads[conclusion.outcome]


def count_voters(debate: Debate, conclusion: Concluded, supporters: Sequence[CountedVote]) -> str:
    """Such as "2 of 3 judges"."""
    is_judged = verdict_source(debate.setup) == "judges"
    return f"{len(supporters)} of {format_count(len(conclusion.votes), 'judge' if is_judged else 'voter')}"


def list_families(supporters: Iterable[CountedVote]) -> list[str]:
    """Who trained the models, whoever sells them."""
    return [*dict.fromkeys(vote.family for vote in supporters)]


def describe_support(
    debate: Debate, conclusion: Concluded, supporters: Sequence[CountedVote], confidence: Confidence
) -> str:
    """Who is for it, in how many families, and what such votes have been worth."""
    told = []
    if families := list_families(supporters):
        side = supporters[0].side
        which = "a position of their own" if side == SYNTHESIS else f"{side}'s position"
        listed = ", ".join(families)
        one = f"one model family ({listed}): its models make the same mistakes"
        who = one if len(families) == 1 else f"{len(families)} model families ({listed})"
        told.append(f"{count_voters(debate, conclusion, supporters)} for {which}, of {who}.")
    elif not conclusion.votes and conclusion.outcome == "leaning":
        told.append("One model's word.")
    told += [one_family] if len(families) != 1 and (one_family := describe_one_family(debate)) else []
    names = {vote.seat for vote in supporters}
    readings = [one for one in visible_judgments(debate) if one.seat in names and one.probability]
    if readings:
        lowest = {one.seat: min(r.probability for r in readings if r.seat == one.seat) for one in readings}
        listed = ", ".join(f"{percent}%" for percent in lowest.values())
        told.append(f"How likely their advice is right, they say: {listed}.")
    sure = (
        f"Confidence {confidence.value:.2f}. {confidence.basis}"
        if confidence.value is not None
        else UNMEASURED
    )
    return " ".join([*told, sure])


def describe_one_family(debate: Debate) -> str:
    """That all models that answered are of one family, whoever sells them; "" where they are not."""
    families = {family(answer.usage.model) for answer in debate.answers if answer.usage.model not in WRITTEN}
    return (
        f"All models are of one family ({families.pop()}): they make the same mistakes."
        if len(families) == 1
        else ""
    )


def list_sourced(judged: Iterable[Judged], field: str) -> list[Sourced]:
    """What judges say in a field, each text once, with who says it."""
    seats: dict[str, dict[str, None]] = {}
    for reading in judged:
        if text := getattr(reading, field):
            seats.setdefault(text, {})[reading.seat] = None
    return [Sourced(text=text, sources=tuple(by)) for text, by in seats.items()]


def choose_words(first: Judged | None, judged: Sequence[Judged], field: str) -> str:
    """The words of the judge whose advice leads; where it has none, those of the first who has."""
    return next((text for one in filter(None, (first, *judged)) if (text := getattr(one, field))), "")


def list_findings(debate: Debate, votes: Sequence[Vote] = (), ahead: str = "") -> list[Finding]:
    """The words of everybody who was asked, grouped by side, those of the side ahead first."""
    sides = {vote.seat: vote.position for vote in weigh_votes(debate, votes)}
    findings = []
    judged = visible_judgments(debate)
    for one in judged:
        text = one.recommendation or one.verdict
        side = sides.get(one.seat, "")
        words = [(each.winner, each.recommendation, each.verdict) for each in judged if each.seat == one.seat]
        says_one_thing = bool(side) or len({*words}) == 1
        if says_one_thing and is_second(debate, one):
            continue  # it says the same twice
        where = "" if says_one_thing else f" in its {'second' if is_second(debate, one) else 'first'} reading"
        own = one.winner or (SYNTHESIS if one.recommendation else "")
        findings.append(Finding(seat=one.seat, side=side, stand=f"{describe_stand(own)}{where}", text=text))
    if shows_beliefs(debate) and not debate.judgments:
        named = name_debate(debate)
        private = {
            ballot.seat: ballot for ballot in named.private_ballots if ballot.wave in ("round", "final")
        }
        for ballot in named.last_ballots or private.values():
            if ballot.position and shows_seat(debate, ballot.seat):
                side = sides.get(ballot.seat, "") if sides else ballot.choice
                stand = describe_stand(ballot.choice)
                findings.append(Finding(seat=ballot.seat, side=side, stand=stand, text=ballot.position))
    order = [*filter(None, (ahead, *debate.names, SYNTHESIS)), ""]
    return sorted(findings, key=lambda one: order.index(one.side))


def describe_comparison(event: Compared) -> str:
    """What came of the question whether judges advise the same, in a sentence."""
    number = len(set(event.groups))
    what = "the same thing" if number == 1 else f"{number} different things"
    return f"Judges advise something of their own: {what}, as {event.seat}'s model says."


def describe_stand(side: str) -> str:
    return "with advice of its own" if side == SYNTHESIS else f"for {side}" if side else "for no position"
