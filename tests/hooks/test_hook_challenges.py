"""What a file of hooks may say: challenges with their words, and no addresses that lead inside."""

from pathlib import Path

import anyio
import pytest

from server.debate.commands.intervene import InterventionRequest
from server.hooks.config import load_hooks_config
from server.settings import InvalidSettingsError
from tests.support.hook_debates import (
    ENVIRON,
    LogLines,
    hook,
    open_manager_with_hooks,
    start_debate,
    webhook,
    write_hooks_file,
)

pytestmark = pytest.mark.requirement("D6")


@pytest.mark.anyio
async def test_a_hook_challenges_in_words_of_its_own(
    database: str, log_lines: LogLines, tmp_path: Path
) -> None:
    challenging = {"intervene": {"action": "challenge", "text": "Prove {actor}'s point.", "to": "Proponent"}}
    path = write_hooks_file(
        tmp_path,
        hook("doubt", "debate_pause", challenging),
        hook("tell", "intervention", {"log": "{action} to {to}: {text}"}, actor="hook doubt"),
    )

    async with open_manager_with_hooks(database, path) as manager:
        snapshot = await start_debate(manager)
        await manager.intervene(snapshot.id, "pause", InterventionRequest(), actor="somebody")
        with anyio.fail_after(5):
            told = await log_lines.wait_for("challenge to")

    assert told == "challenge to Proponent: Prove somebody's point."


@pytest.mark.parametrize("action", ["challenge", "inject"])
def test_what_says_something_needs_a_text(action: str, tmp_path: Path) -> None:
    path = write_hooks_file(tmp_path, hook("mute", "vote", {"intervene": {"action": action}}))

    with pytest.raises(InvalidSettingsError, match=r"intervene: a text is needed by inject"):
        load_hooks_config(str(path), ENVIRON)


@pytest.mark.parametrize("host", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]"])
def test_a_private_address_is_refused_when_the_file_is_read(host: str, tmp_path: Path) -> None:
    hooked_up = hook("inside", "vote", webhook(f"https://{host}/x"))

    with pytest.raises(InvalidSettingsError, match=r"line 1: .*webhook\.url: .* is a private address"):
        load_hooks_config(str(write_hooks_file(tmp_path, hooked_up, allow={"hosts": [host]})), ENVIRON)
    assert load_hooks_config(
        str(write_hooks_file(tmp_path, hooked_up, allow={"private": [host]})), ENVIRON
    ).hooks


def test_a_public_address_is_as_good_as_a_name(tmp_path: Path) -> None:
    path = write_hooks_file(
        tmp_path, hook("out", "vote", webhook("https://9.9.9.9/x")), allow={"hosts": ["9.9.9.9"]}
    )

    assert load_hooks_config(str(path), ENVIRON).hooks
