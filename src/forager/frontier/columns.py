"""A numpy array that grows at its end."""

from __future__ import annotations

from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)
AnyIds: TypeAlias = NDArray[np.integer[Any]]  # numpy looks up intp in a third of the time of int32

LEAST = 1024  # rows that are allocated at first
AHEAD = 1024  # rows that are filled together


class Column(Generic[T]):
    """Rows of one type. `view` is an ordinary array of all rows.

    Invariant: `view` has `len(self)` rows, and every row that was never written holds `fill`.

    To add a row takes constant time on average, because the array behind the view grows by half. What is not used yet
    is never touched, so it takes no memory. While a column grows, its rows are in memory twice.

    >>> scores = Column(np.float32, fill=-1)
    >>> scores.resize(3)
    >>> scores.view[1] = 5
    >>> scores.view.tolist()
    [-1.0, 5.0, -1.0]
    """

    __slots__ = ("_fill", "_room", "view")

    view: NDArray[T]  # of all rows; do not keep it over an `extend` or `resize`, which may replace it

    def __init__(self, dtype: type[T], fill: float = 0, width: int = 0) -> None:
        """With `width` > 0 each row has so many numbers, and the view is a 2-D array."""
        self._fill = fill
        self._room: NDArray[T] = np.empty((LEAST, width) if width else LEAST, dtype)
        self.view = self._room[:0]

    def __len__(self) -> int:
        return len(self.view)

    def resize(self, size: int) -> None:
        """Have `size` rows; new rows hold `fill`."""
        start = len(self.view)
        self._stretch(size)
        if size > start:
            self.view[start:] = self._fill

    def cover(self, size: int) -> None:
        """Have at least `size` rows. Some more are made ahead, so that most calls cost nothing."""
        if size > len(self.view):
            self.resize(-(-size // AHEAD) * AHEAD)

    def extend(self, rows: ArrayLike) -> None:
        """Put rows after the last one."""
        rows = np.asarray(rows)
        self.repeat(rows, len(rows))

    def repeat(self, row: ArrayLike, count: int) -> None:
        """Put so many equal rows after the last one."""
        start = len(self.view)
        self._stretch(start + count)
        self.view[start:] = row

    def _stretch(self, size: int) -> None:
        if size > len(self._room):
            room = np.empty((max(size, len(self._room) * 3 // 2), *self._room.shape[1:]), self._room.dtype)
            room[: len(self.view)] = self.view
            self._room = room
        self.view = self._room[:size]
