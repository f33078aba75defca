"""The contract of journals, over each kind of database."""

from tests.contract.journal import JournalContract


class TestEveryDatabase(JournalContract):
    pass
