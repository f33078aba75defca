"""The embedded model: SmolLM2-135M, in this process, on the CPU. Nothing leaves the machine.

It shows the whole product without a key. It is far too small to judge, and every judgment of its
says so (`Reply.informative`). What makes it usable at all is in here: it reads the gist of a prompt
(`Cue`) and not the prompt, its answer is begun for it on the right side, repetition is punished, and
judgments are generated along a grammar.

One runtime serves the process, on one thread of ours: it computes one answer at a time anyway, and a
question that waits in our own queue can be taken back.
"""

import asyncio
import atexit
import os
import platform
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio

from server.models import ModelError, OnText, Reply, Request, Usage
from server.models.local import weights
from server.models.local.grammars import build_grammar
from server.models.local.prompting import (
    CONTEXT_TOKENS,
    MAX_ARGUMENT_TOKENS,
    SCHEMA_TOO_LARGE,
    RuntimeRequest,
    build_runtime_request,
    compose_reply,
    trim_to_sentences,
)

MODEL_NAME = "local/smollm2-135m"
_REQUIRED_CPU_FLAGS = {"avx2", "fma", "f16c", "bmi2"}  # what the runtime's x86 wheels use without asking

_worker = ThreadPoolExecutor(1, thread_name_prefix="counterpoint-local")
_runtime: Any = None  # touched on the worker's thread alone


@dataclass(slots=True)
class LocalCompletion:
    text: str = ""
    finish_reason: str = ""
    usage: dict[str, Any] | None = None


class LocalModel:
    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        asked = build_runtime_request(request)
        loop = asyncio.get_running_loop()
        stop = threading.Event()

        def forward_piece(piece: str) -> None:
            # The loop may be gone, with whoever listened, before the thread notices.
            if on_text and not stop.is_set():
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(on_text, piece)

        started = anyio.current_time()
        answering = _worker.submit(generate, asked, forward_piece, stop)
        try:
            with anyio.fail_after(request.timeout):
                heard = await asyncio.wrap_future(answering)
        except TimeoutError:
            detail = f"local: the embedded model did not answer within {request.timeout:g} seconds."
            raise ModelError("timeout", detail) from None
        finally:
            stop.set()
        return build_reply(request, heard, asked, anyio.current_time() - started)


def is_available() -> bool:
    """Whether runtime and weights are installed. Cheap: imports nothing."""
    return find_spec("xllamacpp") is not None and weights.find() is not None


def generate(
    runtime_request: RuntimeRequest, on_text: Callable[[str], None], stop: threading.Event
) -> LocalCompletion:
    """On the worker's thread: one answer, until it ends or nobody waits for it."""
    heard = LocalCompletion()
    if stop.is_set():
        return heard
    server = get_runtime()
    begun = runtime_request.prefill
    pieces = [begun] if begun else []

    def handle_chunk(chunk: dict[str, Any]) -> bool:
        """True stops the runtime."""
        if "error" in chunk:
            failures.append(chunk["error"])
            return True
        for choice in chunk.get("choices") or ():
            if piece := choice["delta"].get("content"):
                if begun and len(pieces) == 1:
                    on_text(begun)
                pieces.append(piece)
                on_text(piece)
            heard.finish_reason = choice.get("finish_reason") or heard.finish_reason
        heard.usage = chunk.get("usage") or heard.usage
        return stop.is_set()

    failures: list[Any] = []
    try:
        outcome = server.handle_chat_completions(runtime_request.body, handle_chunk)
    except ValueError as error:
        raise ModelError("bad_request", f"local: the runtime refused the request ({error})."[:300]) from error
    if isinstance(outcome, dict) and "error" in outcome:
        failures.append(outcome["error"])
    if failures:
        raise ModelError("crashed", f"local: the runtime failed ({str(failures[0])[:200]}).")
    heard.text = "".join(pieces) if len(pieces) > bool(begun) else ""
    return heard


