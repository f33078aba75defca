"""The documentation matches the code: generated where possible, checked where not."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.generate import BLOCKS, DOCS, read_field_docstrings, render_listed_tools, replace_block
from docs.site import CONFIG
from server.cli.main import counterpoint
from server.debate.commands.setup.formats import FORMATS
from server.debate.interventions.registry import ACTIONS
from server.debate.seats.registry import SEAT_KINDS, SEATS
from server.debate.votes.consensus import RULES
from server.settings import ResearchServer, Settings
from server.tools.listing import LISTED_FILE
from tests.support.paths import ROOT

pytestmark = pytest.mark.requirement("M7", "M8")

README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CODE = (DOCS / "code.md").read_text(encoding="utf-8")
SOURCES = ("counterpoint", "server", "storage", "tests/support")


@pytest.mark.full
@pytest.mark.parametrize("name", BLOCKS)
def test_generated_parts_of_the_documentation_are_up_to_date(name: str) -> None:
    page, make = BLOCKS[name]
    text = (DOCS / page).read_text(encoding="utf-8")

    assert text == replace_block(text, name, make()), "run `python -m docs.generate`"


def test_clients_are_shown_the_tools_that_the_code_has() -> None:
    text = LISTED_FILE.read_text(encoding="utf-8")

    assert text == render_listed_tools(), "run `python -m docs.generate`"


@pytest.mark.full
def test_every_name_in_the_architecture_exists_in_the_code() -> None:
    text = re.sub(r"```.*?```|<!-- (\S+) -->.*?<!-- /\1 -->", "", ARCHITECTURE, flags=re.DOTALL)
    sources = [
        *(ROOT / "docs").glob("*.py"),
        *(path for top in SOURCES for path in (ROOT / top).rglob("*.py")),
    ]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    names = {name.removesuffix("()") for name in re.findall(r"`([^`\s]+)`", text)}
    paths = {name for name in names if "/" in name or name.endswith(".md")} - {"server/tools/NAME.py"}

    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    words = {word for name in names - paths for word in re.findall(r"\w+", name)} - {"NAME"}
    assert sorted(words - {*re.findall(r"\w+", code)}) == []


@pytest.mark.full  # it holds the debate
def test_the_debate_of_the_architecture_is_what_a_debate_records(tmp_path: Path) -> None:
    command = re.search(r'`counterpoint (debate "[^`]+)`', ARCHITECTURE)
    rows = re.findall(r"^\| ([\d, ]+) \| `(\w+)` \| ?(\d*) \| ?(\d*) \|", ARCHITECTURE, re.MULTILINE)
    assert command
    shown = [(seq, kind, at, seen) for seqs, kind, at, seen in rows for seq in seqs.split(", ")]
    database = ["--db", str(tmp_path / "debates.db")]

    assert CliRunner().invoke(counterpoint, [*database, *shlex.split(command[1])]).exit_code == 0
    events = json.loads(CliRunner().invoke(counterpoint, [*database, "show", "--view", "events"]).output)
    recorded = [
        tuple(str(event.get(field, "")) for field in ("seq", "kind", "round", "seen"))
        for event in events["events"]
    ]
    assert shown == recorded


def test_every_event_has_a_meaning_in_the_catalogue() -> None:
    entries = re.findall(r"^- \*\*`(\w+)`\*\*(.*)$", CODE, re.MULTILINE)

    assert len(entries) > 20
    assert [kind for kind, meaning in entries if not meaning] == []


@pytest.mark.parametrize("name", ["demo", "tests"])
def test_the_commands_of_the_readme_are_run_by_ci(name: str) -> None:
    command = (ROOT / "docs" / "commands" / f"{name}.sh").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert f"<!-- command: {name} -->\n```sh\n{command}```" in README
    assert f"docs/commands/{name}.sh" in ci


def test_every_format_and_setting_has_a_page() -> None:
    assert all(f"`{name}`" in (DOCS / "debates.md").read_text(encoding="utf-8") for name in FORMATS)
    assert list(read_field_docstrings(Settings)) == list(Settings.model_fields)
    assert list(read_field_docstrings(ResearchServer)) == list(ResearchServer.model_fields)


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("seats.md", [f"\n## {seat.title}\n" for seat in SEATS]),
        ("visibility.md", [f"`{kind}`" for kind in SEAT_KINDS]),
        ("steering.md", [f"`{action}`" for action in ACTIONS]),
        ("verdicts.md", [f"\n| `{rule}`" for rule in RULES]),
    ],
)
def test_each_seat_action_and_rule_has_its_place_on_the_page_about_them(page: str, texts: list[str]) -> None:
    assert [text for text in texts if text not in (DOCS / page).read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda path: path.name)
def test_links_resolve(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda path: path.name)
def test_links_to_a_heading_find_it(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))

    assert [
        link for link in links if link[1] not in list_anchors((page.parent / link[0]) if link[0] else page)
    ] == []


def list_anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\s-]", "", re.sub(r"\]\(.*?\)", "", heading)).lower().strip().replace(" ", "-")
        for heading in headings
    }


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = CONFIG.read_text(encoding="utf-8")

    missing = [page.name for page in DOCS.glob("*.md") if f'"{page.name}"' not in navigation]
    assert missing == [], "name them in `nav` of docs/zensical.toml"


def test_the_changelog_has_a_section_for_the_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert f"## [{version}]" in changelog or "## [Unreleased]" in changelog
