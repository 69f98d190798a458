import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tokenbench.cli import main
from pytest_tokenbench.corpus import passages, sampling


def test_shipped_draw_is_reproduced_by_the_command(repository, capsys, monkeypatch):
    monkeypatch.chdir(repository)
    assert main(["corpus", "sample", "--seed", "20261108"]) == 0
    *rows, last = capsys.readouterr().out.splitlines()
    assert len(rows) == 10
    assert last == "seed 20261108: as recorded"


def test_another_seed_draws_other_paragraphs_and_says_so(repository, capsys, monkeypatch):
    monkeypatch.chdir(repository)
    assert main(["corpus", "sample", "--seed", "1"]) == 1
    out = capsys.readouterr().out
    assert "differs from the recorded draw" in out
    assert "documents differ" in out


def test_draw_without_a_record_needs_a_seed(workspace, capsys):
    assert workspace.run("sample") == 2
    assert "records no draw; give --seed" in capsys.readouterr().err


def test_draw_takes_the_lowest_hashes_by_hand():
    text = "\n\n".join(["one two three"] * 5)
    order = sorted(range(5), key=lambda i: hashlib.sha256(f"9:doc:{i}".encode()).digest())
    assert sampling.draw(text, "doc", seed=9, count=2, min_words=3) == sorted(order[:2])


def test_too_few_paragraphs_are_an_error():
    with pytest.raises(ValueError, match="doc: 1 paragraphs of 2 words or more, 2 are to be drawn"):
        sampling.draw("one two\n\nthree", "doc", seed=1, count=2, min_words=2)


@given(st.lists(st.integers(1, 60), min_size=8, max_size=40), st.integers())
def test_draw_takes_distinct_long_enough_paragraphs(lengths, seed):
    text = "\n\n".join(" ".join(["word"] * n) for n in lengths)
    long_enough = {i for i, n in enumerate(lengths) if n >= 20}
    if len(long_enough) >= 3:
        drawn = sampling.draw(text, "doc", seed=seed, count=3, min_words=20)
        assert drawn == sorted(set(drawn))
        assert set(drawn) <= long_enough


def test_headings_are_no_paragraphs():
    assert passages.paragraphs("Lead.\n\n== Early life ==\n\nBody = text.\n") == ["Lead.", "Body = text."]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(1, 300))
def test_cut_keeps_the_words_asked_for_and_less_than_one_paragraph_more(lengths, limit):
    whole = "\n\n".join(" ".join(["word"] * n) for n in lengths) + "\n"
    kept = passages.cut(whole, limit)
    last = passages.word_count(passages.paragraphs(kept)[-1])
    if sum(lengths) >= limit:
        assert limit <= passages.word_count(kept) < limit + last
        assert passages.is_cut(kept, limit)
    else:
        assert kept == whole


def test_cut_never_ends_on_a_heading():
    assert passages.cut("one two\n\n== Three ==\n\nfour five\n", 3).endswith("four five\n")
