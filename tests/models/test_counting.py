"""Tokens counted by the tokenizer of the real embedded model, without asking it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tokenbench.models import counting, embedded, weights

PROMPTS = [
    "Who built the upper light?",
    "The mill at Orrin ground 1,470 tonnes of barley in 1922.\n\nIt had four <|im_end|> pairs of stones.",
    "Zürich, 北京, 🙂.",
]


@pytest.fixture(scope="module")
def file():
    weights.locate(weights.DEFAULT)
    found = counting.file_at_hand(weights.DEFAULT)
    assert found is not None
    return found


def test_counts_are_those_that_the_model_tells_when_it_is_asked(file):
    with counting.tokenizer(file) as tokenize:
        assert tokenize is not None
        counted = [len(tokenize(prompt)) for prompt in PROMPTS]
    model = embedded.EmbeddedModel(weights.DEFAULT, window=256, reuse_prefix=False, say=lambda _: None)
    told = [model.generate(prompt, max_tokens=1).input_tokens for prompt in PROMPTS]
    model.close()
    assert counted == told


def test_a_model_that_would_have_to_be_downloaded_is_not_at_hand(monkeypatch, tmp_path):
    monkeypatch.setenv(weights.CACHE_VARIABLE, str(tmp_path))
    assert counting.file_at_hand(weights.DEFAULT) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"no model at all", b"GGUF"])
def test_what_is_no_model_is_not_at_hand(tmp_path, content):
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    assert counting.file_at_hand(str(file)) is None


def test_a_file_that_the_engine_cannot_load_counts_nothing(file, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(file.read_bytes()[:3_000_000])
    with counting.tokenizer(broken) as tokenize:
        assert tokenize is None


@given(st.lists(st.lists(st.integers(0, 300), max_size=6), max_size=12))
def test_distinct_tokens_are_the_different_beginnings(prompts):
    beginnings = {tuple(prompt[: end + 1]) for prompt in prompts for end in range(len(prompt))}
    assert counting.distinct([np.array(prompt, dtype=np.int32) for prompt in prompts]) == len(beginnings)
