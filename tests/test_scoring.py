"""Worked cases, hand-worked boundaries, oracles and properties of the scores."""

import re
import string
import unicodedata
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_tokenbench.scoring import (
    abstains,
    contains,
    contains_any,
    is_correct,
    modified_f1,
    overlap_tokens,
    parts,
    refuses,
    split_thinking,
    squad_exact,
    squad_f1,
    squad_tokens,
    tokens,
)

unhurried = settings(max_examples=60, deadline=None)

NBSP, THIN, NARROW = "\N{NO-BREAK SPACE}", "\N{THIN SPACE}", "\N{NARROW NO-BREAK SPACE}"
EN, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
LEFT, RIGHT = "\N{LEFT SINGLE QUOTATION MARK}", "\N{RIGHT SINGLE QUOTATION MARK}"
PRIME, DOUBLE_PRIME = "\N{PRIME}", "\N{DOUBLE PRIME}"
DASHES = (
    "\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}\N{EM DASH}\N{HORIZONTAL BAR}\N{MINUS SIGN}"
    "\N{SMALL EM DASH}\N{SMALL HYPHEN-MINUS}\N{FULLWIDTH HYPHEN-MINUS}"
)
SINGLE_QUOTES = (
    "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}\N{SINGLE LOW-9 QUOTATION MARK}"
    "\N{SINGLE HIGH-REVERSED-9 QUOTATION MARK}\N{PRIME}\N{MODIFIER LETTER APOSTROPHE}\N{ACUTE ACCENT}`"
)
DOUBLE_QUOTES = (
    "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}\N{DOUBLE LOW-9 QUOTATION MARK}"
    "\N{DOUBLE HIGH-REVERSED-9 QUOTATION MARK}\N{DOUBLE PRIME}"
    "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}"
)

# Any text at all, and texts crowded with what the tokens turn on.
tricky = "aAbBsStT" + "0123459" * 2 + " \n,.&-'\"%$()_" + EN + MINUS + RIGHT + PRIME + NBSP + THIN
tricky += "\N{LATIN SMALL LETTER SHARP S}\N{GREEK CAPITAL LETTER SIGMA}\N{LATIN SMALL LETTER E WITH ACUTE}"
tricky += "\N{COMBINING ACUTE ACCENT}\N{DEGREE SIGN}\N{EURO SIGN}\N{VULGAR FRACTION ONE HALF}"
texts = st.one_of(st.text(), st.text(st.sampled_from(tricky), max_size=15))
white_space = st.text(st.sampled_from(" \t\n"), min_size=1, max_size=3)
# Words of two letters of the alphabet: often equal, often one inside the other.
words = st.lists(st.text(st.sampled_from("ab"), min_size=1, max_size=3), min_size=1, max_size=6)
# Prose in which answers and aliases often overlap, with articles, repeats and all kinds of punctuation.
vocabulary = [
    "the", "A", "an", "Lyon", "lyon", "new", "york",
    "U.S.", "1,470", "a.m.", "_", "on-the-go", "--", "", "an\N{EM DASH}a",
]  # fmt: skip
prose = st.one_of(
    st.text(max_size=6), st.lists(st.sampled_from([*vocabulary, f"don{RIGHT}t"]), max_size=5).map(" ".join)
)
aliases = st.lists(prose, min_size=1, max_size=3)


