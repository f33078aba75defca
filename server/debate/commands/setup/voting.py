"""The rule of consensus that a request asks for, and the weights of votes."""

import re
from collections.abc import Mapping
from fractions import Fraction

from server.debate.commands.requests import VotingInput
from server.debate.facts.beliefs import VotingRule, Weight
from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.votes.voters import find_voters, verdict_source

MAX_WEIGHT = 1000

_FRACTION = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9}|/0*[1-9][0-9]{0,9})?")
"""Nine decimals up to `MAX_WEIGHT`, and what they are recorded as: "0.333333333" as "333333333/1000000000"."""


def parse_fraction(text: str, name: str, *, maximum: int) -> Fraction:
    """Parse an exact positive fraction: "2/3", "0.5", "2". Raises InvalidRequestError."""
    # No exponents: computing the number could take forever.
    fraction = Fraction(text.strip()) if _FRACTION.fullmatch(text.strip()) else Fraction(0)
    problem = f'`{name}`: {text[:20]!r} is no fraction above 0 and at most {maximum}, such as "2/3".'
    require(0 < fraction <= maximum, problem)
    return fraction


def parse_share(text: str, name: str) -> str:
    """A share as it is recorded; "" for none."""
    return str(parse_fraction(text, f"options.voting.{name}", maximum=1)) if text else ""


def build_weights(texts: Mapping[str, str], name: str) -> tuple[Weight, ...]:
    """Raises InvalidRequestError for an invalid weight. `name`: of the argument."""
    weights = {
        seat: parse_fraction(value, f"{name}.{seat}", maximum=MAX_WEIGHT) for seat, value in texts.items()
    }
    return tuple(Weight(seat=seat, weight=str(weight)) for seat, weight in weights.items())


def add_voting(setup: Opened, request: VotingInput | None) -> Opened:
    """The set-up with the requested rule of consensus and weights.

    Raises:
        InvalidRequestError: they contradict each other, or do not fit this debate.
    """
    if request is None:
        return setup
    rule = VotingRule(
        kind=request.kind or ("supermajority" if request.threshold else "majority"),
        threshold=parse_share(request.threshold, "threshold"),
        strict=request.strict,
        of=request.of,
        quorum=parse_share(request.quorum, "quorum"),
    )
    weights = build_weights(request.weights, "options.voting.weights")
    is_rule = bool(request.model_fields_set - {"weights"}) or not weights
    changed_setup = setup.model_copy(update={"voting": rule if is_rule else None, "weights": weights})
    check_voting(changed_setup)
    return changed_setup


def check_voting(setup: Opened) -> None:
    """Check that the rule of consensus fits itself and the debate. Raises InvalidRequestError."""
    rule, voters = setup.voting, find_voters(setup)
    if rule is None and not setup.weights:
        return
    problem = "options.voting is for debates that judges or voters decide: leave it out."
    require(voters, problem)
    if rule:
        moves = verdict_source(setup) == "swing"
        require(
            not moves,
            f"{setup.format} counts who changed position: leave all but weights out of options.voting.",
        )
        is_share = rule.kind == "supermajority"
        problem = f"options.voting: threshold and strict are for kind=supermajority, not for {rule.kind}."
        require(is_share or not (rule.threshold or rule.strict), problem)
        problem = (
            "options.voting: of=cast needs a quorum, the share of all seats that has to vote, such as 1/2."
        )
        require(rule.of == "seats" or rule.quorum, problem)
        require(rule.of == "cast" or not rule.quorum, "options.voting: quorum needs of=cast.")
        shares = [Fraction(share) for share in (rule.threshold, rule.quorum) if share]
        require(all(share <= 1 for share in shares), "options.voting: a share is at most 1.")
    names = [weight.seat for weight in setup.weights]
    advice = (
        "Name `debaters` to weigh their votes." if setup.needs_framing else f"Voters: {', '.join(voters)}."
    )
    voters_so_far = (
        () if setup.needs_framing and {*voters} & {debater.name for debater in setup.debaters} else voters
    )
    for weight in setup.weights:
        require(
            weight.seat in voters_so_far,
            f"options.voting.weights: nobody votes as {weight.seat[:40]!r}. {advice}",
        )
        parse_fraction(weight.weight, "options.voting.weights", maximum=MAX_WEIGHT)
    require(len({*names}) == len(names), "options.voting.weights: one for a voter.")
