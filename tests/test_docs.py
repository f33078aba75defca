"""The documentation says what is true: made from the code where it can be, held to it where it cannot."""

import re
import tomllib
from pathlib import Path

import pytest

from docs.generate import BLOCKS, DOCS, replace_block
from server.cli.main import counterpoint
from server.debate.commands.formats import FORMATS
from server.settings import Settings
from server.tools import build_all_tools
from tests.support.paths import ROOT

pytestmark = pytest.mark.requirement("M7", "M8")

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BLOCKS)
def test_what_is_made_from_the_code_is_up_to_date(name: str) -> None:
    page, make = BLOCKS[name]
    text = (DOCS / page).read_text(encoding="utf-8")

    assert text == replace_block(text, name, make()), "run `python -m docs.generate`"


@pytest.mark.parametrize("name", ["demo", "tests"])
def test_the_commands_of_the_readme_are_those_that_are_run(name: str) -> None:
    command = (ROOT / "docs" / "commands" / f"{name}.sh").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert f"<!-- command: {name} -->\n```sh\n{command}```" in README
    assert f"docs/commands/{name}.sh" in ci


def test_every_tool_is_in_the_readme() -> None:
    assert re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE) == [tool.name for tool in build_all_tools()]


def test_every_format_and_setting_has_a_page() -> None:
    assert all(f"`{name}`" in (DOCS / "debates.md").read_text(encoding="utf-8") for name in FORMATS)
    assert all(field.description for field in Settings.model_fields.values())


def test_every_command_has_help_with_an_example() -> None:
    for name, command in counterpoint.commands.items():
        assert "Example" in f"{command.help}{command.epilog}" or hasattr(command, "commands"), name


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_changelog_knows_the_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert f"## [{version}]" in changelog or "## [Unreleased]" in changelog


def test_the_layout_is_the_agreed_one() -> None:
    for path in ("pyproject.toml", "README.md", "server/tools", "server/debate", "storage", "tests"):
        assert (ROOT / path).exists()
