"""The instruments of the metrics. None of their attributes names a debate, an owner or a text."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from operator import itemgetter

from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, Observation, UpDownCounter

from server.telemetry.labels import ModelLabels

# The boundaries that the conventions recommend.
TOKEN_BOUNDARIES = [float(4**power) for power in range(14)]
REQUEST_BOUNDARIES = [0.01 * 2**power for power in range(14)]  # seconds
MCP_BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]  # seconds
MAX_OWNERS = 20  # of each kind of queue, those with the longest
WORKFLOW_BOUNDARIES = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200]  # seconds


@dataclass(frozen=True, slots=True)
class Instruments:
    tokens: Histogram
    request_seconds: Histogram
    debate_seconds: Histogram
    mcp_seconds: Histogram
    cost: Counter
    running: UpDownCounter
    queue: "LengthGauge"
    stuck: "LengthGauge"
    waiting: "WaitingGauge"
    models: ModelLabels = field(default_factory=ModelLabels)


class LengthGauge:
    """How many the database had when it was read last; nothing before that, as without hooks."""

    def __init__(self) -> None:
        self.length: int | None = None

    def observe(self, _options: CallbackOptions) -> Iterable[Observation]:
        return () if self.length is None else (Observation(self.length),)


class WaitingGauge:
    """What waits for its turn in this process. `sources`: by what waits, what counts it by owner."""

    def __init__(self) -> None:
        self.sources: dict[str, Callable[[], Mapping[str, int]]] = {}

    def observe(self, _options: CallbackOptions) -> Iterable[Observation]:
        for kind, count in self.sources.items():
            longest = sorted(count().items(), key=itemgetter(1), reverse=True)[:MAX_OWNERS]
            for owner, number in longest:
                yield Observation(number, {"kind": kind, "owner": hash_owner(owner)})


def hash_owner(owner: str) -> str:
    """The first eight digits of the SHA-256 of an owner: whoever has the name can find it."""
    return sha256(owner.encode(errors="surrogatepass")).hexdigest()[:8]


def build_instruments(meter: Meter) -> Instruments:
    queue, stuck, waiting = LengthGauge(), LengthGauge(), WaitingGauge()
    callbacks: list[Callable[[CallbackOptions], Iterable[Observation]]] = [queue.observe]
    meter.create_observable_gauge(
        "counterpoint.hooks.queue", callbacks, "{delivery}", "Deliveries of hooks that are not made yet."
    )
    meter.create_observable_gauge(
        "counterpoint.debates.stuck",
        [stuck.observe],
        "{debate}",
        "Debates that no process has run for a minute.",
    )
    meter.create_observable_gauge(
        "counterpoint.waiting",
        [waiting.observe],
        "{item}",
        "What waits for its turn here, by hash of the owner.",
    )
    return Instruments(
        tokens=meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=TOKEN_BOUNDARIES,
        ),
        request_seconds=meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "Duration of requests to models.",
            explicit_bucket_boundaries_advisory=REQUEST_BOUNDARIES,
        ),
        debate_seconds=meter.create_histogram(
            "gen_ai.workflow.duration",
            "s",
            "How long this process ran debates, without a break.",
            explicit_bucket_boundaries_advisory=WORKFLOW_BOUNDARIES,
        ),
        mcp_seconds=meter.create_histogram(
            "mcp.server.operation.duration",
            "s",
            "Duration of MCP requests and notifications.",
            explicit_bucket_boundaries_advisory=MCP_BOUNDARIES,
        ),
        cost=meter.create_counter("counterpoint.cost", "USD", "What answers cost whose price is known."),
        running=meter.create_up_down_counter(
            "counterpoint.debates.running", "{debate}", "Debates that this process runs now."
        ),
        queue=queue,
        stuck=stuck,
        waiting=waiting,
    )
