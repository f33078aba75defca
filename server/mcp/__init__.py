"""The MCP server: stdio, tools, resources, subscriptions, prompts and completions."""
