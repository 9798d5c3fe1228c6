"""Tasks, priors, strategies and measures that are Python functions."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import induct
import numpy as np
import numpy.typing as npt
import pytest


@induct.prior(least=0.8)
def sticky(rng: np.random.Generator, least: float) -> npt.ArrayLike:
    stay = rng.uniform(least, 1.0)
    return [[stay, 1 - stay], [1 - stay, stay]]


@induct.strategy
def again(tokens: npt.NDArray[np.uint8]) -> npt.ArrayLike:
    return np.where(np.arange(2) == tokens[-1], 0.9, 0.1)


@induct.measure(scope="head", range=(0, 1))
def to_first(seen: induct.Activations) -> Any:
    """Attention of the last position to the first."""
    return [seen[f"layers.{layer}.attn_pattern"][:, :, -1, 0].mean(axis=0) for layer in range(2)]


def test_a_prior_draws_the_chains_of_every_batch(small: induct.Recipe) -> None:
    recipe = small.replace({"task.prior": sticky})
    assert recipe.task.prior.name == "sticky"
    assert recipe.task.prior.settings.least == 0.8
    tables = recipe.batch(3).tables
    assert (tables[:, 0, 0] >= 0.8).all() and np.unique(tables[:, 0, 0]).size == 16
    np.testing.assert_array_equal(tables, recipe.batch(3).tables)
    one, two = induct.train(recipe, threads=1), induct.train(recipe, threads=2)
    assert one.compare(two).identical
    assert one.identity != induct.train(small).identity


def test_settings_are_those_of_the_recipe(small: induct.Recipe) -> None:
    sweep = induct.sweep(small, {"task.prior.settings.least": [0.8, 0.95]}, set={"task.prior": sticky})
    assert [run.recipe.batch().tables[:, 0, 0].min() >= 0.95 for run in sweep] == [False, True]
    with pytest.raises(induct.RecipeError, match="settings.leest: no such setting; the settings of sticky are least"):
        small.replace({"task.prior": sticky}).replace({"task.prior.settings.leest": 0.5})
    with pytest.raises(TypeError, match=r'prior "plain": .*takes its settings as keywords'):
        induct.prior(name="plain", least=0.5)(lambda rng: [[1.0]])


def test_a_prior_in_a_pool_is_drawn_once_per_chain(small: induct.Recipe) -> None:
    calls: list[int] = []

    @induct.prior(name="counted")
    def counted(rng: np.random.Generator) -> npt.ArrayLike:
        calls.append(1)
        return rng.dirichlet([1, 1], size=2)

    recipe = small.replace({"task.prior": {"kind": "pool", "size": 20, "of": counted}, "record.tests": []})
    calls.clear()
    batch = recipe.batch()
    assert len(calls) == 20
    assert {tuple(table.ravel()) for table in recipe.batch(1).tables} & {tuple(table.ravel()) for table in batch.tables}


def test_a_model_is_evaluated_on_a_prior_of_ones_own(small: induct.Recipe) -> None:
    model = induct.train(small, set={"task.prior": sticky}).model()
    assert model.ablate("layers.0.heads.0").evaluate(sequences=64)["truth"]["kl"] > 0
    assert model.worth(sequences=64)


@induct.task(ladder=["uniform", "unigram", again], slips=0.1)
def mirrored(rng: np.random.Generator, length: int, slips: float) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    symbols, laws = np.zeros(length, dtype=int), np.full((length, 2), 0.5)
    for i in range(length):
        if i > length // 2:
            laws[i] = np.where(np.arange(2) == symbols[length - 1 - i], 1 - slips, slips)
        symbols[i] = rng.choice(2, p=laws[i])
    return symbols, laws


def test_a_task_is_trained_and_measured_like_chains(small: induct.Recipe) -> None:
    recipe = small.replace({"task.source": mirrored})
    assert recipe.task.source.ladder == ["uniform", "unigram", "again"] == recipe.strategies
    batch = recipe.batch(3)
    tokens, laws = batch.tokens, batch.tables
    assert laws.shape == (tokens.shape[0], tokens.shape[1] - 1, 2)
    assert (laws[:, 0] == 0.5).all()
    np.testing.assert_allclose(np.take_along_axis(laws[:, -1], tokens[:, :1].astype(int), axis=1), 0.9)
    one, two = induct.train(recipe, threads=1), induct.train(pickle.loads(pickle.dumps(recipe)), threads=2)
    assert one.compare(two).identical
    assert (one.metrics["kl_truth"] > 0).all() and (one.metrics["kl_again"] > 0).all()
    assert "kl_bigram" not in one.metrics
    assert {phase.strategy for phase in one.phases} <= {"uniform", "unigram", "again"}
    assert one.model().evaluate(sequences=64)["again"]["kl"] > 0
    with pytest.raises(induct.RecipeError, match="task.prior = .*leave it unset, for task.source is"):
        recipe.replace({"task.prior": sticky})
    half = lambda tokens, p: [p, 1 - p]  # noqa: E731
    with pytest.raises(TypeError, match="has settings, and recipes name those of task"):
        induct.Task(mirrored.function, "other", mirrored.settings, [induct.Strategy(half, "half", {"p": 0.5})])


def test_an_exception_in_a_task_surfaces(small: induct.Recipe) -> None:
    def fails(*_: Any) -> Any:
        raise LookupError("no more ideas")

    for function, error, says in (
        (fails, LookupError, "no more ideas"),
        (lambda rng, length: ([0] * length, [[0.5, 0.5]]), ValueError, r"shapes .*, and needs \(13,\) and \(13, 2\)"),
        (lambda rng, length: ([2] * length, [[0.5, 0.5]] * length), ValueError, "symbols that are not from 0 to 1"),
        (lambda rng, length: ([0] * length, [[0.5, 0.6]] * length), induct.RunError, "sums to 1.1, at position 0"),
    ):
        with pytest.raises(error, match=says):
            induct.train(small, set={"task.source": induct.Task(function, "broken")})


def test_a_strategy_is_compared_with_the_model(small: induct.Recipe) -> None:
    recipe = small.replace({"record.custom_strategies": [again]})
    run = induct.train(recipe)
    assert "kl_again" in run.metrics and run.metrics["kl_again"][0] > 0
    assert run.summary["strategies"]["again"]["kl_truth"] > 0
    assert "again" in recipe.strategies
    np.testing.assert_allclose(recipe.predict("again", [0, 1]), [[0.9, 0.1], [0.1, 0.9]])


def test_a_measure_is_a_column(small: induct.Recipe) -> None:
    run = induct.train(small, set={"record.custom_measures": [to_first]})
    for layer in range(2):
        column = run.metrics[f"layers.{layer}.heads.0.to_first"]
        assert len(column) == 7 and ((column >= 0) & (column <= 1)).all()
    entry = run.recipe.to_dict()["record"]["custom_measures"][0]
    assert entry["meaning"] == "Attention of the last position to the first." and entry["range"] == [0, 1]
    assert run.plot("to_first").description == "to_first over training steps."

    @induct.measure
    def largest(seen: induct.Activations) -> float:
        assert seen.tokens.shape == (32, 12) and seen.step % 10 == 0
        return float(np.abs(seen.model.weights["embed.E"]).max())

    run = induct.train(small, set={"record.custom_measures": [largest]})
    assert run.metrics["largest"][-1] == pytest.approx(np.abs(run.model().weights["embed.E"]).max())


def test_a_run_of_other_code_can_be_shown_but_not_trained(small: induct.Recipe, tmp_path: Path) -> None:
    induct.train(small, set={"task.prior": sticky, "record.custom_strategies": [again]}, out=tmp_path / "run")
    opened = induct.open(tmp_path / "run")
    assert opened.ended == "complete" and "kl_again" in opened.metrics
    assert opened.plot().svg
    with pytest.raises(induct.RecipeError, match="a part of this program"):
        induct.train(opened.recipe)


def test_parts_are_pickled_with_recipes_and_runs(small: induct.Recipe) -> None:
    recipe = small.replace({"task.prior": sticky, "record.custom_measures": [to_first]})
    again = pickle.loads(pickle.dumps(recipe))
    run = pickle.loads(pickle.dumps(induct.train(recipe)))
    assert run.compare(induct.train(again)).identical
    assert induct.train(run.recipe).compare(run).identical


def broken(at: int) -> Any:
    calls: list[int] = []

    def fails(*_: Any) -> Any:
        calls.append(1)
        if len(calls) > at:
            raise LookupError("no more ideas")
        return [[0.5, 0.5], [0.5, 0.5]]

    return fails


def test_an_exception_in_a_prior_surfaces_and_the_run_is_kept(small: induct.Recipe, tmp_path: Path) -> None:
    for out in (None, tmp_path / "run"):
        prior = induct.Prior(broken(600), "broken")
        with pytest.raises(LookupError, match="no more ideas") as raised:
            induct.train(small, set={"task.prior": prior, "record.tests": []}, out=out, threads=1)
        assert raised.traceback[-1].name == "fails"
        kept = raised.value.run  # type: ignore[attr-defined]
        assert kept.ended is None and 10 <= kept.metrics["step"][-1] < 60
    with pytest.raises(LookupError):
        induct.train(small, set={"task.prior": induct.Prior(broken(0), "broken")})
    with pytest.raises(LookupError):
        small.replace({"task.prior": induct.Prior(broken(0), "broken")}).batch()


def test_an_exception_in_a_strategy_or_measure_surfaces(small: induct.Recipe) -> None:
    def fails(*_: Any) -> Any:
        raise LookupError("no more ideas")

    for set in (
        {"record.custom_strategies": [induct.Strategy(fails, "broken")]},
        {"record.custom_measures": [induct.Measure(fails, "broken")]},
    ):
        with pytest.raises(LookupError, match="no more ideas") as raised:
            induct.train(small, set=set)
        assert raised.traceback[-1].name == "fails"


@pytest.mark.parametrize(
    ("set", "error", "says"),
    [
        ({"task.prior": induct.Prior(lambda rng: [0.5, 0.5], "flat")}, ValueError, r"shape \(2,\), and needs \(2, 2\)"),
        ({"task.prior": induct.Prior(lambda rng: [[0.5, 0.6], [1.0, 0.0]], "off")}, induct.RunError, "sum to 1"),
        ({"task.prior": induct.Prior(lambda rng: "table", "text")}, ValueError, "could not convert"),
        ({"record.custom_strategies": [induct.Strategy(lambda t: [1.0], "short")]}, ValueError, r"needs \(2,\)"),
        ({"record.custom_strategies": [induct.Strategy(lambda t: [2.0, -1.0], "off")]}, induct.RunError, "off"),
        ({"record.custom_measures": [induct.Measure(lambda s: [1, 2], "two")]}, ValueError, "2 numbers, and needs 1"),
        ({"record.custom_measures": [induct.Measure(lambda s: s["nope"], "nope")]}, induct.InputError, "layers.0"),
        ({"task.prior": induct.Prior(lambda rng: 0, "not a name")}, induct.RecipeError, "letters, digits"),
        ({"record.custom_measures": [induct.Measure(lambda s: 0, "kl_truth")]}, induct.RecipeError, "built-in"),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    small: induct.Recipe, set: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        induct.train(small, set=set)


def test_two_functions_of_one_name_are_refused(small: induct.Recipe) -> None:
    first, second = induct.Prior(lambda rng: [[0.9, 0.1], [0.1, 0.9]], "p"), induct.Prior(lambda rng: 0, "p")
    parts = [{"weight": 0.5, "prior": first}, {"weight": 0.5, "prior": second}]
    with pytest.raises(induct.RecipeError, match="two functions need two names"):
        small.replace({"task.prior": {"kind": "mixture", "parts": parts}})
    # Later, a new one takes the place of the old.
    replaced = small.replace({"task.prior": second}).replace({"task.prior": first})
    assert (replaced.batch().tables[:, 0, 0] == 0.9).all()
    pickle.dumps(replaced.replace({"task.prior": "iid"}))


def test_a_prior_may_call_the_package_itself(small: induct.Recipe) -> None:
    @induct.prior
    def nested(rng: np.random.Generator) -> npt.ArrayLike:
        first = rng.uniform()
        small.batch(0)
        second = rng.uniform()
        return [[first, 1 - first], [1 - second, second]]

    recipe = small.replace({"task.prior": nested, "train.steps": 10})
    one, four = induct.train(recipe, threads=1), induct.train(recipe, threads=4)
    assert one.compare(four).identical


def test_a_folder_gets_its_functions_back(small: induct.Recipe, tmp_path: Path) -> None:
    induct.train(small, set={"task.prior": sticky}, out=tmp_path / "run")
    longer = induct.open(tmp_path / "run", parts=[sticky]).resume(steps=120)
    assert longer.compare(induct.train(small, set={"task.prior": sticky, "train.steps": 120})).identical


def test_a_measure_that_raises_in_mid_run_keeps_what_came_before(small: induct.Recipe, tmp_path: Path) -> None:
    def late(seen: induct.Activations) -> float:
        if seen.step >= 30:
            raise LookupError("too late")
        return 0.0

    for out in (None, tmp_path / "run"):
        with pytest.raises(LookupError, match="too late") as raised:
            induct.train(small, set={"record.custom_measures": [induct.Measure(late, "late")]}, out=out)
        kept = raised.value.run  # type: ignore[attr-defined]
        assert kept.ended is None and len(kept.metrics) <= 3


def test_an_unknown_scope_is_refused(small: induct.Recipe) -> None:
    galaxy: Any = "galaxy"
    measure = induct.Measure(lambda seen: 0, "stars", scope=galaxy)
    with pytest.raises(induct.RecipeError, match="scope"):
        induct.train(small, set={"record.custom_measures": [measure]})


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="prior needs a function"):
        induct.Prior([[0.5, 0.5]], "table")  # type: ignore[arg-type]
