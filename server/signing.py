"""The key of this installation: it seals the heads of debates recorded here, and signs their receipts.

The key is an Ed25519 key in a file of PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` writes it. It is made on
first use, and lies beside no database: whoever can hand over a database must not be able to hand over its key as well.
Seals are message authentication codes under a key derived from it, and cost a microsecond. `cryptography` is imported
only to sign and to verify.
"""

import base64
import binascii
import logging
import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from server.debate.facts.errors import InvalidRequestError, require
from server.redaction import learn_secrets
from storage.canonical import encode_json, parse_json

KEY_FILE = "signing-key.pem"
KEY_VARIABLES = "COUNTERPOINT_SIGNING_KEY or COUNTERPOINT_SIGNING_KEY_FILE"
KEY_SIZE = 32  # bytes, of a private key and of a public one
MAX_KEY_FILE_BYTES = 10_000
MOST_DIGITS = 10  # of the number of entries in a seal
PAYLOAD_TYPE = "application/vnd.in-toto+json"

PRIVATE_PREFIX = bytes.fromhex("302e020100300506032b657004220420")  # of a PKCS #8 structure, before the key
PUBLIC_PREFIX = bytes.fromhex("302a300506032b6570032100")  # of a SubjectPublicKeyInfo, before the key

logger = logging.getLogger(__name__)


class InvalidKeyError(InvalidRequestError):
    """A text or a file is no Ed25519 key that can be read. The error does not repeat it."""


class Origin(NamedTuple):
    """Where the entries of a debate come from, for the installation that sealed them.

    `elsewhere`: entries, from the first on, that it did not record. `adopted`: it uses them for its ledger and memory.
    `foreign`: it does not go on with the debate, whatever it has added to it.
    """

    elsewhere: int = 0
    adopted: bool = False
    foreign: bool = False

    @property
    def counts(self) -> bool:
        """Whether the ledger and memory of the installation use the debate."""
        return not self.foreign and (self.adopted or not self.elsewhere)


OWN = Origin()


@dataclass(frozen=True)
class SigningKey:
    seed: bytes

    @cached_property
    def public_key(self) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

        return ed25519.Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()

    @cached_property
    def key_id(self) -> str:
        return find_key_id(self.public_key)

    @cached_property
    def seal_key(self) -> bytes:
        return sha256(b"counterpoint/seal/1\n" + self.seed).digest()

    def sign(self, statement: dict[str, Any]) -> dict[str, Any]:
        """A DSSE envelope with the statement as canonical JSON."""
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

        payload = encode_json(statement)
        signature = ed25519.Ed25519PrivateKey.from_private_bytes(self.seed).sign(encode_for_signing(payload))
        return {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [
                {"keyid": find_key_id(self.public_key), "sig": base64.b64encode(signature).decode()}
            ],
        }


class Signer:
    """The key as it is configured: given as text, or in a file. It is read, or made, when it is first needed.

    A debate does not fail where the key cannot be had: `problem` says why, and a key that ends with this process takes
    its place. What that one has sealed counts as foreign to any other process, and it signs nothing.
    """

    def __init__(self, given: str = "", file: str = "") -> None:
        self._given = given
        self._file = Path(file).expanduser() if file else None
        self._problem = ""

    @property
    def source(self) -> str:
        """Where the key is from, for people."""
        return "COUNTERPOINT_SIGNING_KEY" if self._given else str(self._file or default_key_path())

    @property
    def problem(self) -> str:
        """Why the key is not the one of the installation; "" if it is."""
        _ = self.key
        return self._problem

    @cached_property
    def key(self) -> SigningKey:
        try:
            return self._find_key()
        except InvalidKeyError as error:
            self._problem = str(error)
        except OSError as error:
            self._problem = (
                f"The signing key cannot be read or made: {error.strerror or type(error).__name__}."
            )
        logger.warning("%s Receipts are not signed. Set %s.", self._problem, KEY_VARIABLES)
        return SigningKey(secrets.token_bytes(KEY_SIZE))

    def _find_key(self) -> SigningKey:
        if self._given:
            return SigningKey(parse_private_key(self._given, "The signing key (COUNTERPOINT_SIGNING_KEY)"))
        if self._file:
            return SigningKey(read_key_file(self._file, "The file of COUNTERPOINT_SIGNING_KEY_FILE"))
        path = default_key_path()
        if not path.exists():
            make_key_file(path)
        return SigningKey(read_key_file(path, f"The file of the signing key, {path},"))

    def find_public_key(self) -> bytes | None:
        """The public key of this installation; None as long as it has none that can be used. Makes none."""
        if not (self._given or self._file or default_key_path().exists()):
            return None
        return None if self.problem else self.key.public_key

    def seal(self, stream: str, seq: int, digest: bytes, origin: Origin = OWN) -> str:
        """What only this installation can write beside the head of a stream: that it was here, and its origin."""
        origin_text = (
            "" if origin == OWN else f"{origin.elsewhere}{'+' * origin.adopted}{'-' * origin.foreign}"
        )
        mark = self._mark(b"%b\n%d\n%b\n%b" % (stream.encode(), seq, digest, origin_text.encode()))
        return f"{mark}.{origin_text}".rstrip(".")

    def read_seal(self, seal: str, stream: str, seq: int, digest: bytes) -> Origin | None:
        """The origin that a seal tells of; None for one that this installation has not written."""
        origin_text = seal.partition(".")[2]
        number = origin_text.rstrip("+-")
        is_number = number.isascii() and number.isdigit() and len(number) < MOST_DIGITS
        origin = Origin(int(number), "+" in origin_text, "-" in origin_text) if is_number else OWN
        return origin if compare_digest(seal, self.seal(stream, seq, digest, origin)) else None

    def name_ledger(self, owner: str) -> str:
        """Whose judgments the ledger has, so that those of another installation are not among them.

        A database from elsewhere brings its own sums, and none of them is under this name.
        """
        return f"{owner} {self._mark(b'ledger %b' % owner.encode())}"

    def _mark(self, message: bytes) -> str:
        return blake2b(message, key=self.key.seal_key, digest_size=16).hexdigest()


