"""Teams: the models of a debate are chosen from candidates when it is opened, and the choice is a fact."""

import json
from typing import Any

import pytest

from server.debate.analysis.judgments import Judgment, Reading
from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.records.setup import check_opened
from server.debate.views.state import build_state
from server.engine.database.ledger import import_judgments, read_judgments
from server.engine.transfer import export_debate, restore_debate
from tests.support.engines import run_debate, start_debate
from tests.support.patience import PATIENCE
from tests.support.teams import DEBATERS, GOOD, NAMES, list_seats, open_many, start, teach
from tests.support.upkeep import check_database, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D17")]


async def test_the_choice_is_a_fact_of_the_journal_and_of_the_state(database: str) -> None:
    async with open_many(database) as manager:
        await teach(manager, 100)
        snapshot = await start(manager)
        team = build_state(snapshot)["team"]
        assert team["chosen"] == list_seats(snapshot)
        assert {name.partition("/")[2] for name in team["chosen"]} <= {*GOOD}
        assert team["candidates"] == list(NAMES)
        assert len(team["draws"]) == len(NAMES)
        assert len(team["gains"]) == 2
        assert all(isinstance(gain, float) for gain in (*team["gains"], *team["judge_gains"], *team["draws"]))
        assert team["reason"].startswith(
            f"Chosen from 12 candidates: {', '.join(team['chosen'])}; to judge: "
        )
        assert json.loads(json.dumps(team)) == team
        reopened = await start(manager)
        assert reopened.debate.setup.team == snapshot.debate.setup.team


@pytest.mark.full
async def test_a_team_is_chosen_by_what_its_own_owner_knows(database: str) -> None:
    async with open_many(database) as manager:
        ann, ben = manager.of("ann"), manager.of("ben")
        await teach(manager, 100, owner="ann")
        await teach(manager, 19, owner="ben")
        for opened, settled in ((await start(ann), 20), (await start(ben), 19), (await start(manager), 0)):
            assert opened.debate.setup.team is not None
            assert opened.debate.setup.team.settled_items == settled
            assert bool(build_state(opened)["team"]["draws"]) == (opened.owner == "ann")
        known = await start(ann)
        assert {name.partition("/")[2] for name in list_seats(known)} <= {*GOOD}
        options = {"team": {"candidates": list(NAMES)}, "mirror": "on", "seed": 5}
        mirrored = await run_debate(ann, debaters=DEBATERS, options=options)
        assert mirrored.debate.mirror_opened is not None
        mirror = await ann.load(mirrored.debate.mirror_opened.debate_id)
        fork = await manager.fork(known.id, 0, ChangesInput(), actor="test")
        for later in (mirror, fork):
            assert later.owner == "ann"
            assert {*list_seats(later)} == {*list_seats(known)}
        await teach(manager, 100, "later", names=NAMES[:2], owner="ben")
        assert (await start(ann)).debate.setup.team == known.debate.setup.team


@pytest.mark.parametrize("effort", ["quick", "assured"])
async def test_those_chosen_sit_in_the_order_of_the_choice_whatever_the_effort(effort: str) -> None:
    names = ("acme/one", "acme/two", "beta/six", "gamma/four")
    shares = dict(zip(names, (0.95, 0.94, 0.0, 0.75), strict=True))
    judgments = [
        Judgment(f"item {number}", name, "a", (Reading(1, choice), Reading(2, choice)))
        for name, share in shares.items()
        for number in range(200)
        for choice in ["a" if number < 200 * share else "b"]
    ]
    async with open_many(names=names) as manager:
        await import_judgments(manager.store.storage.ledger, judgments, manager.store.name_ledger())
        for judges in ({"count": 3}, {}):
            options = {"team": {"candidates": list(names)}, "effort": effort, "judges": judges, "seed": 5}
            setup = (await start_debate(manager, debaters=DEBATERS, options=options)).debate.setup
            check_opened(setup)
            assert setup.team is not None
            assert [one.model for one in setup.debaters] == [*setup.team.chosen]
            assert {*setup.team.chosen} == {"acme/one", "acme/two"}
            assert setup.team.judges[0] == "gamma/four"
            assert setup.team.judges[-1] == "beta/six"
            panel = setup.judges.models
            assert panel == setup.team.judges[: len(panel)]


