"""The page that shows a debate: for the HTML export, for the browser on this machine, and for hosts of MCP Apps."""
