"""The options of the plugin, each on the command line and as an ini key."""

import math
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_tokenbench.gates import Gate
    from pytest_tokenbench.hosting import Hosting
    from pytest_tokenbench.scheduling import Order
    from pytest_tokenbench.settings import Settings, Shard


def add(parser: pytest.Parser) -> None:
    """Adds the options under one heading of `pytest --help`."""
    group = parser.getgroup("tokenbench", "tokenbench: token cost and accuracy studies")

    def option(name: str, text: str, **settings: Any) -> None:
        key = f"tokenbench_{name.replace('-', '_')}"
        group.addoption(f"--tokenbench-{name}", dest=key, help=text, **settings)
        kind: Literal["bool", "string"] = "bool" if settings.get("action") == "store_true" else "string"
        parser.addini(key, text, type=kind, default=None)

    option(
        "model",
        "Model that answers and writes preparations (default: qwen2.5:7b-instruct; embedded: smollm2-135m).",
        metavar="NAME",
    )
    option(
        "backend",
        "Where the model runs: ollama (default), embedded (in this process), or openai (any server with that interface).",
        metavar="BACKEND",
    )
    option(
        "host",
        "Address of a server (default: $OLLAMA_HOST, else http://127.0.0.1:11434). May be given several times: "
        "with -n, each worker asks one of them.",
        metavar="URL",
        action="append",
    )
    option(
        "study",
        "Run these studies only, by name, separated by commas; all: every one, also those that are opt-in and "
        "otherwise run only when their file is named.",
        metavar="NAMES",
    )
    option("conditions", "Run these conditions only, separated by commas.", metavar="IDS")
    option(
        "quick",
        "A quick look instead of the study: the first four documents, shortened, and their questions; of a study over "
        "blocks a few cases and arms.",
        action="store_true",
        default=None,
    )
    option("reports", "Folder for the run folders (default: reports).", metavar="DIR")
    option(
        "html",
        "on (default): a run's end writes report.html. off: only `tokenbench report` does.",
        metavar="ON",
    )
    option(
        "strict",
        "An unavailable hypothesis fails instead of being skipped.",
        action="store_true",
        default=None,
    )
    option(
        "order",
        "cold (default): consecutive trials share no document, so that prefill can be measured. shared: trials with "
        "a common context follow each other, so that it is prefilled once.",
        metavar="ORDER",
    )
    option(
        "nonce",
        "Begin every prompt with a few characters of its own, so that no server finds any of it in a cache.",
        action="store_true",
        default=None,
    )
    option("timeout", "Seconds that one trial may take, all attempts together (default: 900).", metavar="S")
    option(
        "repeats",
        "Run each trial this many times, which tells how far answers vary (default: 1).",
        metavar="N",
    )
    option(
        "resume",
        "Go on with a run that did not come to its end: this folder, or without a value the newest.",
        metavar="RUN",
        nargs="?",
        const="",
    )
    option("shard", "Run one part of the trials, as 2/5; `tokenbench merge` joins the parts.", metavar="I/N")
    option(
        "compare",
        "Compare with this earlier run of the study when the last trial is in; also writes compare.md, "
        "compare.json and, where pages are, compare.html into the run folder.",
        metavar="RUN",
    )
    option(
        "compare-fail",
        "Fail the session where a condition lost more since that run, beyond noise: accuracy:D25:3 is 3 points. "
        "May be given several times.",
        metavar="GATE",
        action="append",
    )
    option(
        "plan",
        "Ask no model and run nothing: print trials, tokens, preparations, expected time and cost, and the power.",
        action="store_true",
        default=None,
    )
    option(
        "discordance",
        "Share of answers that the plan expects to differ between two conditions (default: 0.1).",
        metavar="SHARE",
    )
    option(
        "progress",
        "How a run tells where it stands: auto (default: below pytest's own lines on a terminal, else as plain), plain "
        "(one line a minute) or off.",
        metavar="HOW",
    )
    option("prices", "TOML file with prices per million tokens; adds cost per question.", metavar="FILE")


def are_given(config: pytest.Config) -> bool:
    """Whether any option is set, on the command line or in the ini file."""
    names = [name for name in vars(config.option) if name.startswith("tokenbench_")]
    return any(config.getoption(name) is not None or config.getini(name) is not None for name in names)


