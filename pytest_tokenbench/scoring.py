"""From an answer to its scores: containment, abstention, token-overlap F1. Pure functions over strings."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

ABSTENTION = "not stated"
PART_SEPARATOR = "&"

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_SINGLE_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`"), "'")
_DOUBLE_QUOTES = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"), '"')
_PLAIN = _DASHES | _SINGLE_QUOTES | _DOUBLE_QUOTES

_TOKEN = re.compile(
    r"""
    (?P<number>(?:(?<![\w)\]%\u2030\u00b0-])(?<!\d['"$\u00a3\u00a5\u20ac\u20a4])-(?=\d))?  # no dash of a range
        (?:\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3})+(?!\d)|\d+)
        (?:\.\d+)*[\u00bc-\u00be\u2150-\u215e]?  # decimals, or a fraction sign
        (?:(?:st|nd|rd|th|s)(?![^\W_]))?)        # 20th and 1960s are not 20 and 1960
    | (?P<initials>(?:[^\W\d_]\.){2,})          # U.S. is one token, equal to US
    | (?P<word>[^\W\d_][^\W_]*(?:'(?!s(?![^\W_]))[^\W_]+)*)  # a possessive s is a token of its own
    | (?P<symbol>[%\u2030\u00b0]|[$\u00a3\u00a5\u20ac\u20a4])
    """,
    re.VERBOSE,
)
_BARE_POINT = re.compile(r"""(?<![\w.)\]%'"])\.(?=\d)""")
_GROUPING = re.compile(r"[,\u00a0\u2009\u202f]")


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Comparable tokens of `text`: case folded, NFC, dashes and quotes made plain, spacing and punctuation gone.

    A number is one token, whatever separates its thousands ("1,470" equals "1470"), with its sign and
    decimals, so that 4 is found neither in 14 nor in 4.5 or .4.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold().translate(_PLAIN))
    found = []
    for match in _TOKEN.finditer(_BARE_POINT.sub("0.", folded)):  # .5 is 0.5
        if match["number"]:
            found.append(_GROUPING.sub("", match["number"]))
        elif match["initials"]:
            found.append(match["initials"].replace(".", ""))
        else:
            found.append(match[0])
    return tuple(found)


def parts(gold: str) -> tuple[str, ...]:
    """The parts of a gold string that must all appear: `A & B` has two, any other string is its own one."""
    return tuple(part.strip() for part in gold.split(PART_SEPARATOR))


def contains(text: str, gold: str) -> bool:
    """Whether `gold` stands in `text` as a run of whole tokens; of `A & B`, whether both parts do.

    A gold string without any token is found nowhere.
    """
    haystack = tokens(text)
    return all(_is_run(haystack, tokens(part)) for part in parts(gold))


def contains_any(text: str, golds: Iterable[str]) -> bool:
    """Whether any of `golds` is contained in `text` (see `contains`)."""
    return any(contains(text, gold) for gold in golds)


def abstains(answer: str) -> bool:
    """Whether the answer contains "not stated", on token boundaries and in any case."""
    return contains(answer, ABSTENTION)


_OPEN, _CLOSE = "<think>", "</think>"


def split_thinking(text: str) -> tuple[str, str]:
    """The thinking that a reply begins with, and the answer after it: all of it where there is no thinking.

    Thinking ends at its closing tag; what opens it may be missing, since some models are made to begin so. Where the
    closing tag is missing, the tokens went on thinking and there is no answer.
    """
    before, closed, after = text.partition(_CLOSE)
    if closed:
        return before.strip().removeprefix(_OPEN), after.lstrip()
    if text.lstrip().startswith(_OPEN):
        return text.strip().removeprefix(_OPEN), ""
    return "", text


# Refusals are looked for in an answer's tokens, joined by spaces, without contractions.
_WRITTEN_OUT = {
    "i'm": "i am",
    "can't": "cannot",
    "won't": "will not",
    "couldn't": "could not",
    "don't": "do not",
}
_UNABLE = (
    r"i (?:cannot|could not|must not|will not(?: be able to)?|am unable to|do not feel comfortable|am not comfortable"
    r"|am not (?:able|allowed|permitted|programmed|designed) to|(?:must |have to )?(?:decline|refuse) to)\b"
)
_REGRET = (
    r"(?:i am (?:\w+ )?(?:sorry|afraid)|sorry|(?:my )?apologies|i apologi[sz]e|i regret|unfortunately)"
    r"(?: but| that| however)* "
)
_MACHINE = r"as an? (?:ai|artificial intelligence|(?:large )?language model)\b(?: language| model| assistant| system)* ?"
# What only a model that declines says it cannot do. Whoever cannot find or tell something may lack a text for it.
_SERVE = (
    r" (?:help|assist|comply|fulfill?|engage|participate|accommodate|discuss|support|proceed|continue|provide|answer"
    r"|respond|generate|create|write|produce|offer|share|give|do (?:that|this))\b"
)
_FIND = r" (?:find|determine|see|locate|tell|say|know|identify|confirm|verify|infer|deduce|be)\b"
_REFUSAL = re.compile(
    rf"(?:{_REGRET}|{_MACHINE})+{_UNABLE}(?!{_FIND})"
    rf"|{_UNABLE}{_SERVE}"
    r"|i (?:must|have to) (?:decline|refuse)\b"
    rf"|(?:{_REGRET})?{_MACHINE}(?:i do not have\b|$)"
)
_LACKS = re.compile(
    r"\b(?:from|in|on|by|using|given|as|because|since) "
    r"(?:it|(?:the|this|that|your) (?:\w+ )?(?:context|passage|text|document|article|information))\b"
)


def refuses(answer: str) -> bool:
    """Whether a model declines, in English and from its first words on, as in "I'm sorry, but I can't help with that".

    An answer that says that the text does not tell ("not stated", or in other words) is none, nor is one about
    someone who refuses or is unable.
    """
    said = " ".join(_WRITTEN_OUT.get(token, token) for token in tokens(answer)).replace("can not", "cannot")
    is_quoted = answer.lstrip().translate(_PLAIN).startswith(('"', "'"))
    return bool(_REFUSAL.match(said)) and not is_quoted and not abstains(answer) and not _LACKS.search(said)


def is_correct(answer: str, golds: Sequence[str]) -> bool:
    """The protocol's accuracy for an answerable question.

    True if the answer contains a gold string. An answer that says "not stated" is wrong, whatever follows it.
    """
    return not abstains(answer) and contains_any(answer, golds)


def _is_run(haystack: tuple[str, ...], needle: tuple[str, ...]) -> bool:
    width = len(needle)
    if width == 0:
        return False
    start = -1
    for _ in range(haystack.count(needle[0])):
        start = haystack.index(needle[0], start + 1)
        if haystack[start : start + width] == needle:
            return True
    return False


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NON_WORD_PUNCTUATION = re.compile(r"[^\w\s]")
_ASCII_PUNCTUATION = str.maketrans("", "", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def overlap_tokens(text: str) -> list[str]:
    """Tokens for the modified F1: lower case, articles out, non-word punctuation out, split at white space."""
    return _NON_WORD_PUNCTUATION.sub("", _ARTICLES.sub(" ", text.lower())).split()


def modified_f1(answer: str, golds: Sequence[str]) -> float:
    """Modified token-overlap F1: 2u / (|P| + |G|), u = number of distinct shared tokens, best over aliases.

    |P| and |G| count tokens with repeats, so that an exact match whose tokens repeat scores below 1. Empty
    against non-empty is 0, both empty is 1; aliases that normalise to nothing are dropped unless all do.
    """
    predicted = overlap_tokens(answer)
    return max(_distinct_f1(predicted, gold) for gold in _non_empty(map(overlap_tokens, golds)))


def squad_tokens(text: str) -> list[str]:
    """Tokens as SQuAD's evaluate-v2.0 takes them: lower case, ASCII punctuation out, then articles out."""
    return _ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split()


def squad_f1(answer: str, golds: Sequence[str]) -> float:
    """SQuAD v2.0 token F1 (multiset overlap), best over aliases; both empty is 1, one empty is 0."""
    predicted = squad_tokens(answer)
    return max(_multiset_f1(predicted, gold) for gold in _non_empty(map(squad_tokens, golds)))


def squad_exact(answer: str, golds: Sequence[str]) -> bool:
    """SQuAD v2.0 exact match: equal after normalisation to one of the aliases."""
    predicted = squad_tokens(answer)
    return any(predicted == gold for gold in _non_empty(map(squad_tokens, golds)))


def _non_empty(aliases: Iterable[list[str]]) -> list[list[str]]:
    return [alias for alias in aliases if alias] or [[]]


def _distinct_f1(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    return 2 * len(set(predicted) & set(gold)) / (len(predicted) + len(gold))


def _multiset_f1(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    shared = sum((Counter(predicted) & Counter(gold)).values())
    return 2 * shared / (len(predicted) + len(gold))
