import pytest_asyncio

from storage.contract.journal import Journal
from tests.contract.tokens import PageSessionContract, TokenContract


@pytest_asyncio.fixture
async def tokens(journal: Journal) -> Journal:
    return journal


class TestEveryDatabase(TokenContract, PageSessionContract):
    pass
