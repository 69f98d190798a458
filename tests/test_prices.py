import datetime as dt
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import made_runs
import pytest
from made_runs import BY_HAND

from pytest_tokenbench import prices
from pytest_tokenbench.prices import Price, PriceError
from pytest_tokenbench.records import Status
from pytest_tokenbench.reporting import costs as costs_text
from pytest_tokenbench.reporting import document, markdown, terminal
from pytest_tokenbench.run_folder import Run

MOMENT = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
MICRO = 1e-6
FULL = "input = 2\ncached_input = 0.5\noutput = 10\n"


@pytest.fixture
def read(tmp_path):
    def read_text(text: str | bytes) -> tuple[Price, ...]:
        file = tmp_path / "prices.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return prices.read(file, MOMENT)

    return read_text


@pytest.fixture
def fault(read):
    def message(text: str | bytes) -> str:
        with pytest.raises(PriceError) as caught:
            read(text)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return message


class TestFile:
    def test_numbers_are_money_per_million_tokens_and_dollars_unless_told_otherwise(self, read):
        text = f'[prices."my server"]\n{FULL}currency = "EUR"\n[prices.other]\n{FULL}'
        assert read(text) == (
            Price("my server", "EUR", input=2.0, cached_input=0.5, output=10.0),
            Price("other", "USD", input=2.0, cached_input=0.5, output=10.0),
        )

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (
                "[prices.x\n",
                "prices.toml: is not TOML (Expected ']' at the end of a table declaration (at line 1",
            ),
            (f"[prices.x]\n{FULL}input = 3\n", "at line 5, column"),
            (b"\xff", "is not UTF-8 text (byte 0)"),
            ("", 'holds no table [prices."name"]'),
            ("prices = 3\n", 'holds no table [prices."name"]'),
            (f"[x]\n{FULL}", "unknown key 'x'; prices stand in tables [prices.\"name\"]"),
            (
                f"[prices]\n{FULL}",
                "prices.'input': must be a table with input, cached_input, output, or with model",
            ),
            (f'[prices." "]\n{FULL}', "prices.' ': needs a name that can be read"),
            (
                "[prices.x]\ninput = 2\n",
                "prices.'x': lacks cached_input, output (or give model, for published prices)",
            ),
            (
                f"[prices.x]\n{FULL}cached = 1\n",
                "prices.'x': unknown key 'cached'; known are input, cached_input, output, currency",
            ),
            (
                f'[prices.x]\nmodel = "gpt-4o"\n{FULL}',
                "prices.'x': unknown key 'input', 'cached_input', 'output'; known beside model are model, provider",
            ),
            (
                f"[prices.x]\n{FULL.replace('10', '-10')}",
                "prices.'x': output must be from 0 to 1,000,000,000, not -10",
            ),
            (f"[prices.x]\n{FULL.replace('10', 'nan')}", "not nan"),
            (f"[prices.x]\n{FULL.replace('10', 'inf')}", "not inf"),
            (f"[prices.x]\n{FULL.replace('10', '1' + 400 * '0')}", "output must be from 0 to 1,000,000,000"),
            (f"[prices.x]\n{FULL.replace('10', 'true')}", "prices.'x': output must be a number, not True"),
            (
                f"[prices.x]\n{FULL.replace('10', chr(34) + '10' + chr(34))}",
                "output must be a number, not '10'",
            ),
            (f"[prices.x]\n{FULL}currency = 5\n", "prices.'x': currency must be a text, not 5"),
            ("[prices.x]\nmodel = 5\n", "prices.'x': model must be a text, not 5"),
        ],
    )
    def test_each_fault_is_told_in_one_sentence_with_its_place(self, fault, text, told):
        assert told in fault(text)

    def test_a_file_that_is_not_there_is_told(self, tmp_path):
        with pytest.raises(PriceError, match=r"nowhere\.toml: cannot be read"):
            prices.read(tmp_path / "nowhere.toml", MOMENT)


@pytest.fixture
def published(monkeypatch):
    """Has the package know one model, at the given prices."""
    genai_prices = pytest.importorskip("genai_prices")
    types = pytest.importorskip("genai_prices.types")

    def set_prices(**rates):
        found = SimpleNamespace(
            provider=SimpleNamespace(id="seller"),
            model=SimpleNamespace(id="m-1"),
            model_price=types.ModelPrice(**rates),
        )
        monkeypatch.setattr(genai_prices, "calc_price", lambda *_args, **_kwargs: found)

    return set_prices


