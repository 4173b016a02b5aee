"""How the benchmark page writes figures, names and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Line = dict[str, Any]

WORDS = {
    "auc": "area under the ROC curve",
    "accuracy": "accuracy",
    "log_loss": "log loss (natural logarithm; less is better)",
    "r2": "R²",
    "inertia": "mean squared distance to the nearest centre (less is better)",
    "variance": "share of the variance captured",
}
SHORT = {
    **WORDS,
    "auc": "AUC",
    "log_loss": "log loss",
    "inertia": "inertia",
    "variance": "variance",
}


def number(value: float) -> str:
    """A figure with as many digits as one reads."""
    if abs(value) >= 10:
        return f"{value:.0f}".replace("-", "−")
    return f"{value:.2f}".replace("-", "−") if value < -1 else f"{value:.3f}".replace("-", "−")


def shown(figure: Sequence[float] | None) -> str:
    """Mean ± standard error."""
    if figure is None:
        return "–"
    mean, error = figure
    spread = f"{error:.1f}" if error >= 1 else f"{error:.3f}"
    return number(mean) + (f" ± {spread}" if error else "")


def named(line: Line) -> str:
    """The library, if it isn't ours, and the model."""
    model = f"`{line['model']}`" if line["model"] not in ("larger class", "mean") else line["model"]
    return model if line["library"] == "discreet" else f"{line['library']} {model}"


def seconds(value: float | None) -> str:
    """Processor seconds of a fit."""
    if value is None:
        return "–"
    return "< 0.01" if value < 0.01 else f"{value:.2g}"


def rows_of(cells: Sequence[Sequence[str]], head: Sequence[str]) -> list[str]:
    """A Markdown table."""
    return [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join("---" for _ in head) + " |",
        *("| " + " | ".join(row) + " |" for row in cells),
        "",
    ]