def read(config: pytest.Config) -> "Settings":
    """The settings that command line and ini file give, in that order of precedence.

    Raises:
        pytest.UsageError: An option has a value that cannot be used.
    """
    # Options are added in every pytest session, but read only in one with a study.
    from pytest_tokenbench.settings import BACKENDS, DEFAULT_MODELS, TIMEOUT_S, Settings  # noqa: PLC0415

    given = partial(_given, config)
    backend = given("backend") or BACKENDS[0]
    if backend not in BACKENDS:
        raise _unusable("backend", f"{backend!r} is no backend; choose {' or '.join(BACKENDS)}")
    model = given("model") or DEFAULT_MODELS.get(backend)
    if model is None:
        raise _unusable("model", f"the backend {backend} has no default; name one that the server has")
    quick = bool(given("quick"))
    return Settings(
        backend=backend,
        model=model,
        hosts=_hosts(given("host"), backend),
        conditions=_names(
            "conditions", given("conditions"), "condition; give ids separated by commas, as A,D25"
        ),
        studies=_names("study", given("study"), "study; give names separated by commas, or all"),
        quick=quick,
        reports=config.rootpath / (given("reports") or "reports"),
        strict=bool(given("strict")),
        prices=_path(config, "prices"),
        preparations=config.rootpath / ".tokenbench" / "preparations",
        order=_order(given("order"), quick=quick),
        nonce=bool(given("nonce")),
        timeout=_number("timeout", given("timeout"), TIMEOUT_S, least=1),
        repeats=int(_number("repeats", given("repeats"), 1, least=1, whole=True)),
        resume=given("resume"),
        shard=_shard(given("shard")),
        html=_switched(given("html")),
        first_host=getattr(config, "workerinput", {}).get("tokenbench_host", 0),
        compare=_path(config, "compare"),
        gates=_gates(given("compare_fail"), given("compare")),
        progress=_progress(given("progress")),
        discordance=_share("discordance", given("discordance")),
    )


def plans(config: pytest.Config) -> bool:
    """Whether the session is to plan only."""
    return bool(_given(config, "plan"))


EARLIER = pytest.StashKey[dict[str, "Path"]]()
HOSTING: pytest.StashKey["Hosting"] = pytest.StashKey()
BOARD = pytest.StashKey["Path"]()
SEEN = "tokenbench_seen"  # what a worker of xdist tells of its collection when it ends


def for_worker(config: pytest.Config, worker: str) -> dict[str, Any]:
    """What a worker of xdist is told beside its options; it finds them in `workerinput`."""
    from pytest_tokenbench.hosting import Hosting  # noqa: PLC0415

    settings = read(config)
    hosting = config.stash.setdefault(HOSTING, Hosting(len(settings.hosts)))
    told: dict[str, Any] = {"tokenbench_host": hosting.assign(worker)}
    if settings.resume is not None:
        runs = earlier_runs(config, settings)
        told["tokenbench_earlier"] = {study: str(folder) for study, folder in runs.items()}
    return told


def shared(config: pytest.Config) -> dict[str, Any]:
    """What every worker of xdist finds in `workerinput`, options or not: where decisions are, and the files named."""
    name = os.urandom(8).hex()
    folder = config.stash.setdefault(BOARD, config.rootpath / ".tokenbench" / "decisions" / name)
    return {"tokenbench_board": str(folder), "tokenbench_named": [str(file) for file in named_files(config)]}


def board_folder(config: pytest.Config) -> "Path | None":
    """The folder that `shared` names; None where no other process runs trials."""
    from pathlib import Path  # noqa: PLC0415

    told = getattr(config, "workerinput", {}).get("tokenbench_board")
    return config.stash.get(BOARD, None) if told is None else Path(told)


def named_files(config: pytest.Config) -> "frozenset[Path]":
    """The files that the command line names, in whole or a test in them."""
    from pathlib import Path  # noqa: PLC0415

    told = getattr(config, "workerinput", {}).get("tokenbench_named")
    if told is not None:
        return frozenset(map(Path, told))
    given = (config.invocation_params.dir / str(one).partition("::")[0] for one in config.args)
    return frozenset(path.resolve() for path in given if path.is_file())


def earlier_runs(config: pytest.Config, settings: "Settings") -> dict[str, "Path"]:
    """The run folders to go on with, by study; a worker of xdist is told them by its controller.

    Raises:
        pytest.UsageError: There is no such run.
    """
    from pathlib import Path  # noqa: PLC0415

    from pytest_tokenbench import resume, run_folder  # noqa: PLC0415

    told = getattr(config, "workerinput", {}).get("tokenbench_earlier")
    if told is not None:
        return {study: Path(folder) for study, folder in told.items()}
    if EARLIER not in config.stash:
        try:
            config.stash[EARLIER] = resume.earlier(settings, config.invocation_params.dir)
        except run_folder.RunError as error:
            raise _unusable("resume", str(error)) from error
    return config.stash[EARLIER]


