"""`python -m docs.screenshots.view`: the pictures of `counterpoint view`, with a challenge being written."""

import tempfile
from pathlib import Path

import anyio
from playwright.async_api import Page, async_playwright

from docs.screenshots.make import DESK, IMAGES, fork_debate, run_debate
from docs.screenshots.written import build_models, read_script
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.engine.debates import DebateManager
from server.settings import Settings
from server.web.site.serving import Site, open_port

QUESTION = "Should a team of six put all its services into one repository?"


async def begin_debate(manager: DebateManager) -> str:
    """A debate of which one round has been run."""
    script = read_script()
    fields = {name: script[name] for name in ("question", "documents", "debaters")}
    options = {"ballots": "rounds", "judges": {"models": ["cedar-pro"]}, "stop": "off", "seed": 5}
    request = DebateRequest.model_validate({**fields, "max_rounds": 3, "options": options})
    snapshot = await manager.start(request, actor="you")
    await manager.step(snapshot.id, wait=60)
    return snapshot.id


async def take_pictures(page: Page, site: Site, debate_id: str) -> None:
    await page.goto(site.build_address())
    await page.get_by_text("live", exact=True).wait_for()
    await page.screenshot(path=IMAGES / "view-list.png", clip={"x": 0, "y": 0, "width": 1180, "height": 640})
    await page.get_by_role("button", name="Ask a question").click()
    await page.get_by_label("Question", exact=True).fill(QUESTION)
    await page.get_by_text("Estimate:").wait_for()
    await page.locator(".ask").screenshot(path=IMAGES / "view-ask.png")
    await page.goto(site.build_address(debate_id))
    await page.get_by_text("live", exact=True).wait_for()
    await page.wait_for_selector("html[data-chain=intact]", state="attached")
    await page.get_by_role("button", name="Challenge", exact=True).click()
    await page.get_by_role("textbox").fill("What would the split cost if it were given up half-way?")
    await page.screenshot(path=IMAGES / "view-debate.png")


async def main() -> None:
    script = read_script()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "debates.db"))
        async with (
            open_manager(settings, build_models(script, 20), environ={}) as manager,
            async_playwright() as playwright,
        ):
            ended = await run_debate(manager, script)
            await fork_debate(manager, ended, script, script["forks"][0])
            debate_id = await begin_debate(manager)
            browser = await playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox"]
            )
            page = await browser.new_page(viewport=DESK, color_scheme="light", reduced_motion="reduce")  # type: ignore[arg-type]
            with open_port(0) as listener:
                site = Site(manager, listener, actor="page")
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(site.serve)
                    await take_pictures(page, site, debate_id)
                    await browser.close()
                    site.stop()


if __name__ == "__main__":
    anyio.run(main)