# --- the worked cases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "golds", "modified", "squad", "exact", "contained"),
    [
        pytest.param("New York, New York", ["New York, New York"], 0.5, 1, True, True, id="repeated_exact"),
        pytest.param("bora bora island", ["Bora Bora"], 0.4, 0.8, False, True, id="repeated_partial"),
        pytest.param("U.S.", ["US", "United States"], 1, 1, True, True, id="punct_abbrev"),
        pytest.param(f"1914{EN}1918", ["1914-1918"], 1, 0, False, True, id="unicode_en_dash"),
        pytest.param(
            "\N{LEFT DOUBLE QUOTATION MARK}Don\N{RIGHT SINGLE QUOTATION MARK}t Look Back"
            "\N{RIGHT DOUBLE QUOTATION MARK}",
            ["Don't Look Back"], 1, 1 / 3, False, True, id="unicode_quotes",
        ),
        pytest.param("1,470 sentences", ["1470 sentences"], 1, 1, True, True, id="thousands_separator"),
        pytest.param("The", ["An"], 1, 1, True, False, id="articles_only_both"),
        pytest.param("", ["France"], 0, 0, False, False, id="empty_pred"),
        pytest.param("", [""], 1, 1, True, False, id="both_empty"),
        pytest.param("not stated", [""], 0, 0, False, False, id="pred_vs_empty_gold"),
        pytest.param("The museum is in Lyon", ["US"], 0, 0, False, False, id="contains_inside_word"),
        pytest.param(
            "The treaty was signed in Paris, France, in 1763.", ["Paris", "Versailles"], 2 / 9, 2 / 9, False, True,
            id="contains_sentence",
        ),
        pytest.param("no, it was not", ["no"], 0.4, 0.4, False, True, id="yes_no"),
        pytest.param(
            "Robert Zimmerman", ["Bob Dylan", "Robert Allen Zimmerman"], 0.8, 0.8, False, False, id="alias_max"
        ),
        # The one departure from the shared cases: there containment is false, as their definition has no NFC step.
        # This project's containment normalises to NFC, so it is true here. The F1 numbers stay as in the case.
        pytest.param(
            "Beyonce\N{COMBINING ACUTE ACCENT}", ["Beyonc\N{LATIN SMALL LETTER E WITH ACUTE}"], 0, 0, False, True,
            id="nfc_vs_nfd",
        ),
        pytest.param("   \n\t", ["42"], 0, 0, False, False, id="whitespace_only_pred"),
    ],
)  # fmt: skip
def test_worked_case(*, answer, golds, modified, squad, exact, contained):
    assert modified_f1(answer, golds) == pytest.approx(modified)
    assert squad_f1(answer, golds) == pytest.approx(squad)
    assert squad_exact(answer, golds) is exact
    assert contains_any(answer, golds) is contained


