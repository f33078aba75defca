"""The graph of imports between the packages of `counterpoint`, `server` and `storage`.

`python -m tests.support.import_graph` prints layers and dependencies.
Imports inside functions count.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

TOP_LEVEL_PACKAGES = ("counterpoint", "server", "storage")
FILES = sorted(path.relative_to(ROOT) for top in TOP_LEVEL_PACKAGES for path in (ROOT / top).rglob("*.py"))

ONE_UNIT = ("counterpoint", "storage", "storage.postgres", "storage.sqlite")
"""Folders with subfolders whose own files are one unit all the same."""

WITH_SUBFOLDERS = "server.debate.facts"
"""The folder that is one unit with its subfolders: what a debate consists of, and what its set-up consists of."""


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in FILES}


@cache
def parse_module(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@cache
def package_of_module(module: str) -> str:
    """The unit of a module, without the prefix `server`: `debate.rules`.

    This is a folder. In a folder with subfolders each file is a unit of its own: `models.registry` is above
    `models.providers`, and `models`, the package's own file, below both. `ONE_UNIT` and `WITH_SUBFOLDERS` have the
    exceptions.
    """
    path = MODULES[module]
    folder = ".".join(path.parts[:-1])
    if folder.startswith(WITH_SUBFOLDERS):
        return WITH_SUBFOLDERS.removeprefix("server.")
    is_split = any((ROOT / path.parent).glob("*/*.py")) and folder not in ONE_UNIT
    return (module if is_split else folder).removeprefix("server.")


@cache
def find_imports(path: Path) -> frozenset[str]:
    """The names of the modules that a file imports anywhere, also with `import_module("…")`."""
    return frozenset(_find_imports(path))


def _find_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parse_module(path)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(name), level=0, names=names):
                for alias in names:
                    full = f"{name}.{alias.name}"
                    yield full if full in MODULES else name
            case ast.ImportFrom():
                yield "a relative import"
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield name


@cache
def find_imports_at_start(path: Path) -> frozenset[str]:
    """The names of the modules that are imported with a file, and not only when they are needed."""
    return frozenset(_find_imports_at_start(path))


def _find_imports_at_start(path: Path) -> Iterator[str]:
    for node in parse_module(path).body:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(name), names=names):
                yield name
                yield from (f"{name}.{alias.name}" for alias in names)


def is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@cache
def imports_by_package() -> dict[str, set[str]]:
    """The modules that the files of each unit import."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        found.setdefault(package_of_module(module), set()).update(find_imports(path))
    return found


@cache
def package_dependencies() -> dict[str, set[str]]:
    """The other units that each unit imports."""
    return {
        one: {package_of_module(module) for module in modules if module in MODULES} - {one}
        for one, modules in imports_by_package().items()
    }


def compute_layers() -> list[list[str]]:
    """Units from the bottom up, each above everything it imports.

    Raises:
        ValueError: some units import each other in a circle; the text names them.
    """
    above, found = package_dependencies(), list[list[str]]()
    while above:
        bottom = sorted(one for one, below in above.items() if not below & above.keys())
        if not bottom:
            raise ValueError(f"These import each other in a circle: {', '.join(sorted(above))}")
        found.append(bottom)
        above = {one: below for one, below in above.items() if one not in bottom}
    return found


def render_report() -> str:
    graph = package_dependencies()
    lines = [
        f"{len(graph)} units, {sum(map(len, graph.values()))} dependencies, {len(compute_layers())} layers, no circle",
        "",
    ]
    for number, units in enumerate(reversed(compute_layers())):
        lines += [f"layer {len(compute_layers()) - number}"]
        lines += [f"  {one} -> {', '.join(sorted(graph[one])) or '-'}" for one in units]
    return "\n".join(lines)


if __name__ == "__main__":
    print(render_report())  # noqa: T201
