import itertools
import random
from pathlib import Path

import pytest
from prose_measures import departures, shared_share

ARTICLES = sorted((Path(__file__).resolve().parents[2] / "corpus" / "articles").glob("*.txt"))


@pytest.mark.parametrize("article", ARTICLES, ids=lambda path: path.stem)
def test_article_reads_like_encyclopaedic_prose_in_every_measure(article):
    assert departures(article.read_text(encoding="utf-8")) == []


def test_ten_articles_are_measured():
    assert len(ARTICLES) == 10


def test_no_two_articles_share_more_than_a_trace_of_wording():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in ARTICLES}
    shares = {
        (one, other): shared_share(texts[one], texts[other], 8)
        for one, other in itertools.permutations(texts, 2)
    }
    assert max(shares.values()) <= 0.003, max(shares, key=shares.__getitem__)


def test_a_templated_text_is_caught():
    draw = random.Random(7)
    names = ["Alder", "Brook", "Cray", "Dunmore", "Elm", "Ford"]
    sentence = (
        "In {year} the engineer {name} built a bridge of {metres} metres over the river at a cost of {cost} crowns. "
        "The bridge was opened by the mayor and was used by carts until the railway came. "
    )

    def paragraph() -> str:
        filled = [
            sentence.format(
                year=draw.randrange(1700, 1999),
                name=draw.choice(names),
                metres=draw.randrange(20, 400),
                cost=draw.randrange(1000, 99999),
            )
            for _ in range(3)
        ]
        return "".join(filled).strip()

    text = "\n\n".join(paragraph() for _ in range(60))
    found = departures(text)
    assert "repeated 4-word sequences" in found
    assert "repeated 8-word sequences" in found
    assert "gzip ratio" in found
    assert "distinct words" in found