def _given(config: pytest.Config, name: str) -> Any:
    typed = config.getoption(f"tokenbench_{name}")
    return typed if typed is not None else config.getini(f"tokenbench_{name}") or None


def _unusable(option: str, why: str) -> pytest.UsageError:
    return pytest.UsageError(f"--tokenbench-{option}: {why}")


def _hosts(given: str | list[str] | None, backend: str) -> tuple[str, ...]:
    """On the command line one each time, in the ini file separated by spaces."""
    from pytest_tokenbench.models.addresses import split_credentials  # noqa: PLC0415

    hosts = tuple(given.split() if isinstance(given, str) else given or ())
    if backend == "openai" and not hosts:
        raise _unusable("host", "the backend openai has no default; give the server's address")
    if backend == "embedded" and hosts:
        raise _unusable(
            "host", "the embedded model runs in this process and has no host; leave the option out"
        )
    shown = [split_credentials(host)[0] for host in hosts]
    if twice := {host for host in shown if shown.count(host) > 1}:
        raise _unusable("host", f"{' and '.join(sorted(twice))} is given twice; each host counts once")
    return hosts


def _names(option: str, given: str | None, wanted: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    if not names:
        raise _unusable(option, f"names no {wanted}")
    return names


def _order(given: str | None, *, quick: bool) -> "Order":
    """Cold for the protocol; shared for a quick look, which measures no prefill worth the wait."""
    from pytest_tokenbench.scheduling import Order  # noqa: PLC0415

    if given is None:
        return Order.SHARED if quick else Order.COLD
    if given not in set(Order):
        raise _unusable("order", f"{given!r} is no order; choose {' or '.join(Order)}")
    return Order(given)


def _switched(given: str | None) -> bool:
    if given not in {None, "on", "off"}:
        raise _unusable("html", f"{given!r} is neither on nor off")
    return given != "off"


def _number(option: str, given: str | None, default: float, *, least: int, whole: bool = False) -> float:
    if given is None:
        return default
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < least or (whole and not number.is_integer()):
        raise _unusable(option, f"{given!r} is no {'whole ' if whole else ''}number from {least} up")
    return number


def _share(option: str, given: str | None) -> float:
    from pytest_tokenbench.settings import DISCORDANCE  # noqa: PLC0415

    if given is None:
        return DISCORDANCE
    try:
        share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise _unusable(option, f"{given!r} is no share above 0 and up to 1; give it as 0.15 or 15%")
    return share


def _progress(given: str | None) -> str:
    from pytest_tokenbench.settings import PROGRESS  # noqa: PLC0415

    if given is None:
        return PROGRESS[0]
    if given not in PROGRESS:
        raise _unusable("progress", f"{given!r} is none of {', '.join(PROGRESS)}")
    return given


def _shard(given: str | None) -> "Shard | None":
    from pytest_tokenbench.settings import Shard  # noqa: PLC0415

    if given is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", given)
    number, of = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= of:
        raise _unusable("shard", f"{given!r} is no part of a whole; give the second of five parts as 2/5")
    return Shard(number, of)


def compared(settings: "Settings") -> None:
    """Checks that there is a run to compare with, before anything is collected.

    Raises:
        pytest.UsageError: There is none.
    """
    from pytest_tokenbench import run_folder  # noqa: PLC0415

    if settings.compare is not None:
        try:
            run_folder.read_record(settings.compare)
        except run_folder.RunError as error:
            raise _unusable("compare", str(error)) from error


def _gates(given: str | list[str] | None, compare: str | None) -> "tuple[Gate, ...]":
    """On the command line one each time, in the ini file separated by spaces."""
    if not given:
        return ()
    if not compare:
        raise _unusable("compare-fail", "there is no run to compare with; name one with --tokenbench-compare")
    from pytest_tokenbench.gates import Gate  # noqa: PLC0415

    try:
        return tuple(map(Gate.parse, given.split() if isinstance(given, str) else given))
    except ValueError as error:
        raise _unusable("compare-fail", str(error)) from error


def _path(config: pytest.Config, name: str) -> "Path | None":
    """The path given on the command line, as seen from where that was typed, or in the ini file, from the root."""
    typed, kept = config.getoption(f"tokenbench_{name}"), config.getini(f"tokenbench_{name}")
    if typed:
        return config.invocation_params.dir.joinpath(typed)
    return config.rootpath.joinpath(kept) if kept else None
