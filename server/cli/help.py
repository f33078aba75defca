"""Help in the order in which a newcomer reads it: what is used every day first, the rest in groups below."""

from collections.abc import Mapping
from difflib import get_close_matches

import click

from server.debate.seats.registry import SEATS

EVERY_DAY = "Every day"

COMMANDS: Mapping[str, tuple[str, ...]] = {
    EVERY_DAY: ("debate", "show", "list", "watch", "view", "install", "keys", "doctor"),
    "Debates": ("intervene", "fork", "compare", "recall", "tag", "export", "import", "delete"),
    "Trust": ("ledger", "evaluate", "receipt", "verify", "adopt"),
    "What is set up here": ("demo", "models", "cache", "uninstall", "completion"),
    "Servers and databases": ("serve", "token", "db", "backup"),
}
"""By heading; every other command stands under the last one."""

DEBATE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    EVERY_DAY: (
        *("models", "document", "my_answer", "effort", "debaters", "format", "max_cost_usd", "continue_id"),
        *("as_json", "quiet"),
    ),
    "Who takes part": (
        *("judge_models", "judges", "instructions", "candidates", "topic", "diversity", "team_size", "moderator"),
        *("tools", *(seat.name for seat in SEATS), "fallback_models", "quorum"),
    ),
    "How it goes": (
        *("rounds", "phases", "speaking", "no_framing", "claims", "challenges", "voting", "mirror", "baseline"),
        *("memory", "cache", "pause_when", "output_schema", "seed", "thinking"),
    ),
    "Limits": (
        *("max_calls", "max_turns", "max_seconds", "turn_timeout", "round_timeout", "thinking_tokens", "on_budget"),
        *("chaos", "help"),
    ),
}  # fmt: skip
"""By heading and parameter; every other option stands under the last one."""


def write_groups(
    formatter: click.HelpFormatter, rows: Mapping[str, tuple[str, str]], groups: Mapping[str, tuple[str, ...]]
) -> None:
    """Write rows of help, by name, under the headings of their groups."""
    known = {name for names in groups.values() for name in names}
    last = [*groups][-1]
    for heading, names in groups.items():
        others = [name for name in rows if name not in known] if heading == last else []
        if found := [rows[name] for name in (*names, *others) if name in rows]:
            with formatter.section(heading):
                formatter.write_dl(found)


class QuestionCommand(click.Command):
    """A command that takes a question, and lists its options in groups."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if "unexpected extra argument" in error.message:
                advice = (
                    "Put the question between quotation marks, and repeat an option for each of its values."
                )
                ctx.fail(f"{error.message}. {advice}")
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {
            option.name or "": row
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and (row := option.get_help_record(ctx)) is not None
        }
        write_groups(formatter, rows, DEBATE_OPTIONS)


class QuestionGroup(click.Group):
    """The commands in groups. A question in place of a command is debated."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 6 - max(map(len, self.commands))
        rows = {name: (name, command.get_short_help_str(room)) for name, command in self.commands.items()}
        write_groups(formatter, rows, COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name == "help":  # as with git: `counterpoint help debate`
            args = [*(word for word in args[1:2] if word in self.commands), "--help"]
            if args == ["--help"]:
                click.echo(ctx.get_help())
                ctx.exit()
        elif name not in self.commands and is_question(name):
            args = ["debate", *args]
        elif name not in self.commands and not name.startswith("-"):
            near = get_close_matches(name, self.commands, 1)
            if not name.strip():
                ctx.fail("The question is empty.")
            hint = (
                f" Did you mean {near[0]}?" if near else f' To ask it as a question: counterpoint "{name} …?"'
            )
            ctx.fail(f"No such command: {name}.{hint}")
        return super().resolve_command(ctx, args)


def is_question(text: str) -> bool:
    """Whether an argument in place of a command is a question: several words, or one with a question mark."""
    return len(text.split()) > 1 or text.rstrip().endswith(("?", "\uff1f", "\u061f"))
