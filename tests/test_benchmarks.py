"""What debates cost where providers keep prompts: no benchmark is run by the tests, but this one is a promise."""

import anyio
import pytest

from benchmarks import spending

pytestmark = [pytest.mark.full, pytest.mark.requirement("N10", "N11")]


def test_caches_of_providers_serve_what_the_calls_of_a_debate_have_in_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {**spending.KEYS, "OPENAI_API_BASE": "", "ANTHROPIC_API_BASE": ""}.items():
        monkeypatch.setenv(name, value)

    async def list_rows() -> list[list[str]]:
        return [row async for row in spending.list_rows((("advocates", "standard"),))]

    short, long = anyio.run(list_rows)

    shares = [[float(cell.split(", ")[1].removesuffix(" x")) for cell in row[3:]] for row in (short, long)]
    assert all(share <= 1 for share in shares[0])  # nothing is kept that nobody reads
    anthropic, openai, openai_before, both = shares[1]
    assert max(anthropic, openai, openai_before) <= 0.3
    assert both <= 0.35