# --- containment, worked by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("There are 4.", "4"),
        ("(4)", "4"),
        ("4, not 5", "4"),
        ("about 4.50 francs", "4.50"),
        ("1,470", "1470"),
        ("1470", "1,470"),
        (f"1{NBSP}470", "1470"),
        (f"1{THIN}470", "1,470"),
        (f"1{NARROW}470", f"1{NBSP}470"),
        (f"1,234{NBSP}567.25", "1234567.25"),
        ("the years 1914,1915", "1914"),
        ("May 5,1914", "1914"),
        (".5 litres", "0.5"),
        (f"{MINUS}.5", "-0.5"),
        ("No.5", "5"),
        (f"1914{EN}1918", "1914"),
        (f"1914{EN}1918", "1918"),
        (f"1914{EN}1918", f"1914 {EN} 1918"),
        (f"10{EN}12%", "12%"),
        (f"10%{EN}12%", "12%"),
        (f"5\N{DEGREE SIGN}{EN}10 \N{DEGREE SIGN}C", "10\N{DEGREE SIGN}C"),
        (f"5\N{EURO SIGN}{EN}10\N{EURO SIGN}", "10\N{EURO SIGN}"),
        (f"5{PRIME}{EN}10{PRIME}", "10"),
        (f"(1914){EN}1918", "1918"),
        (f"it fell to {MINUS}5", "-5"),
        ("(-5)", f"{MINUS}5"),
        ("'-5'", "-5"),
        (f"$-{5}", "-5"),
        ("-5--3", "3"),
        ("the 20th-century house", "20th century"),
        ("the 20TH floor", "20th"),
        ("the 1,470th visitor", "1470th"),
        ("in the 1960s.", "1960s"),
        ("340t", "340 t"),
        ("340 t", "340t"),
        ("340ms", "340 ms"),
        ("4storeys", "4 storeys"),
        ("4A", "4"),  # the price of 340t: letters after digits are a token of their own, save th, st, nd, rd and s
        ("80 %", "80%"),
        ("80%", "80"),
        ("20\N{DEGREE SIGN}C", "20 \N{DEGREE SIGN}C"),
        ("US$5", "$5"),
        ("\N{POUND SIGN}1,470", "\N{POUND SIGN} 1470"),
        ("Harrow's mill", "Harrow"),
        (f"Harrow{RIGHT}s mill", "Harrow's"),
        ("James' mill", "James"),
        (f"{LEFT}Lyon{RIGHT}s{RIGHT}", "Lyon"),
        (f"O{RIGHT}Brien", "O'Brien"),
        (f"rock {RIGHT}n{RIGHT} roll", "rock 'n' roll"),
        ("the U.S. Army", "US"),
        ("the US Army", "U.S."),
        ("at 5 p.m.", "5 PM"),
        ("at 5p.m.", "5 pm"),
        (f"5{PRIME}10{DOUBLE_PRIME}", "5'10\""),
        ("\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}Le Monde\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}", '"Le Monde"'),
        ("a well\N{NON-BREAKING HYPHEN}known man", "well-known"),
        ("a well known man", "well\N{EM DASH}known"),
        ("on A4 paper", "a4"),
        ("x_4", "4"),
        ("  New \n\t York ", "new york"),
        ("STRASSE", "stra\N{LATIN SMALL LETTER SHARP S}e"),
        ("5 \N{ANGSTROM SIGN}", "5 \N{LATIN SMALL LETTER A WITH RING ABOVE}"),
        ("\N{LATIN SMALL LETTER N PRECEDED BY APOSTROPHE}", "'N"),
        (
            "\N{GREEK SMALL LETTER ALPHA}\N{COMBINING GREEK YPOGEGRAMMENI}\N{COMBINING ACUTE ACCENT}",
            "\N{GREEK SMALL LETTER ALPHA WITH OXIA AND YPOGEGRAMMENI}",
        ),
        ("**Lyon**", "Lyon"),
    ],
)  # fmt: skip
def test_gold_is_contained(answer, gold):
    assert contains(answer, gold)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("14", "4"),
        ("41", "4"),
        ("4.5", "4"),
        ("4.5", "5"),
        ("3.4", "4"),
        (".4", "4"),
        ("4\N{VULGAR FRACTION ONE HALF}", "4"),
        ("4", "14"),
        ("1,470", "470"),
        ("1,470", "1"),
        (f"1{NBSP}470", "470"),
        (f"1{NARROW}470", "1"),
        ("1 470", "1470"),  # an ordinary space separates two numbers
        ("1,4705", "14705"),
        ("1,4705", "1470"),
        ("1.470", "1470"),
        ("12.03.1914", "1914"),
        (f"1914{EN}1918", "-1918"),
        (f"10%{EN}12%", "-12%"),
        (f"5\N{DEGREE SIGN}{EN}10\N{DEGREE SIGN}", "-10"),
        (f"5\N{EURO SIGN}{EN}10\N{EURO SIGN}", "-10"),
        ("-5", "5"),
        (f"{MINUS}5", "5"),
        ("5", "-5"),
        ("-5--3", "-3"),
        ("the 20th", "20"),
        ("20", "20th"),
        ("the 1960s", "1960"),
        ("1960", "1960s"),
        ("340t", "40t"),
        ("80", "80%"),
        ("80%", "80\N{PER MILLE SIGN}"),
        ("20 C", "20 \N{DEGREE SIGN}C"),
        ("$5", "\N{EURO SIGN}5"),
        ("5", "$5"),
        ("Harrow", "Harrow's"),
        ("Harrows", "Harrow"),
        (f"O{RIGHT}Brien", "Brien"),
        ("O'Shea", "Shea"),
        ("don't", "don"),
        ("the museum", "US"),
        ("tell us", "U.S.A."),
        ("well-known", "wellknown"),
        ("A4", "4"),
        ("A4", "A"),
        ("A45", "A4"),
        ("Lyons", "Lyon"),
        ("York New", "New York"),
        ("New old York", "New York"),
        ("cafe", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("\N{LATIN SMALL LETTER J WITH CARON}b", "b"),  # its case folding is decomposed
    ],
)
def test_gold_is_not_contained(answer, gold):
    assert not contains(answer, gold)


def test_every_dash_and_quote_variant_reads_as_the_plain_one():
    for dash in DASHES:
        assert tokens(f"1914{dash}1918 or {dash}5") == ("1914", "1918", "or", "-5")
    for quote in SINGLE_QUOTES:
        assert tokens(f"O{quote}Brien{quote}s") == ("o'brien", "s")
    for quote in DOUBLE_QUOTES:
        assert tokens(f"5{quote}-10{quote}") == ("5", "10")


UNIT_SIGNS = "%\N{PER MILLE SIGN}\N{DEGREE SIGN}$\N{POUND SIGN}\N{YEN SIGN}\N{EURO SIGN}\N{LIRA SIGN}"


