"""Leases of processes that are gone are free at once; all others run out."""

import os
import subprocess
import sys

import pytest

from server.engine.leases import is_gone, machine_name, new_owner

pytestmark = pytest.mark.requirement("N8")


def test_a_process_that_lives_is_not_gone() -> None:
    assert not is_gone(new_owner())


@pytest.mark.skipif(os.name != "posix", reason="other systems wait for the lease to run out")
def test_a_process_that_has_ended_is_gone() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "from server.engine.leases import new_owner; print(new_owner())"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert is_gone(ended.stdout.strip())


@pytest.mark.parametrize("owner", ["", "me", f"elsewhere:{2**22}:ab", f"{machine_name()}:x:ab"])
def test_nobody_is_gone_who_cannot_be_looked_for(owner: str) -> None:
    assert not is_gone(owner)


def test_two_owners_differ_even_in_one_process() -> None:
    assert new_owner() != new_owner()
