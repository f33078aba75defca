"""Who trained a model, by its name alone."""

import pytest

from server.debate.votes.families import family

pytestmark = pytest.mark.requirement("N2")


@pytest.mark.parametrize(
    ("model", "trained_by"),
    [
        ("openai/gpt-5.6-terra", "openai"),
        ("local", "smollm2"),
        ("ollama/nemotron:8b", "nemotron"),
        ("openrouter/vendor/model-x", "vendor"),
        ("acme/model-x", "acme"),
        ("scripted?delay=1", "scripted"),
        ("openrouter/anthropic/claude-sonnet-5-5", "anthropic"),
        ("bedrock/us.anthropic.claude-sonnet-5-5-v1:0", "anthropic"),
        ("vertex_ai/claude-sonnet-5-5@20260101", "anthropic"),
        ("openrouter/amazon/nova-pro-v1", "amazon"),
        ("bedrock/us.amazon.nova-pro-v1:0", "amazon"),
        ("bedrock/converse/amazon.nova-lite-v1:0", "amazon"),
        ("azure/gpt-5.6-terra", "openai"),
        ("azure/our-deployment", "openai"),
        ("openrouter/x-ai/next-model", "xai"),
        ("groq/meta-llama/llama-5", "llama"),
        ("openrouter/mistralai/new-name", "mistral"),
        ("gemini/new-name", "google"),
    ],
)
def test_a_model_belongs_to_who_trained_it(model: str, trained_by: str) -> None:
    assert family(model) == trained_by