@pytest.mark.parametrize("sign", UNIT_SIGNS)
def test_a_percent_degree_or_currency_sign_of_the_gold_must_be_in_the_answer(sign):
    assert contains(f"5{sign}", f"5 {sign}")
    assert contains(f"{sign} 5", f"{sign}5")
    assert not contains("5", f"5{sign}")


@pytest.mark.parametrize(
    ("answer", "gold", "contained"),
    [
        ("Ann and Bo", "Ann & Bo", True),
        ("Bo, then Ann", "Ann & Bo", True),
        ("Bo, then Ann", "Ann&Bo", True),
        ("Ann", "Ann & Bo", False),
        ("Bo", "Ann & Bo", False),
        ("Anna and Bob", "Ann & Bo", False),
        ("3 by 2 by 1", "1 & 2 & 3", True),
        ("3 by 2", "1 & 2 & 3", False),
        ("Ann Smith met Bo", "Bo & Ann Smith", True),
        ("Ann met Bo Smith", "Bo & Ann Smith", False),
        ("Ann", "Ann & Ann", True),
        ("Ann", "Ann &", False),
        ("Ann", "& Ann", False),
        ("Ann & Bo", "&", False),
    ],
)
def test_every_part_of_a_joined_gold_is_needed_in_any_order(answer, gold, contained):
    assert contains(answer, gold) is contained
    assert is_correct(answer, [gold]) is contained


def test_parts_are_split_at_the_ampersand_and_stripped():
    assert parts("Ann & Bo Smith&C ") == ("Ann", "Bo Smith", "C")
    assert parts("Ann") == ("Ann",)


@pytest.mark.parametrize("gold", ["", "  ", "...", '"-"', "_", "&"])
@pytest.mark.parametrize("answer", ["", "Lyon", "...", "_", "-"])
def test_gold_without_tokens_is_found_nowhere(answer, gold):
    assert not contains(answer, gold)
    assert not is_correct(answer, [gold])


def test_no_gold_is_contained_in_nothing_and_none_of_no_golds_anywhere():
    assert not contains("", "Lyon")
    assert not contains_any("Lyon", [])


def test_any_alias_makes_the_answer_correct():
    assert is_correct("It was Dylan.", ["Zimmerman", "Dylan"])
    assert not is_correct("It was Baez.", ["Zimmerman", "Dylan"])


# --- abstention, worked by hand -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        "not stated",
        "Not stated.",
        "NOT  STATED",
        "**Not stated**",
        '"not\nstated"',
        "not-stated",
        f"Not{NBSP}stated",
        "not stated in the context, but probably 4",
        "4. However, it is not stated.",
    ],
)
def test_not_stated_is_an_abstention_and_wrong_whatever_follows(answer):
    assert abstains(answer)
    assert not is_correct(answer, ["4"])
    assert not is_correct(answer, ["not stated", "stated"])


@pytest.mark.parametrize(
    "answer",
    [
        "It is notstated",
        "unstated",
        "cannot stated",
        "not stateds",
        "stated not",
        "not explicitly stated",
        "not mentioned",
        "The text does not state it.",
        "I don't know",
        "",
        " \n",
        "...",
    ],
)
def test_anything_else_is_no_abstention(answer):
    assert not abstains(answer)


@given(st.text(st.sampled_from(" \n\t.,;-_'\"")), st.lists(texts, max_size=3))
@unhurried
def test_empty_answer_is_neither_correct_nor_an_abstention(answer, golds):
    assert not abstains(answer)
    assert not is_correct(answer, golds)


@given(texts, white_space, white_space, texts, st.sampled_from(["not stated", "Not  STATED", "NOT\nstated"]))
@unhurried
def test_an_answer_right_by_its_words_is_wrong_once_it_says_not_stated(gold, before, after, rest, phrase):
    answer = f"{gold}{before}{phrase}{after}{rest}"
    assert abstains(answer)
    assert not is_correct(answer, [gold, answer, "not stated"])
    if not abstains(gold):
        assert is_correct(gold, [gold]) is contains(gold, gold)