class TestPublished:
    def test_a_named_model_costs_what_the_package_itself_computes(self, read):
        genai_prices = pytest.importorskip("genai_prices")
        (found,) = read('[prices."4o"]\nmodel = "gpt-4o"\nprovider = "openai"\n')

        def computed(**usage):
            used = genai_prices.Usage(**usage)
            result = genai_prices.calc_price(
                used, "gpt-4o", provider_id="openai", genai_request_timestamp=MOMENT
            )
            return float(result.total_price)

        million = 1_000_000
        assert found.input == computed(input_tokens=million)
        assert found.cached_input == computed(input_tokens=million, cache_read_tokens=million)
        assert found.output == computed(output_tokens=million)
        assert found.currency == "USD"

    def test_version_and_day_of_the_data_and_the_model_found_are_kept(self, read):
        genai_prices = pytest.importorskip("genai_prices")
        (found,) = read('[prices."4o"]\nmodel = "gpt-4o-2024-08-06"\n')
        assert found.source == f"genai-prices {genai_prices.__version__}, openai gpt-4o, 2026-11-30"

    def test_prices_with_tiers_say_up_to_which_prompt_they_hold(self, read, published):
        types = pytest.importorskip("genai_prices.types")
        tiers = [types.Tier(start=200_000, price=Decimal(6)), types.Tier(start=100_000, price=Decimal(4))]
        published(
            input_mtok=types.TieredPrices(base=Decimal(3), tiers=tiers),
            output_mtok=Decimal(15),
            cache_write_mtok=Decimal("3.75"),
        )
        (found,) = read('[prices.x]\nmodel = "m"\n')
        assert (found.input, found.base_up_to, found.cache_write) == (3.0, 100_000, 3.75)

    def test_a_cached_price_that_is_not_published_is_unknown_and_not_the_full_one(self, read, published):
        published(input_mtok=Decimal(30), output_mtok=Decimal(60))
        (found,) = read('[prices.x]\nmodel = "m"\n')
        assert found.cached_input is None

    @pytest.mark.parametrize(
        ("rates", "told"),
        [
            (
                {"input_mtok": 1, "output_mtok": 1, "requests_kcount": 5},
                "has seller m-1 with a price for a request; give",
            ),
            (
                {"input_mtok": 1},
                "has seller m-1 without a price for a token; give input, cached_input, output instead",
            ),
        ],
    )
    def test_a_model_without_usable_prices_is_told(self, fault, published, rates, told):
        published(**{key: Decimal(rate) for key, rate in rates.items()})
        assert told in fault('[prices.x]\nmodel = "m"\n')

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ('model = "gtp-99"', "knows no model 'gtp-99'; give input, cached_input, output instead"),
            ('model = "gpt-4o"\nprovider = "nobody"', "knows no model 'gpt-4o' of a provider 'nobody'; give"),
        ],
    )
    def test_an_unknown_model_is_told(self, fault, text, told):
        pytest.importorskip("genai_prices")
        assert told in fault(f"[prices.x]\n{text}\n")

    def test_without_the_package_the_extra_to_install_is_told(self, fault, monkeypatch):
        monkeypatch.setitem(sys.modules, "genai_prices", None)
        assert fault('[prices.x]\nmodel = "gpt-4o"\n').endswith(
            "prices.'x': published prices need genai-prices; pip install 'pytest-tokenbench[prices]'"
        )


def costs(run: Run) -> dict:
    (made,) = document.build(run)["costs"]
    return made


def changed(change, price: Price = BY_HAND) -> Run:
    made = made_runs.run(price)
    return replace(made, observations=tuple(map(change, made.observations)))


