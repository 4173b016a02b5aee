"""Sections 3.4 and 3.5: private centres and directions, beside formula (33) as the survey prints it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import table
from harness import Study, markdown, seed_of
from study import DELTA, EPSILONS, STUDY

from discreet import testing
from discreet.models.cluster import KMeans
from discreet.models.decomposition import PCA

Floats = npt.NDArray[np.float64]

CLUSTERS = ("rounds of noised sums", "sample and aggregate", "equation (33), as printed")
COMPONENTS = ("sulq", "analyze_gauss", "clipped", "exponential")
#: Subsets of rows, and the L1 diameter of the ball of equation (33): one of 1 holds a fifth of them, one of 2
#: more than half.
SUBSETS, DIAMETER = 100, 2.0


@cache
def read_unit() -> Floats:
    """The five numbers of the training rows, scaled to [0, 1] by their public bounds."""
    columns = []
    for name in table.NUMBERS:
        column: Any = table.schema().base[name]
        low, high = float(column.lower), float(column.upper)
        columns.append((np.asarray(table.read(0)[name], np.float64) - low) / (high - low))
    return np.column_stack(columns)


@cache
def best_inertia() -> float:
    """That of k-means without noise."""
    from sklearn.cluster import KMeans as Lloyd

    return float(Lloyd(4, n_init=3, random_state=0).fit(read_unit()).inertia_)


def equation_33(rows: Floats, epsilon: float, seed: int) -> Floats:
    """Centres of many subsets, the centre of the ball that holds most of them, noise for its diameter."""
    from sklearn.cluster import KMeans as Lloyd

    draw = np.random.default_rng(seed)
    found = []
    for part in np.array_split(draw.permutation(len(rows)), SUBSETS):
        centres = Lloyd(4, n_init=1, random_state=seed).fit(rows[part]).cluster_centers_
        found.append(
            centres[np.argsort(centres[:, 0])].ravel()
        )  # in one order, as the sum of distances needs
    each = np.array(found)
    near = np.abs(each[:, None] - each).sum(axis=2) <= DIAMETER / 2
    ball = each[near[near.sum(axis=1).argmax()]]
    told = ball.mean(axis=0) + draw.laplace(0, DIAMETER / epsilon, each.shape[1])
    return np.clip(told, 0, 1).reshape(4, -1)


@STUDY.experiment(EPSILONS, CLUSTERS, repeats=10, quick=1)
def clusters(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    rows = read_unit()
    if method == CLUSTERS[2]:
        centres = equation_33(rows, epsilon, seed)
    else:
        kind = "lloyd" if method == CLUSTERS[0] else "sample_aggregate"
        with testing.fixed_noise(seed_of(epsilon, method, seed)):
            model = KMeans(4, epsilon=epsilon, bounds=(0, 1), method=kind, random_state=seed)
            centres = model.fit(rows).cluster_centers_
    inertia = ((rows[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()
    return {"inertia ratio": inertia / best_inertia()}


@STUDY.experiment(EPSILONS, COMPONENTS, repeats=10, quick=1)
def components(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    """The variance along two private directions, over that along the best two."""
    rows = read_unit()
    with testing.fixed_noise(seed_of(epsilon, method, seed)):
        model = PCA(
            2,
            method=method,
            epsilon=epsilon,
            delta=0 if method in ("sulq", "exponential") else DELTA,
            bounds=(0, 1),
            accept_assumed=method == "exponential",
        ).fit(rows)
    centred = rows - rows.mean(axis=0)
    kept = ((centred @ np.linalg.qr(model.components_.T)[0]) ** 2).sum()
    most = np.linalg.svd(centred, compute_uv=False)
    return {"variance kept": kept / (most[:2] ** 2).sum()}


@STUDY.table("clusters", "components")
def shapes(study: Study) -> str:
    def cells(name: str, key: str, methods: tuple[str, ...]) -> list[list[str]]:
        return [[m, *(str(study.get(name, e, m)[key]) for e in EPSILONS)] for m in methods]

    budgets = [f"ε = {e:g}" for e in EPSILONS]
    first = cells("clusters", "inertia ratio", CLUSTERS)
    second = cells("components", "variance kept", COMPONENTS)
    count = study.get("clusters", 1.0, CLUSTERS[0])["inertia ratio"].count
    return (
        markdown(["k-means: inertia over that without noise", *budgets], first)
        + "\n\n"
        + markdown(["components: variance kept, of what two directions can", *budgets], second)
        + f"\n\n{count} repetitions."
    )
