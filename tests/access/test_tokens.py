"""Tokens that this program makes: in a database or a file, of which neither can be used by who reads it."""

import os
import stat
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.access.tokens import (
    StoredTokens,
    TokenFile,
    describe_state,
    hash_token,
    make_token,
)
from server.redaction import redact_error
from server.settings import InvalidSettingsError
from storage.tokens import StoredToken
from tests.contract.tokens import ALICE
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]

DAY = 86_400.0
NOW = 1_772_323_200.0  # 2026-03-01


@pytest.fixture
def file(tmp_path: Path) -> TokenFile:
    return TokenFile(str(tmp_path / "tokens.json"))


async def test_a_token_lets_its_owner_in_until_it_ends_or_is_revoked(file: TokenFile) -> None:
    now = NOW
    tokens = StoredTokens(file, clock=lambda: now)
    made, stored = make_token("alice", ("debate",), 30, now=lambda: now)
    await file.add(stored)

    verified = await tokens.verify_token(made)
    assert verified is not None
    assert (verified.subject, verified.scopes, verified.token) == ("alice", ["debate"], "")
    now += 30 * DAY - 1
    assert await tokens.verify_token(made)
    now += 1
    assert await tokens.verify_token(made) is None
    now = NOW
    await file.revoke(stored.digest, "2026-03-01T00:00:00.000Z")
    assert await tokens.verify_token(made) is None


class HeldFile(TokenFile):
    """Each read waits to be let through."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.reads: list[anyio.Event] = []

    async def find(self, digest: str) -> StoredToken | None:
        row = await super().find(digest)
        self.reads.append(anyio.Event())
        await self.reads[-1].wait()
        return row

    async def hold_token(self) -> tuple[str, Callable[[], Coroutine[Any, Any, None]], list[bool]]:
        """(the hash of a new token, a request with it, whether the requests were let in)."""
        tokens, verdicts = StoredTokens(self), list[bool]()
        made, stored = make_token("alice", ("debate",), None)
        await self.add(stored)

        async def ask() -> None:
            verdicts.append(await tokens.verify_token(made) is not None)

        return stored.digest, ask, verdicts


async def test_requests_that_wait_share_a_read_that_began_after_they_came(tmp_path: Path) -> None:
    file = HeldFile(str(tmp_path / "tokens.json"))
    digest, ask, verdicts = await file.hold_token()
    async with anyio.create_task_group() as requests:
        requests.cancel_scope.deadline = anyio.current_time() + PATIENCE
        requests.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        await file.revoke(digest, "2026-03-01T00:00:00.000Z")
        for _ in range(20):
            requests.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        file.reads[0].set()
        await anyio.wait_all_tasks_blocked()
        file.reads[1].set()

    assert len(file.reads) == 2
    assert verdicts == [True] + 20 * [False]


async def test_a_request_that_is_cut_while_it_reads_leaves_the_read_to_the_next(tmp_path: Path) -> None:
    file = HeldFile(str(tmp_path / "tokens.json"))
    digest, ask, verdicts = await file.hold_token()
    async with anyio.create_task_group() as requests, anyio.create_task_group() as cut:
        requests.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        cut.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        requests.start_soon(ask)
        file.reads[0].set()
        await anyio.wait_all_tasks_blocked()
        await file.revoke(digest, "2026-03-01T00:00:00.000Z")
        cut.cancel_scope.cancel()  # while it reads for both
        requests.start_soon(set_last, file)

    assert verdicts == [True, False]
    assert len(file.reads) == 3


async def set_last(file: HeldFile) -> None:
    await anyio.wait_all_tasks_blocked()
    file.reads[-1].set()


@pytest.mark.parametrize(
    "change", [str.upper, lambda t: t + "a", lambda t: t[:-1], lambda t: t[4:], lambda _: "cpt_"]
)
async def test_another_text_lets_nobody_in(file: TokenFile, change: object) -> None:
    made, stored = make_token("alice", ("debate",), None)
    await file.add(stored)

    assert await StoredTokens(file).verify_token(made)
    assert await StoredTokens(file).verify_token(change(made)) is None  # type: ignore[operator]
    assert await StoredTokens(file).verify_token(stored.digest) is None
    assert await StoredTokens(file).verify_token("cpt_\ud800") is None


async def test_what_is_stored_is_no_token_and_the_file_is_its_users_alone(file: TokenFile) -> None:
    made, stored = make_token("alice", ("debate",), None)
    await file.add(stored)

    text = file.path.read_text(encoding="utf-8")
    assert made not in text
    assert hash_token(made) in text
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


async def test_a_token_without_days_has_no_end(file: TokenFile) -> None:
    made, stored = make_token("alice", ("read",), None, now=lambda: NOW)
    await file.add(stored)
    verified = await StoredTokens(file, clock=lambda: NOW + 10_000 * DAY).verify_token(made)

    assert verified is not None
    assert verified.expires_at is None


async def test_a_damaged_end_lets_nobody_in(file: TokenFile) -> None:
    made, stored = make_token("alice", ("read",), 1)
    await file.add(replace(stored, expires_at="soon"))

    assert await StoredTokens(file).verify_token(made) is None


async def test_a_file_that_was_changed_by_another_program_is_read_again(tmp_path: Path) -> None:
    one, other = TokenFile(str(tmp_path / "t.json")), TokenFile(str(tmp_path / "t.json"))
    assert await one.find(ALICE.digest) is None
    await other.add(ALICE)
    assert await one.find(ALICE.digest) == ALICE
    os.unlink(one.path)  # noqa: PTH108
    assert await one.find(ALICE.digest) is None


@pytest.mark.parametrize("text", ["{}", "[{}]", "no json", '[{"digest": 1}]'])
async def test_a_file_that_cannot_be_read_is_named_without_its_text(file: TokenFile, text: str) -> None:
    file.path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSettingsError, match="COUNTERPOINT_TOKENS") as error:
        await file.find("a")
    assert text not in str(error.value)


async def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("", encoding="utf-8")
    with pytest.raises(InvalidSettingsError, match="cannot be read"):
        await TokenFile(str(tmp_path / "f" / "tokens.json")).add(ALICE)


@pytest.mark.parametrize("owner", ["", "a\nb", "x" * 201])
def test_an_owner_is_a_name(owner: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        make_token(owner, ("read",), None)


@pytest.mark.parametrize(
    ("expires_at", "revoked_at", "state"),
    [
        ("", "", "no end"),
        ("2026-03-02T00:00:00.000Z", "", "until 2026-03-02"),
        ("2026-02-28T00:00:00.000Z", "", "expired 2026-02-28"),
        ("2026-03-02T00:00:00.000Z", "2026-02-20T00:00:00.000Z", "revoked 2026-02-20"),
    ],
)
def test_what_became_of_a_token_is_said(expires_at: str, revoked_at: str, state: str) -> None:
    token = StoredToken("a", "alice", (), "2026-01-01", expires_at, revoked_at)

    assert describe_state(token, NOW) == state


def test_a_token_is_taken_out_of_logs_wherever_it_turns_up() -> None:
    made, _ = make_token("alice", (), None)
    jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."

    assert redact_error(f"x {made} y {jwt} z") == "x [secret] y [secret] z"


async def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingsError, match="cannot be written"):
        await TokenFile(str(tmp_path / ("x" * 254))).add(ALICE)  # no room for the name of a copy
