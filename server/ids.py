"""The names of debates."""

import secrets

ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


def new_id() -> str:
    """Short, and not to be guessed: 59 bits, without letters that look alike."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(12))
