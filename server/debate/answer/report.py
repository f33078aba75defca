"""The report: a revision of the strongest answer of the side ahead. Whether one is accepted, and the server's own.

What people read is never worse for a writer's sake: a report that invents figures or runs on is asked for once more,
and then composed by the server from the reviews. One that lost what reviews want kept is asked for once more too, and
stands if nothing better comes. What those say who advise otherwise is not left to the writer: the server adds it.
"""

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain, zip_longest

from server.debate.answer.count import AdviceCount, find_case
from server.debate.answer.mentions import tell_mentions
from server.debate.answer.panel import CHECK, Panel, name_answer, name_exchange, name_review
from server.debate.answer.scripts import is_foreign
from server.debate.answer.sides import OWN, read_share
from server.debate.answer.texts import list_written, show_answer
from server.debate.documents.folding import fold
from server.debate.facts.advice import (
    AFTER_CHECK,
    MINE,
    Advice,
    Branch,
    Correction,
    Exchanged,
    Fault,
    FinalAnswer,
    Opinion,
    Reported,
    Reviewed,
    Sourced,
)
from server.debate.facts.fact import change_texts
from server.debate.facts.text import format_count

MOST_WORDS = 300
"""That a report is asked to have at most; a longer draft may grow by a fifth."""

TOLERANCE = Fraction(6, 5)
"""A report with a few words more is better than none, and than another call."""

CHARACTERS_A_WORD = 3.5
"""In scripts without spaces."""

PLAIN_NUMBERS = 12
"""Numbers up to this need no source: people count and enumerate with them."""

MOST_KEPT, MOST_CORRECTED, MOST_MISSED = 6, 3, 4

KEPT_SHARE = 0.5
"""Of the three-letter pieces of words to keep, that a report has where it kept them, in whatever order."""

MOST_KNOWN = 100
"""Texts whose pieces are kept: the same are compared at each step of a debate."""

SAID_SHARE, MOST_ADDED = 0.6, 2
"""The same of a finding, that an answer has where it says it; and how many are added that it does not say."""

LEAST_SHARE = 0.25
"""Of the same, that a report has of what is advised: a refusal has less."""

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_SEPARATORS = "[.,\u066b\u066c'\u2019]"
_NUMBER = re.compile(rf"\d+(?:{_SEPARATORS}\d+)*")
_GROUPED = re.compile(rf"[1-9]\d{{0,2}}(?:{_SEPARATORS}\d{{3}})+")


def choose_draft(panel: Panel, count: AdviceCount) -> tuple[str, Opinion]:
    """(its id, the answer to be revised): of the side ahead the one that most reviewers call the best.

    Among equals the one with the fewest errors that matter. Where all combine answers, any may be revised.
    """
    of_side = [seat for seat in panel.answers if count.sides.blind[seat] == count.ahead] or [*panel.answers]

    def rank(seat: str) -> tuple[int, int, int]:
        wrong = sum(error.matters and seat in error.answers for error in panel.errors)
        return -sum(review.best == seat for review in panel.reviews), wrong, -panel.answers[seat].probability

    best = min(of_side, key=rank)
    return name_answer(panel, best), panel.answers[best]


def limit_words(draft: Opinion) -> int:
    """How long a report may be that revises this draft."""
    return max(MOST_WORDS, math.ceil(count_words(show_answer(draft)) * 6 / 5))


def count_words(text: str) -> int:
    """The number of words; in scripts without spaces as many as their characters are worth."""
    unspaced = len(_UNSPACED.findall(text))
    return len(_UNSPACED.sub(" ", text).split()) + math.ceil(unspaced / CHARACTERS_A_WORD)


def find_report_problem(panel: Panel, count: AdviceCount, text: str) -> str:
    """Why a report is not accepted, in words that its writer can act on; "" where it is."""
    draft = choose_draft(panel, count)[1]
    words, most = count_words(text), limit_words(draft)
    figures = sorted(find_figures(text) - list_known_figures(panel))
    followed = [seat for seat in panel.readers if seat in count.supporters] or panel.readers
    advice = [panel.find_advice(seat).recommendation for seat in followed]
    advice += [] if count.ahead.startswith(OWN) else [draft.recommendation]
    problems = {
        "it gives none of the advice that it is to give": measure_kept(text, "\n".join(advice)) < LEAST_SHARE,
        f"figures that nobody stated: {', '.join(figures)}": bool(figures),
        "it is in another language than the question and the draft": all(
            is_foreign(one, text) for one in (panel.question, show_answer(draft))
        ),
        f"it has {words} words, and {most} are allowed": words > most * TOLERANCE,
    }
    return "; ".join(problem for problem, holds in problems.items() if holds)


