"""The tools, resources and prompts that the official conformance suite calls, by the names it expects.

They are added to our server (`fixture_server.py` beside this file): the suite then sees our transport, lists, pages,
subscriptions and completions, and has something to call in them.
"""

import base64
import json
from typing import Annotated, Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.server.subscriptions import SubscriptionBus
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

from tests.clients.conformance.inputs import add_inputs, ask, read_text
from tests.clients.conformance.task_fixtures import add_task_tools

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}]},
    "legacyEnum": {"type": "string", "enum": ["opt1"], "enumNames": ["Option One"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"}]}},
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def build_fixtures(updates: SubscriptionBus) -> MCPServer:
    """A server that has only the fixtures. `updates`: the bus on which changes of lists are announced."""
    fixtures = MCPServer("fixtures", subscriptions=updates)
    for add in (
        add_contents,
        add_behaviours,
        add_requests_to_the_client,
        add_changes,
        add_inputs,
        add_task_tools,
        add_resources,
        add_prompts,
    ):
        add(fixtures)
    return fixtures


def embed(uri: str, media_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=media_type, text=text))


def add_contents(fixtures: MCPServer) -> None:
    @fixtures.tool()
    def test_simple_text() -> str:
        """Return a text."""
        return "This is a simple text response for testing."

    @fixtures.tool()
    def test_image_content() -> list[ImageContent]:
        """Return a picture."""
        return [ImageContent(data=PNG, mime_type="image/png")]

    @fixtures.tool()
    def test_audio_content() -> list[AudioContent]:
        """Return a sound."""
        return [AudioContent(data=WAV, mime_type="audio/wav")]

    @fixtures.tool()
    def test_embedded_resource() -> list[EmbeddedResource]:
        """Return a resource."""
        return [embed("test://embedded-resource", "text/plain", "This is an embedded resource content.")]

    @fixtures.tool()
    def test_multiple_content_types() -> list[ContentBlock]:
        """Return a text, a picture and a resource."""
        return [
            TextContent(text="Multiple content types test:"),
            ImageContent(data=PNG, mime_type="image/png"),
            embed("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]


def add_behaviours(fixtures: MCPServer) -> None:
    @fixtures.tool()
    def test_error_handling() -> str:
        """Fail."""
        raise ToolError("This tool intentionally returns an error for testing")

    @fixtures.tool()
    async def test_tool_with_progress(context: Context[Any, Any]) -> str:
        """Report progress."""
        for share in (0, 50, 100):
            await context.report_progress(share, 100, f"Completed step {share} of 100")
        return "Done."

    @fixtures.tool()
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Hello, {name}!"

    @fixtures.tool()
    def json_schema_2020_12_tool() -> str:
        """Tool with JSON Schema 2020-12 features"""  # noqa: D400  (the suite's words)
        return "Done."

    listed = fixtures._tool_manager.get_tool("json_schema_2020_12_tool")
    assert listed is not None
    listed.parameters = SCHEMA

    @fixtures.tool()
    def test_x_mcp_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "",
    ) -> str:
        """Return an argument that is sent as a header too."""
        return f"region={region}"


def add_requests_to_the_client(fixtures: MCPServer) -> None:
    @fixtures.tool()
    async def test_sampling(prompt: str, context: Context[Any, Any]) -> str:
        """Ask the client's model."""
        message = SamplingMessage(role="user", content=TextContent(text=prompt))
        answer = await context.session.create_message([message], max_tokens=100)
        return f"LLM response: {answer.content}"

    async def elicit(context: Context[Any, Any], message: str, properties: dict[str, Any]) -> str:
        schema = {"type": "object", "properties": properties, "required": []}
        answer = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
        return f"action={answer.action}, content={json.dumps(answer.content)}"

    @fixtures.tool()
    async def test_elicitation(message: str, context: Context[Any, Any]) -> str:
        """Ask the person at the client."""
        fields = {"username": {"type": "string"}, "email": {"type": "string"}}
        return f"User response: {await elicit(context, message, fields)}"

    @fixtures.tool()
    async def test_elicitation_sep1034_defaults(context: Context[Any, Any]) -> str:
        """Ask with values filled in."""
        return f"Elicitation completed: {await elicit(context, 'Check these', DEFAULTS)}"

    @fixtures.tool()
    async def test_elicitation_sep1330_enums(context: Context[Any, Any]) -> str:
        """Ask for choices."""
        return f"Elicitation completed: {await elicit(context, 'Choose', ENUMS)}"

    @fixtures.tool()
    def test_missing_capability(context: Context[Any, Any]) -> str:
        """Need a client that offers sampling."""
        if not context.client_capabilities or context.client_capabilities.sampling is None:
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs sampling", needed)
        return "Done."


def add_changes(fixtures: MCPServer) -> None:
    @fixtures.tool()
    async def test_trigger_tool_change(context: Context[Any, Any]) -> str:
        """Announce that the list of tools has changed."""
        await context.notify_tools_changed()
        return "Done."

    @fixtures.tool()
    async def test_trigger_prompt_change(context: Context[Any, Any]) -> str:
        """Announce that the list of prompts has changed."""
        await context.notify_prompts_changed()
        return "Done."

    @fixtures.tool()
    async def test_logging_tool() -> str:
        """Log nothing: our server has no logging."""
        return "Done."


def add_resources(fixtures: MCPServer) -> None:
    @fixtures.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @fixtures.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @fixtures.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        return "Watched resource content."

    @fixtures.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:  # noqa: A002  (the suite's name)
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_prompts(fixtures: MCPServer) -> None:
    @fixtures.prompt()
    def test_simple_prompt() -> list[Message]:
        """Say something."""
        return [UserMessage(TextContent(text="This is a simple prompt for testing."))]

    @fixtures.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[Message]:
        """Say what was given."""
        return [UserMessage(TextContent(text=f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]

    @fixtures.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803  (the suite's name)
        """Say something about a resource."""
        return [
            UserMessage(embed(resourceUri, "text/plain", "Embedded resource content for testing.")),
            UserMessage(TextContent(text="Please process the embedded resource above.")),
        ]

    @fixtures.prompt()
    def test_prompt_with_image() -> list[Message]:
        """Say something about a picture."""
        return [
            UserMessage(ImageContent(data=PNG, mime_type="image/png")),
            UserMessage(TextContent(text="Please analyze the image above.")),
        ]

    @fixtures.prompt()
    def test_input_required_result_prompt(context: Context[Any, Any]) -> list[Message] | InputRequiredResult:
        """Ask before anything is said."""
        if given := read_text((context.input_responses or {}).get("user_context"), "context"):
            return [UserMessage(TextContent(text=f"Use the following context: {given}"))]
        request = ask("What context should the prompt use?", context={"type": "string"})
        return InputRequiredResult(input_requests={"user_context": request})
