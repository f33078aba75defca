import pytest_asyncio

from storage.storage import Storage
from storage.tokens import PageSessionStore, Tokens
from tests.contract.tokens import PageSessionContract, TokenContract


@pytest_asyncio.fixture
async def tokens(storage: Storage) -> Tokens:
    return storage.tokens


@pytest_asyncio.fixture
async def page_sessions(storage: Storage) -> PageSessionStore:
    return storage.page_sessions


class TestEveryDatabase(TokenContract, PageSessionContract):
    pass
