"""Sequences of symbols, as people write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ._errors import InputError

Tokens = str | Sequence[int] | Sequence[Sequence[int]] | npt.NDArray[np.integer]
"""One sequence or several of equal length: numbers, an array, or digits such as ``"0110"``."""


def as_rows(tokens: Tokens, states: int) -> tuple[npt.NDArray[np.uint8], bool]:
    """The symbols as rows, and whether there was a single sequence."""
    if isinstance(tokens, str):
        if not tokens.isdecimal():
            raise InputError(f"tokens = {tokens!r}: a text of digits, such as '0110', or a list of whole numbers")
        tokens = [int(digit) for digit in tokens]
    elif isinstance(tokens, Iterator):
        tokens = list(tokens)
    try:
        array = np.asarray(tokens)
    except ValueError:
        raise InputError("sequences of one batch must be equally long") from None
    if array.dtype == object:
        raise InputError("sequences of one batch must be equally long, and symbols whole numbers")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"symbols are whole numbers, and these are of type {array.dtype}")
    if array.ndim not in (1, 2):
        raise InputError(f"tokens have shape {array.shape}: give one sequence, [t], or several, [n, t]")
    unknown = np.argwhere((array < 0) | (array >= states))
    if len(unknown):
        at = tuple(int(index) for index in unknown[0])
        raise InputError(f"symbol {array[at]} at position {at[-1]} is unknown: the model has symbols 0 to {states - 1}")
    rows = np.ascontiguousarray(np.atleast_2d(array), dtype=np.uint8)
    return rows, array.ndim == 1