@needs_upkeep
async def test_outcomes_of_debates_count_for_their_tags_and_for_the_topic_of_their_team() -> None:
    async with open_many() as manager:
        options = {"team": {"candidates": list(NAMES), "topic": "Law"}, "tags": ["Ethics", "law"]}
        ended = await run_debate(manager, debaters=DEBATERS, options=options)
        await manager.intervene(ended.id, "outcome", InterventionRequest(to="Ada"), actor="Kim")
        rows = await read_judgments(manager.store.storage.ledger, manager.store.name_ledger())
        assert {row.topics for row in rows} == {("ethics", "law")}
        assert (await check_database(manager)).problems == ()


async def test_more_models_than_seats_are_candidates_and_no_more_than_seats_sit_in_turn() -> None:
    async with open_many() as manager:
        fits = await start_debate(manager, debaters=DEBATERS, models=list(NAMES[:3]))
        assert fits.debate.setup.team is None
        assert list_seats(fits) == list(NAMES[:2])
        await teach(manager, 100)
        chosen = await start_debate(manager, debaters=DEBATERS, models=list(NAMES))
        assert chosen.debate.setup.team is not None
        assert {name.partition("/")[2] for name in list_seats(chosen)} <= {*GOOD}
        written = await start_debate(manager, debaters=DEBATERS, models=[*NAMES, "caller"])
        assert written.debate.setup.team is None


async def test_debaters_keep_the_models_that_they_have() -> None:
    async with open_many() as manager:
        rows = [{**DEBATERS[0], "model": "mine"}, DEBATERS[1]]
        snapshot = await start(manager, rows)
        team = snapshot.debate.setup.team
        assert team is not None
        assert (team.seated, list_seats(snapshot)) == (("mine",), ["mine", *team.chosen])
        both = [{**row, "model": "mine"} for row in DEBATERS]
        assert list_seats(await start(manager, both)) == ["mine", "mine"]


async def test_positions_that_are_named_go_to_the_models_chosen() -> None:
    async with open_many() as manager:
        options = {"framing": True, "team": {"candidates": list(NAMES), "size": 3}}
        snapshot = await start_debate(manager, options=options)
        setup = snapshot.debate.setup
        assert setup.team is not None
        assert setup.framer is not None
        assert setup.framer.models == setup.team.chosen
        assert len(setup.team.chosen) == 3
        assert {*setup.judges.models}.isdisjoint(setup.team.chosen)


async def test_it_says_where_the_ledger_knows_nothing_of_the_topic() -> None:
    async with open_many() as manager:
        await teach(manager, 30, "art")
        for topic, reason, answers in (
            ("", "By how often they were right as far as the ledger knows, drawn", 0),
            ("art", 'By how often they were right about "art" as far as the ledger knows, drawn', 360),
            ("law", 'were right as far as the ledger knows (of "law" it knows nothing), drawn', 0),
        ):
            team = build_state(await start(manager, topic=topic))["team"]
            assert reason in team["reason"]
            assert team["topic_answers"] == answers


async def test_it_says_which_judges_are_of_the_debaters_families() -> None:
    names = ("acme/one", "acme/two", "beta/one", "beta/two")
    note = "Judges of debaters' families, for want of better ones: "
    async with open_many(names=names) as manager:
        told = build_state(await start(manager, candidates=list(names)))
        judges = [judge.partition(": ")[2] for judge in told["judges"]]
        assert told["team"]["reason"].endswith(f" {note}{', '.join(judges)}.")
    async with open_many() as manager:
        await teach(manager, 100)
        assert note not in build_state(await start(manager, candidates=[*NAMES, "mine"]))["team"]["reason"]


async def test_a_topic_is_the_same_however_it_is_typed_and_its_record_can_be_restored(tmp_path: Any) -> None:
    long = "ß" * 30
    async with open_many() as manager:
        await teach(manager, 30, "caf\N{LATIN SMALL LETTER E WITH ACUTE} law")
        typed = await start(manager, topic=" CAFE\N{COMBINING ACUTE ACCENT}  Law")
        assert build_state(typed)["team"]["topic_answers"] == 360
        data = json.loads(json.dumps(await export_debate(manager, (await start(manager, topic=long)).id)))
        with pytest.raises(ValueError, match="at most 60"):
            await start(manager, topic=long + "s")
    async with open_many(str(tmp_path / "elsewhere.db")) as elsewhere:
        restored, _ = await restore_debate(elsewhere, data)
        assert restored.debate.setup.team is not None
        assert restored.debate.setup.team.topic == "ss" * 30


