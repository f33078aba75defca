"""Whether positions are held alike: forty pairs of sentences, by similarity, equal choices and equal numbers.

Usage: python -m benchmarks convergence [MODEL]

Ten paraphrases are to be found alike; ten negations, ten pairs with another number and ten of another matter are not.
Without a model, a stub embeds the words of a sentence by how often they occur: for it, as for real models, a negation
and another number are close to what they deny. Who holds a negation chooses another position, and numbers in digits can
be compared; those in words are told apart by nothing.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import anyio

from server.debate.ballots.similarity import SIMILAR, compute_cosine, find_numbers
from server.models.embeddings import Embedder
from server.models.fakes.embeddings import ScriptedEmbedder
from server.models.providers.connections import Connections
from server.models.registry import ModelRegistry

Kind = Literal["paraphrase", "negation", "other number", "other matter"]

TIMEOUT = 60.0  # seconds

BASES = (
    "Writing our own scheduler costs a year and nobody would maintain it later.",
    "The audit of 2024 shows that the pilot took eleven weeks to finish.",
    "A shorter week raises output because people make fewer errors when rested.",
    "Moving to the new database doubles the cost of storage within two years.",
    "The tunnel should be built because the bridge will be closed for repairs.",
    "Remote work has reduced the number of resignations in most of our teams.",
    "Nuclear plants are cheaper than wind parks once storage is paid for.",
    "The trial was too small to show that the drug lowers blood pressure.",
    "Schools that ban phones report better marks in their final exams.",
    "Shipping on Friday is risky since nobody is there to repair it.",
)
PARAPHRASES = (
    "Writing our own scheduler costs a year, and later nobody would maintain it.",
    "That the pilot took eleven weeks to finish is shown by the audit of 2024.",
    "Rested people make fewer errors, which is why less time at work yields more.",
    "Within two years the new database doubles the cost of storage.",
    "Because the bridge will be closed for repairs, the tunnel should be built.",
    "Fewer people have quit in most of our teams since they can work from home.",
    "Once storage is paid for, nuclear plants are cheaper than wind parks are.",
    "With so few patients nobody can tell whether the medicine helps hypertension.",
    "Better marks in their final exams are reported by schools that ban phones.",
    "A release at the end of the week is dangerous: no one can fix it then.",
)
NEGATIONS = (
    "Writing our own scheduler costs no year and nobody would maintain it later.",
    "The audit of 2024 does not show that the pilot took eleven weeks to finish.",
    "A shorter week raises no output because people make fewer errors when rested.",
    "Moving to the new database does not double the cost of storage within two years.",
    "The tunnel should not be built because the bridge will be closed for repairs.",
    "Remote work has not reduced the number of resignations in most of our teams.",
    "Nuclear plants are not cheaper than wind parks once storage is paid for.",
    "The trial was not too small to show that the drug lowers blood pressure.",
    "Schools that ban phones report no better marks in their final exams.",
    "Shipping on Friday is not risky since nobody is there to repair it.",
)
NUMBERS = (
    (
        "It saves 40 hours a month for a team of our size.",
        "It saves 14 hours a month for a team of our size.",
    ),
    ("Storage would cost us 1,200 dollars a year more.", "Storage would cost us 12,000 dollars a year more."),
    ("The pilot took 11 weeks in all, by the audit.", "The pilot took 7 weeks in all, by the audit."),
    (
        "At 2.5 percent the rate is too high to borrow now.",
        "At 5.2 percent the rate is too high to borrow now.",
    ),
    ("By 2030 half of the fleet will be electric.", "By 2050 half of the fleet will be electric."),
    ("Only 3 of the plants met their budget.", "Only 9 of the plants met their budget."),
    ("Marks rose by 8 points where phones were banned.", "Marks rose by 1 points where phones were banned."),
    (
        "The bridge stays closed for two years of repairs.",
        "The bridge stays closed for six years of repairs.",
    ),
    ("It doubles what we pay for storage each month.", "It triples what we pay for storage each month."),
    (
        "Half of the teams would rather keep what they have.",
        "Most of the teams would rather keep what they have.",
    ),
)
"""Of each pair the numbers differ: seven in digits, three in words."""


class Pair(NamedTuple):
    kind: Kind
    one: str
    other: str
    is_same_choice: bool  # whether both can be held by who chooses one position

    @property
    def has_same_numbers(self) -> bool:
        return find_numbers(self.one) == find_numbers(self.other)


def list_pairs() -> list[Pair]:
    """Forty: each base with its paraphrase, its negation and the base after the next; and ten with other numbers."""
    pairs = [Pair("paraphrase", *both, is_same_choice=True) for both in zip(BASES, PARAPHRASES, strict=True)]
    pairs += [Pair("negation", *both, is_same_choice=False) for both in zip(BASES, NEGATIONS, strict=True)]
    pairs += [Pair("other number", *both, is_same_choice=True) for both in NUMBERS]
    moved = (*BASES[2:], *BASES[:2])
    return pairs + [
        Pair("other matter", *both, is_same_choice=True) for both in zip(BASES, moved, strict=True)
    ]


class Row(NamedTuple):
    kind: Kind
    pairs: int
    similar: int  # by their vectors alone
    chosen: int  # and held by voters who choose the same
    alike: int  # and with the same numbers: what the product takes as alike


async def measure(embedder: Embedder, pairs: Sequence[Pair]) -> list[Row]:
    texts = [text for pair in pairs for text in (pair.one, pair.other)]
    vectors, _ = await embedder.embed(texts, TIMEOUT)
    cosines = [compute_cosine(vectors[n], vectors[n + 1]) for n in range(0, len(vectors), 2)]
    found = [(pair, Fraction(cosine) >= SIMILAR) for pair, cosine in zip(pairs, cosines, strict=True)]
    return [build_row(kind, found) for kind in dict.fromkeys(pair.kind for pair in pairs)]


def build_row(kind: Kind, found: Sequence[tuple[Pair, bool]]) -> Row:
    of_kind = [(pair, similar) for pair, similar in found if pair.kind == kind]
    similar = [pair for pair, is_similar in of_kind if is_similar]
    chosen = [pair for pair in similar if pair.is_same_choice]
    return Row(kind, len(of_kind), len(similar), len(chosen), sum(pair.has_same_numbers for pair in chosen))


def print_rows(name: str, rows: Sequence[Row]) -> None:
    print(f"{name}, similar from {float(SIMILAR)} on")
    print("| pairs | of | similar | and equal choices | and equal numbers |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row.kind} | {row.pairs} | {row.similar} | {row.chosen} | {row.alike} |")
    same, *others = rows
    print(f"recall {same.alike}/{same.pairs}")
    similar, alike, count = (
        sum(getattr(row, name) for row in others) for name in ("similar", "alike", "pairs")
    )
    print(
        f"false alarms {similar}/{count} by similarity alone, {alike}/{count} with equal choices and numbers"
    )
    if name.startswith("stub"):
        print(
            "The stub embeds a negation close to what it denies, as real models do; only choices tell them apart."
        )


async def run(model: str) -> None:
    async with Connections() as connections:
        embedder = ModelRegistry(connections=connections).get_embedder(model) if model else ScriptedEmbedder()
        print_rows(model or "stub: the words of a sentence, counted", await measure(embedder, list_pairs()))


def main(arguments: Sequence[str]) -> None:
    anyio.run(run, arguments[0] if arguments else "")