def find_figures(text: str) -> frozenset[str]:
    """The figures of a text above the plain ones, however their digits are written or grouped."""
    return frozenset(number for number in find_numbers(text) if value_of(number) > PLAIN_NUMBERS)


def find_numbers(text: str) -> frozenset[str]:
    return frozenset(normalize_figure(number) for number in _NUMBER.findall(text))


def normalize_figure(number: str) -> str:
    """A number in plain digits: groups of three joined, a decimal point before the rest."""
    digits = "".join(str(int(one)) if one.isdigit() else one for one in number)
    parts = re.split(_SEPARATORS, digits)
    return ("" if _GROUPED.fullmatch(digits) else ".").join(parts)


def value_of(figure: str) -> float:
    """The size of a figure; of a version or a date, such as 9.4.1, as of one that needs a source."""
    try:
        return float(figure)
    except ValueError:
        return PLAIN_NUMBERS + 1


def list_known_figures(panel: Panel) -> frozenset[str]:
    """The figures in question, documents and all that the seats wrote."""
    faults = (f"{fault.words} {fault.right}" for fault in (panel.check.faults if panel.check else ()))
    return frozenset[str]().union(*map(find_figures, (*list_written(panel), *faults)))


def find_lost(panel: Panel, count: AdviceCount, text: str) -> list[str]:
    """The words that reviews want kept and that a report dropped."""
    return [words for words in list_kept(panel, count) if not has_kept(text, words)]


def list_losses(panel: Panel, count: AdviceCount) -> list[str]:
    """What the writer is asked to bring back: of the first report, if that is accepted; [] where there is none."""
    first = [one.text for one in panel.reports[:1] if not find_report_problem(panel, count, one.text)]
    return find_lost(panel, count, first[0]) if first else []


def list_kept(panel: Panel, count: AdviceCount) -> list[str]:
    """The words of answers that reviewers of the side ahead want kept, and that no reviewer calls wrong."""
    reviews = (one for one in panel.reviews if not count.ahead or one.seat in count.supporters)
    kept = dict.fromkeys(words for review in reviews for words in review.keep)
    return [words for words in kept if not is_called_wrong(panel, words)][:MOST_KEPT]


def is_called_wrong(panel: Panel, words: str) -> bool:
    """Whether a reviewer calls these words wrong, or some of them, or them with others around."""
    wrong = [fold(error.words) for error in panel.errors]
    return any(bad and (bad in fold(words) or fold(words) in bad) for bad in wrong)


def has_kept(text: str, words: str) -> bool:
    """Whether a text says what these words say: all of their figures, and most of their pieces."""
    if not find_figures(words) <= find_figures(text):
        return False
    return measure_kept(text, words) >= KEPT_SHARE


def measure_kept(text: str, words: str) -> float:
    """The share of the three-letter pieces of these words that a text has."""
    pieces = find_pieces(words)
    return len(pieces & find_pieces(text)) / len(pieces) if pieces else 1.0


@lru_cache(maxsize=MOST_KNOWN)
def find_pieces(text: str) -> frozenset[str]:
    """The three-letter pieces of a text: the same for a word in any form, in any language."""
    plain = "".join(one for one in fold(text).casefold() if one.isalnum() or one.isspace())
    return frozenset(
        word[start : start + 3] for word in plain.split() for start in range(max(len(word) - 2, 1))
    )


def compose(panel: Panel, count: AdviceCount) -> FinalAnswer:
    """The report without a writer, as people read it."""
    return tell_report(panel, compose_parts(panel, count))


def tell_report(panel: Panel, report: FinalAnswer) -> FinalAnswer:
    told: FinalAnswer = change_texts(report, partial(tell_mentions, panel))
    return told


