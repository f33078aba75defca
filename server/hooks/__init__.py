"""Hooks: log, post to a webhook or intervene when an event is recorded. Configured in a YAML file.

`runner` runs them in a process, `scanner` finds what to do about new entries.
"""
