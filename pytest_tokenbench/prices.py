"""What a million tokens cost: read from a TOML file, by hand or as published for a named model. Knows no costs.

```toml
[prices."my server"]
input = 0.20            # per million input tokens
cached_input = 0.05     # per million input tokens that a prompt cache holds already
output = 0.80           # per million output tokens
currency = "EUR"        # optional, USD if left out

[prices."4o"]
model = "gpt-4o"        # takes the published prices, through the package genai-prices
provider = "openai"     # optional
```
"""

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pytest_tokenbench.records import Count

RATES = ("input", "cached_input", "output")
HIGHEST = 1e9
Rate = Annotated[float, msgspec.Meta(ge=0, le=HIGHEST)]
_BY_HAND = (*RATES, "currency")
_PUBLISHED = ("model", "provider")


class PriceError(Exception):
    """Prices cannot be read or had; the message is one sentence that names the file and the table."""


@dataclass(frozen=True, slots=True)
class Price:
    """One table of prices, in money per million tokens.

    `source` says where published prices come from and of which day they are, None for prices given by hand. Only
    published ones can lack `cached_input` (no such price is published), have `cache_write` (the provider takes that
    for input it puts into its cache), and `base_up_to`: a prompt of more input tokens costs more than said here.
    """

    name: str
    currency: str
    input: Rate
    cached_input: Rate | None
    output: Rate
    source: str | None = None
    cache_write: Rate | None = None
    base_up_to: Count | None = None


def read(path: Path, moment: dt.datetime) -> tuple[Price, ...]:
    """The prices of a file in its order; published ones as they stand at the moment (with time zone).

    Raises:
        PriceError: The file cannot be read, or a table of it is faulty, or a published price is not to be had.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PriceError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise PriceError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise PriceError(f"{path}: is not TOML ({error})") from error
    tables = content.pop("prices", None)
    if content:
        raise PriceError(f'{path}: unknown key {_listed(content)}; prices stand in tables [prices."name"]')
    if not isinstance(tables, dict) or not tables:
        raise PriceError(f'{path}: holds no table [prices."name"]')
    return tuple(_price(name, table, f"{path}: prices.{name!r}", moment) for name, table in tables.items())


def _price(name: str, table: Any, place: str, moment: dt.datetime) -> Price:
    if not isinstance(table, dict):
        raise PriceError(f"{place}: must be a table with {', '.join(RATES)}, or with model")
    if not name.strip():
        raise PriceError(f"{place}: needs a name that can be read")
    known = _PUBLISHED if "model" in table else _BY_HAND
    unknown = [key for key in table if key not in known]
    if unknown:
        beside = "beside model " if "model" in table else ""
        raise PriceError(f"{place}: unknown key {_listed(unknown)}; known {beside}are {', '.join(known)}")
    if "model" in table:
        texts = {key: _text(table, key, place) for key in table}
        return _published(name, texts["model"], texts.get("provider"), place, moment)
    missing = [key for key in RATES if key not in table]
    if missing:
        raise PriceError(f"{place}: lacks {', '.join(missing)} (or give model, for published prices)")
    currency = _text({"currency": "USD"} | table, "currency", place)
    paid, cached, written = (_rate(table, key, place) for key in RATES)
    return Price(name, currency, input=paid, cached_input=cached, output=written)


def _rate(table: Mapping[str, Any], key: str, place: str) -> float:
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PriceError(f"{place}: {key} must be a number, not {value!r}")
    if not 0 <= value <= HIGHEST:
        raise PriceError(f"{place}: {key} must be from 0 to {HIGHEST:,.0f}, not {value!r}")
    return float(value)


def _text(table: Mapping[str, Any], key: str, place: str) -> str:
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise PriceError(f"{place}: {key} must be a text, not {value!r}")
    return value


def _published(name: str, model: str, provider: str | None, place: str, moment: dt.datetime) -> Price:
    """The published prices of a model, in US dollars."""
    try:
        import genai_prices  # noqa: PLC0415  # optional, and half a second to import
    except ImportError as error:
        raise PriceError(
            f"{place}: published prices need genai-prices; pip install 'pytest-tokenbench[prices]'"
        ) from error
    usage = genai_prices.Usage(input_tokens=1, output_tokens=1)
    data = f"genai-prices {genai_prices.__version__}"
    try:
        found = genai_prices.calc_price(usage, model, provider_id=provider, genai_request_timestamp=moment)
    except LookupError as error:
        whose = f" of a provider {provider!r}" if provider else ""
        raise PriceError(
            f"{place}: {data} knows no model {model!r}{whose}; give {', '.join(RATES)} instead"
        ) from error
    which = f"{found.provider.id} {found.model.id}"
    table = {key: value for key, value in vars(found.model_price).items() if value is not None}
    lacks = [key for key in ("input_mtok", "output_mtok") if key not in table]
    if lacks or "requests_kcount" in table:
        why = "without a price for a token" if lacks else "with a price for a request"
        raise PriceError(f"{place}: {data} has {which} {why}; give {', '.join(RATES)} instead")
    return Price(
        name,
        "USD",
        input=_base(table["input_mtok"]),
        cached_input=_base(table["cache_read_mtok"]) if "cache_read_mtok" in table else None,
        output=_base(table["output_mtok"]),
        source=f"{data}, {which}, {moment.astimezone(dt.UTC).date().isoformat()}",
        cache_write=_base(table["cache_write_mtok"]) if "cache_write_mtok" in table else None,
        base_up_to=min(
            (t.start for price in table.values() for t in getattr(price, "tiers", ())), default=None
        ),
    )


def _base(price: Any) -> float:
    """A published price for prompts below every tier: a price that has tiers holds it as its `base`."""
    return float(getattr(price, "base", price))


def _listed(keys: Any) -> str:
    return ", ".join(map(repr, keys))
