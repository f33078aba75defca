"""Who is named next, by models that cannot choose or do not care."""

from server.models import Request


def choose_next_speaker(request: Request, step: int = 1) -> str:
    """Whoever comes after the seat, in the order of the names and round the table; "" where nobody can be.

    As everybody goes round the same table, everybody's turn comes.
    """
    others = sorted(name for name in set(request.prompt.summary.choices) if name != request.seat)
    if not others:
        return ""
    after = sum(name < request.seat for name in others)
    return others[(after + step - 1) % len(others)]
