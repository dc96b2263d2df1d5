"""Lists of records that become data frames, where a library for those is installed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from c2s.client import markup, problems


class Rows(Sequence[dict[str, Any]]):
    """Records in order; whatever fields the service gives them."""

    def __init__(self, found: Sequence[Mapping[str, Any]]) -> None:
        self._found = [dict(row) for row in found]

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> "Rows": ...

    def __getitem__(self, place: int | slice) -> "dict[str, Any] | Rows":
        return Rows(self._found[place]) if isinstance(place, slice) else self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._found == other._found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}>"

    def _repr_html_(self) -> str:
        return markup.rows(self._found)

    def to_arrow(self) -> Any:
        """An Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self._found)

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        return pandas().DataFrame(self._found)


def pandas() -> Any:
    """pandas, which c2s does without unless it is asked for frames."""
    try:
        import pandas as found
    except ImportError as exc:
        raise problems.Unusable(
            "pandas is not installed here: pip install pandas, or use to_arrow()"
        ) from exc
    return found
