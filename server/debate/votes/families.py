"""Who trained a model: models of one family have errors in common."""

import re
from functools import lru_cache

from server.debate.facts.setup.seats import EMBEDDED

_PATTERNS = {  # matched anywhere in a model's name, except after a letter
    "openai": r"gpt|chatgpt|o[1345](?![a-z0-9])",
    "anthropic": r"claude",
    "google": r"gemini|gemma",
    "mistral": r"\w*stral(?![a-z])|mixtral",
    "deepseek": r"deepseek",
    "xai": r"grok",
    "llama": r"(?:code)?llama",
    "qwen": r"qwen|qwq",
    "cohere": r"command",
    "moonshot": r"kimi",
    "zai": r"glm",
    "microsoft": r"phi-?\d",
    "smollm2": r"smollm",
}

_MAKERS = {  # other names of the same makers, where a model's own name does not tell
    "azure": "openai",  # its deployments have names that their owners choose
    "vertex_ai": "google",
    "gemini": "google",
    "x-ai": "xai",
    "meta": "llama",
    "meta-llama": "llama",
    "mistralai": "mistral",
    "deepseek-ai": "deepseek",
    "moonshotai": "moonshot",
    "z-ai": "zai",
    "zai-org": "zai",
    "cohere_chat": "cohere",
}

# Providers that run any model: the family comes from the model's own name.
_HOSTING_PROVIDERS = (
    "ollama ollama_chat lmstudio lm_studio llamacpp llamafile vllm hosted_vllm huggingface xinference"
)


@lru_cache(1_000)
def family(model: str) -> str:
    """Who trained the model. Two models of one family count as less than two independent voices."""
    if model == EMBEDDED:
        return "smollm2"
    provider, *path = model.removeprefix("litellm/").casefold().partition("?")[0].split("/")
    own_name = path[-1] if path else provider
    for trained_by, pattern in _PATTERNS.items():
        if re.search(f"(?<![a-z])(?:{pattern})", own_name):
            return trained_by
    maker = provider
    if provider == "bedrock" and "." in own_name:
        maker = own_name.split(".")[-2]  # region.vendor.model
    elif len(path) > 1:
        maker = path[-2]  # a router: provider/vendor/model
    elif provider in _HOSTING_PROVIDERS.split() and (letters := re.match(r"[a-z]+", own_name)):
        maker = letters.group()
    return _MAKERS.get(maker, maker)
