"""The next speaker, as named by models that do not choose: scripted and local."""

from server.models import Request


def choose_next_speaker(request: Request, step: int = 1) -> str:
    """The speaker `step` places after the seat, in the order of the names; "" if nobody can follow.

    Every seat counts in the same circle, so every seat gets its turn.
    """
    others = sorted(name for name in set(request.prompt.summary.choices) if name != request.seat)
    if not others:
        return ""
    position = sum(name < request.seat for name in others)
    return others[(position + step - 1) % len(others)]
