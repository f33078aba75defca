"""The MCP server: stdio, tools, resources, subscriptions and completions."""