def default_key_path() -> Path:
    return Path(platformdirs.user_config_dir("counterpoint", appauthor=False)) / KEY_FILE


def make_key_file(path: Path) -> None:
    """Write a new key that only this user can read. Of two processes that do so at once, one is obeyed by both.

    The file appears whole under its name, or not at all. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{KEY_FILE}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(format_pem("PRIVATE", PRIVATE_PREFIX + secrets.token_bytes(KEY_SIZE)))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)


def read_key_file(path: Path, name: str) -> bytes:
    """The private key in a file. Warns if others can read it. Raises InvalidKeyError, OSError."""
    with path.open("rb") as file:
        content = file.read(MAX_KEY_FILE_BYTES)
        mode = os.fstat(file.fileno()).st_mode
    if os.name == "posix" and mode & 0o077:
        logger.warning("%s can be read by others (mode %03o): make it 600.", name.rstrip(","), mode & 0o777)
    return parse_private_key(content.decode("ascii", "replace"), name)


def parse_private_key(text: str, name: str) -> bytes:
    """The 32 bytes of a key in PEM, base64 or hexadecimal. From now on they are redacted. Raises InvalidKeyError."""
    seed = decode_key(text, "PRIVATE", PRIVATE_PREFIX)
    if seed is None:
        shapes = "32 bytes in base64 or hexadecimal, or PEM as `openssl genpkey -algorithm ed25519` writes it"
        raise InvalidKeyError(f"{name} holds no Ed25519 key: {shapes}.")
    learn_secrets((text, seed.hex(), base64.b64encode(seed).decode()))
    return seed


def parse_public_key(text: str) -> bytes:
    """The 32 bytes of a public key in PEM, base64 or hexadecimal. Raises InvalidKeyError."""
    key = decode_key(text, "PUBLIC", PUBLIC_PREFIX)
    if key is None:
        shapes = "PEM, or 32 bytes in base64 or hexadecimal: `counterpoint receipt --public-key` prints one"
        raise InvalidKeyError(f"This is not an Ed25519 public key. It has to be {shapes}.")
    return key


def decode_key(text: str, kind: str, prefix: bytes) -> bytes | None:
    text = "".join(text.split())
    mark = f"{kind}KEY-----"
    body = text.removeprefix(f"-----BEGIN{mark}").removesuffix(f"-----END{mark}")
    for decode in (bytes.fromhex, decode_base64):
        try:
            key = decode(body)
        except ValueError:
            continue
        key = key.removeprefix(prefix) if body != text else key
        if len(key) == KEY_SIZE:
            return key
    return None


def decode_base64(text: str) -> bytes:
    """Raises ValueError unless it is the one way to write these bytes: a changed character never means the same."""
    content = base64.b64decode(text.encode("ascii"), validate=True)
    if base64.b64encode(content).decode() != text:
        raise binascii.Error("it is not written as base64 is")
    return content


def format_pem(kind: str, der: bytes) -> str:
    return f"-----BEGIN {kind} KEY-----\n{base64.b64encode(der).decode()}\n-----END {kind} KEY-----\n"


def format_public_key(key: bytes) -> str:
    return format_pem("PUBLIC", PUBLIC_PREFIX + key)


def find_key_id(public_key: bytes) -> str:
    """SHA-256 of the 32 bytes of the public key, in hexadecimal."""
    return sha256(public_key).hexdigest()


def encode_for_signing(payload: bytes) -> bytes:
    """The bytes that are signed: DSSE's pre-authentication encoding, version 1."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True)
class OpenedEnvelope:
    """A statement whose signature holds under the public key that it names itself."""

    statement: dict[str, Any]
    public_key: bytes


def open_envelope(envelope: Any) -> OpenedEnvelope:
    """The statement in a DSSE envelope, signed by the key that it names. Whose key that is, is another question.

    Raises:
        InvalidRequestError: it is no such envelope, or its signature does not hold; the text says which.
    """
    try:
        [signature] = envelope["signatures"]
        key_id, mark = signature["keyid"], decode_base64(signature["sig"])
        payload = decode_base64(envelope["payload"])
        statement = parse_json(payload)
        public_key = decode_base64(statement["predicate"]["signer"]["public_key"])
        is_whole = {*envelope} == {"payload", "payloadType", "signatures"} and {*signature} == {
            "keyid",
            "sig",
        }
        require(
            is_whole and envelope["payloadType"] == PAYLOAD_TYPE,
            "The receipt is not in the form in which receipts are made.",
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InvalidRequestError("The receipt cannot be read: it is damaged, or of another kind.") from None
    require(is_signed(public_key, payload, mark), "The signature does not hold: the receipt was altered.")
    require(key_id == find_key_id(public_key), "The id of the key is not that of the key that signed.")
    return OpenedEnvelope(statement, public_key)


def is_signed(public_key: bytes, payload: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public_key).verify(signature, encode_for_signing(payload))
    except (InvalidSignature, ValueError):
        return False
    return True
