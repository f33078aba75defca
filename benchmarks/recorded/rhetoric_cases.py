"""Turns for the eight patterns of rhetoric: four that have each, and four near misses, which only look like it."""

from dataclasses import dataclass

from server.debate.facts.answers import Pattern


@dataclass(frozen=True, slots=True)
class Case:
    """A turn of Ada's after one of Bob's. `words`: those that have the pattern, or nearly do."""

    pattern: Pattern
    is_positive: bool
    words: str
    turn: str
    before: str = "The rewrite takes two years and brings nothing that customers asked for."
    original: str = ""  # of a straw man: Bob's words


def build_cases(pattern: Pattern, positives: tuple[str, ...], near_misses: tuple[str, ...]) -> list[Case]:
    """Cases from turns in which the words stand between ** and **."""
    return [
        Case(pattern, is_positive, marked.split("**")[1], marked.replace("**", ""))
        for is_positive, turns in ((True, positives), (False, near_misses))
        for marked in turns
    ]


CASES: list[Case] = [
    *build_cases(
        "concession",
        (
            "**You are right that the first year will be slower.** It pays back in the third.",
            "On licences **I give the point up: they do cost more with us.** Support does not.",
            "**The outage of May was our fault, I grant that.** It was also the only one.",
            "Maybe half of the tickets are noise. **My figure of forty was too high.** Twenty remain.",
        ),
        (
            "**If I granted that the first year is slower**, nothing would follow for the third.",
            "Some say **we concede that licences cost more**. We concede nothing of the kind.",
            "**You will have to grant that the outage was yours**, before we speak of ours.",
            "**It is right to ask about the first year.** The answer is that it is no slower.",
        ),
    ),
    *build_cases(
        "rebuttal",
        (
            "Two years was the plan of 2019; **the modules have since been split, so that each ships in a month.**",
            "**Customers did ask: 61 of the 90 tickets of March are about it.** That answers your main point.",
            "You say nothing is gained. **The build went from forty minutes to six in the pilot.**",
            "**That estimate counts the tests twice, once under quality and once under release.**",
        ),
        (
            "**I reject that.** The rewrite is right, as I said.",
            "**A rewrite is a matter of courage**, and courage has always paid.",
            "Let us rather talk of hiring: **good people want modern tools.**",
            "**We said in round one that it takes a year.** We say so again.",
        ),
    ),
    *build_cases(
        "synthesis",
        (
            "**Rewrite the billing alone and leave the rest: that meets your two years and my risk.**",
            "Both hold: **keep the old core for existing customers, and start new ones on the new one.**",
            "**Your freeze until June and my pilot after it fit together as one plan.**",
            "**What we both want is a way back; so ship it behind a switch, for a tenth of users.**",
        ),
        (
            "**We should meet in the middle.** That is always wise.",
            "**There are two plans, yours and mine**, and mine is better.",
            "**One could combine both plans, but the result would have the costs of each.**",
            "**My plan has three parts that fit together**: design, build, release.",
        ),
    ),
    *build_cases(
        "appeal_to_authority",
        (
            "**Knuth would never have allowed two years for this**, and that settles it.",
            "**Every professor I know says that rewrites work.** You are no professor.",
            "**The head of the largest bank in Europe calls it inevitable.** So it is.",
            "**Our founder always said that old code is rotten**, and she was seldom wrong.",
        ),
        (
            "**Knuth counted the errors of TeX for ten years and published the list**: most came in rewrites.",
            "**The auditors' report, page 12, names three contracts that end in May.**",
            "You cite a bank's head. **That he runs a bank shows nothing about our code.**",
            "**As the physician on duty I saw the two cases myself**, at eight and at ten.",
        ),
    ),
    *build_cases(
        "appeal_to_evidence",
        (
            "**In the log of 3 May the job fails 14 times between two and three.** That is the load.",
            "**The Standish survey of 2015 has 19 % of such projects cancelled.**",
            "**Our own migration of the mail took five weeks, by the tickets of that project.**",
            "**Clause 7 of the contract allows notice of three months.** So there is time.",
        ),
        (
            "**The evidence is overwhelming**, and everybody knows it.",
            "**Studies show that rewrites work.** No more needs to be said.",
            "**Is there any log that shows this?** I have seen none.",
            "**If the log showed a failure, I would change my mind.**",
        ),
    ),
    *build_cases(
        "ad_hominem",
        (
            "**Bob has never shipped anything in his life**, so his two years mean little.",
            "**Of course a consultant says that: he is paid by the day.**",
            "**People who fear new tools always find a reason to wait**, and here is one of them.",
            "**You did not even read the design**; why should anybody listen to you?",
        ),
        (
            "**That estimate is careless: it counts the tests twice.**",
            "To say that Bob is paid by the day would be cheap; **what matters is whether his figures hold.**",
            "**The reviewer has shares in the vendor, as his own note says**; so let us check his figures first.",
            "**This argument is wrong from start to end, and dangerously so.**",
        ),
    ),
    *build_cases(
        "emotional_appeal",
        (
            "**Think of the night shift, in tears before a frozen screen once more.** Can you wait two years?",
            "**Do you want to be the one who let the company die?**",
            "**It would break the hearts of those who built this** to see it thrown away.",
            "**Be afraid: everything that we love about this product is about to vanish.**",
        ),
        (
            "**Of the 40 nurses asked, 31 say that the alarms frighten them**; that is a defect of the alarms.",
            "**Fear of the new tool is a cost, and was measured: three weeks of slower work.**",
            "You ask us to think of tears. **Tears decide nothing here.**",
            "**I am glad that we agree on June.** Now to the price.",
        ),
    ),
]
"""Of seven patterns; straw men, which have two places, follow."""

_BEFORE = "Wait until June. The rewrite may start then, with the billing first and a review after it."

CASES += [
    Case("straw_man", is_positive, words, turn, _BEFORE, original)
    for is_positive, words, turn, original in (
        (
            True,
            "Bob wants us never to touch the code again.",
            "Bob wants us never to touch the code again. That cannot be right.",
            "Wait until June.",
        ),
        (
            True,
            "Doing the billing first means to forget everything else",
            "Doing the billing first means to forget everything else, and customers would leave.",
            "with the billing first",
        ),
        (
            True,
            "So a committee is to decide every line",
            "So a committee is to decide every line? Nobody works like that.",
            "a review after it",
        ),
        (
            True,
            "What was said amounts to this: the old system is perfect.",
            "What was said amounts to this: the old system is perfect. It is not.",
            "Wait until June. The rewrite may start then",
        ),
        (
            False,
            "Bob wants to wait until June",
            "Bob wants to wait until June, and that is three months of lost work.",
            "Wait until June.",
        ),
        (
            False,
            "Taken to its end this would mean never to touch the code",
            "Taken to its end this would mean never to touch the code; Bob does not say so, and June is no end.",
            "Wait until June.",
        ),
        (
            False,
            "If the billing comes first, the mail comes later",
            "If the billing comes first, the mail comes later. That is the price, and I would pay it.",
            "with the billing first",
        ),
        (
            False,
            "Some would freeze the code for ever",
            "Some would freeze the code for ever. Bob is not one of them.",
            "The rewrite may start then",
        ),
    )
]
