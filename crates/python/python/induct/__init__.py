"""A laboratory for watching in-context learning emerge.

Every training sequence comes from a Markov chain of its own: the only way to predict well is to learn the chain inside
the context. A small transformer learns that in phases, and a run takes about a second::

    import induct

    run = induct.train("main", seed=0)
    run.plot()
    run.phases
    run.metrics["kl_truth"]
    run.model(step=1500).activations([0, 1, 1, 0])["layers.0.attn_pattern"]
"""

from . import theory
from ._errors import Error, InputError, Interrupted, RecipeError, RunError
from ._figure import Comparison, Figure
from ._induct import level, levels, numerics, use_level
from ._induct import version as __version__
from ._lab import LabPage
from ._model import Activations, Model
from ._parts import Measure, Prior, Strategy, Task, measure, prior, strategy, task
from ._recipe import Batch, Preset, Recipe, Settings, presets
from ._reproduce import Report, reproduce
from ._run import Phase, Run, open, plot
from ._schema import Kind, Schema, Setting, schema
from ._sweep import Sweep, sweep
from ._table import Table
from ._train import Record, train

__all__ = [
    "Activations",
    "Batch",
    "Comparison",
    "Error",
    "Figure",
    "InputError",
    "Interrupted",
    "Kind",
    "LabPage",
    "Measure",
    "Model",
    "Phase",
    "Preset",
    "Prior",
    "Recipe",
    "RecipeError",
    "Record",
    "Report",
    "Run",
    "RunError",
    "Schema",
    "Setting",
    "Settings",
    "Strategy",
    "Sweep",
    "Table",
    "Task",
    "__version__",
    "level",
    "levels",
    "measure",
    "numerics",
    "open",
    "plot",
    "presets",
    "prior",
    "reproduce",
    "schema",
    "strategy",
    "sweep",
    "task",
    "theory",
    "train",
    "use_level",
]
