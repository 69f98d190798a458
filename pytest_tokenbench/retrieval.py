"""Ranking passages for a question. BM25 (Okapi) over lower-cased word and number tokens."""

import re
from collections.abc import Sequence

from rank_bm25 import BM25Okapi

K1 = 1.5
B = 0.75

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


def tokens(text: str) -> list[str]:
    """Lower-cased words and numbers; a number keeps its separators, so that 1,470 is one token."""
    return _TOKEN.findall(text.lower())


class Index:
    """BM25 over the passages of one document (Robertson et al., Okapi at TREC-3, with k1 1.5 and b 0.75)."""

    def __init__(self, passages: Sequence[str]) -> None:
        tokenized = [tokens(passage) for passage in passages]
        # rank-bm25 divides by the mean length and by the number of distinct tokens, and fails on none at all.
        self._ranker = BM25Okapi(tokenized, k1=K1, b=B) if any(tokenized) else None
        if self._ranker is not None:
            # It gives a term of more than half the passages a quarter of the mean idf. That is negative where passages
            # are few and alike, and a passage would rank lower for holding the term.
            self._ranker.idf = {term: abs(idf) for term, idf in self._ranker.idf.items()}
        self._size = len(tokenized)

    def rank(self, query: str) -> list[int]:
        """All passages by falling score, ties in document order."""
        if self._ranker is None:
            return list(range(self._size))
        scores = self._ranker.get_scores(tokens(query))
        return sorted(range(self._size), key=lambda i: (-scores[i], i))

    def top(self, query: str, count: int) -> list[int]:
        """The best `count` passages by falling score, fewer where the document has fewer."""
        return self.rank(query)[:count]
