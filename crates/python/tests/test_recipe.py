"""Recipes: what can be one, what it says, what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import induct
import numpy as np
import pytest
from conftest import command


def test_presets_dicts_files_and_recipes_are_recipes(tmp_path: Path) -> None:
    main = induct.Recipe("main")
    assert induct.Recipe() == main
    assert induct.Recipe({"name": "main"}) == main
    assert induct.Recipe(main) == main
    assert induct.Recipe(main.save(tmp_path / "main.toml")) == main
    assert induct.Recipe(str(tmp_path / "main.toml")) == main
    assert hash(induct.Recipe(main)) == hash(main)
    names = [preset.name for preset in induct.presets()]
    assert "three-states" in names and all(induct.Recipe(name).name for name in names)


def test_settings_are_dotted_or_nested_and_read_as_attributes() -> None:
    dotted = induct.Recipe("main", {"train.steps": 500, "train.optimizer.lr": 3e-3, "model.heads": [1, 2]})
    nested = induct.Recipe("main", {"train": {"steps": 500, "optimizer": {"lr": 0.003}}, "model": {"heads": (1, 2)}})
    assert dotted == nested
    assert dotted.train.steps == 500 and dotted.train.optimizer.lr == 0.003 and dotted.model.heads == [1, 2]
    assert dict(dotted.seeds) == {"init": 0, "data": 0, "eval": 0}
    assert "optimizer" in dir(dotted.train) and "train" in dir(dotted)
    assert dotted.differences(induct.Recipe("main"))["train.steps"] == ("500", "4000")
    assert "train.steps = 500" in repr(dotted)


def test_numbers_of_numpy_and_special_ones_come_through() -> None:
    grid = np.linspace(1e-3, 3e-3, 3)
    for lr in grid:
        assert induct.Recipe("main", {"train.optimizer.lr": lr}).train.optimizer.lr == lr
    assert induct.Recipe("main", {"train.steps": np.int64(7)}).train.steps == 7
    assert induct.Recipe("main", {"train.optimizer.lr": 1e-05}).train.optimizer.lr == 1e-5
    assert induct.Recipe("main", {"train.optimizer.lr": 1.0}).train.optimizer.lr == 1.0
    assert induct.Recipe("main", {"model.heads": np.array([2, 4])}).model.heads == [2, 4]
    assert induct.Recipe("main", {"name": "a-b_c.1"}).name == "a-b_c.1"


def test_a_table_with_a_kind_is_set_whole() -> None:
    pool = {"kind": "pool", "size": 64, "of": {"kind": "iid"}}
    assert induct.Recipe("main", {"task.prior": pool}).task.prior.of.kind == "iid"
    assert induct.Recipe("main", {"task": {"prior": "doubly-stochastic"}}).task.prior.kind == "doubly-stochastic"


def test_a_seed_sets_weights_and_data() -> None:
    recipe = induct.Recipe("main", seed=3)
    assert (recipe.seeds.init, recipe.seeds.data, recipe.seeds.eval) == (3, 3, 0)
    assert recipe.replace(seed=0) == induct.Recipe("main")


def test_recipes_do_not_change() -> None:
    recipe = induct.Recipe("main")
    with pytest.raises(AttributeError, match=r"recipe\.replace\(\{'train.steps': 5\}\)"):
        recipe.train.steps = 5
    with pytest.raises(AttributeError, match="it has steps, batch"):
        _ = recipe.train.stepz


@pytest.mark.parametrize(
    ("set", "field"),
    [
        ({"train.stepz": 3}, "train.stepz"),
        ({"train.batch": 0}, "train.batch"),
        ({"task.prior.alpha": -1.0}, "task.prior.alpha"),
        ({"model.positions": "sideways"}, "model.positions"),
        ({"record.measures": ["entropie"]}, "record.measures[0]"),
    ],
)
def test_refusals_are_the_command_lines(set: dict[str, Any], field: str) -> None:
    with pytest.raises(induct.RecipeError) as refused:
        induct.Recipe("main", set)
    error = refused.value
    assert error.field == field and isinstance(error, ValueError)
    key, value = next(iter(set.items()))
    value = str(value).replace("'", '"')
    said = command("train", "main", "--set", f"{key}={value}").stderr.strip()
    assert said.removeprefix("induct: ").removeprefix("--set ") == str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("source", "set", "says"),
    [
        ("nosuch", None, "the presets are main"),
        (Path("/"), None, "not a preset, and cannot be read as a file"),
        (7, None, "a TOML file, a dict or a Recipe"),
        ("main", {"train.steps": object()}, "train.steps"),
        ("main", {"train.steps": None}, "not NoneType"),
        ("main", {3: 4}, "3 is not a key"),
        ("main", {"a=b": 4}, "is not a key"),
        ("main", [("train.steps", 4)], "a dict"),
        ({"train": 3}, None, "train"),
        ("main", {"name": 'a"b'}, "name"),
    ],
)
def test_what_is_no_recipe_is_refused(source: Any, set: Any, says: str) -> None:
    with pytest.raises(induct.RecipeError, match=says):
        induct.Recipe(source, set)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0", 2**63])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    with pytest.raises(induct.RecipeError, match="seed = "):
        induct.Recipe("main", seed=seed)


def test_batches_and_strategies(small: induct.Recipe) -> None:
    batch = small.batch(step=7)
    assert batch.tokens.shape == (16, 13) and batch.contexts.shape == (16, 12) and batch.tables.shape == (16, 2, 2)
    np.testing.assert_allclose(batch.tables.sum(axis=2), 1.0)
    assert not np.array_equal(batch.tokens, small.batch(8).tokens)
    assert {"uniform", "unigram", "bigram", "bayes"} <= set(small.strategies)
    one, two = small.predict("bigram", [0, 1, 1]), small.predict("bigram", [[0, 1, 1], [1, 1, 1]])
    assert one.shape == (3, 2) and two.shape == (2, 3, 2)
    np.testing.assert_allclose(one, two[0])
    # Add-one counts: after 0 came 1 once, after 1 came 1 once.
    np.testing.assert_allclose(one[2], [1 / 3, 2 / 3])
    with pytest.raises(induct.RecipeError, match="bigramm"):
        small.predict("bigramm", [0])
    with pytest.raises(induct.InputError, match="symbol 2 at position 1"):
        small.predict("bigram", [0, 2])


def test_recipes_are_pickled(small: induct.Recipe) -> None:
    assert pickle.loads(pickle.dumps(small)) == small
