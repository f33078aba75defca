"""Rules of consensus over MCP: asked for, changed, said in both forms of the verdict, and heard of as an event."""

import pytest

from tests.support.client_calls import call, result_text
from tests.support.scripted_debates import THREE, find_for, open_scripted_debates
from tests.support.servers import OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D10", "D21")]


async def test_the_verdict_says_by_which_rule_it_was_found(open_client: OpenClient) -> None:
    async with open_scripted_debates(open_client) as debates:
        voting = {
            "kind": "supermajority",
            "threshold": "3/4",
            "weights": [{"voter": "judge 1", "weight": "3"}],
        }
        options = {"judges": {"models": ["mine", "other"]}, "voting": voting}
        ran = await debates.hold(judgment=find_for("Buy now"), options=options)

        assert (
            ran["panel"]["rule"] == "a supermajority, 3/4 or more of all seats asked: reached by Ada with 1"
        )
        assert ran["panel"]["consensus"] == "Consensus (unanimous) for Ada: Ada 4, of 4 asked."
        shown = result_text(await debates.client.call_tool("get_verdict", {"debate_id": ran["debate_id"]}))
        assert all(ran["panel"][name] in shown for name in ("rule", "consensus"))
        events = (await debates.view(ran, "events"))["events"]
        (found,) = [event for event in events if "consensus" in event["names"]]
        assert (found["kind"], found["consensus"], found["winner"]) == ("agreed", "unanimous", "Ada")
        assert found["count"] | {"weights": []} == {
            "weights": [], "abstained": "0", "unreadable": "0", "inconsistent": "0", "missing": "0",
            "seats": "4", "cast": "4", "needed": "3/4", "share": "1",
        }  # fmt: skip


async def test_a_threshold_changes_the_rule_on_the_way(open_client: OpenClient) -> None:
    async with open_scripted_debates(open_client) as debates:
        options = {"judges": {"models": ["mine", "other"]}, "voting": "none"}
        began = await debates.hold(judgment=find_for("Buy now"), options=options, run=False)
        steered = await call(
            debates.client, "intervene", debate_id=began["debate_id"], action="threshold", threshold="1/2"
        )
        assert "with 1/2 of the votes' weight or more" in steered["effect"]
        settings = (await debates.view(began, "interventions"))["settings"]
        assert (settings["voting"]["kind"], settings["voting"]["threshold"]) == ("supermajority", "1/2")


@pytest.mark.parametrize(
    ("voting", "told"),
    [
        (
            {"treshold": "2/3"},
            "`options.voting.treshold` is unknown. Did you mean threshold?",
        ),
        ('{"kind": "most"}', "unanimous"),
        ("most", "unanimous"),
        ({"of": "cast"}, "of=cast needs a quorum"),
        ({"threshold": "2"}, 'at most 1, such as "2/3"'),
    ],
)
async def test_a_rule_that_is_none_is_refused_with_what_there_is(
    open_client: OpenClient, voting: object, told: str
) -> None:
    async with open_scripted_debates(open_client) as debates:
        assert told in await debates.refuse(debaters=THREE, options={"voting": voting})