def compose_parts(panel: Panel, count: AdviceCount) -> FinalAnswer:
    """The draft with what reviews correct and add, or the advice of each side."""
    if not panel.answers:
        return FinalAnswer(recommendation="")
    if not panel.readers:
        return compose_answers(panel)
    draft = choose_draft(panel, count)[1]
    shared = FinalAnswer(
        recommendation="",
        corrected=tuple(list_corrections(panel, draft))[:MOST_CORRECTED],
        missed=tuple(list_missing(panel))[:MOST_MISSED],
    )
    if find_case(panel, count) == "divided":
        return compose_divided(panel, count, shared)
    lead = next((seat for seat in panel.readers if seat in count.supporters), panel.readers[0])
    objection = find_objection(panel, lead)
    source = name_review(panel, lead)
    against = Sourced(text=objection, sources=(source,)) if objection else None
    advice = panel.find_advice(lead)
    if not count.ahead.startswith(OWN):
        is_refuted = has_error(panel, draft.recommendation)
        advice = draft.model_copy(update={"recommendation": advice.recommendation}) if is_refuted else draft
    return shared.model_copy(
        update={
            **take_fields(advice, panel.find_exchange(lead)),
            "against": find_dissent(panel, count) or against,
        }
    )


def list_corrections(panel: Panel, draft: Opinion) -> Iterator[Sourced]:
    """The errors that matter, and any other whose words the person is going to read: those first."""
    text = fold(show_answer(draft))
    errors = [(review, error) for review in panel.reviews for error in review.errors]
    is_read = {error.words: bool(error.words) and fold(error.words) in text for _, error in errors}
    words: set[str] = set()
    for review, error in sorted(errors, key=lambda row: not is_read[row[1].words]):
        if (error.matters or is_read[error.words]) and not (error.words and error.words in words):
            words.add(error.words)
            yield Sourced(text=format_correction(error), sources=(name_source(panel, review),))


def name_source(panel: Panel, review: Reviewed) -> str:
    return name_review(panel, review.seat, review.slot_index)


def format_correction(error: Correction | Fault) -> str:
    return f"“{error.words}”: {error.right}" if error.words else error.right


def list_missing(panel: Panel) -> Iterator[Sourced]:
    """What reviews call missing, the first of each before the second of any: each has its most important first."""
    rows = [
        [Sourced(text=text, sources=(name_source(panel, review),)) for text in review.missing]
        for review in panel.reviews
    ]
    told: dict[str, Sourced] = {}
    for row in filter(None, chain.from_iterable(zip_longest(*rows))):
        told.setdefault(row.text, row)
    yield from told.values()


def find_dissent(panel: Panel, count: AdviceCount) -> Sourced | None:
    """The advice of the first reviewer who is not on the side ahead, if there is one."""
    other = next((seat for seat in panel.readers if seat not in count.supporters), None)
    if other is None:
        return None
    return Sourced(text=panel.find_advice(other).recommendation, sources=(name_review(panel, other),))


def find_objection(panel: Panel, seat: str) -> str:
    """The best point against the advice of a reviewer, in its own words."""
    exchange = panel.find_exchange(seat)
    return (exchange.against if exchange else "") or panel.reviewed[seat][0].against


def take_fields(advice: Advice, said: Exchanged | None = None) -> dict[str, str]:
    """The fields that an advice and a report have in common. `said`: in an exchange by whom the advice is."""
    fields = {"recommendation": advice.recommendation, "because": advice.because}
    if isinstance(advice, Opinion):
        keys = ("premise", "changes_if", "next", "assumed")
        return fields | {key: getattr(advice, key) for key in keys}
    return fields | {"next": said.next if said else ""}


def compose_answers(panel: Panel) -> FinalAnswer:
    """The answers as they were given, where nobody has reviewed them."""
    answers = panel.answers
    if len(answers) == 1:
        return FinalAnswer(**take_fields(next(iter(answers.values()))))
    return FinalAnswer(
        recommendation=f"{format_count(len(answers), 'answer')}, not compared with each other.",
        branches=tuple(
            Branch(condition="", advice=answer.recommendation, sources=(name_answer(panel, seat),))
            for seat, answer in answers.items()
        ),
    )


def compose_divided(panel: Panel, count: AdviceCount, shared: FinalAnswer) -> FinalAnswer:
    """What decides between the sides, and the advice of each."""
    branches = list_branches(panel, count)
    return shared.model_copy(
        update={
            "recommendation": find_difference(panel)
            or (
                f"{len(branches)} answers that differ."
                if len(branches) > 1
                else "The reviews do not settle it."
            ),
            "branches": branches,
            "next": next(filter(None, (said.next for said in panel.last_exchanges)), ""),
        }
    )


def find_difference(panel: Panel) -> str:
    """The question that decides between the sides, as the first reviewer has it who names one."""
    questions = [said.decides for said in panel.last_exchanges]
    questions += [panel.reviewed[seat][0].differ_in for seat in panel.readers]
    return next(filter(None, questions), "")