async def test_what_cannot_be_chosen_is_refused_with_what_to_do() -> None:
    async with open_many() as manager:
        for team, message in (
            ({"size": 3}, "there are 2 debaters: leave the size out"),
            ({"candidates": ["caller", *NAMES]}, "caller cannot be drawn"),
            ({"candidates": ["nobody/nothing", *NAMES]}, "nobody/nothing"),
        ):
            with pytest.raises(InvalidRequestError, match=message):
                await start(manager, **team)
        with pytest.raises(InvalidRequestError, match="pass the candidates in one of them"):
            await start_debate(manager, models=["mine"], options={"team": {"candidates": list(NAMES)}})
        with pytest.raises(InvalidRequestError, match="without framing there are 2 debaters"):
            await start_debate(manager, options={"team": {"candidates": list(NAMES), "size": 3}})
        seated = [{"name": name, "stance": name, "model": "mine"} for name in ("Ada", "Ben")]
        options = {"team": {"candidates": list(NAMES)}, "judges": {"models": ["mine"]}}
        with pytest.raises(InvalidRequestError, match="every seat has a model"):
            await start_debate(manager, debaters=seated, options=options)
        with pytest.raises(ValueError, match="must be 2 or more, or 0 for one for each debater"):
            await start(manager, size=1)
        assert (await start(manager, size=0)).debate.setup.team == (await start(manager)).debate.setup.team


async def test_a_fork_keeps_the_team_but_for_those_whom_it_names() -> None:
    async with open_many() as manager:
        ended = await run_debate(manager, debaters=DEBATERS, options={"team": {"candidates": list(NAMES)}})
        changes = ChangesInput.model_validate({"judges": {"models": ["mine"]}})
        forked = await manager.fork(ended.id, 1, changes, actor="test")
        team = build_state(forked)["team"]
        assert (team["chosen"], team["judges"]) == (list_seats(ended), [])
        assert "to judge" not in team["reason"]
        same = await manager.fork(ended.id, 1, ChangesInput(), actor="test")
        assert same.debate.setup.team == ended.debate.setup.team
        other = await manager.fork(ended.id, 1, ChangesInput(models={"Ada": "mine"}), actor="test")
        assert other.debate.setup.team is None
        for fork in (forked, same, other):
            check_opened(fork.debate.setup)


@pytest.mark.parametrize("is_framed", [True, False])
async def test_a_mirror_can_be_restored_whoever_sits_there_by_then(*, is_framed: bool) -> None:
    team = {"candidates": list(NAMES)} | ({"size": 3} if is_framed else {})
    async with open_many() as manager:
        snapshot = await start_debate(
            manager,
            debaters=[] if is_framed else DEBATERS,
            options={"team": team, "framing": is_framed, "mirror": "on"},
        )
        snapshot = await manager.step(snapshot.id, wait=PATIENCE)
        first = snapshot.debate.setup.debaters[0].name
        replace = InterventionRequest(to=first, model="mine")
        await manager.intervene(snapshot.id, "replace_model", replace, actor="test")
        manager.run_to_end(await manager.load(snapshot.id))
        ended = await manager.follow(snapshot.id, wait=PATIENCE)
        assert ended.debate.mirror_opened is not None
        mirror = await manager.load(ended.debate.mirror_opened.debate_id)
        assert "mine" in list_seats(mirror)
        assert build_state(mirror)["team"] == {}
        data = json.loads(json.dumps(await export_debate(manager, mirror.id)))
    async with open_many() as elsewhere:
        restored, _ = await restore_debate(elsewhere, data)
        assert restored.debate == mirror.debate


async def test_a_file_in_which_a_choice_does_not_fit_is_refused() -> None:
    async with open_many() as manager:
        await teach(manager, 30)
        setup = (await start(manager)).debate.setup
        framed = (
            await start_debate(manager, options={"framing": True, "team": {"candidates": list(NAMES)}})
        ).debate.setup
    check_opened(setup)
    check_opened(framed)
    team = setup.team
    assert team is not None
    first, *others = team.candidates
    for wrong in (
        {"chosen": ("other/one", team.chosen[1])},
        {"chosen": (team.chosen[0], team.chosen[0])},
        {"gains": team.gains[:1]},
        {"judge_gains": ()},
        {"topic": "Law"},
        {"candidates": (first, first, *others)},
        {"candidates": (first.model_copy(update={"draw": ""}), *others)},
    ):
        with pytest.raises(InvalidRequestError, match="team: "):
            check_opened(setup.model_copy(update={"team": team.model_copy(update=wrong)}))
    other = framed.team and framed.team.model_copy(update={"chosen": framed.team.chosen[::-1]})
    with pytest.raises(InvalidRequestError, match="team: the positions are not given to those chosen"):
        check_opened(framed.model_copy(update={"team": other}))
