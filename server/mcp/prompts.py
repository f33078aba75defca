"""Prompts: commands of the client with which a person starts a debate, or resumes one.

A filled prompt is a message of the person to the assistant. It names the tools to call, says what to pass to
them, and what the person wants to hear at the end.
"""

from collections.abc import Mapping

from mcp import MCPError, types

from server.debate.facts.errors import DebateError
from server.debate.facts.quoting import quote_inline
from server.debate.facts.text import remove_invisible
from server.debate.views.catalog import VIEWS
from server.debate.views.provenance import describe_provenance
from server.engine.queries import find_debate_id, load_view_source
from server.mcp.late_manager import RequestContext
from server.redaction import redact
from server.tools.debates import parse_debate_id

MAX_SHOWN = 200  # characters of a name or a question in a message or a prompt

WHOLE = "(If this is only its first word, your client cut it there: then it is all that I wrote after the command.)"

FOLLOW = (
    "A call returns before the debate has ended when its time is up: as long as the status is not concluded or "
    "truncated, make the call that `next` names."
)

REPORT = (
    "Then tell me in a few sentences what was found, how sure it is and by what (how many judges and private ballots, "
    "of how many models), and the strongest point against it. Name every caution of the result. Say where you "
    "would have answered otherwise, and whether the debate gives a reason to change that. Do not make the finding "
    "surer than the result says it is."
)

SECOND_OPINION = """\
I want a second opinion on this question, from models that answer it independently and check each other's answers:

{question}

{whole} Write down first what you were about to answer. Then call start_debate with the whole question, run=true and \
your answer, whole, as `my_answer`: it is checked with the others, and the result says first whether it \
stands and what is wrong in it. Write the question so that somebody who has not read our conversation can answer it, \
without a hint at the answer that you or I prefer; what they need to know and cannot know goes into `documents`. Leave \
`debaters` empty. {follow}

Then tell me whether your answer stands and what was wrong in it, what to do and why, and what would change it, in \
the words of the result, and how sure it is and by what. Do not make it surer than the result says it is. Say where \
you would still answer otherwise, and why."""

RED_TEAM = """\
I want to know how this plan can fail, before it does:

{plan}

{whole} Call start_debate with format="verdict", run=true, the plan (in full, with what is known of its surroundings) \
as a document, the question "Should this plan be carried out as it stands?", and two debaters: one whose stance is \
"No: as it stands it will fail, in ways that its author has not provided for", and one whose stance is "Yes: it \
holds, and what can go wrong is provided for". {follow} Then read what was said with read_debate.

{report} List the ways of failing that were named, the gravest first: for each, whether it was answered, how it would \
be noticed early, and what would have to change in the plan."""

DECIDE = """\
Help me to decide between these options:

{options}

{whole} Call start_debate with run=true and one debater for each option, its stance being that this option should be \
chosen, and why in a sentence; do not leave an option out, and do not add one. What is known of my situation \
goes into `documents`. {follow}

{report} Say what the decision hangs on, and which fact, if I found it out, would change it."""

RESUME = """\
Take up the debate {debate_id} again. Its question is {question}, its status {status}. {recorded}\
Call get_verdict with debate_id="{debate_id}", and make the call that `next` names until the \
debate is concluded: step_round runs a round of it, and submit_turn is for turns that wait for you (their prompts \
stand in the result). If it is paused, tell me the reason before you resume it with intervene.

{report}"""


def build_prompt(name: str, title: str, description: str, argument: str, meaning: str) -> types.Prompt:
    arguments = [types.PromptArgument(name=argument, description=meaning, required=True)]
    return types.Prompt(name=name, title=title, description=description, arguments=arguments)


PROMPTS = [
    build_prompt(
        "second_opinion",
        "Second opinion",
        "Have your next answer checked by models that answer independently and check each other.",
        "question",
        "The question, whole",
    ),
    build_prompt(
        "red_team",
        "Red team",
        "Have a plan attacked and defended, and hear how it can fail and what to change in it.",
        "plan",
        "The plan, or where it stands",
    ),
    build_prompt(
        "decide",
        "Decide",
        "Have options defended against each other, and hear what the decision hangs on.",
        "options",
        "The options, with what is to be decided",
    ),
    build_prompt(
        "resume",
        "Resume a debate",
        "Take up a debate again where it stands, and hear its verdict.",
        "debate_id",
        "The id of the debate, or its beginning",
    ),
]

TEXTS = {"second_opinion": SECOND_OPINION, "red_team": RED_TEAM, "decide": DECIDE, "resume": RESUME}


async def list_prompts(_context: RequestContext, _params: object) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=PROMPTS)


async def get_prompt(context: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Fill a prompt. Raises MCPError for an unknown prompt or debate, and for a missing or unknown argument."""
    prompt = next((prompt for prompt in PROMPTS if prompt.name == params.name), None)
    if prompt is None:
        names = ", ".join(row.name for row in PROMPTS)
        raise refuse(f"There is no prompt {quote_inline(params.name, MAX_SHOWN)}: there are {names}.")
    values = read_arguments(prompt, params.arguments or {})
    if prompt.name == "resume":
        values |= await describe_debate(context, values["debate_id"])
    text = TEXTS[prompt.name].format(**values, whole=WHOLE, follow=FOLLOW, report=REPORT)
    message = types.PromptMessage(role="user", content=types.TextContent(text=redact(text)))
    return types.GetPromptResult(description=prompt.description, messages=[message])


def read_arguments(prompt: types.Prompt, arguments: Mapping[str, str]) -> dict[str, str]:
    names = [argument.name for argument in prompt.arguments or []]
    values = {name: remove_invisible(text).strip() for name, text in arguments.items()}
    for name in [*(name for name in names if not values.get(name)), *(set(values) - {*names})]:
        problem = "is missing" if name in names else "is not one of its arguments"
        raise refuse(
            f"{prompt.name}: {quote_inline(name, MAX_SHOWN)} {problem}. It takes {', '.join(names)}."
        )
    return values


async def describe_debate(context: RequestContext, typed: str) -> dict[str, str]:
    """The full id, the question and the status of a debate, and who recorded it. `typed`: its id or a prefix."""
    manager = await context.lifespan_context.get()
    try:
        await manager.presence.reopen_if_told()
        debate_id = await find_debate_id(manager, parse_debate_id(typed))
        source = await load_view_source(manager, debate_id, VIEWS["state"])
    except DebateError as error:
        manager.presence.acknowledge(error)
        raise refuse(str(error)) from error
    question = quote_inline(source.debate.setup.question, MAX_SHOWN)
    provenance = describe_provenance(source.provenance, len(source.entries))
    recorded = f"{provenance} " if provenance else ""
    return {"debate_id": debate_id, "question": question, "status": source.status, "recorded": recorded}


def refuse(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, redact(remove_invisible(message)))
