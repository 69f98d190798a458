"""Preparations: what their key depends on, what one costs, how one fails, how they are kept on disk."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import scripted

from pytest_tokenbench import prompting
from pytest_tokenbench.conditions import Croutons, Summary
from pytest_tokenbench.models.base import BusyError, CrashedError, WindowExceededError
from pytest_tokenbench.preparation import Store, build, key
from pytest_tokenbench.records import encode

DOCUMENT = scripted.document("The mill was built in 1901.\n", sha256="a" * 64)
RECIPE = Summary("C", max_words=10).recipe()
BASE = key(RECIPE, DOCUMENT, scripted.INFO)


class TestKey:
    @pytest.mark.parametrize(
        ("recipe", "document", "info", "limit"),
        [
            pytest.param(RECIPE, replace(DOCUMENT, sha256="b" * 64), scripted.INFO, None, id="document"),
            pytest.param(Summary("C", max_words=11).recipe(), DOCUMENT, scripted.INFO, None, id="option"),
            pytest.param(Croutons("D").recipe(), DOCUMENT, scripted.INFO, None, id="recipe"),
            pytest.param(RECIPE, DOCUMENT, replace(scripted.INFO, digest="sha256:abd"), None, id="digest"),
            pytest.param(RECIPE, DOCUMENT, replace(scripted.INFO, window=8192), None, id="window"),
            pytest.param(RECIPE, DOCUMENT, replace(scripted.INFO, options={"seed": 1}), None, id="sampler"),
            pytest.param(RECIPE, DOCUMENT, scripted.INFO, 256, id="limit"),
        ],
    )
    def test_changes_with_what_could_change_the_preparation(self, recipe, document, info, limit):
        assert key(recipe, document, info, limit) != BASE

    def test_changes_with_the_text_of_a_prompt(self, monkeypatch):
        texts = {name: prompting.template(name) for name in ("summary", "summary_retry")}
        keys = {BASE}
        for name, text in texts.items():
            changed = texts | {name: text + " Please."}
            monkeypatch.setattr(prompting, "template", changed.__getitem__)
            prompting.sha256.cache_clear()
            keys.add(key(RECIPE, DOCUMENT, scripted.INFO))
        monkeypatch.undo()
        prompting.sha256.cache_clear()
        assert len(keys) == 3
        assert key(RECIPE, DOCUMENT, scripted.INFO) == BASE

    @pytest.mark.parametrize(
        ("recipe", "document", "info"),
        [
            pytest.param(Summary("other", max_words=10).recipe(), DOCUMENT, scripted.INFO, id="condition"),
            pytest.param(
                RECIPE, replace(DOCUMENT, id="x", title="X", file="x.txt"), scripted.INFO, id="names"
            ),
            pytest.param(
                RECIPE, DOCUMENT, replace(scripted.INFO, name="b", host="h", backend="c"), id="place"
            ),
            pytest.param(RECIPE, DOCUMENT, replace(scripted.INFO, server_version="9"), id="version"),
        ],
    )
    def test_does_not_change_with_names_and_places(self, recipe, document, info):
        assert key(recipe, document, info) == BASE

    def test_croutons_share_theirs_whatever_number_is_taken_of_them(self):
        keys = {key(Croutons("D", top=top).recipe(), DOCUMENT, scripted.INFO) for top in (10, 25, None)}
        assert len(keys) == 1

    @pytest.mark.parametrize("option", ["section_words", "max_tokens"])
    def test_croutons_with_another_option_have_another(self, option):
        changed = Croutons("D", **{option: 99}).recipe()
        assert key(changed, DOCUMENT, scripted.INFO) != key(Croutons("D").recipe(), DOCUMENT, scripted.INFO)

    def test_does_not_change_with_the_order_in_which_options_are_told(self):
        one = replace(scripted.INFO, options={"seed": 0, "top_k": 1})
        other = replace(scripted.INFO, options={"top_k": 1, "seed": 0})
        assert key(RECIPE, DOCUMENT, one) == key(RECIPE, DOCUMENT, other)


def made(*replies, recipe=RECIPE, most_tokens=None, document=DOCUMENT):
    model = scripted.ScriptedModel(*replies)
    return build(recipe, document, scripted.patient(model), scripted.INFO, most_tokens), model


LONG = " ".join(["word"] * 12)


class TestBuilding:
    def test_tells_what_it_was_built_of_and_with(self):
        one, _ = made("The mill is old.")
        assert one.key == BASE
        assert one.recipe == "summary"
        assert one.document == "mill"
        assert one.document_sha256 == "a" * 64
        assert one.prompt_sha256 == prompting.sha256("summary", "summary_retry")
        assert one.model_digest == "sha256:abc"
        assert one.options == {"max_words": 10, "max_tokens": 20, "most_tokens": None}
        assert one.units == ("The mill is old.",)
        assert (one.failure, one.failure_kind) == (None, None)

    def test_its_cost_is_the_sum_over_its_calls(self):
        one, _ = made(
            scripted.reply(LONG, input_tokens=100, output_tokens=15, wall_s=0.5),
            scripted.reply("Short.", input_tokens=120, output_tokens=4, wall_s=0.25),
        )
        assert (one.calls, one.input_tokens, one.output_tokens, one.seconds) == (2, 220, 19, 0.75)

    @pytest.mark.parametrize("place", [0, 1])
    def test_a_count_that_was_not_told_makes_the_sum_unknown_and_not_less(self, place):
        told = [{"input_tokens": 100, "output_tokens": 10}] * 2
        told[place] = {"input_tokens": None, "output_tokens": 10}
        one, _ = made(scripted.reply(LONG, **told[0]), scripted.reply("Short.", **told[1]))
        assert one.input_tokens is None
        assert one.output_tokens == 20

    @pytest.mark.parametrize(("most", "limit"), [(None, 20), (256, 20), (7, 7)])
    def test_the_tighter_of_two_limits_holds(self, most, limit):
        _, model = made("Short.", most_tokens=most)
        assert model.limits == [limit]

    def test_the_limit_of_a_quick_look_is_in_its_key_and_options(self):
        one, _ = made("Short.", most_tokens=7)
        assert one.key == key(RECIPE, DOCUMENT, scripted.INFO, 7)
        assert one.options["most_tokens"] == 7

    def test_what_a_recipe_found_out_of_the_ordinary_is_kept(self):
        recipe = Croutons("D", section_words=60, max_tokens=50).recipe()
        one, _ = made(scripted.reply("Built in 1901. Sold in 1950.", stop="length"), recipe=recipe)
        assert one.flags == ("recovered", "cut")
        assert (one.numbers, one.unfaithful_numbers) == (2, 1)
        assert one.cut_sections == (0,)

    def test_a_failed_construction_keeps_its_reason_and_its_cost(self):
        one, _ = made(LONG, "")
        assert one.failure == "the model replied with an empty summary of mill"
        assert one.failure_kind == "construction"
        assert one.units == ()
        assert (one.calls, one.input_tokens, one.output_tokens, one.seconds) == (2, 200, 20, 1.0)

    def test_one_section_that_cannot_be_asked_fails_it_with_the_reason_and_what_it_cost_so_far(self):
        text = "\n\n".join(" ".join([f"P{i}", *["word"] * 59]) + "." for i in range(3))
        recipe = Croutons("D", section_words=60, max_tokens=50).recipe()
        one, model = made(
            "A fact.", *[CrashedError("the server fell")] * 7, recipe=recipe, document=scripted.document(text)
        )
        assert (one.failure, one.failure_kind) == ("the server fell", "crashed")
        assert one.units == ()
        assert (one.calls, one.input_tokens, one.output_tokens) == (1, 100, 10)
        assert len(model.prompts) == 1 + 7

    def test_a_call_that_came_to_nothing_is_made_again_and_costs_nothing(self):
        one, model = made(BusyError("busy"), "Short.")
        assert one.units == ("Short.",)
        assert (one.calls, one.input_tokens, one.output_tokens, one.seconds) == (1, 100, 10, 0.5)
        assert len(model.prompts) == 2

    def test_a_document_over_the_window_fails_with_both_numbers(self):
        one, _ = made(WindowExceededError(needed=5000, window=4096))
        assert one.failure == "the prompt needs 5,000 tokens and does not fit the window of 4,096 tokens"
        assert one.failure_kind == "over_window"
        assert (one.calls, one.input_tokens) == (0, 0)

    def test_what_is_no_trouble_of_the_model_is_not_swallowed(self):
        with pytest.raises(ZeroDivisionError):
            made(ZeroDivisionError())


KEY, OTHER = "1f" * 32, "2e" * 32


class TestStore:
    ONE = scripted.preparation(
        "The mill \u2013 \u6c34\u8eca \u2013 is old.\u2028", key=KEY, options={"max_words": 600}
    )

    def test_gives_back_what_was_put(self, tmp_path):
        Store(tmp_path / "new" / "folder").put(self.ONE)
        assert Store(tmp_path / "new" / "folder").get(KEY) == self.ONE

    def test_a_failed_one_is_kept_with_its_reason(self, tmp_path):
        failed = scripted.preparation(key=KEY, failure="empty")
        Store(tmp_path).put(failed)
        assert Store(tmp_path).get(KEY) == failed

    def test_has_nothing_where_nothing_was_put(self, tmp_path):
        assert Store(tmp_path).get(KEY) is None
        assert Store(tmp_path / "no" / "folder").get(KEY) is None

    def test_a_later_one_takes_the_place_of_an_earlier_one(self, tmp_path):
        store = Store(tmp_path)
        store.put(scripted.preparation(key=KEY, failure="empty"))
        store.put(self.ONE)
        assert store.get(KEY) == self.ONE
        assert [path.name for path in tmp_path.glob("*.json")] == [f"{KEY}.json"]

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda raw: raw[:0], id="empty"),
            pytest.param(lambda raw: raw[: len(raw) // 2], id="cut short"),
            pytest.param(lambda raw: raw + b"x", id="too long"),
            pytest.param(lambda raw: raw.replace(b'"units"', b'"unit"'), id="a field gone"),
            pytest.param(lambda raw: raw.replace(b'"calls":1', b'"calls":"1"'), id="a field of another type"),
            pytest.param(lambda raw: b"\xff" + raw, id="not UTF-8"),
            pytest.param(lambda raw: b"[" + raw + b"]", id="other JSON"),
        ],
    )
    def test_a_damaged_file_is_as_if_there_were_none(self, tmp_path, damage):
        Store(tmp_path).put(self.ONE)
        path = tmp_path / f"{KEY}.json"
        path.write_bytes(damage(path.read_bytes()))
        assert Store(tmp_path).get(KEY) is None

    def test_a_file_under_a_wrong_name_is_not_trusted(self, tmp_path):
        (tmp_path / f"{OTHER}.json").write_bytes(encode(self.ONE))
        assert Store(tmp_path).get(OTHER) is None

    @pytest.mark.parametrize(
        "name",
        ["", "k1", "../outside", "/tmp/outside", KEY.upper(), KEY[:-1], f"{KEY}0", f"{KEY}\n", f"./{KEY}"],
    )
    def test_a_name_that_is_no_key_is_never_made_a_path(self, tmp_path, name):
        folder = tmp_path / "store"
        folder.mkdir()
        stray = scripted.preparation(key=name)
        for place in (folder / f"{name}.json", tmp_path / "outside.json"):
            if place.parent.is_dir() and tmp_path in place.parents:
                place.write_bytes(encode(stray))
        before = sorted(tmp_path.rglob("*"))
        assert Store(folder).get(name) is None
        with pytest.raises(ValueError, match="is no key of a preparation"):
            Store(folder).put(stray)
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_write_that_fails_leaves_what_was_there(self, tmp_path, monkeypatch):
        Store(tmp_path).put(self.ONE)

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            Store(tmp_path).put(replace(self.ONE, units=("Another.",)))
        assert Store(tmp_path).get(KEY) == self.ONE

    def test_a_reader_never_sees_half_a_file(self, tmp_path):
        ones = [replace(self.ONE, units=(letter * 200_000,)) for letter in "ab"]
        store = Store(tmp_path)
        store.put(ones[0])
        done = threading.Event()

        def write():
            for place in range(40):
                store.put(ones[place % 2])
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        seen = []
        while not done.is_set():
            seen.append(store.get(KEY))
        writer.join()
        assert all(one in ones for one in seen)
        assert seen

    def test_the_file_is_plain_json(self, tmp_path):
        Store(tmp_path).put(self.ONE)
        assert json.loads((tmp_path / f"{KEY}.json").read_text(encoding="utf-8"))["units"] == list(
            self.ONE.units
        )

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_cannot_be_written_is_an_error(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(OSError, match="Permission"):
            Store(tmp_path).put(self.ONE)
