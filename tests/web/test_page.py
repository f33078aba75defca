"""The document of the page: what is vendored in it, its policy, and what stands in it without any script."""

import base64
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from server.web.page import FOLDER, LIBRARIES, Place, build_page

pytestmark = pytest.mark.requirement("N19")

VENDORED = {
    "preact.js": "aa558e32247d4ccea18c5addbb0311bc1771bf39734185be01dc0c3c4cf3fd6d",  # preact 10.29.8, MIT
    "preact.LICENSE": "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
    "htm.js": "7a31776e04bd4afde0d4308177d26f377716fcf7e4bd70be590746d6aa594f08",  # htm 3.1.1, Apache-2.0
    "htm.LICENSE": "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
}
"""As they are in the packages of npm: `dist/preact.min.umd.js`, `dist/htm.umd.js`, `LICENSE`."""

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def test_what_is_vendored_is_what_was_published_with_its_licence() -> None:
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in (FOLDER / "vendor").iterdir()}
    assert found == VENDORED
    for library in LIBRARIES:
        assert (FOLDER / library).with_suffix(".LICENSE").exists()


def test_the_policy_allows_the_scripts_and_styles_of_this_document_and_nothing_else() -> None:
    page = build_page(None, Place(script="counterpoint.live('', '');", connect="'self'"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].replace("&#x27;", "'").split(";"))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    assert rules == {
        "default-src": "'none'",
        "script-src": " ".join(map(find_source, SCRIPT.findall(page))),
        "style-src": find_source(style[1]),
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert len(SCRIPT.findall(page)) == len(LIBRARIES) + 2


def find_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("script", ["x = '</script>'", "x = '</SCRIPT >'", "x = '<!-- <script>'"])
def test_a_script_that_would_end_its_element_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match="ends a script element"):
        build_page(None, Place(script=script))


def test_the_files_of_the_page_name_no_address_and_run_no_text() -> None:
    own = [path for path in Path(FOLDER, "assets").iterdir() if path.suffix in (".js", ".css")]
    assert len(own) > 1
    for path in own:
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"https?://(?!www\.w3\.org)|@import|url\(|\beval\b|\.innerHTML\s*=|new Function", text
        ), path


def test_the_data_of_an_empty_page_are_null() -> None:
    page = build_page()
    data = re.search(r'<script type="application/json" id="counterpoint-data"[^>]*>(.*?)</script>', page)
    assert data is not None
    assert json.loads(data[1]) is None
