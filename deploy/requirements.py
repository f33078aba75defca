"""Prints what the container image installs: the dependencies, and those of the extras for services."""

import tomllib
from pathlib import Path

EXTRAS = ("documents", "postgres", "otel")

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [line for name in EXTRAS for line in project["optional-dependencies"][name]]
print(*project["dependencies"], *extras, sep="\n")
