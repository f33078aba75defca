"""Builds all that is published, into `dist`: `python packaging/build.py`.

The wheel and the source distribution, the bundle for Claude Desktop (`.mcpb`), the entry for the MCP registry
(`server.json`) and, where docker or podman runs, the container image of `deploy/Dockerfile`.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "packaging" / "manifest.json"
REGISTRY_ENTRY = ROOT / "server.json"
ICON = ROOT / "packaging" / "icon.png"
BUNDLED = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "packaging/published_readme.py",
    "counterpoint/",
    "server/",
    "storage/",
)
"""What uv needs to install the program from the bundle: a file, or a folder."""

IMAGE = "counterpoint-mcp"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can say: the same content is the same file


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder  [dist]")
    parser.add_argument(
        "--download-url", default="", help="where the bundle can be downloaded, for the registry"
    )
    parser.add_argument("--without-image", action="store_true", help="no container image")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    version = read_version()
    sdist = build_distributions(given.output, version)
    bundle = build_bundle(sdist, given.output / f"counterpoint-mcp-{version}.mcpb")
    entry = write_registry_entry(given.output / "server.json", bundle, given.download_url)
    for path in (*sorted(given.output.glob("*.whl")), sdist, bundle, entry):
        print(path)
    if not given.without_image:
        print(build_image(version))


def read_version() -> str:
    """The one that `pyproject.toml` says. `tests/test_packaging.py` holds the others to it."""
    return str(read_project()["version"])


def read_repository() -> str:
    return str(read_project()["urls"]["Repository"])


def read_project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def build_distributions(folder: Path, version: str) -> Path:
    """The wheel and the source distribution, whose path is returned."""
    for old in folder.glob("counterpoint_mcp-*"):
        old.unlink()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder / f"counterpoint_mcp-{version}.tar.gz"


def build_bundle(sdist: Path, path: Path) -> Path:
    """A zip file of the manifest and the sources, which the host has uv install."""
    with tarfile.open(sdist) as sources, ZipFile(path, "w", ZIP_DEFLATED) as bundle:
        files = {member.name.partition("/")[2]: member for member in sources.getmembers() if member.isfile()}
        manifest = json.dumps(build_manifest(), indent=2, ensure_ascii=False)
        bundle.writestr(ZipInfo("manifest.json", EPOCH), manifest, ZIP_DEFLATED)
        bundle.writestr(ZipInfo(ICON.name, EPOCH), ICON.read_bytes(), ZIP_DEFLATED)
        for name in sorted(files):
            content = sources.extractfile(files[name])
            if name.startswith(BUNDLED) and content:
                bundle.writestr(ZipInfo(name, EPOCH), content.read(), ZIP_DEFLATED)
    return path


def build_manifest() -> dict[str, Any]:
    """`manifest.json` of the bundle, with its icon and the addresses of the repository."""
    manifest: dict[str, Any] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    repository = read_repository()
    return manifest | {
        "icon": ICON.name,
        "repository": {"type": "git", "url": f"{repository}.git"},
        "homepage": repository,
        "documentation": f"{repository}/blob/HEAD/docs/start.md",
        "support": f"{repository}/issues",
    }


def write_registry_entry(path: Path, bundle: Path, download_url: str) -> Path:
    """`server.json`, with the addresses of the repository, and the bundle among its packages if it has an address."""
    entry: dict[str, Any] = json.loads(REGISTRY_ENTRY.read_text(encoding="utf-8"))
    repository = read_repository()
    icon = f"{repository}/raw/HEAD/{ICON.relative_to(ROOT).as_posix()}"
    entry |= {
        "repository": {"url": repository, "source": "github"},
        "websiteUrl": repository,
        "icons": [{"src": icon, "mimeType": "image/png", "sizes": ["512x512"]}],
    }
    if download_url:
        package = {
            "registryType": "mcpb",
            "identifier": f"{download_url.rstrip('/')}/{bundle.name}",
            "version": entry["version"],
            "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
            "transport": {"type": "stdio"},
        }
        entry["packages"].append(package)
    path.write_text(json.dumps(entry, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def build_image(version: str) -> str:
    """The name of the image, or why there is none."""
    for program in ("docker", "podman"):
        found = shutil.which(program)
        if found and not subprocess.run([found, "info"], capture_output=True, check=False).returncode:
            file = str(ROOT / "deploy" / "Dockerfile")
            name = f"{IMAGE}:{version}"
            # Podman's own format has no health checks.
            kind = ["--format", "docker"] if program == "podman" else []
            subprocess.run([found, "build", *kind, "--file", file, "--tag", name, str(ROOT)], check=True)
            return f"{name} ({program})"
    return "No image: neither docker nor podman runs here."


if __name__ == "__main__":
    main()
