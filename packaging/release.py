"""Everything that has to hold before a release, in order: `python packaging/release.py --download-url https://…`.

It changes nothing outside its folder and publishes nothing: its last lines say what to upload. `--dry-run` leaves out
what only holds for a release, so that CI can run it at any time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uv

sys.path.insert(0, str(Path(__file__).parent))

import build

NAME = "counterpoint-mcp"
PROGRAM = "Scripts" if os.name == "nt" else "bin"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--output", type=Path, default=build.ROOT / "dist", help="the folder  [dist]")
    parser.add_argument("--download-url", default="", help="where the bundle can be downloaded")
    parser.add_argument("--dry-run", action="store_true", help="at any time, without what only a release has")
    given = parser.parse_args()
    version = build.read_version()
    steps: dict[str, Callable[[], None]] = (
        {}
        if given.dry_run
        else {
            "everything is committed": check_is_clean,
            f"the changelog has a section for {version}": partial(check_changelog, version),
            "the bundle has an address": partial(require, given.download_url, "pass --download-url"),
        }
    )
    steps |= {
        "wheel, bundle and registry entry are built": partial(build_all, given.output, given.download_url),
        f"{NAME} {version} installs by its name and answers": partial(
            try_installation, given.output, version
        ),
    }
    for title, step in steps.items():
        try:
            step()
        except (SystemExit, subprocess.CalledProcessError) as error:
            sys.exit(f"no   {title}: {error}")
        print(f"yes  {title}")
    print(
        f"\nBy hand, in this order: upload {given.output}/counterpoint_mcp-{version}* to the package index and the"
    )
    print(f"bundle to its address; then `mcp-publisher publish` in {given.output}; then tag v{version}.")


def require(held: object, otherwise: str) -> None:
    if not held:
        sys.exit(otherwise)


def check_is_clean() -> None:
    changed = subprocess.run(
        ["git", "status", "--short"],  # noqa: S607
        cwd=build.ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    require(not changed.stdout, f"commit or remove\n{changed.stdout}")


def check_changelog(version: str) -> None:
    text = (build.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    require(f"## [{version}]" in text, f"write `## [{version}]` in place of `## [Unreleased]`")


def build_all(folder: Path, download_url: str) -> None:
    options = ["--download-url", download_url] if download_url else []
    command = [sys.executable, build.__file__, "--without-image", "--output", str(folder), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def try_installation(folder: Path, version: str) -> None:
    """Install it as somebody who knows only its name, from a local index, and ask it a question."""
    with tempfile.TemporaryDirectory() as name:
        environment = Path(name) / "environment"
        run_uv("venv", "--python", sys.executable, str(environment))
        target = ["--python", str(environment), "--constraint", str(build.ROOT / "constraints.txt")]
        run_uv("pip", "install", *target, "--find-links", str(folder), f"{NAME}=={version}")
        program = str(environment / PROGRAM / NAME)
        told = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        require(told.split()[-1] == version, f"it says {told!r}")
        database = ["--db", str(Path(name) / "debates.db")]
        question = [program, *database, "Is it installed?", "--model", "scripted", "--quiet"]
        subprocess.run(question, check=True, cwd=name, stdout=subprocess.DEVNULL)


def run_uv(*arguments: str) -> None:
    subprocess.run([uv.find_uv_bin(), *arguments, "--quiet"], check=True)


if __name__ == "__main__":
    main()
