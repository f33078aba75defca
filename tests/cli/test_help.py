"""Help as a newcomer reads it, and what somebody types who has not read it."""

import re
from collections.abc import Iterator

import click
import pytest

from server.cli.main import counterpoint
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N28")


def test_help_begins_with_eight_everyday_commands_and_lists_each_once(cli: Cli) -> None:
    told = cli("-h").stdout
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", told, re.MULTILINE)
    assert listed[:8] == ["debate", "show", "list", "watch", "view", "install", "keys", "doctor"]
    assert len(listed) == len({*listed}) > len(listed[:8])
    assert not [line for line in told.splitlines()[1:] if line.endswith("...")]  # cut


def list_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from list_commands(command, (*path, name))


@pytest.mark.requirement("M5")
def test_every_command_has_help_with_an_example_of_which_no_line_is_cut_or_too_long(cli: Cli) -> None:
    for path in ((), *list_commands(counterpoint)):
        told = cli(*path, "--help")
        assert told.exit_code == 0
        assert re.search(rf"Examples?:\s+{' '.join(('counterpoint', *path))}\b", told.stdout), path
        _, *lines = told.stdout.splitlines()
        assert [line for line in lines if len(line) > 80 or line.endswith("...")] == [], path


def test_a_question_without_quotation_marks_is_told_that_they_are_missing(cli: Cli) -> None:
    refused = cli("debate", "Tabs", "or", "spaces?")
    assert refused.exit_code == 2
    assert "(or spaces?). Put the question between quotation marks, and " in refused.stderr


def test_help_of_a_debate_begins_with_common_options_and_lists_each_once(cli: Cli) -> None:
    told = cli("debate", "--help").stdout
    listed = re.findall(r"^  (?:-h, )?(--[a-z-]+)", told, re.MULTILINE)
    assert listed[:4] == ["--model", "--document", "--my-answer", "--effort"]
    assert len(listed) == len({*listed})
    assert {"--chaos", "--help", "--quorum", "--observer"} <= {*listed}
    assert told.count("[QUESTION]") == 1  # in the usage, and not among the options


def test_a_question_in_place_of_a_command_is_debated(cli: Cli) -> None:
    assert (
        "Begin small with it: Tabs or spaces"
        in cli("Tabs or spaces", "--model", "scripted", "--quiet").stdout
    )
    assert "Begin small with it: Rust?" in cli("Rust?", "--model", "scripted", "--quiet").stdout


def test_the_word_help_is_the_option(cli: Cli) -> None:
    assert cli("help").stdout == cli("--help").stdout
    assert cli("help", "show").stdout == cli("show", "--help").stdout
    assert cli("help", "nonsense").stdout == cli("--help").stdout


@pytest.mark.parametrize("typed", ["", "  "])
def test_an_empty_question_is_no_command(cli: Cli, typed: str) -> None:
    assert cli(typed).stderr == "Error: The question is empty. See: counterpoint --help\n"


@pytest.mark.parametrize(("typed", "command"), [("--bogus", "counterpoint"), ("list", "counterpoint list")])
def test_an_option_that_is_none_is_told_in_one_line(cli: Cli, typed: str, command: str) -> None:
    refused = cli(typed, "--bogus")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "'--bogus'" in refused.stderr
    assert refused.stderr.endswith(f" See: {command} --help\n")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("lst", "Did you mean list?"), ("tabs", 'To ask it as a question: counterpoint "tabs …?"')],
)
def test_a_word_that_is_no_command_is_refused_with_what_was_meant(cli: Cli, typed: str, hint: str) -> None:
    refused = cli(typed)
    assert refused.exit_code == 2
    assert refused.stderr == f"Error: No such command: {typed}. {hint} See: counterpoint --help\n"