class TestArithmetic:
    def test_a_question_costs_its_mean_input_and_output_tokens(self):
        made = costs(made_runs.run(BY_HAND))["conditions"]
        # (1010 + 1020 + 1005 + 2000) / 4 x 2 + 5 x 10, and 100 x 2 + 5 x 10
        assert made["A"]["per_question"] == {"estimate": pytest.approx(2567.5 * MICRO), "n": 4}
        assert made["C"]["per_question"] == {"estimate": pytest.approx(250 * MICRO), "n": 4}

    def test_preparation_is_a_mean_over_documents_spread_over_their_questions(self):
        made = costs(made_runs.run(BY_HAND))["conditions"]
        # ((1000 x 2 + 100 x 10) + (2000 x 2 + 50 x 10)) / 2 documents, of two questions each on average
        assert made["C"]["preparation"]["per_document"] == pytest.approx(3750 * MICRO)
        assert made["C"]["preparation"]["per_question"] == pytest.approx(1875 * MICRO)
        assert made["A"]["preparation"] == {"per_document": 0.0, "per_question": 0.0}

    def test_with_prompt_caching_further_questions_pay_the_cached_rate_for_the_prefix(self):
        made = costs(made_runs.run(BY_HAND))["with_prompt_caching"]
        # Least of 1010 - 3, 1020 - 5 and 1005 - 2 words; the quay has one question, which pays in full.
        assert made["cached_tokens"] == {"mill": 1003, "quay": 1995}
        # 5035 x 2 + 20 x 10 - 2 further questions x 1003 x (2 - 0.5)
        assert made["estimate"] == pytest.approx((10_070 + 200 - 3009) / 4 * MICRO)
        assert made["n"] == 4

    def test_the_error_of_the_prefix_is_in_favour_of_the_baseline(self):
        # Were the prefix 990 tokens, the questions would have 20, 30 and 15 of their own, more than words.
        made = costs(made_runs.run(BY_HAND))["with_prompt_caching"]
        truth = 10_070 + 200 - 2 * 990 * 1.5
        assert made["estimate"] < truth / 4 * MICRO
        assert made["estimate"] == pytest.approx(truth / 4 * MICRO, rel=0.01)

    def test_a_cache_at_the_full_rate_saves_nothing(self):
        made = costs(made_runs.run(replace(BY_HAND, cached_input=2.0)))
        assert made["with_prompt_caching"]["estimate"] == pytest.approx(
            made["conditions"]["A"]["per_question"]["estimate"]
        )

    def test_only_trials_that_ended_well_are_counted(self):
        made = costs(
            changed(lambda seen: replace(seen, status=Status.ERROR) if seen.question == "mill-q3" else seen)
        )
        assert made["conditions"]["A"]["per_question"] == {
            "estimate": pytest.approx((4030 / 3 * 2 + 50) * MICRO),
            "n": 3,
        }
        # The mill's third costs what the two others do; two of the three pay the cached rate, for 1010 - 3 tokens.
        assert made["with_prompt_caching"]["estimate"] == pytest.approx(
            (3 * (1015 * 2 + 50) - 2 * 1007 * 1.5 + 4050) / 4 * MICRO
        )
        assert made["with_prompt_caching"]["n"] == 3

    @pytest.mark.parametrize("lost", [{"mill-q2"}, {"mill-q2", "mill-q3"}, {"mill-q1", "mill-q3"}])
    def test_with_trials_missing_caching_looks_no_dearer_than_with_all_of_them(self, lost):
        def cached(run):
            return costs(run)["with_prompt_caching"]["estimate"]

        # Questions of one length, so that what is lost is not what costs least.
        alike = changed(lambda seen: replace(seen, input_tokens=1010) if seen.document == "mill" else seen)
        lacking = replace(alike, observations=tuple(
            made_runs.errored(seen) if seen.condition == "A" and seen.question in lost else seen
            for seen in alike.observations
        ))  # fmt: skip
        assert cached(lacking) <= cached(alike)
        assert cached(lacking) == pytest.approx(cached(alike), rel=0.01)

    def test_an_unknown_count_is_no_cost_of_zero(self):
        made = costs(
            changed(lambda seen: replace(seen, output_tokens=None) if seen.condition == "C" else seen)
        )
        assert made["conditions"]["C"]["per_question"] == {
            "unavailable": "output_tokens of condition C was not measured"
        }

    def test_a_preparation_with_unknown_counts_has_no_cost(self):
        run = made_runs.run(BY_HAND)
        run = replace(run, preparations=(made_runs.preparation("mill", None, 1), run.preparations[1]))
        reason = {"unavailable": "the preparation of mill has no token counts"}
        assert costs(run)["conditions"]["C"]["preparation"] == reason

    def test_a_prompt_beyond_the_base_tier_has_no_cost(self):
        made = costs(made_runs.run(replace(BY_HAND, base_up_to=1999)))
        told = "has 2,000 tokens; over 1,999 they cost more than the prices say"
        assert made["conditions"]["A"]["per_question"] == {"unavailable": f"a prompt under A {told}"}
        assert made["conditions"]["C"]["preparation"] == {"unavailable": f"the summary of quay {told}"}
        assert made["with_prompt_caching"] == {"unavailable": f"a prompt under A {told}"}
        assert "estimate" in made["conditions"]["C"]["per_question"]
        assert "estimate" in costs(made_runs.run(replace(BY_HAND, base_up_to=2000)))["with_prompt_caching"]

    def test_caching_is_unavailable_where_questions_do_not_share_a_context(self):
        made = costs(changed(lambda seen: replace(seen, context_sha256=seen.question)))["with_prompt_caching"]
        assert made == {"unavailable": "under A the questions of mill are not known to share one context"}

    def test_caching_is_unavailable_where_no_cached_price_is_published(self):
        made = costs(made_runs.run(replace(BY_HAND, cached_input=None, source="data 1, gpt-4")))
        assert made["with_prompt_caching"] == {
            "unavailable": "no price for cached input is published (data 1, gpt-4)"
        }


