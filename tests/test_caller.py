import pytest
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from server.caller import ADMIN, DEBATE, LOCAL, READ, Caller, InsufficientScopeError, read_caller
from server.tools.listing import find_scope

pytestmark = pytest.mark.requirement("N14")


def read_with(token: AccessToken) -> Caller:
    """The caller of a request with this token."""
    before = auth_context_var.set(AuthenticatedUser(token))
    try:
        return read_caller()
    finally:
        auth_context_var.reset(before)


def test_without_a_token_the_caller_is_local_and_may_do_everything() -> None:
    assert read_caller() == LOCAL
    assert all(LOCAL.may(scope) for scope in (READ, DEBATE, ADMIN))


def test_the_subject_of_a_token_is_the_owner_and_without_one_its_client() -> None:
    token = AccessToken(token="t", client_id="laptop", scopes=["read"], subject="alice")

    assert read_with(token) == Caller("alice", frozenset({READ}))
    assert read_with(token.model_copy(update={"subject": None})).owner == "laptop"


def test_who_may_debate_may_read_and_nothing_else_is_included() -> None:
    debating, administering = Caller("a", frozenset({DEBATE})), Caller("a", frozenset({ADMIN}))

    assert debating.may(READ)
    assert not debating.may(ADMIN)
    assert not administering.may(READ)
    with pytest.raises(InsufficientScopeError, match="needs the scope 'debate'"):
        administering.require(DEBATE)
    debating.require(DEBATE)


@pytest.mark.parametrize("owner", ["", "a\0b", "a\nb", "x" * 201])
def test_a_name_that_could_stand_for_something_else_is_no_owner(owner: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        Caller(owner, frozenset())


@pytest.mark.parametrize(
    ("method", "name", "scope"),
    [
        ("tools/call", "find_debates", READ),
        ("tools/call", "get_verdict", READ),
        ("tools/call", "start_debate", DEBATE),
        ("tools/call", "submit_turn", DEBATE),
        ("tools/call", "watch_debate", READ),
        ("tools/list", "", READ),
        ("tasks/get", "", DEBATE),
        ("tasks/update", "", DEBATE),
        ("resources/read", "", READ),
        ("subscriptions/listen", "", READ),
    ],
)
def test_what_spends_or_changes_needs_another_scope_than_what_reads(
    method: str, name: str, scope: str
) -> None:
    assert find_scope(method, {"name": name}) == scope


@pytest.mark.parametrize("params", [{}, {"name": None}, {"name": ["start_debate"]}])
def test_a_call_that_names_no_tool_needs_only_what_every_request_needs(params: dict[str, object]) -> None:
    assert find_scope("tools/call", params) == READ