def list_branches(panel: Panel, count: AdviceCount) -> tuple[Branch, ...]:
    """The advice of each side where they are divided: by cases, if somebody in an exchange has named them."""
    if cases := next((said for said in panel.last_exchanges if len(said.branches) > 1), None):
        source = (name_exchange(panel, cases.seat),)
        return tuple(
            Branch(
                condition=tell_mentions(panel, f"If {branch.condition}").removeprefix("If "),
                advice=branch.advice,
                sources=source,
            )
            for branch in cases.branches
        )
    first = {count.sides.held[seat]: seat for seat in reversed(panel.readers)}
    branches = [
        Branch(
            condition="", advice=panel.find_advice(seat).recommendation, sources=(name_review(panel, seat),)
        )
        for seat in panel.readers
        if first[count.sides.held[seat]] == seat
    ]
    # Who has reviewed has left an answer behind that it does not follow: nobody advises that any more.
    unheard = {vote.side for vote in count.votes} - {count.sides.held[seat] for seat in panel.readers}
    branches += [
        Branch(condition="", advice=panel.answers[one].recommendation, sources=(name_answer(panel, one),))
        for one, side in count.sides.blind.items()
        if side == one and side in unheard
    ]
    return tuple(branches)


def add_faults(panel: Panel, report: FinalAnswer) -> FinalAnswer:
    """A report with the faults that its check found, where it was not written anew."""
    faults = [
        Sourced(text=format_correction(fault), sources=(CHECK,))
        for fault in (panel.check.faults if panel.check else ())
        if fault.matters
    ]
    return report.model_copy(update={"corrected": (*report.corrected, *faults)})


def choose_report(panel: Panel, count: AdviceCount) -> Reported | None:
    """The report that is accepted and lost the least, of equals the last; after a check the one written for it."""
    usable = [report for report in panel.reports if not find_report_problem(panel, count, report.text)]
    revised = [report for report in usable if report.slot_index == AFTER_CHECK]
    return min(
        reversed(revised or usable),
        key=lambda report: len(find_lost(panel, count, report.text)),
        default=None,
    )


def find_reviewer_text(panel: Panel, count: AdviceCount) -> str:
    """Of the answers that reviewers of the side ahead wrote, that with most of what the others found.

    "" where none will do: several who are divided have each read the answers from one side.
    """
    if find_case(panel, count) == "divided" and not panel.is_reviewed_once:
        return ""
    usable = [
        review.text
        for review in panel.reviews
        if review.text and (not count.ahead or review.seat in count.supporters)
        if not find_text_problem(panel, count, review)
    ]

    def measure_found(text: str) -> float:
        return sum(measure_kept(text, found) for review in panel.reviews for found in list_findings(review))

    return max(usable, key=measure_found, default="")


def has_error(panel: Panel, text: str) -> bool:
    """Whether a text has words that a review calls wrong, where that matters."""
    told = fold(text)
    return any(error.matters and error.words and fold(error.words) in told for error in panel.errors)


def find_text_problem(panel: Panel, count: AdviceCount, review: Reviewed) -> str:
    """Why the answer that a reviewer wrote will not do; "" where it will.

    Nobody told it what others find wrong, or which value they agree on.
    """
    value = drop_range(find_value(panel, count)) if count.ahead else ""
    problems = {
        "it has words that a review calls wrong": has_error(panel, review.text),
        "it has another value": review.value != value
        and not find_numbers(value) <= find_numbers(review.text),
    }
    own = "; ".join(problem for problem, holds in problems.items() if holds)
    return own or find_report_problem(panel, count, review.text)


def list_findings(review: Reviewed) -> list[str]:
    """What a review wants kept, what it calls missing, and what is right in place of errors that matter."""
    return [*review.keep, *review.missing, *(error.right for error in review.errors if error.matters)]


def list_unsaid(panel: Panel, text: str) -> dict[str, tuple[Sourced, ...]]:
    """What others found that an answer by a reviewer does not say: what is missing, and what another answer has wrong.

    What it says least of, at most `MOST_ADDED` in all; a finding of several reviews is told once.
    """
    author = next((review for review in panel.reviews if review.text == text), None)
    found: dict[str, tuple[str, Sourced]] = {}
    for review in panel.reviews if author else ():
        if review is author:
            continue
        sources = (name_review(panel, review.seat, review.slot_index),)
        for finding in review.missing:
            found.setdefault(finding, ("missed", Sourced(text=finding, sources=sources)))
        for error in filter(is_unread, review.errors):
            told = Sourced(text=format_correction(error), sources=sources)
            found.setdefault(error.right, ("corrected", told))
    said = {finding: measure_kept(text, finding) for finding in found}
    least = sorted((one for one in found if said[one] < SAID_SHARE), key=lambda one: said[one])[:MOST_ADDED]
    added = [found[finding] for finding in least]
    return {kind: tuple(told for field, told in added if field == kind) for kind in ("missed", "corrected")}


