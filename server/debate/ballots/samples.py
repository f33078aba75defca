"""The baseline: what a vote of blind ballots finds for the tokens that the debate took.

After the verdict the debaters' models are asked again and again as if nobody had spoken, until as many tokens are
spent as the debate took. For many questions such a vote is as good as a debate (Choi et al. 2025, arXiv 2508.17536):
whether this debate was worth its price can be seen beside it.

    first wave    a sample of each debater's model
    each later    as many more as the tokens left pay for by the mean of those before, at most tripling their number
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from server.debate.ballots.waves import SAMPLE_BALLOT
from server.debate.facts.answers import Usage
from server.debate.facts.beliefs import Share, build_shares
from server.debate.facts.events import Balloted, Failed
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate

MOST_SAMPLES = 500
"""Samples of a baseline, whatever the debate took."""

MOST_LISTED = 12
"""Positions whose votes are told."""

MOST_GROWTH = 3
"""How often a wave may multiply the number of samples: the size of a ballot is known from few at first."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A vote of blind ballots for the price of the debate."""

    samples: int
    tokens: int
    debate_tokens: int
    votes: dict[str, int]  # by position, "" for none; the most votes first
    choice: str  # the plurality; "" for a tie


def count_samples(costs: Sequence[int | None], voters: int, budget: int) -> int:
    """How many samples are asked for, as far as that is known.

    `costs`: tokens of each sample in order, None while it is awaited. It depends on whole waves alone, and so on no
    order of arrival. Tokens spent are as close to the budget as a sample allows.
    """
    count = min(voters, MOST_SAMPLES)
    while 0 < count <= len(costs):
        known = [cost for cost in costs[:count] if cost is not None]
        spent = sum(known)
        if len(known) < count or not spent:
            break
        more = (2 * (budget - spent) * count + spent) // (2 * spent)  # rounded to the nearest
        following = min(count + more, count * MOST_GROWTH, MOST_SAMPLES)
        if following <= count:
            break
        count = following
    return count


def count_usage(usages: Iterable[Usage | None]) -> int:
    """Tokens read and written, also in another debate; an answer whose tokens were not counted is one."""
    return sum(max(used.input_tokens + used.output_tokens + used.reused_tokens, 1) for used in usages if used)


def count_debate_tokens(debate: Debate) -> int:
    """Tokens of all of the debate but its baseline, those of inherited rounds included."""
    facts = (*debate.answers, *debate.research, *debate.failures)
    return count_usage(fact.usage for fact in facts if fact.slot_index < SAMPLE_BALLOT)


def count_baseline_tokens(debate: Debate) -> int:
    facts: tuple[Balloted | Failed, ...] = (*debate.samples, *debate.failures)
    return count_usage(fact.usage for fact in facts if fact.slot_index >= SAMPLE_BALLOT)


def list_samples(debate: Debate) -> list[Balloted]:
    """The samples that count, in the order in which they were asked for."""
    names = debate.names
    counting = [sample for sample in debate.samples if sample.informative]
    return sorted(counting, key=lambda sample: (sample.slot_index, names.index(sample.seat)))


def find_plurality(ballots: Iterable[Balloted]) -> tuple[str, ...]:
    """The positions that most ballots choose, several in a tie; () where none chooses any."""
    votes = Counter(ballot.choice for ballot in ballots if ballot.choice)
    most = max(votes.values(), default=0)
    return tuple(sorted(choice for choice, count in votes.items() if count == most))


def pool_samples(debate: Debate, ballots: Sequence[Balloted]) -> tuple[Share, ...]:
    """The mean belief of ballots, at least one, in each position and in none."""
    amounts = dict.fromkeys((*debate.names, ""), Fraction(0))
    for ballot in ballots:
        for share in ballot.beliefs:
            amounts[share.name] += share.value
    return build_shares(amounts)


def build_baseline(debate: Debate) -> Baseline | None:
    """The vote of the samples; None where there are none."""
    samples = list_samples(debate)
    if not samples:
        return None
    votes = Counter(sample.choice for sample in samples)
    ahead = find_plurality(samples)
    choice = ahead[0] if len(ahead) == 1 else ""
    return Baseline(
        samples=len(samples),
        tokens=count_baseline_tokens(debate),
        debate_tokens=count_debate_tokens(debate),
        votes=dict(votes.most_common()),
        choice=choice,
    )


def describe_baseline(debate: Debate) -> str:
    """The vote in a sentence, its price, and whether it agrees with the verdict; "" where there is none."""
    found = build_baseline(debate)
    if found is None:
        return ""
    winner = debate.verdict.winner if debate.verdict else ""
    ahead = f"{found.choice} is ahead" if found.choice else "a tie"
    if found.choice and winner:
        ahead += ", as in the verdict" if found.choice == winner else ", unlike the verdict"
    votes = [f"{name or 'none'} {count}" for name, count in found.votes.items()][:MOST_LISTED]
    price = f"{found.tokens:,} tokens (the debate took {found.debate_tokens:,})"
    return f"{format_count(found.samples, 'blind ballot')} for {price}: {ahead}. Votes: {', '.join(votes)}."