@given(
    st.lists(st.sampled_from(["not", "Stated", "stated.", "NOT", "4", "un"]), max_size=5).map(" ".join),
    st.lists(st.sampled_from(["4", "not", "stated", "not stated", ""]), max_size=3),
)
@unhurried
def test_an_answer_is_never_both_correct_and_an_abstention(answer, golds):
    assert not (abstains(answer) and is_correct(answer, golds))


# --- containment, properties --------------------------------------------------------------------------------------


@given(texts)
@unhurried
def test_a_text_contains_itself_exactly_if_each_of_its_parts_has_a_token(text):
    assert contains(text, text) is all(tokens(part) for part in text.split("&"))


def folds_alike(character):
    """Whether changing the case keeps the letter (dotless i, for one, becomes another letter)."""
    changed = (character.upper(), character.lower(), character.swapcase())
    return all(variant.casefold() == character.casefold() for variant in changed)


@given(st.one_of(st.text(st.characters().filter(folds_alike)), st.text(st.sampled_from(tricky))))
@unhurried
def test_containment_survives_any_change_of_case(text):
    composed = unicodedata.normalize("NFC", text)
    for variant in (composed.upper(), composed.lower(), composed.swapcase(), composed.title()):
        assert contains(variant, text) is contains(text, variant) is contains(text, text)


@given(
    st.text(st.sampled_from(tricky + "\N{LATIN CAPITAL LETTER A WITH RING ABOVE}\N{ANGSTROM SIGN}"))
    | st.text()
)
@unhurried
def test_containment_survives_canonical_composition_and_decomposition(text):
    for form in ("NFC", "NFD"):
        variant = unicodedata.normalize(form, text)
        assert contains(variant, text) is contains(text, variant) is contains(text, text)


@given(texts, white_space, texts, white_space, texts)
@unhurried
def test_text_set_off_by_white_space_changes_no_token(before, space, text, other_space, after):
    whole = f"{before}{space}{text}{other_space}{after}"
    assert tokens(whole) == tokens(before) + tokens(text) + tokens(after)
    if contains(text, text):
        assert contains(whole, text)


@given(texts, white_space)
@unhurried
def test_the_amount_and_kind_of_white_space_changes_nothing(text, space):
    assert tokens(re.sub("[ \t\n]+", space, text)) == tokens(text)


@given(texts, st.sampled_from(DASHES), st.sampled_from(SINGLE_QUOTES), st.sampled_from(DOUBLE_QUOTES))
@unhurried
def test_containment_survives_any_variant_of_dashes_and_quotes(text, dash, single, double):
    variant = text.replace("-", dash).replace("'", single).replace('"', double)
    assert contains(variant, text) is contains(text, variant) is contains(text, text)
    assert tokens(variant) == tokens(text)


@given(
    words, words, st.sampled_from([" ", "  ", "\n", ", ", "; ", "-", f" {EN} ", "/", ". ", " (", f"{RIGHT} "])
)
@unhurried
def test_plain_words_are_contained_exactly_as_runs_of_whole_words(answer, gold, separator):
    expected = f" {' '.join(gold)} " in f" {' '.join(answer)} "
    assert contains(separator.join(answer), " ".join(gold)) is expected
    assert contains(" ".join(answer), separator.join(gold)) is expected


@given(words, words, st.integers(0, 6), st.sampled_from(["c", "abc", "4", "$", "-4"]))
@unhurried
def test_gold_with_a_token_that_is_not_in_the_answer_is_never_contained(answer, gold, place, foreign):
    with_foreign = " ".join([*gold[:place], foreign, *gold[place:]])
    assert not contains(" ".join(answer), with_foreign)
    assert not contains(" ".join(answer + gold), f"{' '.join(gold)} & {foreign}")
    assert contains(" ".join([*answer, with_foreign]), with_foreign)


@given(words, st.lists(words.map(" ".join), min_size=1, max_size=4))
@unhurried
def test_joined_gold_is_contained_exactly_if_each_part_is_in_whatever_order(answer, golds):
    text = " ".join(answer)
    expected = all(contains(text, gold) for gold in golds)
    assert contains(text, " & ".join(golds)) is contains(text, "&".join(reversed(golds))) is expected


@given(st.integers() | st.integers(-(10**7), 10**7), st.sampled_from([",", NBSP, THIN, NARROW]), texts)
@unhurried
def test_thousands_separators_change_no_integer(number, separator, around):
    plain, grouped = str(number), f"{number:,}".replace(",", separator)
    assert tokens(grouped) == tokens(plain) == (plain,)
    assert contains(f"{around} {grouped}.", plain)
    assert contains(f"{around} {plain}, {around}", grouped)
    assert tokens(f"{grouped}.25") == (f"{plain}.25",)


