"""Functions of a debate whose results are kept: for a version, or for finished rounds."""

from collections.abc import Callable
from functools import wraps
from itertools import chain
from typing import Any, Concatenate, ParamSpec, TypeVar

from server.debate.state.debate import Debate

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def once(function: Callable[Concatenate[Debate, P], T]) -> Callable[Concatenate[Debate, P], T]:
    """For a pure function of a debate: it runs once for each version, which never changes, and equal arguments."""

    @wraps(function)
    def find(debate: Debate, /, *args: P.args, **kwargs: P.kwargs) -> T:
        results: list[tuple[Any, T]] = debate.known.setdefault(function, [])
        for arguments, result in results:
            if arguments == (args, kwargs):
                return result
        result = function(debate, *args, **kwargs)
        results.append(((args, kwargs), result))
        return result

    return find


def by_round(find_in_round: Callable[[Debate, int], dict[K, V]]) -> Callable[[Debate], dict[K, V]]:
    """For a function of a debate as far as one of its rounds: what it finds in all rounds so far, in their order.

    Finished rounds never change, so what is found in them is kept for the versions to come, beside all that it was
    made of: another process may have recorded other events in place of ours.
    """

    @once
    def find(debate: Debate) -> dict[K, V]:
        if not debate.rounds:
            return {}
        finished_rounds = debate.rounds[:-1]
        results: dict[K, V]
        setup, rounds, transcript, readings, results = debate.cache.get(
            find_in_round, (debate.setup, (), (), (), {})
        )
        is_of_this = (
            setup is debate.setup
            and rounds == finished_rounds[: len(rounds)]
            and transcript == debate.transcript_events[: len(transcript)]
            and readings == debate.readings[: len(readings)]
        )
        if not is_of_this:
            rounds, results = (), {}
        if len(rounds) < len(finished_rounds):
            new_results = (find_in_round(debate, n) for n in range(len(rounds) + 1, len(finished_rounds) + 1))
            results = dict(chain(results.items(), *(each.items() for each in new_results)))
            transcript = debate.transcript_events[: debate.round_starts[-1]]
            readings = tuple(each for each in debate.readings if each.round < debate.round)
            debate.cache[find_in_round] = (debate.setup, finished_rounds, transcript, readings, results)
        return results | find_in_round(debate, debate.round)

    return find
