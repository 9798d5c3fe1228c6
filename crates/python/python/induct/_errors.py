"""What can go wrong, as exceptions. Their sentences are those of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._run import Run


class Error(Exception):
    """Anything that Induct refuses or fails to do."""


class RecipeError(Error, ValueError):
    """A setting that is not allowed, or that no recipe has."""

    def __init__(
        self, message: str, field: str | None = None, value: str | None = None, allowed: str | None = None
    ) -> None:
        super().__init__(message, field, value, allowed)
        self.field = field
        """Path of the setting, such as ``task.prior.alpha``."""
        self.value = value
        """The offending value."""
        self.allowed = allowed
        """What is allowed, and how to fix it."""

    def __str__(self) -> str:
        return str(self.args[0])


class InputError(Error, ValueError):
    """Tokens, names, shapes or numbers that do not fit what they are given to."""


class RunError(Error, RuntimeError):
    """A run that cannot be trained, or whose folder cannot be used."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while training. Nothing is lost: :attr:`run` goes on with its method ``resume``."""

    def __init__(self, message: str, run: Run | None = None) -> None:
        super().__init__(message)
        self.run = run
        """The run as far as it got; none if several were trained."""
