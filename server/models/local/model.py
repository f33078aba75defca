"""The embedded model: SmolLM2-135M, in this process, on the CPU. Nothing leaves the machine.

It is far too small to judge, and its judgments say so (`Reply.informative`). It reads a summary of the
prompt (`PromptSummary`), its answers start with a given prefill, repetition is penalised, and JSON follows a
grammar.

One runtime serves the process, on one worker thread: it computes one answer at a time, and a request that
waits in our queue can be cancelled.
"""

import asyncio
import atexit
import os
import platform
import re
import secrets
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio

from server.models import ModelError, OnText, Reply, Request, Usage, limit_time
from server.models.local import prompting, weights
from server.models.local.prompting import SCHEMA_TOO_LARGE, build_grammar

INSTALL_COMMAND = "pip install 'counterpoint-mcp[local]'"
_REQUIRED_CPU_FLAGS = {"avx2", "fma", "f16c", "bmi2"}  # which the runtime's x86 wheels use unchecked

_worker = ThreadPoolExecutor(1, thread_name_prefix="counterpoint-local")


@dataclass(slots=True)
class LocalCompletion:
    text: str = ""
    finish_reason: str = ""
    usage: dict[str, Any] = field(default_factory=dict)


class LocalModel:
    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        body, prefill = prompting.build_body(request)
        loop, stop, start_time = asyncio.get_running_loop(), threading.Event(), anyio.current_time()

        def forward_piece(piece: str) -> None:
            # The loop may be closed before the thread notices.
            if on_text and not stop.is_set():
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(on_text, piece)

        future = _worker.submit(generate, body, prefill, forward_piece, stop)
        try:
            with limit_time("local: the embedded model", request.timeout):
                completion = await asyncio.wrap_future(future)
        finally:
            stop.set()
        counts = completion.usage
        usage = Usage(
            model="local/smollm2-135m",
            input_tokens=counts.get("prompt_tokens", 0),
            cached_tokens=(counts.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
            output_tokens=counts.get("completion_tokens", 0),
            cost_usd="0",
            milliseconds=round((anyio.current_time() - start_time) * 1000),
        )
        is_cut = completion.finish_reason == "length"
        if is_cut and "grammar" in body:
            raise ModelError("bad_request", SCHEMA_TOO_LARGE)
        text = prompting.compose_reply(request, completion.text, prefill, cut=is_cut)
        # Its prose is always short; only the request's own limit counts as cut.
        is_cut = is_cut and request.max_tokens < prompting.MAX_ARGUMENT_TOKENS
        informative = request.prompt.summary.task in ("argument", "message", "answer")
        return Reply(text, usage, cut=is_cut, informative=informative)


def is_available() -> bool:
    """Whether runtime and weights are installed. Imports nothing."""
    return find_spec("xllamacpp") is not None and weights.find() is not None


def list_problems() -> list[str]:
    """What keeps the model from running, with the command that helps. Imports nothing."""
    problems, path = [], weights.find()
    if find_spec("xllamacpp") is None:
        problems.append(f"its runtime is missing: `{INSTALL_COMMAND}`")
    if path is None:
        problems.append("its weights are missing: `counterpoint models install`")
    elif not problems and not is_processor_supported(path):
        problems.append("its runtime does not run on this processor (it needs AVX2)")
    return problems


def generate(body: dict[str, Any], prefill: str, on_text: OnText, stop: threading.Event) -> LocalCompletion:
    """One answer, on the worker thread, until it ends or `stop` is set."""
    completion = LocalCompletion()
    failure: Any = None  # in the runtime's own words
    if stop.is_set():
        return completion
    server = get_runtime()

    def handle_chunk(chunk: dict[str, Any]) -> bool:
        """True stops the runtime."""
        nonlocal failure
        failure = failure or chunk.get("error")
        for choice in chunk.get("choices") or ():
            if piece := choice["delta"].get("content"):
                piece = piece if completion.text else prefill + piece
                completion.text += piece
                on_text(piece)
            completion.finish_reason = choice.get("finish_reason") or completion.finish_reason
        completion.usage = chunk.get("usage") or completion.usage
        return stop.is_set() or "error" in chunk

    try:
        outcome = server.handle_chat_completions(body, handle_chunk)
    except ValueError as error:
        raise ModelError("bad_request", f"local: the runtime refused the request ({error})."[:300]) from error
    failure = failure or (outcome.get("error") if isinstance(outcome, dict) else None)
    if failure:
        raise ModelError("crashed", f"local: the runtime failed ({str(failure)[:200]}).")
    return completion


@cache
def get_runtime() -> Any:
    """The runtime of this process with the weights loaded. The first call takes half a second."""
    path, problems = weights.find(), list_problems()
    if problems or path is None:
        detail = f"local: the embedded model is not ready: {'; '.join(problems)}. Or choose another model."
        raise ModelError("unavailable", detail)
    try:
        runtime = start_runtime(path, count_threads())
    except (ImportError, RuntimeError, ValueError) as error:
        detail = f"local: the embedded model does not start ({error}). Run `counterpoint models install`."
        raise ModelError("unavailable", detail[:300]) from error
    atexit.register(get_runtime.cache_clear)  # it must be released before the interpreter shuts down
    return runtime


def start_runtime(path: Path, thread_count: int, *, context: int = prompting.CONTEXT_TOKENS) -> Any:
    import xllamacpp  # noqa: PLC0415  (100 MB, an extra)

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = context
    settings.n_parallel = 1  # with two slots, other requests would change the text
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = thread_count
    settings.verbosity = -1
    settings.ui = False
    settings.n_gpu_layers = 0
    settings.cache_ram_mib = 64  # the default is 8192
    settings.offline = True
    settings.endpoint_props = settings.endpoint_slots = False
    # It always listens on a loopback port; the random key keeps others out.
    settings.api_keys = [secrets.token_hex()]
    server = xllamacpp.Server(settings)
    # A server that is released before its first answer hangs the process at exit.
    warm_up = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    server.handle_chat_completions(warm_up)
    server.handle_chat_completions(warm_up | {"grammar": build_grammar({"type": "boolean"})})
    return server


def count_threads() -> int:
    """Threads of the runtime: one fewer than there are cores, because its waiting threads spin; at most 4.

    The model's text depends on the number: set it where texts are compared.
    """
    setting = os.environ.get("COUNTERPOINT_LOCAL_THREADS", "")
    if setting.isdecimal() and int(setting):
        return int(setting)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(cores - 1, 1), 4)


def is_processor_supported(path: Path) -> bool:
    """Whether the runtime runs on this processor. Elsewhere it ends the process with an illegal instruction."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    with suppress(OSError):
        if flags := re.search("^flags.*", Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE):
            return set(flags[0].split()) >= _REQUIRED_CPU_FLAGS
    return can_run_in_subprocess(path)


def can_run_in_subprocess(path: Path) -> bool:
    """Whether a child process can run the model. About a second."""
    code = (
        "import os, sys; from pathlib import Path; from server.models.local.model import start_runtime;"
        "start_runtime(Path(sys.argv[1]), 1, context=256); os._exit(0)"
    )
    command = [sys.executable, "-c", code, str(path)]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with suppress(OSError, subprocess.SubprocessError):
        process = subprocess.run(  # noqa: S603  (our own arguments)
            command, check=False, timeout=60, stdin=subprocess.DEVNULL, capture_output=True, env=environ
        )
        return process.returncode == 0
    return False