@given(st.integers(10, 10**12), st.data())
@unhurried
def test_digits_inside_a_longer_number_never_match(number, data):
    digits = str(number)
    start = data.draw(st.integers(0, len(digits) - 1))
    stop = data.draw(st.integers(start + 1, len(digits)))
    inner = digits[start:stop]
    assume(inner != digits)
    forms = [
        digits,
        f"{number:,}",
        f"{number:,}".replace(",", NARROW),
        f"-{digits}",
        f"{digits}.5",
        f"7.{digits}",
    ]
    forms += [
        f".{digits}",
        f"{digits}th",
        f"{digits}s",
        f"A{digits}",
        f"${digits}",
        f"{digits}%",
        f"{digits}kg",
    ]
    for form in forms:
        assert not contains(f"It is {form}.", inner), form
        assert not contains(f"({form})", inner), form


@given(st.integers(0, 10**6), st.sampled_from(["-", *DASHES]))
@unhurried
def test_a_number_and_its_negative_never_match(number, dash):
    assert contains(f"from {dash}{number} on", f"-{number}")
    assert not contains(f"from {dash}{number} on", str(number))
    assert not contains(f"from {number} on", f"{dash}{number}")


UNITS = [
    "",
    "%",
    "\N{DEGREE SIGN}",
    "\N{DEGREE SIGN}C",
    "\N{EURO SIGN}",
    "$",
    PRIME,
    DOUBLE_PRIME,
    ")",
    "]",
    "kg",
    "th",
]


@given(st.integers(0, 3000), st.integers(0, 3000), st.sampled_from(["-", *DASHES]), st.sampled_from(UNITS))
@unhurried
def test_both_ends_of_a_range_match_and_its_dash_is_no_minus_sign(low, high, dash, unit):
    between = f"{low}{unit}{dash}{high}{unit}"
    assert contains(between, f"{low}{unit}")
    assert contains(between, f"{high}{unit}")
    assert not contains(between, f"-{high}{unit}")


# --- F1 and exact match, worked by hand ---------------------------------------------------------------------------


def test_articles_leave_the_modified_f1_before_the_punctuation_and_the_squad_scores_after_it():
    assert overlap_tokens("At 9 a.m. The U.S.A.") == ["at", "9", "m", "us"]
    assert squad_tokens("At 9 a.m. The U.S.A.") == ["at", "9", "am", "usa"]


def test_an_article_between_hyphens_leaves_a_gap_in_the_modified_f1_alone():
    assert overlap_tokens("read-the-docs") == ["read", "docs"]
    assert squad_tokens("read-the-docs") == ["readthedocs"]


def test_squad_articles_end_at_punctuation_beyond_ascii_and_leave_a_gap():
    assert squad_tokens("read\N{EM DASH}the\N{EM DASH}docs") == ["read\N{EM DASH}", "\N{EM DASH}docs"]


def test_articles_inside_words_stay():
    assert (
        overlap_tokens("The theatre, an anthem")
        == squad_tokens("The theatre, an anthem")
        == ["theatre", "anthem"]
    )


def test_modified_f1_keeps_the_underscore_and_squad_drops_it():
    assert overlap_tokens("snake_case") == ["snake_case"]
    assert squad_tokens("snake_case") == ["snakecase"]


def test_aliases_that_normalise_to_nothing_are_dropped():
    for score in (modified_f1, squad_f1, squad_exact):
        assert score("", ["the", "Lyon"]) == 0
        assert score("", ["the", "..."]) == 1
        assert score("Lyon", ["the", "Lyon"]) == 1
        assert score("", []) == 1
        assert score("Lyon", []) == 0


def test_squad_counts_a_repeated_token_as_often_as_both_have_it():
    assert squad_f1("bora bora bora", ["bora bora"]) == pytest.approx(0.8)
    assert modified_f1("bora bora bora", ["bora bora"]) == pytest.approx(0.4)


# --- F1 and exact match, oracles and properties -------------------------------------------------------------------


def without_articles(text):
    return "".join(" " if run in {"a", "an", "the"} else run for run in re.split(r"(\w+)", text))


