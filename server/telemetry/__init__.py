"""OpenTelemetry: traces and metrics of debates, of their requests to models and of MCP calls.

It sends no text of a prompt, of an answer or of an error, and no key. Nothing of it is imported unless the standard
variables ask for it (`server.startup.list_signals`); the engine and the models know only the callables that they are
given.
"""

OTHER = "_OTHER"  # the conventions' word for what has no name of its own
