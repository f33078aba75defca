"""The scripts of the page are joined into one, so that a name that two of them declare ends all of them."""

import re
from collections import Counter

import pytest

from server.web.page import FOLDER, SCRIPTS

pytestmark = pytest.mark.requirement("N19")


def test_no_two_scripts_declare_one_name() -> None:
    declared = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
    scripts = [(FOLDER / "assets" / name).read_text(encoding="utf-8") for name in SCRIPTS]
    names = Counter(name for script in scripts for name in declared.findall(script))
    assert len(names) > 50
    assert [name for name, times in names.items() if times > 1] == []
