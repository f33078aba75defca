"""Advice, reviews, exchanges and reports as texts: what seats read of each other, and what is searched and measured.

Other answers and reviews are named by ids in brackets, as in the record.
"""

from collections.abc import Iterable, Iterator

from server.debate.answer.panel import Panel, name_answer
from server.debate.facts.advice import Exchanged, Opinion, Reviewed


def show_rows(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(head + text for head, text in rows if text)


def show_answer(answer: Opinion) -> str:
    """An answer as reviewers and the writer read it."""
    rows = [("", answer.recommendation), ("Value: ", answer.value), ("Premise: ", answer.premise)]
    rows += [("Because: ", answer.because), ("Assumed: ", answer.assumed)]
    return show_rows([*rows, ("Changes if: ", answer.changes_if), ("Next: ", answer.next)])


def show_position(panel: Panel, seat: str) -> str:
    """What a reviewer advises, and found wrong and missing, as it reads it itself before it argues."""
    return show_argument(panel, seat, panel.answers)


def list_opposed(panel: Panel, seat: str) -> dict[str, str]:
    """What each other reviewer advises, and holds against the advice of this one."""
    followed = panel.reviewed[seat][0].follows or panel.answers
    return {other: show_argument(panel, other, followed) for other in panel.readers if other != seat}


def show_argument(panel: Panel, seat: str, followed: Iterable[str]) -> str:
    """The advice of a reviewer, with the errors that it found in these answers in all its readings."""
    advice, said = panel.find_advice(seat), panel.find_exchange(seat)
    rows = [("", advice.recommendation), ("Because: ", advice.because), ("Value: ", advice.value)]
    for review in panel.reviewed[seat]:
        rows += list_errors(panel, review, {*followed})
        rows += [("Missing: ", text) for text in review.missing]
    return show_rows([*dict.fromkeys(rows), ("Reply: ", said.reply if said else "")])


def list_errors(panel: Panel, review: Reviewed, answers: set[str]) -> Iterator[tuple[str, str]]:
    """The errors of these answers, and those that the review lays to none of them in particular."""
    for error in review.errors:
        if error.answers and answers.isdisjoint(error.answers):
            continue
        named = ", ".join(f"[{name_answer(panel, seat)}]" for seat in error.answers)
        where = f" in {named}" if named else ""
        words = f': "{error.words}"' if error.words else ""
        yield f"Error{where}{words}{' (changes what to do)' if error.matters else ''}: ", error.right


def show_review(panel: Panel, review: Reviewed, *, is_short: bool = False) -> str:
    """A whole review, as the writer reads it. `is_short`: without reasons and what the answer says at the end."""
    errors = list_errors(panel, review, {answer for error in review.errors for answer in error.answers})
    missing = [("Missing: ", text) for text in review.missing]
    if is_short:
        return show_rows([("Advice: ", review.recommendation), *errors, *missing])
    rows = [("Advice: ", review.recommendation), ("Because: ", review.because), *errors]
    rows += [*(("Keep: ", words) for words in review.keep), *missing]
    rows += [("Value: ", review.value), ("Against: ", review.against), ("Decides: ", review.differ_in)]
    return show_rows(rows)


def show_exchange(said: Exchanged, *, is_short: bool = False) -> str:
    """What a reviewer says to the others. `is_short`: without reasons and what the answer says at the end."""
    advice, difference = ("Advice: ", said.recommendation), ("Differs in: ", said.difference)
    moved_by = ("Moved by: ", said.moved_by)
    if is_short:
        return show_rows([advice, difference, moved_by])
    rows = [advice, ("Value: ", said.value), difference, ("Reply: ", said.reply), ("Decides: ", said.decides)]
    rows += [
        ("If ", f"{one.condition}: {one.advice}") if one.condition else ("Or ", one.advice)
        for one in said.branches
    ]
    return show_rows([*rows, moved_by, ("Next: ", said.next), ("Against: ", said.against)])


def list_written(panel: Panel) -> Iterator[str]:
    """The question, the documents, and all that the seats wrote before the report."""
    yield from (panel.question, *panel.documents)
    yield from map(show_answer, panel.answers.values())
    yield from (f"{show_review(panel, review)}\n{review.text}" for review in panel.reviews)
    yield from (show_exchange(one) for exchange in panel.exchanged for one in exchange.values())