def reference_squad_tokens(text):
    return without_articles("".join(c for c in text.lower() if c not in string.punctuation)).split()


def reference_overlap_tokens(text):
    return "".join(
        c for c in without_articles(text.lower()) if c.isalnum() or c == "_" or c.isspace()
    ).split()


def harmonic_mean(shared, predicted, gold):
    """F1 as the definitions write it, from precision and recall; the rules for empty sides first."""
    if not predicted or not gold:
        return Fraction(predicted == gold)
    precision, recall = Fraction(shared, len(predicted)), Fraction(shared, len(gold))
    return 2 * precision * recall / (precision + recall) if shared else Fraction(0)


def best(score, normalise, answer, golds):
    kept = [gold for gold in map(normalise, golds) if gold] or [[]]
    return max(score(normalise(answer), gold) for gold in kept)


def distinct_score(predicted, gold):
    return harmonic_mean(sum(token in gold for token in dict.fromkeys(predicted)), predicted, gold)


def multiset_score(predicted, gold):
    return harmonic_mean((Counter(predicted) & Counter(gold)).total(), predicted, gold)


@given(prose, aliases)
@settings(unhurried, max_examples=150)
def test_scores_agree_with_references_written_from_the_definitions(answer, golds):
    modified = best(distinct_score, reference_overlap_tokens, answer, golds)
    squad = best(multiset_score, reference_squad_tokens, answer, golds)
    exact = best(lambda predicted, gold: predicted == gold, reference_squad_tokens, answer, golds)
    assert modified_f1(answer, golds) == pytest.approx(float(modified), abs=1e-12)
    assert squad_f1(answer, golds) == pytest.approx(float(squad), abs=1e-12)
    assert squad_exact(answer, golds) is exact


@given(prose, aliases)
@unhurried
def test_every_f1_lies_between_0_and_1_and_an_exact_match_has_squad_f1_of_1(answer, golds):
    assert 0 <= modified_f1(answer, golds) <= 1
    assert squad_exact(answer, golds) <= squad_f1(answer, golds) <= 1


@given(prose)
@unhurried
def test_equal_texts_have_modified_f1_of_1_exactly_if_no_token_repeats(text):
    found = overlap_tokens(text)
    assert (modified_f1(text, [text]) == 1) is (len(set(found)) == len(found))
    assert squad_f1(text, [text]) == 1
    assert squad_exact(text, [text])


@given(prose, prose)
@unhurried
def test_modified_f1_is_1_only_for_the_same_tokens_in_some_order_none_repeated(answer, gold):
    predicted, wanted = overlap_tokens(answer), overlap_tokens(gold)
    perfect = sorted(predicted) == sorted(wanted) and len(set(wanted)) == len(wanted)
    assert (modified_f1(answer, [gold]) == 1) is perfect


@given(prose, prose)
@unhurried
def test_answer_and_a_single_alias_may_change_places_in_every_f1(answer, gold):
    assert modified_f1(answer, [gold]) == modified_f1(gold, [answer])
    assert squad_f1(answer, [gold]) == squad_f1(gold, [answer])
    assert squad_exact(answer, [gold]) is squad_exact(gold, [answer])


@given(prose, aliases, prose)
@unhurried
def test_one_more_alias_never_lowers_a_score(answer, golds, alias):
    # While none of `golds` has a token an empty answer scores 1, and an alias with a token ends that.
    assume(any(map(overlap_tokens, golds)) and any(map(squad_tokens, golds)))
    for score in (contains_any, is_correct, modified_f1, squad_f1, squad_exact):
        assert score(answer, golds) <= score(answer, [*golds, alias]) == score(answer, [alias, *golds])
        assert score(answer, [*golds, "", "the"]) >= score(answer, golds)
    for score in (modified_f1, squad_f1, squad_exact):
        assert score(answer, [*golds, "", "..."]) == score(answer, golds)


# Without punctuation both F1s see the same tokens, and the multiset overlap counts each distinct shared token at least
# once, so SQuAD's is never the lower. With punctuation that fails: unicode_en_dash above has 0 against 1. Capital I
# with dot counts as punctuation here: its lower case has a combining dot.
DOTTED_I = "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}"
unpunctuated = st.one_of(
    st.text(st.characters(categories=["L", "Nd"], include_characters=" ", exclude_characters=DOTTED_I)),
    st.lists(st.sampled_from(["the", "Bora", "bora", "an", "island"]), max_size=6).map(" ".join),
)


