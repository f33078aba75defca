"""`counterpoint token`: made once, listed without being shown, revoked."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from server.access.tokens import TokenFile, make_token
from server.cli.installation.doctor import check_http
from server.settings import Settings

pytestmark = pytest.mark.requirement("N14")


def test_a_token_stands_alone_on_the_last_line_and_is_never_shown_again(cli: Any) -> None:
    made = cli("token", "new", "alice", "--days", "30")
    token = made.stdout.splitlines()[-1]
    listed = cli("token", "list")

    assert re.fullmatch(r"cpt_[\w-]{43}", token)
    assert made.stdout == f"{token}\n"
    assert "alice may debate, until 20" in made.stderr
    assert token not in listed.output
    assert re.search(r"^[0-9a-f]{8} +alice +debate +until 20", listed.output, re.MULTILINE)


def test_scopes_are_chosen_and_each_counts_once(cli: Any) -> None:
    cli("token", "new", "bob", "--scope", "read", "--scope", "admin", "--scope", "read")
    [row] = json.loads(cli("token", "list", "--json").stdout)["tokens"]

    assert (row["owner"], row["scopes"], row["expires_at"]) == ("bob", ["read", "admin"], "")


def test_a_token_is_revoked_by_the_beginning_of_its_id(cli: Any) -> None:
    cli("token", "new", "alice")
    [row] = json.loads(cli("token", "list", "--json").stdout)["tokens"]
    revoked = cli("token", "revoke", row["id"][:6].upper())

    assert "alice" in revoked.output
    assert "revoked 20" in cli("token", "list").output


@pytest.mark.parametrize("token_id", ["abc", "zzzzzzzz", ""])
def test_an_id_that_names_no_token_is_an_error_that_says_where_they_are(cli: Any, token_id: str) -> None:
    cli("token", "new", "alice")
    refused = cli("token", "revoke", token_id)

    assert refused.exit_code == 1
    assert "counterpoint token list" in refused.output


@pytest.mark.parametrize("owner", ["", "a\nb"])
def test_an_owner_without_a_name_is_refused(cli: Any, owner: str) -> None:
    refused = cli("token", "new", owner)

    assert refused.exit_code == 2
    assert "cannot be an owner" in refused.output


@pytest.mark.asyncio
async def test_the_doctor_says_whom_a_server_over_http_would_let_in(tmp_path: Path) -> None:
    file = TokenFile(str(tmp_path / "t.json"))
    settings = Settings(db=str(tmp_path / "a.db"))
    assert "this machine alone" in (await check_http(settings)).detail
    for days in (0, 1, None):
        await file.add(make_token("alice", ("read",), days)[1])
    issuer = {"oidc_issuer": "https://id.example", "oidc_audience": "debates"}
    found = await check_http(Settings(tokens=str(file.path), **issuer))

    assert found.detail == f"2 good tokens in {file.path}, of alice; tokens of https://id.example for debates"
    file.path.write_text("{", encoding="utf-8")
    assert not (await check_http(Settings(tokens=str(file.path)))).ok


def test_the_path_of_the_file_is_shown_in_errors(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a-rather-long-name.json"
    path.write_text("{", encoding="utf-8")
    monkeypatch.setenv("COUNTERPOINT_TOKENS", str(path))

    refused = cli("token", "list")
    assert refused.exit_code == 1
    assert str(path) in refused.output
