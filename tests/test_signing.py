"""The key of an installation: made once, kept from others, and missed without harm."""

import base64
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.redaction import redact
from server.settings import Settings
from server.signing import (
    InvalidKeyError,
    Signer,
    SigningKey,
    default_key_path,
    format_public_key,
    is_signed,
    parse_private_key,
    parse_public_key,
)
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.requirement("D11")

SEED = bytes(range(32))
PEM = f"""-----BEGIN PRIVATE KEY-----
{"MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"}
-----END PRIVATE KEY-----
"""
"""As OpenSSL writes it."""

MAKE = "from server.signing import Signer; print(Signer().key.public_key.hex())"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "text", [PEM, PEM.replace("\n", "\r\n"), SEED.hex(), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]
)
def test_a_key_is_read_in_every_shape(text: str) -> None:
    assert parse_private_key(text, "It") == SEED


def test_a_public_key_is_read_in_every_shape() -> None:
    key = SigningKey(SEED).public_key
    for text in (format_public_key(key), key.hex(), base64.b64encode(key).decode()):
        assert parse_public_key(text) == key


def test_keys_are_those_of_openssl(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True)
    found = subprocess.run(
        ["openssl", "pkey", "-in", path, "-pubout"], check=True, capture_output=True, text=True
    )
    assert format_public_key(Signer(file=str(path)).key.public_key) == found.stdout


@pytest.mark.parametrize(
    "text", ["", "secret", PEM[:-40], "ff" * 31, "-----BEGIN PRIVATE KEY-----\nMC4C\n", "\xff" * 32]
)
def test_what_is_no_key_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidKeyError, match="It holds no Ed25519 key") as refused:
        parse_private_key(text, "It")
    assert not text or text not in str(refused.value)


@pytest.mark.full
def test_processes_that_begin_at_once_have_one_key_that_nobody_else_can_read(home: Path) -> None:
    env = {**os.environ, "XDG_CONFIG_HOME": str(home)}
    started = [
        subprocess.Popen([sys.executable, "-c", MAKE], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    printed = {child.communicate(timeout=PATIENCE)[0] for child in started}

    assert len(printed) == 1
    assert len(printed.pop()) == 65
    assert [path.name for path in default_key_path().parent.iterdir()] == ["signing-key.pem"]
    assert default_key_path().stat().st_mode & 0o777 == 0o600


def test_a_key_that_was_lost_is_made_anew(home: Path) -> None:
    before = Signer().key
    assert Signer().key == before
    default_key_path().unlink()
    assert Signer().key != before
    assert home in default_key_path().parents


def test_a_key_is_redacted_in_every_shape() -> None:
    key = Signer(PEM).key
    for text in (SEED.hex(), PEM.splitlines()[1]):
        assert redact(f"It is {text}.") == "It is [secret]."
    assert key.seed == SEED
    assert SEED.hex() not in repr(Settings(signing_key=SEED.hex()))


def test_a_key_that_others_can_read_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "key.pem"
    path.write_text(PEM)
    path.chmod(0o644)
    assert Signer(file=str(path)).key.seed == SEED
    assert "can be read by others (mode 644): make it 600." in caplog.text


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"given": "nonsense-nonsense"}, "The signing key (COUNTERPOINT_SIGNING_KEY) holds no Ed25519 key"),
        ({"file": "/missing/key"}, "The signing key cannot be read or made: No such file or directory."),
    ],
)
def test_without_a_usable_key_one_of_this_process_takes_its_place(
    given: dict[str, str], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    signer = Signer(**given)
    with caplog.at_level(logging.WARNING):
        assert signer.key == signer.key
    assert signer.problem.startswith(problem)
    assert signer.key != Signer(**given).key
    assert "Receipts are not signed. Set COUNTERPOINT_SIGNING_KEY" in caplog.text
    assert "nonsense" not in caplog.text


def test_a_key_file_that_is_damaged_is_neither_used_nor_replaced(home: Path) -> None:
    _ = home
    path = default_key_path()
    Signer().key.sign({})
    path.write_text("damaged")
    signer = Signer()
    assert signer.key.seed
    assert f"The file of the signing key, {path}, holds no Ed25519 key" in signer.problem
    assert path.read_text() == "damaged"


def test_a_signature_is_of_its_payload_and_its_key() -> None:
    key, other = SigningKey(SEED), SigningKey(b"2" * 32)
    envelope = key.sign({"a": 1})
    payload, signature = (
        base64.b64decode(envelope["payload"]),
        base64.b64decode(envelope["signatures"][0]["sig"]),
    )
    assert payload == b'{"a":1}'
    assert is_signed(key.public_key, payload, signature)
    assert not is_signed(other.public_key, payload, signature)
    assert not is_signed(key.public_key, b'{"a":2}', signature)
    assert not is_signed(key.public_key, payload, signature[:-1])