@given(unpunctuated, st.lists(unpunctuated, min_size=1, max_size=3))
@unhurried
def test_without_punctuation_squad_f1_is_never_below_the_modified_and_equal_if_no_token_repeats(
    answer, golds
):
    assert squad_f1(answer, golds) >= modified_f1(answer, golds)
    predicted = overlap_tokens(answer)
    if len(set(predicted)) == len(predicted):
        assert squad_f1(answer, golds) == modified_f1(answer, golds)


# --- refusals and thinking ------------------------------------------------------------------------------------------

REFUSALS = [
    "I'm sorry, but I can't",
    f"I{RIGHT}m sorry, but I can{RIGHT}t assist with that.",
    "I am so sorry, but I cannot provide that information.",
    "I'm sorry. I can't discuss this.",
    "Sorry, I won't do that.",
    "I cannot help with that request.",
    "I can not assist you.",
    "I am unable to assist with that.",
    "I'm not able to answer questions of this kind.",
    "I will not be able to help.",
    "I must decline.",
    "I have to refuse.",
    "I decline to answer.",
    "I apologize, but I cannot fulfill this request.",
    "Unfortunately, as an AI, I am not allowed to share this.",
    "As an AI language model",
    "As an AI language model, I cannot give an opinion.",
    "As a large language model, I don't have access to it.",
    "I'm afraid I can't do that.",
]
ANSWERS = [
    "not stated",
    "Not stated.",
    "I'm sorry, the date is not stated.",
    "I cannot answer this: it is not stated.",
    "I cannot answer that from the context.",
    "I'm sorry, but I can't answer that, as the context has nothing on it.",
    "I'm sorry, but I can't find it.",
    "I cannot determine the year.",
    "I can't say.",
    "He was unable to attend",
    "Unable to attend",
    "The company refused to pay",
    "He could not help",
    "I refused",
    "I cannot swim",
    "Sorry",
    "I'm sorry, but the answer is 1901.",
    "As an AI language model, the answer is 1901",
    "As an artist he refused",
    "As an airman, he said that he cannot help",
    '"I cannot help you"',
    'She said: "I cannot help you"',
    "I, Claudius",
    "1901",
    "",
]


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_is_told(answer):
    assert refuses(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_answers_or_finds_nothing_or_tells_of_others_is_no_refusal(answer):
    assert not refuses(answer)


@unhurried
@given(st.sampled_from(REFUSALS + ANSWERS), white_space, st.sampled_from(SINGLE_QUOTES), st.booleans())
def test_whether_an_answer_refuses_does_not_turn_on_case_spacing_and_quotes(answer, space, quote, upper):
    changed = answer.replace("'", quote).replace(" ", space)
    assert refuses(f"{space}{changed.upper() if upper else changed}") == refuses(answer)


@unhurried
@given(texts, st.sampled_from(REFUSALS))
def test_a_refusal_after_something_else_was_said_is_none(text, refusal):
    assert not refuses(f"The mill {text} {refusal}")


@unhurried
@given(texts)
def test_an_answer_that_abstains_never_refuses(text):
    assert not refuses(f"I'm sorry, but I cannot help: not stated. {text}")


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>It says 1901.</think>\n\n1901", "It says 1901.", "1901"),
        ("\n<think>\nIt says 1901.", "\nIt says 1901.", ""),
        ("It says 1901.\n</think>\n1901", "It says 1901.", "1901"),
        ("<think></think>1901 ", "", "1901 "),
        ("The tag <think> opens it", "", "The tag <think> opens it"),
        (" 1901\n", "", " 1901\n"),
        ("", "", ""),
    ],
)
def test_thinking_is_told_from_the_answer(text, thinking, answer):
    assert split_thinking(text) == (thinking, answer)


@unhurried
@given(texts)
def test_a_text_without_the_tags_is_all_answer(text):
    assume("think>" not in text)
    assert split_thinking(text) == ("", text)


@unhurried
@given(texts, texts)
def test_whatever_is_thought_is_no_part_of_the_answer(thought, answer):
    assume("think>" not in thought + answer)
    assert split_thinking(f"<think>{thought}</think>{answer}") == (thought.rstrip(), answer.lstrip())
