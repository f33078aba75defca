"""What each arm answered to a question, how sure it was, and what that took, all from one debate.

    single    the first blind ballot of the first model
    blind     the first blind ballot of each model, one vote each
    vote      all blind ballots, as many as the tokens of the debate paid for
    debate    the option ahead in the verdict

An answer counts 1 where it is right, and 0 where it is not; several options in a tie share what one of them would
count, and no answer counts as one drawn by lot. The answer of a debate is the option ahead, whatever its label: a label
says how sure a verdict is, and must not cost what the debate found. Ballots have no label.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from server.debate.analysis.debates import pool_judges
from server.debate.ballots.samples import list_leaders, list_samples, pool_samples
from server.debate.ballots.waves import SAMPLE_BALLOT
from server.debate.facts.answers import Researched, Usage
from server.debate.facts.events import AnswerEvent, Balloted, Failed
from server.debate.rules.verdict import count_panel
from server.debate.state.debate import Debate
from server.evaluation.plan import Plan, build_names
from server.evaluation.questions import Question

FAILED = "failed"  # the label of a debate that ended without a verdict


@dataclass(frozen=True, slots=True)
class Spending:
    """`cost_usd`: None where a price is unknown. `seconds`: that models took, one after the other.

    `reused`: answers of other debates, which took `reused_tokens` there, and nothing here.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    seconds: float = 0.0
    reused: int = 0
    reused_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: "Spending") -> "Spending":
        known = self.cost_usd is not None and other.cost_usd is not None
        return Spending(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.cost_usd or Decimal(0)) + (other.cost_usd or Decimal(0)) if known else None,
            self.seconds + other.seconds,
            self.reused + other.reused,
            self.reused_tokens + other.reused_tokens,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """`chosen`: the options ahead, several in a tie. `belief`: in the right option; None where nothing is known of it.

    `confidence`: in the option ahead, with whether that is right.
    """

    chosen: tuple[int, ...]
    credit: float
    label: str
    spending: Spending
    belief: float | None = None
    confidence: float | None = None
    is_right: bool = False
    debate_id: str = ""


def read_answers(plan: Plan, question: Question, debate: Debate, debate_id: str) -> dict[str, Answer]:
    """The answers of all arms by a debate that is over: those called as above, and "alone MODEL" for each model.

    "vote N" is the vote of the first N ballots, for what takes fewer tokens than the debate.
    """
    firsts = find_first_samples(plan, debate)
    arms = {f"alone {model}": read_vote(question, debate, [ballot]) for model, ballot in firsts.items()}
    single = [firsts[plan.models[0]]] if plan.models[0] in firsts else []
    paid = [failure.usage for failure in debate.failures if failure.slot_index >= SAMPLE_BALLOT]
    lost = sum(f.attempts for f in debate.failures if f.slot_index >= SAMPLE_BALLOT and f.usage is None)
    samples = [*[sample.usage for sample in debate.samples], *filter(None, paid)]
    ballots = list_samples(debate)
    for number in range(1, len(ballots) + 1):
        arms[f"vote {number}"] = read_vote(question, debate, ballots[:number])
    arms |= {
        "single": read_vote(question, debate, single),
        "blind": read_vote(question, debate, list(firsts.values())),
        "vote": read_vote(question, debate, ballots, sum_usage(samples, lost)),
        "debate": read_verdict(question, debate, debate_id),
    }
    return arms


def find_first_samples(plan: Plan, debate: Debate) -> dict[str, Balloted]:
    """The first sample of each model of the plan, by the model that the seat was given."""
    models = {debater.name: debater.model for debater in debate.setup.debaters}
    found: dict[str, Balloted] = {}
    for sample in list_samples(debate):
        found.setdefault(models[sample.seat], sample)
    return {model: found[model] for model in dict.fromkeys(plan.models) if model in found}


def read_vote(
    question: Question, debate: Debate, ballots: Sequence[Balloted], spending: Spending | None = None
) -> Answer:
    """What ballots choose together: the plurality. `spending`: by default that of the ballots."""
    spending = spending or sum_usage(ballot.usage for ballot in ballots)
    if not ballots:
        return build_answer(question, (), "", spending)
    shares = {share.name: float(share.value) for share in pool_samples(debate, ballots)}
    top = max(build_names(question), key=lambda name: shares[name])
    return build_answer(question, list_leaders(ballots), "", spending, shares, (top, shares[top]))


def read_verdict(question: Question, debate: Debate, debate_id: str) -> Answer:
    facts = (*debate.answers, *debate.research, *debate.failures)
    spending = sum_facts([fact for fact in facts if fact.slot_index < SAMPLE_BALLOT])
    found = debate.verdict
    if found is None:
        return build_answer(question, (), FAILED, spending, debate_id=debate_id)
    ahead = found.winner or (count_panel(debate, found.votes).ahead if found.votes else "")
    chosen = (ahead,) if ahead in debate.names else ()
    beliefs = pool_judges(debate, found.votes).beliefs if found.votes else {}
    sure = (ahead, beliefs[ahead]) if ahead in beliefs else None
    return build_answer(question, chosen, found.outcome, spending, beliefs, sure, debate_id)


def build_answer(
    question: Question,
    ahead: Sequence[str],
    label: str,
    spending: Spending,
    beliefs: Mapping[str, float] | None = None,
    sure: tuple[str, float] | None = None,
    debate_id: str = "",
) -> Answer:
    names = build_names(question)
    chosen = tuple(names.index(name) for name in ahead)
    drawn = chosen or tuple(range(len(names)))
    right = names[question.answer]
    return Answer(
        chosen=chosen,
        credit=1 / len(drawn) if question.answer in drawn else 0.0,
        label=label,
        spending=spending,
        belief=beliefs.get(right, 0.0) if beliefs else None,
        confidence=sure[1] if sure else None,
        is_right=sure is not None and sure[0] == right,
        debate_id=debate_id,
    )


def sum_facts(facts: Sequence[AnswerEvent | Researched | Failed]) -> Spending:
    lost = sum(fact.attempts for fact in facts if isinstance(fact, Failed) and fact.usage is None)
    return sum_usage([fact.usage for fact in facts if fact.usage], lost)


def sum_usage(usages: Iterable[Usage], lost: int = 0) -> Spending:
    """`lost`: requests that no usage was reported of."""
    used = list(usages)
    costs = [Decimal(usage.cost_usd) if usage.cost_usd else None for usage in used]
    return Spending(
        calls=sum(usage.attempts for usage in used) + lost,
        input_tokens=sum(usage.input_tokens for usage in used),
        output_tokens=sum(usage.output_tokens for usage in used),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
        seconds=sum(usage.milliseconds for usage in used) / 1000,
        reused=sum(bool(usage.reused_from) for usage in used),
        reused_tokens=sum(usage.reused_tokens for usage in used),
    )