def build_reply(
    request: Request, completion: LocalCompletion, runtime_request: RuntimeRequest, seconds: float
) -> Reply:
    counts = completion.usage or {}
    usage = Usage(
        model=MODEL_NAME,
        input_tokens=counts.get("prompt_tokens", 0),
        cached_tokens=(counts.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
        output_tokens=counts.get("completion_tokens", 0),
        cost_usd="0",
        milliseconds=round(seconds * 1000),
    )
    text, cut = completion.text, completion.finish_reason == "length"
    if cut and "grammar" in runtime_request.body:
        raise ModelError("bad_request", SCHEMA_TOO_LARGE)
    if text and "grammar" not in runtime_request.body:
        if cut or request.prompt.summary.task != "argument":
            text = trim_to_sentences(request, text, runtime_request.prefill)
        # That its prose is short is its habit. Only a caller's own limit cuts it.
        cut = cut and request.max_tokens < MAX_ARGUMENT_TOKENS
    text, calls = compose_reply(request, text) if text else ("", ())
    informative = request.prompt.summary.task in ("argument", "message", "answer")
    return Reply(text, usage, cut=cut, informative=informative, function_calls=calls)


def get_runtime() -> Any:
    """The runtime with the weights loaded. Half a second, once."""
    global _runtime  # noqa: PLW0603  (one per process: it holds the weights)
    if _runtime is None:
        path = require_weights()
        if not is_processor_supported(path):
            raise ModelError(
                "unavailable",
                "local: the embedded model's runtime does not run on this processor (it needs AVX2). "
                "Choose a provider's model.",
            )
        try:
            _runtime = start_runtime(path, count_threads())
        except (ImportError, RuntimeError, ValueError) as error:
            detail = f"local: the embedded model does not start ({error}). Run `counterpoint models install`."
            raise ModelError("unavailable", detail[:300]) from error
        atexit.register(close_runtime)
    return _runtime


def require_weights() -> Path:
    lacking = []
    if find_spec("xllamacpp") is None:
        lacking.append("`pip install 'counterpoint-mcp[local]'`")
    path = weights.find()
    if path is None:
        lacking.append("`counterpoint models install`")
    if lacking or path is None:
        detail = f"local: the embedded model is not installed. Run {' and then '.join(lacking)}."
        raise ModelError("unavailable", detail)
    return path


def start_runtime(path: Path, thread_count: int, *, context: int = CONTEXT_TOKENS) -> Any:
    import xllamacpp  # noqa: PLC0415  (100 MB, an extra)

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = context
    settings.n_parallel = 1  # with two, what else is computed changes the text
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = thread_count
    settings.verbosity = -1
    settings.ui = False
    settings.n_gpu_layers = 0
    settings.cache_ram_mib = 64  # 8192 if left alone
    settings.offline = True
    settings.endpoint_props = settings.endpoint_slots = False
    # It always listens on a port of loopback. Nobody has the key.
    settings.api_keys = [secrets.token_hex()]
    server = xllamacpp.Server(settings)
    # A server that is dropped before its first answer hangs the process at exit.
    warm_up = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    server.handle_chat_completions(warm_up)
    server.handle_chat_completions(warm_up | {"grammar": build_grammar({"type": "boolean"})})
    return server


def close_runtime() -> None:
    """At exit, while the interpreter is still whole."""
    global _runtime  # noqa: PLW0603
    _runtime = None


def count_threads() -> int:
    """Of the runtime: one core is left to everybody else, for threads that wait for each other spin.

    The text depends on the number: fix it where texts are compared.
    """
    given = os.environ.get("COUNTERPOINT_LOCAL_THREADS", "")
    if given.isdecimal() and int(given):
        return int(given)
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(here - 1, 1), 4)


def is_processor_supported(path: Path) -> bool:
    """Whether the runtime runs on this processor. It dies of an illegal instruction where it does not."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    if flags := processor_flags():
        return flags >= _REQUIRED_CPU_FLAGS
    return can_run_in_subprocess(path)


def processor_flags() -> set[str]:
    """What Linux says about the processor; empty elsewhere."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("flags"):
                return set(line.partition(":")[2].split())
    return set()


def can_run_in_subprocess(path: Path) -> bool:
    """Whether a child process that runs the model lives through it. About a second."""
    code = (
        "import os, sys; from pathlib import Path; from server.models.local.model import start_runtime;"
        "start_runtime(Path(sys.argv[1]), 1, context=256); os._exit(0)"
    )
    command = [sys.executable, "-c", code, str(path)]
    try:
        done = subprocess.run(  # noqa: S603  (our own arguments)
            command,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