def is_unread(error: Correction) -> bool:
    """Whether an error matters to the person, who is told of those in its own answer in any case."""
    return error.matters and MINE not in error.answers


def find_report(panel: Panel, count: AdviceCount) -> tuple[FinalAnswer, str]:
    """(what the person reads, who wrote it: "writer" or "server")."""
    chosen = choose_report(panel, count)
    text = chosen.text if chosen else find_reviewer_text(panel, count)
    if not text:
        return compose(panel, count), "server"
    report = build_final_answer(panel, count, text)
    if panel.check and not (chosen and chosen.slot_index == AFTER_CHECK):
        return add_faults(panel, report), "writer"
    return report, "writer"


def show_report(panel: Panel, count: AdviceCount) -> str:
    """The report as who checks it or writes it anew reads it; "" where there is none."""
    chosen = choose_report(panel, count)
    return chosen.text if chosen else find_reviewer_text(panel, count)


def build_final_answer(panel: Panel, count: AdviceCount, text: str) -> FinalAnswer:
    """The answer in a writer's text, with the advice of those who advise otherwise, which no writer can lose.

    The same holds for what the draft says is false in the question, if nobody called it wrong.
    """
    recommendation, _, rest = text.partition("\n\n")
    premise = choose_draft(panel, count)[1].premise
    is_lost = not (has_kept(text, premise) or is_called_wrong(panel, premise))
    case = find_case(panel, count)
    report = FinalAnswer(
        recommendation=recommendation,
        because=rest.strip(),
        premise=premise if premise and is_lost else "",
        branches=list_branches(panel, count) if case == "divided" else (),
        against=find_dissent(panel, count) if case == "majority" else None,
        **list_unsaid(panel, text),
    )
    return tell_report(panel, report)


def drop_range(value: str) -> str:
    """A mean without its range: "45 % (40 to 50)"."""
    return value.partition(" (")[0] if read_share(value.partition(" (")[0]) is not None else value


def find_value(panel: Panel, count: AdviceCount) -> str:
    """The number, date or name that was asked for, as the seats of the side ahead have it.

    Percentages as their mean and range; equal words once; of one side only the value of its draft, or of its first
    seat; those of different sides side by side.
    """
    seats = count.supporters or [vote.seat for vote in count.votes if vote.side] or [*panel.advised]
    values = [advice.value for seat in seats if (advice := panel.find_last_advice(seat)) and advice.value]
    shares = [share for value in values if (share := read_share(value)) is not None]
    if count.supporters and values and len(shares) == len(values):
        mean, low, high = sum(shares) / len(shares), min(shares), max(shares)
        return f"{mean:.0f}%" + (f" ({low:.0f} to {high:.0f})" if high > low else "")
    different = [*{value.casefold(): value for value in reversed(values)}.values()][::-1]
    if count.ahead and len(different) > 1:
        draft = "" if count.ahead.startswith(OWN) else choose_draft(panel, count)[1].value
        return draft if draft and not is_called_wrong(panel, draft) else different[0]
    return " / ".join(different)


def list_mine_errors(panel: Panel) -> list[Correction]:
    """What reviews found wrong in the caller's own answer, words that several quote once."""
    found = [
        error for seat in panel.readers for error in panel.reviewed[seat][0].errors if MINE in error.answers
    ]
    return [*{fold(error.words) or error.right: error for error in reversed(found)}.values()][::-1]


def describe_mine(panel: Panel, count: AdviceCount) -> str:
    """Whether the caller's own answer stands, in a sentence; "" where there is none."""
    if panel.mine is None or not panel.readers:
        return ""
    corrections = ", with corrections" if list_mine_errors(panel) else ""
    if count.is_of_mine:
        return f"It stands{corrections}."
    if not count.ahead and count.sides.blind.get(MINE) in count.sides.held.values():
        return "The reviewers are divided about it."
    return "It does not stand: no reviewer advises it." if not count.ahead else "It does not stand."
