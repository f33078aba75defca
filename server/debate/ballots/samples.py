"""The baseline: what a vote of blind ballots finds for the tokens that the debate used.

After the verdict the debaters' models are asked again and again as if nobody had spoken, until they have used as many
tokens as the debate. For many questions such a vote is as good as a debate (Choi et al. 2025, arXiv 2508.17536). So
readers can see whether this debate was worth its price.

        first wave    one sample of each debater's model
        each later    as many more as the tokens left allow at the mean cost so far, at most tripling their number
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from server.debate.ballots.waves import SAMPLE_BALLOT
from server.debate.facts.answers import Usage
from server.debate.facts.beliefs import Share, build_shares
from server.debate.facts.events import Balloted, Failed
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate

MOST_SAMPLES = 500
"""Samples of a baseline, however many tokens the debate used."""

MOST_LISTED = 12
"""Positions whose votes are listed."""

MOST_GROWTH = 3
"""How much a wave may multiply the number of samples: the first ones say little about the cost of a ballot."""


def count_samples(costs: Sequence[int | None], voters: int, budget: int) -> int:
    """How many samples to ask for, as far as that is known.

    `costs`: tokens of each sample in order, None while it is awaited. Only whole waves count, so the order of
    arrival does not matter. The tokens used come as close to the budget as a sample allows.
    """
    count = min(voters, MOST_SAMPLES)
    while 0 < count <= len(costs):
        known_costs = [cost for cost in costs[:count] if cost is not None]
        tokens = sum(known_costs)
        if len(known_costs) < count or not tokens:
            break
        affordable = (2 * (budget - tokens) * count + tokens) // (2 * tokens)  # rounded to the nearest
        next_count = min(count + affordable, count * MOST_GROWTH, MOST_SAMPLES)
        if next_count <= count:
            break
        count = next_count
    return count


def count_usage(usages: Iterable[Usage | None]) -> int:
    """Tokens read and written, reused ones included; an answer whose tokens were not counted counts as one."""
    return sum(
        max(usage.input_tokens + usage.output_tokens + usage.reused_tokens, 1) for usage in usages if usage
    )


def count_debate_tokens(debate: Debate) -> int:
    """Tokens of the whole debate without its baseline; those of inherited rounds included."""
    facts = (*debate.answers, *debate.research, *debate.failures)
    return count_usage(fact.usage for fact in facts if fact.slot_index < SAMPLE_BALLOT)


def list_samples(debate: Debate) -> list[Balloted]:
    """The samples that count, in the order in which they were asked for."""
    names = debate.names
    counting = [sample for sample in debate.samples if sample.informative]
    return sorted(counting, key=lambda sample: (sample.slot_index, names.index(sample.seat)))


def list_leaders(ballots: Iterable[Balloted]) -> tuple[str, ...]:
    """The positions that most ballots choose, several in a tie; () where none chooses any."""
    votes = Counter(ballot.choice for ballot in ballots if ballot.choice)
    highest = max(votes.values(), default=0)
    return tuple(sorted(choice for choice, count in votes.items() if count == highest))


def choose_leader(ballots: Iterable[Balloted]) -> str:
    """The position that more ballots choose than any other; "" for a tie, or where none chooses any."""
    leaders = list_leaders(ballots)
    return leaders[0] if len(leaders) == 1 else ""


def pool_samples(debate: Debate, ballots: Sequence[Balloted]) -> tuple[Share, ...]:
    """The mean belief of ballots, at least one, in each position and in none."""
    amounts = dict.fromkeys((*debate.names, ""), Fraction(0))
    for ballot in ballots:
        for share in ballot.beliefs:
            amounts[share.name] += share.value
    return build_shares(amounts)


def describe_baseline(debate: Debate) -> str:
    """The vote in a sentence, its price, and whether it agrees with the verdict; "" without samples."""
    samples = list_samples(debate)
    if not samples:
        return ""
    choice, winner = choose_leader(samples), debate.verdict.winner if debate.verdict else ""
    ahead = f"{choice} is ahead" if choice else "a tie"
    if choice and winner:
        ahead += ", as in the verdict" if choice == winner else ", unlike the verdict"
    counts = Counter(sample.choice for sample in samples).most_common(MOST_LISTED)
    votes = ", ".join(f"{name or 'none'} {count}" for name, count in counts)
    facts: tuple[Balloted | Failed, ...] = (*debate.samples, *debate.failures)
    tokens = count_usage(fact.usage for fact in facts if fact.slot_index >= SAMPLE_BALLOT)
    price = f"{tokens:,} tokens (the debate took {count_debate_tokens(debate):,})"
    return f"{format_count(len(samples), 'blind ballot')} for {price}: {ahead}. Votes: {votes}."
