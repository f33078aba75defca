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
    ],
)
def test_a_model_belongs_to_who_trained_it(model: str, trained_by: str) -> None:
    assert family(model) == trained_by
