"""Records as tables: for NumPy, Arrow, pandas and polars."""

from __future__ import annotations

import csv
from pathlib import Path

import induct
import numpy as np
import pandas
import polars
import pyarrow
import pytest


def test_columns_are_those_of_the_file(run: induct.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert len(run.metrics) == len(rows) == 7
    for name in run.metrics:
        written = [float(row[name]) if row[name] else np.nan for row in rows]
        np.testing.assert_array_equal(run.metrics[name], written)
    assert run.metrics["step"].dtype == np.int64
    assert dict(run.metrics).keys() == run.metrics.to_dict().keys()
    with pytest.raises(induct.InputError, match=r'no column "kl".*kl_truth'):
        _ = run.metrics["kl"]


def test_arrow_reads_the_numbers_where_they_lie(run: induct.Run) -> None:
    table = pyarrow.table(run.metrics)
    column = run.metrics["kl_truth"]
    assert not column.flags.writeable
    address = table["kl_truth"].chunk(0).buffers()[1].address
    assert address == column.ctypes.data, "a copy was made"
    assert table["train_loss"].null_count == 1, "there is no loss before the first step"
    assert table.schema.field("step").type == pyarrow.int64()
    del table
    np.testing.assert_array_equal(column, run.metrics["kl_truth"])


def test_pandas_and_polars_take_them(run: induct.Run) -> None:
    frame = run.metrics.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == run.metrics.columns
    assert run.metrics.to_arrow().to_pandas()["kl_truth"].tolist() == frame["kl_truth"].tolist()
    table = polars.DataFrame(run.metrics)
    assert table["kl_truth"].to_list() == run.metrics["kl_truth"].tolist()
    assert run.metrics.to_polars().shape == (7, len(run.metrics.columns))


def test_a_notebook_shows_them(run: induct.Run) -> None:
    html = run.metrics._repr_html_()
    assert html.count("<tr>") == 8 and "7 records" in html
    assert repr(run.metrics).startswith("<Table: 7 records")
