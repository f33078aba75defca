"""The contract of stores of tokens, over a file."""

from pathlib import Path

import pytest

from server.access.tokens import TokenFile
from tests.contract.tokens import TokenContract


class TestTokenFile(TokenContract):
    @pytest.fixture
    def tokens(self, tmp_path: Path) -> TokenFile:
        return TokenFile(str(tmp_path / "new" / "tokens.json"))
