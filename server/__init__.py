"""Counterpoint: an MCP server that runs, steers and judges debates between models."""

import os

# pydantic ends each error with a link to its documentation: noise to the models that read them.
# It looks at this once, when it formats its first error.
os.environ.setdefault("PYDANTIC_ERRORS_INCLUDE_URL", "0")