TABLE = """\
             questions    preparation    together
---------  -----------  -------------  ----------
A                2.567              0       2.567
A, cached        1.815              0       1.815
C                0.250          1.875       2.125"""


class TestReports:
    def test_each_table_of_prices_shows_the_cost_of_1000_questions(self):
        made = document.build(made_runs.run(BY_HAND))
        assert costs_text.table(made["costs"][0], "A") == TABLE
        heading = costs_text.heading(made["costs"][0], made)
        assert heading == (
            "Cost per 1,000 questions in EUR, by hand: input 2, cached 0.5, output 10 per million tokens; "
            "preparation spread over 2 questions a document"
        )

    @pytest.mark.parametrize("width", [80, 140])
    def test_the_terminal_has_them_in_both_widths(self, width):
        made = document.build(made_runs.run(BY_HAND, replace(BY_HAND, name="other")))
        lines = [line for line, _ in terminal.summary(made, width)]
        text = "\n".join(lines)
        assert text.count(TABLE) == 2
        start = lines.index(TABLE.splitlines()[0])
        assert max(map(len, lines[start - 2 : start + 5])) <= width
        note = "note: costs are for the tokens that reader:1b counts; another model counts others"
        assert note in text.replace("\n    ", " ")

    def test_the_markdown_report_has_them_with_names_escaped(self):
        run = made_runs.run(replace(BY_HAND, name="a|b"))
        text = markdown.render(document.build(run), run.record)
        assert "in EUR, a\\|b: input 2" in text
        assert "| A, cached |       1.815 |             0 |      1.815 |" in text
        assert "- costs are for the tokens that reader:1b counts" in text

    def test_what_a_figure_leaves_out_is_noted(self):
        written = document.build(made_runs.run(replace(BY_HAND, cache_write=2.5)))
        unknown = document.build(made_runs.run(replace(BY_HAND, cached_input=None, source="data 1")))
        assert costs_text.notes(written)[0] == (
            "by hand: input put into the cache costs 2.5 per million tokens, which A, cached leaves out"
        )
        assert costs_text.notes(unknown)[0] == (
            "by hand: no cost with prompt caching, since no price for cached input is published (data 1)"
        )

    def test_free_tokens_and_tiny_amounts_are_shown_plainly(self):
        free = document.build(made_runs.run(Price("free", "USD", 0.0, 0.0, 0.0)))
        tiny = document.build(made_runs.run(Price("tiny", "USD", 0.0001, 0.0001, 0.0001)))
        assert costs_text.table(free["costs"][0], "A").splitlines()[2].split() == ["A", "0", "0", "0"]
        assert costs_text.table(tiny["costs"][0], "A").splitlines()[2].split() == [
            "A",
            "0.000126",
            "0",
            "0.000126",
        ]

    def test_without_prices_no_output_speaks_of_costs(self):
        run = made_runs.run()
        made = document.build(run)
        assert "costs" not in made
        assert not costs_text.notes(made)
        assert "cost per" not in markdown.render(made, run.record).lower()
        assert "cost per" not in "\n".join(line for line, _ in terminal.summary(made, 140)).lower()


def test_the_example_in_the_documentation_can_be_read(repository: Path, read):
    text = (repository / "docs" / "prices.md").read_text(encoding="utf-8")
    pytest.importorskip("genai_prices")
    assert [one.name for one in read(text.split("```toml\n")[1].split("```")[0])] == ["my server", "4o"]
