"""Tables of plain text."""

from collections.abc import Sequence


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last is not padded."""
    everything = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(row[column]) for row in everything) for column in range(len(head) - 1)]
    return "\n".join(
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]
        )
        for row in everything
    )
