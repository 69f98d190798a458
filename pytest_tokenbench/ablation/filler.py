"""Text that says nothing, of a given number of tokens: what stands in a block's place so that only its content is gone."""

# Every word here is one token in the vocabularies of today's models, with a space before it or as the first of a text,
# and so is the full stop; so the pieces of a text are its tokens.
_WHICH = ("Most", "Some", "Many", "Such", "These")
_WHAT = ("days", "places", "things", "people", "hours", "rooms", "roads", "years", "words", "nights", "parts")
_ARE = ("are", "seem", "look", "feel", "stay", "were", "remain")
_LIKE = (
    "quiet",
    "plain",
    "simple",
    "calm",
    "small",
    "common",
    "similar",
    "normal",
    "soft",
    "regular",
    "even",
    "slow",
    "clear",
)
_WHEN = ("in the morning", "as time passes", "for a while", "now and then", "here and there", "at the end")
_REGULAR = 8

# What comes last, by its number of pieces. No sentence has one.
_LAST = (
    "",
    "Fine",
    "Fine.",
    "Time passes.",
    "It goes on.",
    "All is as usual.",
    "It is much like before.",
    "The rest is the same again.",
    "It goes on as it was before.",
    "It will be much the same next time.",
)


def filler(tokens: int) -> str:
    """Neutral sentences of so many tokens in all, words and punctuation marks counted; the same for the same number.

    Raises:
        ValueError: The number is negative.
    """
    if tokens < 0:
        raise ValueError(f"a text cannot have {tokens} tokens")
    regular = max(0, (tokens - 2) // _REGULAR)
    sentences = [_sentence(number) for number in range(regular)]
    return " ".join([*sentences, _LAST[tokens - regular * _REGULAR]])


def _sentence(number: int) -> str:
    # No two of the lists' lengths have a common factor, so it is long until a sentence comes again.
    which, what, are, like, when = (
        words[number % len(words)] for words in (_WHICH, _WHAT, _ARE, _LIKE, _WHEN)
    )
    return f"{which} {what} {are} {like} {when}."
