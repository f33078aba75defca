"""Views of a debate, in pages short enough for clients to show in full."""

from server.debate.facts.errors import InvalidRequestError
from server.debate.views.catalog import View, ViewSource
from server.engine.debates import DebateManager
from server.tools.fitting import count_json, cut_to_escaped
from server.tools.results import ViewResult, describe_debate

PAGE_LIMIT = 40_000
"""Characters of a page, as JSON with everything but ASCII escaped: clients hide results above 50,000."""

MARGIN = 200  # characters for the call of the next page


async def build_page(manager: DebateManager, source: ViewSource, view: View, offset: int) -> ViewResult:
    """A page of a view from the character at `offset` on: data if the view is data and fits on one page, else text.

    Raises InvalidRequestError if the view ends before `offset`.
    """
    empty = ViewResult(
        **await describe_debate(manager, source, "read_debate"),
        view=view.name,
        text="",
        data={},
        next_offset=0,
    )
    if view.render is None and not offset:
        data = view.build(source)
        result = empty.model_copy(update={"data": data})
        if "since_seq" in view.parameters and data["more"]:
            next_call = (
                f"read_debate(debate_id='{source.id}', view='{view.name}', since_seq={data['next_seq']})"
            )
            result = result.model_copy(update={"next": f"Next: {next_call}."})
        if count_json(result) < PAGE_LIMIT:
            return result
    text_of_view = view.render_text(source)
    if offset >= max(len(text_of_view), 1):
        raise InvalidRequestError(
            f"offset={offset} is beyond the end: there are {len(text_of_view):,} characters. Begin at 0."
        )
    text = cut_to_escaped(text_of_view[offset:], PAGE_LIMIT - count_json(empty) - MARGIN)
    end = offset + len(text)
    if end == len(text_of_view):
        return empty.model_copy(update={"text": text})
    arguments = [f"debate_id='{source.id}'", f"view='{view.name}'"]
    arguments += [f"since_round={source.since_round}"] if source.since_round else []
    arguments += [f"round={source.round}"] if source.round else []
    arguments += [f"seat={source.seat!r}"] if source.seat else []
    return empty.model_copy(
        update={
            "text": text,
            "next_offset": end,
            "left_out": [f"{end:,} of {len(text_of_view):,} characters so far."],
            "next": f"Next: read_debate({', '.join(arguments)}, offset={end}).",
        }
    )
