"""How long a provider asks to be left alone: in seconds or until a date, and never for no time at all."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import pytest_asyncio

from benchmarks.stub import Stub
from server.http import parse_retry_after
from server.models import ModelError
from server.models.litellm.client import LitellmModel, import_litellm
from tests.contract.model import build_argument_request, reply_in_time

pytestmark = [
    pytest.mark.requirement("D9"),
    # As in test_litellm_model.py: litellm sets these when it is imported, and pytest takes them back.
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:.*conflict with protected namespace"),
    pytest.mark.filterwarnings("ignore:.*Accessing the.*attribute on the instance is deprecated"),
]


@pytest_asyncio.fixture
async def stub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    async with Stub() as stub:
        yield stub


async def waits(stub: Stub, retry_after: str) -> list[float]:
    """The waits between the attempts of a request that is always told 429 and this."""
    stub.retry_after = retry_after
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    with pytest.raises(ModelError):
        await reply_in_time(
            LitellmModel("openai/429", api_base=stub.url, sleep=pause), build_argument_request()
        )
    return waited


PAST = "Sat, 21 Nov 2020 12:00:00 GMT"


def in_(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.asyncio
async def test_a_date_is_waited_for(stub: Stub) -> None:
    import_litellm()  # which may take seconds
    first, second = await waits(stub, in_(12))

    assert 2 < second <= first <= 12


@pytest.mark.parametrize("said", ["0", "-5", "nan", "inf", "soon", "Mon, 99 Foo 20 25:00:00 GMT", PAST])
@pytest.mark.asyncio
async def test_what_names_no_time_to_come_is_waited_for_as_usual(stub: Stub, said: str) -> None:
    first, second = await waits(stub, said)

    assert 0.5 <= first <= 1 <= second <= 2


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7), ("0.5", 0.5), ("-5", 0), ("nan", None), ("inf", None), ("soon", None)]
)
def test_seconds_are_taken_as_they_stand_where_they_are_seconds(said: str, seconds: float | None) -> None:
    assert parse_retry_after(said) == seconds
