"""A numpy array that grows at its end."""

from __future__ import annotations

from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)
AnyIds: TypeAlias = NDArray[np.integer[Any]]  # better intp than int32: numpy looks them up in a third of the time

LEAST = 1024  # rows allocated at first
AHEAD = 1024  # rows filled together


class Column(Generic[T]):
    """Rows of one type under one name: `view` is the live part, an ordinary array.

    Invariant: `view` has `len(self)` rows and every row that was never written holds `fill`.

    A row added costs constant time on average: room grows by half. Room not yet used is never touched, so the system
    does not back it with memory; while it grows a column is in memory twice, but only its live rows and only this one.

    >>> scores = Column(np.float32, fill=-1)
    >>> scores.resize(3)
    >>> scores.view[1] = 5
    >>> scores.view.tolist()
    [-1.0, 5.0, -1.0]
    """

    __slots__ = ("_fill", "_room", "view")

    view: NDArray[T]  # of the live rows; growth may replace it, so do not keep it over an `extend` or `resize`

    def __init__(self, dtype: type[T], fill: float = 0, width: int = 0) -> None:
        """`width` > 0 makes a column of that many numbers a row, a 2-D array."""
        self._fill = fill
        self._room: NDArray[T] = np.empty((LEAST, width) if width else LEAST, dtype)
        self.view = self._room[:0]

    def __len__(self) -> int:
        return len(self.view)

    def resize(self, size: int) -> None:
        """Have `size` rows; new ones hold `fill`."""
        start = len(self.view)
        self._stretch(size)
        if size > start:
            self.view[start:] = self._fill

    def cover(self, size: int) -> None:
        """Have at least `size` rows. Some are made ahead, so that most calls for a few more cost nothing."""
        if size > len(self.view):
            self.resize(-(-size // AHEAD) * AHEAD)

    def extend(self, rows: ArrayLike) -> None:
        """Put rows after the last."""
        rows = np.asarray(rows)
        self.repeat(rows, len(rows))

    def repeat(self, row: ArrayLike, count: int) -> None:
        """Put so many rows after the last, all alike."""
        start = len(self.view)
        self._stretch(start + count)
        self.view[start:] = row

    def _stretch(self, size: int) -> None:
        if size > len(self._room):
            room = np.empty((max(size, len(self._room) * 3 // 2), *self._room.shape[1:]), self._room.dtype)
            room[: len(self.view)] = self.view
            self._room = room
        self.view = self._room[:size]
