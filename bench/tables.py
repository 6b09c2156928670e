"""Tables of measurements, as bench/README.md has them."""

import os


def table(title: str, *columns: str) -> None:
    """Print the head of a table."""
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def row(*cells: object) -> None:
    """Print a row of the table, with the machine's load of the last minute."""
    texts = [f"{cell:,.2f}" if isinstance(cell, float) else str(cell) for cell in (*cells, os.getloadavg()[0])]
    print(f"| {' | '.join(texts)} |", flush=True)
