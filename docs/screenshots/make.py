"""`python -m docs.screenshots.make`: the pictures of the documentation, of pages that the product wrote.

It runs the debate of checkout.json and forks of it, writes them as one page, and takes pictures of that with Chromium;
and of the page of the second opinion that `counterpoint demo` replays. Give a path to write the page, and no pictures.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

from docs.screenshots.written import build_models, read_script
from server.cli.debates.demo import read_recording
from server.compose import open_manager
from server.debate.commands.requests import ChangesInput, DebateRequest
from server.debate.interventions.action import InterventionRequest
from server.engine.debates import DebateManager
from server.engine.queries import build_source
from server.settings import Settings
from server.web.page import build_page
from server.web.record import build_data, build_debate, load_family_data

IMAGES = Path(__file__).parents[1] / "images"
DESK, PHONE = {"width": 1180, "height": 860}, {"width": 390, "height": 844}
ANSWER = {"width": 1180, "height": 1340}


async def run_debate(manager: DebateManager, script: dict[str, Any]) -> str:
    """The debate of a script, with the note of a person in between. Returns its id."""
    judges = {"models": [judge["model"] for judge in script["judges"].values()]}
    fields = {name: script[name] for name in ("question", "documents", "debaters")}
    options = {"ballots": "rounds", "judges": judges, "stop": "off", "seed": 3}
    request = DebateRequest.model_validate({**fields, "max_rounds": 3, "options": options})
    snapshot = await manager.start(request, actor="you")
    note = script["note"]
    for _ in range(note["after_round"]):
        await manager.step(snapshot.id, wait=60)
    added = InterventionRequest(text=note["text"], reason=note["reason"])
    await manager.intervene(snapshot.id, "inject", added, actor="you")
    while not (snapshot := await manager.step(snapshot.id, wait=60)).debate.ended:
        pass
    return snapshot.id


async def fork_debate(
    manager: DebateManager, debate_id: str, script: dict[str, Any], fork: dict[str, Any]
) -> None:
    """A fork with other models, and with the findings that the script has for it."""
    script["judges"] = fork["judges"]
    changes = ChangesInput.model_validate({**fork["changes"], "run": True})
    snapshot = await manager.fork(debate_id, fork["at_round"], changes, actor="you")
    snapshot = await manager.follow(snapshot.id, wait=60)
    assert snapshot.debate.ended, snapshot.status


async def build_showcase(folder: Path, haste: float = 1.0) -> str:
    """The page of the debate with its forks, as HTML. `haste`: how many times faster than models its turns come."""
    script = read_script()
    settings = Settings(db=str(folder / "debates.db"))
    async with open_manager(settings, build_models(script, haste), environ={}) as manager:
        debate_id = await run_debate(manager, script)
        for fork in script["forks"]:
            await fork_debate(manager, debate_id, script, fork)
        return build_page(await load_family_data(manager, debate_id))


def build_answer() -> str:
    """The page of a second opinion: of the debate that the demo replays."""
    recording = read_recording()
    source = build_source(recording.snapshot, frozenset())
    return build_page(build_data([build_debate(source, recording.entries)]))


def take_pictures(path: Path, answer_path: Path) -> None:
    from playwright.sync_api import Page, sync_playwright  # noqa: PLC0415  (to write the page needs none)

    def take(page: Page, name: str, **options: Any) -> None:
        page.evaluate("document.fonts.ready")
        page.screenshot(path=IMAGES / f"{name}.png", **options)

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=DESK, color_scheme="light", reduced_motion="reduce")  # type: ignore[arg-type]
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-chain=intact]", state="attached")
        take(page, "page-finding")
        page.locator("summary", has_text="Everything else").click()
        page.mouse.move(0, 0)  # over a point of the map, all others would be pale
        for part in ("#sure", "#map .map", "#time", "#forks"):
            name = part.split()[0].removeprefix("#")
            page.locator(part).screenshot(path=IMAGES / f"page-{name}.png")
        page.locator("summary", has_text="Everything else").click()
        page.evaluate("scrollTo(0, 0)")
        page.emulate_media(color_scheme="dark")
        take(page, "page-dark")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="light")
        take(page, "page-phone")
        take_answer(page, answer_path)
        browser.close()


def take_answer(page: Any, path: Path) -> None:
    page.set_viewport_size(ANSWER)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-chain=intact]", state="attached")
    page.screenshot(path=IMAGES / "page-answer.png")


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as found:
        path = Path(arguments[0]) if arguments else Path(found) / "debate.html"
        path.write_text(anyio.run(build_showcase, Path(found)), encoding="utf-8")
        if not arguments:
            answer_path = Path(found) / "answer.html"
            answer_path.write_text(build_answer(), encoding="utf-8")
            take_pictures(path, answer_path)


if __name__ == "__main__":
    main(sys.argv[1:])
