"""The documentation site: it is built whole, its recipes run, and its error texts are those of the code."""

import html
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.error_texts import complete, find_sentences, find_texts, has_words
from docs.screenshots import terminal
from docs.site import DOCS, move_links
from server.client_configs.clients import CLIENTS
from tests.support.paths import ROOT
from tests.support.processes.shells import put_on_path

pytestmark = pytest.mark.requirement("N30")

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECIPES = BLOCK.findall((DOCS / "cookbook.md").read_text(encoding="utf-8"))
FILES = ("requirements.md", "plan.md", "migration.sql", "my-reasons.md")
ANSWERS = "Because it is time.\n\nAnd it can be undone.\n\n"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder as the recipes have it: a repository with a change, and documents."""
    folder = tmp_path / "desk"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text("What it is about stands here.\n", encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in ("init -q -b main", "add plan.md", "commit -q -m begin"):
        subprocess.run([*git, *command.split()], cwd=folder, check=True)
    (folder / "plan.md").write_text("Another plan.\n", encoding="utf-8")
    return folder


@pytest.mark.full
def test_every_recipe_of_the_cookbook_runs_as_it_is_written(desk: Path, tmp_path: Path) -> None:
    environment = os.environ | {
        "COUNTERPOINT_DB": str(desk / "debates.db"),
        "COUNTERPOINT_MODELS": "scripted",
    }
    (tmp_path / "python").symlink_to(sys.executable)

    def run(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=desk,
            env=environment,
            input=ANSWERS * 3,
            capture_output=True,
            text=True,
            check=False,
        )

    assert len(RECIPES) == 9
    with put_on_path(tmp_path) as environment["PATH"]:
        for recipe in RECIPES:
            debate_id = ""
            if re.search(r"\bID\b", recipe):
                listed = json.loads(run("counterpoint list --limit 1 --json").stdout)
                debate_id = listed["debates"][0]["debate_id"]
            done = run(re.sub(r"\bID\b", debate_id, recipe))
            assert done.returncode == 0, f"{recipe}\n{done.stderr}"


def test_commands_of_other_pages_have_options_that_there_are() -> None:
    from click.testing import CliRunner  # noqa: PLC0415

    from server.cli.main import counterpoint  # noqa: PLC0415

    helps: dict[str, str] = {}
    for page in ("start", "costs", "choosing", "local", "upgrade", "troubleshooting", "privacy", "index"):
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        lines = re.findall(r"(?:^\$ |^|`)counterpoint ([^`\n#]+)", text, re.MULTILINE)
        for line in lines:
            words = [word for word in shlex.split(line.replace("…", "")) if word]
            if words[:1] == ["--db"]:
                words = words[2:]
            if " " in words[0]:  # a bare question
                words = ["debate", *words]
            path = [word for word in words[:2] if re.fullmatch(r"[a-z]+", word)]
            command = counterpoint.commands[path[0]]
            is_group = hasattr(command, "commands")
            name = " ".join(path if is_group else path[:1])
            if name not in helps:
                helps[name] = CliRunner().invoke(counterpoint, [*name.split(), "--help"]).output
            assert helps[name].startswith("Usage"), line
            for option in (word for word in words if word.startswith("--")):
                assert option in helps[name], f"{page}: counterpoint {line}"


def test_links_to_what_the_site_does_not_have_become_text() -> None:
    text = "[a](../ARCHITECTURE.md#events) [`b`](../examples/mirror.py) [c](models.md) [d](https://x.example) [e](#x)"

    assert move_links(text, DOCS) == (
        "[a](ARCHITECTURE.md#events) `b` [c](models.md) [d](https://x.example) [e](#x)"
    )
    assert move_links("[c](docs/models.md)", ROOT) == "[c](models.md)"


@pytest.mark.full
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.site", "--output", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    pages = [path.parent.name for path in (tmp_path / "site").glob("*/index.html")]
    assert {"start", "cookbook", "costs", "troubleshooting"} <= {*pages}
    start = html.unescape((tmp_path / "site" / "start" / "index.html").read_text(encoding="utf-8"))
    assert [name for name in CLIENTS if f"counterpoint install {name}" not in start] == []
    own_hosts = re.findall(r'(?:src|href)="(https?://[^"]+\.(?:js|css|woff2?))"', start)
    assert own_hosts == []


@pytest.mark.full
def test_every_error_text_that_is_explained_is_one_of_the_code() -> None:
    text = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    explained = [line.strip("` ") for line, _ in re.findall(r"^(`.*`)\n(:   )", text, re.MULTILINE)]
    templates = find_texts()

    assert len(explained) > 20
    assert [one for one in explained if not any(has_words(each, one) for each in templates)] == []


def test_the_picture_of_the_terminal_is_what_the_product_prints() -> None:
    drawn = terminal.draw()

    assert terminal.IMAGE.read_text(encoding="utf-8") == drawn, "run `python -m docs.generate`"
    assert "Leaning:" in drawn
    assert not re.search(r"url\([\"']?https?:", drawn), "it loads nothing"


@pytest.mark.full
def test_error_texts_are_found_wherever_they_are_raised() -> None:
    every = find_texts()

    assert all(find_sentences().values())
    assert "There is no question. Write what is to be answered, in a sentence." in every
    assert "The settings file … cannot be read: …." in every
    assert not [text for text in every if "\n" in text]


NAMES = (
    "options.",
    "limits.",
    "changes.",
    "max_cost_usd",
    "request_id=",
    "offset=",
    "prompts:",
    "pause_when ",
)
MODELS = ("litellm ", "local: ", "scripted: ")


@pytest.mark.full
def test_every_row_of_the_error_texts_is_a_sentence_with_what_helps() -> None:
    every = find_texts()
    assert [t for t in every if re.match("[a-z]", t) and not t.startswith(NAMES + MODELS)] == []
    assert [text for text in every if text[-1].isalnum()] == []

    framed = complete("server/debate/replies/votes.py", "the shares do not sum to one")
    assert framed is not None
    assert framed[1] == "The answer of … could not be used: the shares do not sum to one."
    assert framed[0] is not None
    assert "asked once more" in framed[0].help
    with pytest.raises(ValueError, match="no sentence"):
        complete("server/engine/driver.py", "the shares do not sum to one")
