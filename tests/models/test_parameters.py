"""Constructors: their parameters, and what is said about them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn.linear_model import LinearRegression

from discreet.models.cluster import KMeans
from discreet.models.decomposition import PCA
from discreet.models.linear_model import LogisticRegression
from discreet.models.m_estimation import HistogramMEstimator
from discreet.models.model_selection import PrivateSearch
from discreet.models.naive_bayes import GaussianNB
from discreet.models.parameters import with_parameters
from discreet.models.preprocessing import QuantileBinner
from discreet.models.targets import PrivateClassifier
from discreet.testing.estimators import estimator_classes


def described(kind: type) -> list[str]:
    """The names in a docstring's section of parameters, in order."""
    doc = inspect.getdoc(kind)
    assert doc is not None
    section = doc.split("Parameters\n----------\n")[1].split("\n\n")[0]
    heads = [line for line in section.splitlines() if not line.startswith(" ")]
    return [name for head in heads for name in head.split(" : ")[0].split(", ")]


@pytest.mark.parametrize("kind", estimator_classes(), ids=lambda kind: kind.__name__)
def test_every_parameter_is_described_once_in_the_order_of_the_signature(kind: Any) -> None:
    assert described(kind) == list(inspect.signature(kind).parameters)
    doc = inspect.getdoc(kind)
    assert doc is not None
    assert doc.count("Parameters\n----------\n") == 1
    section = doc.split("Parameters\n----------\n")[1].split("\n\n")[0]
    assert not any(word in section for word in ("As for", "As of", "As in", "As there"))
    assert doc.splitlines()[0].endswith(".")
    assert "\n\nPrivacy\n-------\n" in doc


def test_those_that_a_class_describes_itself_win_over_inherited_ones() -> None:
    assert "The budget; with ``delta=0`` pure DP (Laplace noise)" in str(LogisticRegression.__doc__)
    assert "The budget of one fit" in str(GaussianNB.__doc__)
    assert "The budget of one fit" not in str(LogisticRegression.__doc__)


def test_a_parameter_that_nobody_describes_is_missing_in_the_docstring() -> None:
    @with_parameters
    class Silent(PrivateClassifier):
        """A model.

        Parameters
        ----------
        first : int
            Its own.
        """

        first: int = 1
        second: int = 2

        def _plan(self, facts: Any, rows: Any) -> Any: ...

        def _train(self, plan: Any, door: Any) -> None: ...

    *known, last = inspect.signature(Silent).parameters
    assert described(Silent) == known
    assert (known[-1], last) == ("first", "second")


def test_what_a_model_is_named_by_may_be_given_by_place() -> None:
    assert KMeans(3).n_clusters == 3
    assert PCA(2).n_components == 2
    assert QuantileBinner(4).n_bins == 4
    inner, plain = LogisticRegression(), LinearRegression()
    assert HistogramMEstimator(plain).estimator is plain
    search = PrivateSearch(inner, {"alpha": [1, 2]})
    assert (search.estimator, search.settings) == (inner, {"alpha": [1, 2]})
    for kind, given in ((GaussianNB, (1,)), (KMeans, (3, "lloyd")), (LogisticRegression, (1,))):
        with pytest.raises(TypeError, match="positional argument"):
            kind(*given)  # type: ignore[operator]
