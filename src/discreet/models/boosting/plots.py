"""Pictures of shapes, with bands for the noise in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.columns import Numeric

if TYPE_CHECKING:
    from discreet.models.boosting.estimator import AdditiveBoosting

#: A band of two standard deviations holds the true value of a cell about 95 times in 100.
BAND = 2.0
#: The most categories that are drawn; if there are more, those with the most rows.
MAX_BARS = 30


def draw_shape(model: AdditiveBoosting, feature: str, ax: Any) -> Any:
    """Draw the shape of a feature, on `ax` or on new axes."""
    try:
        from matplotlib import pyplot  # the rest of the toolkit doesn't need it
    except ImportError:
        raise ImportError('plot needs matplotlib: pip install "discreet[report]".') from None
    if feature not in model.term_names_:
        raise ValueError(
            f"feature must be one of {', '.join(model.term_names_[:20]) or 'none'}, got {feature!r}."
        )
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")
    at = model.term_names_.index(feature)
    scores, errors = model.term_scores_[at], model.term_errors_[at]
    if at >= len(model.cuts_):
        return _squares(model, at, ax)
    names = model._output_names()
    column = model.columns_[feature]
    for output, name in enumerate(names):
        label = name if len(names) > 1 else None
        if isinstance(column, Numeric):
            _steps(model, feature, scores[:, output], errors[:, output], ax, label)
        else:
            _bars(model, at, output, len(names), ax, label)
    if isinstance(column, Numeric):
        ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xlabel(feature)
        ax.set_ylabel(model._score_name())
    else:
        ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_ylabel(feature)
        ax.set_xlabel(model._score_name())
    if len(names) > 1:
        ax.legend(frameon=False)
    return ax


def _steps(
    model: AdditiveBoosting, feature: str, scores: Any, errors: Any, ax: Any, label: str | None
) -> None:
    column: Any = model.columns_[feature]
    edges = np.array([column.lower, *(model.cuts_[feature] or ()), column.upper], np.float64)
    line = ax.stairs(scores, edges, baseline=None, linewidth=1.6, label=label)
    color = line.get_edgecolor()
    low, high = scores - BAND * errors, scores + BAND * errors
    ax.stairs(high, edges, baseline=low, fill=True, color=color, alpha=0.2, linewidth=0)


def _bars(
    model: AdditiveBoosting, at: int, output: int, outputs: int, ax: Any, label: str | None
) -> None:
    labels = model._layout().labels(model.columns_, model.term_names_[at])
    most = np.sort(np.argsort(-model.term_counts_[at], kind="stable")[:MAX_BARS])
    scores, errors = model.term_scores_[at][most, output], model.term_errors_[at][most, output]
    height = 0.8 / outputs
    places = np.arange(len(most)) + (output - (outputs - 1) / 2) * height
    style = {"ecolor": "0.25", "elinewidth": 1.0, "capsize": 2.0}
    ax.barh(places, scores, height, xerr=BAND * errors, alpha=0.7, label=label, error_kw=style)
    if output == 0:
        ax.set_yticks(np.arange(len(most)), [str(labels[cell]) for cell in most])
        ax.invert_yaxis()


def _squares(model: AdditiveBoosting, at: int, ax: Any) -> Any:
    """The cells of a pair, with their noise written in them; of several classes the last."""
    pair = model.pairs_[at - len(model.cuts_)]
    scores = model.term_scores_[at][:, -1].reshape(pair.shape)[1:, 1:]
    errors = model.term_errors_[at][:, -1].reshape(pair.shape)[1:, 1:]
    most = max(float(np.abs(scores).max()), 1e-9)
    image = ax.imshow(scores, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    for row, column in np.ndindex(*scores.shape):
        text = f"{scores[row, column]:.2f}\n± {BAND * errors[row, column]:.2f}"
        ax.text(column, row, text, ha="center", va="center", fontsize=8)
    ax.set_xticks(range(scores.shape[1]), [f"part {k + 1}" for k in range(scores.shape[1])])
    ax.set_yticks(range(scores.shape[0]), [f"part {k + 1}" for k in range(scores.shape[0])])
    ax.set_xlabel(pair.second)
    ax.set_ylabel(pair.first)
    ax.figure.colorbar(image, ax=ax, label=model._score_name())
    return ax
