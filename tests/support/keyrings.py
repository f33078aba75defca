"""Keyrings for the programs of tests, which `PYTHON_KEYRING_BACKEND` names."""

import json
import os
import time
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

FILE = Path(os.environ["TEST_KEYRING"])


class Kept(KeyringBackend):
    """One that works."""

    priority = 1.0
    name = "Test"

    def _all(self) -> dict[str, str]:
        return dict(json.loads(FILE.read_text("utf-8"))) if FILE.exists() else {}

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        FILE.write_text(json.dumps(self._all() | {f"{service}/{username}": password}), "utf-8")

    def delete_password(self, service: str, username: str) -> None:
        found = self._all()
        if not found.pop(f"{service}/{username}", None):
            raise PasswordDeleteError
        FILE.write_text(json.dumps(found), "utf-8")


class Locked(Kept):
    def get_password(self, *_names: str) -> str | None:
        raise KeyringLocked("collection of sk-test-Zq81-stored-0001")

    def set_password(self, *values: str) -> None:
        raise KeyringLocked(f"{values}")


class Silent(Kept):
    def get_password(self, *_names: str) -> str | None:
        time.sleep(60)
        return None


class Forgetful(Kept):
    def set_password(self, service: str, username: str, password: str) -> None:
        pass
