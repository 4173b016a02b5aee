"""Chapter 1's stories on made-up tables: what an attacker learns without privacy, and with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import DATA, seed_of

import discreet as dp
from discreet import testing
from discreet.measures.meaning import trade_off

Floats = npt.NDArray[np.float64]

PEOPLE, FILMS, DAYS = 5_000, 500, 365


def ratings(draw: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Each person's films, days and stars: films by popularity, at least eight each."""
    popularity = 1 / (np.arange(FILMS) + 10.0)
    popularity /= popularity.sum()
    found = []
    for _ in range(PEOPLE):
        count = 8 + draw.geometric(0.02)
        films = np.unique(draw.choice(FILMS, count, p=popularity))
        found.append(
            np.column_stack(
                [films, draw.integers(0, DAYS, len(films)), draw.integers(1, 6, len(films))]
            )
        )
    return found


def link(known: int, days: int, draw: np.random.Generator, victims: int = 200) -> float:
    """The share of victims whose pseudonym is the only one that fits what is known of them.

    The attacker knows so many ratings of a person, with days that are off by up to `days`, and looks
    for them in the table with names replaced by numbers.
    """
    table = ratings(draw)
    by_film: dict[int, list[tuple[int, int, int]]] = {}
    for person, rows in enumerate(table):
        for film, day, stars in rows.tolist():
            by_film.setdefault(film, []).append((person, day, stars))
    alone = 0
    for victim in draw.choice(PEOPLE, victims, replace=False):
        rows = table[victim]
        rows = rows[draw.choice(len(rows), min(known, len(rows)), replace=False)]
        fitting: set[int] | None = None
        for film, day, stars in rows.tolist():
            told = day + int(draw.integers(-days, days + 1))
            here = {p for p, d, s in by_film[film] if s == stars and abs(d - told) <= days}
            fitting = here if fitting is None else fitting & here
        alone += fitting == {int(victim)}
    return alone / victims


def watch(epsilon: float, seed: int, trials: int = 60) -> tuple[float, float]:
    """How well an attacker who knows all other rows tells from private counts whether somebody took part.

    Counts of 50 films are released with a person's 20 ratings, and without. The likelihood ratio is the best
    test there is. Its true and false positives.
    """
    draw = np.random.default_rng(seed)
    others = np.column_stack([np.arange(3_000) // 10, draw.integers(0, 50, 3_000)])
    return tell_part(epsilon, others, np.arange(20), 50, (epsilon, seed), trials)


def tell_part(
    epsilon: float, others: Any, mine: Any, cells: int, seed: tuple[Any, ...], trials: int
) -> tuple[float, float]:
    """True and false positives of the likelihood ratio for whether somebody's cells are in private counts.

    `others` are rows of a person and a cell; the somebody has one row in each cell of `mine`.
    """
    unit = dp.Unit(dp.ADD_REMOVE, id_column="person", max_rows=len(mine))
    schema = dp.Schema(cell=dp.Integer(0, cells - 1))
    without = np.bincount(others[:, 1], minlength=cells)
    hits = []
    for taking_part in (False, True):
        own = np.column_stack([np.full(len(mine), 999), mine])
        rows = np.vstack([others, own]) if taking_part else others
        ledger = dp.Ledger(limit=dp.PureDP(epsilon * trials), unit=unit)
        data = dp.PrivateDataset({"person": rows[:, 0], "cell": rows[:, 1]}, schema, ledger=ledger)
        with testing.fixed_noise(seed_of(*seed[:-1], taking_part, seed[-1])):
            seen = np.array(
                [data.release(dp.Count(by="cell"), dp.PureDP(epsilon)).value for _ in range(trials)]
            )
        away = seen[:, mine] - without[mine]
        hits.append(float(((np.abs(away) - np.abs(away - 1)).sum(axis=1) > 0).mean()))
    return hits[1], hits[0]


#: What a neighbour or an employer may know, in this order.
KNOWN = ("age", "sex", "race", "education", "occupation", "marital-status", "native-country")


def people() -> Any:
    """Rows of Adult, or of a made-up town where the table isn't there."""
    import pandas as pd

    path = DATA / "adult_train.csv.gz"
    if path.is_file():
        return pd.read_csv(path, skipinitialspace=True)[list(KNOWN)].astype(str)
    draw = np.random.default_rng(0)
    sizes = (70, 2, 5, 16, 14, 7, 40)
    return pd.DataFrame(
        {
            name: draw.integers(0, size, 30_000).astype(str)
            for name, size in zip(KNOWN, sizes, strict=True)
        }
    )


def unique_share(columns: int) -> float:
    """The share of people who are the only ones with their values in the first columns."""
    frame = people()
    names = list(KNOWN[:columns])
    return float((frame.groupby(names)[names[0]].transform("size") == 1).mean())


def guess_diagnosis(epsilon: float, seed: int, victims: int = 200) -> float:
    """How often an attacker who knows who is alone in a cell guesses a yes or no about that person.

    Everybody has a diagnosis by the toss of a coin; counts by sex, age and diagnosis are released.
    """
    draw = np.random.default_rng(seed)
    frame = people()
    ages = frame["age"].astype(float).astype(int).clip(0, 99).to_numpy()
    sexes = (frame["sex"] == frame["sex"].iloc[0]).astype(int).to_numpy()
    chosen = draw.choice(len(frame), 300, replace=False)  # a small hospital
    ages, sexes = ages[chosen], sexes[chosen]
    ill = draw.integers(0, 2, len(chosen))
    cells = ages * 2 + sexes
    alone = np.flatnonzero(np.bincount(cells, minlength=200)[cells] == 1)[:victims]
    unit = dp.Unit(dp.REPLACE_ONE)
    schema = dp.Schema(age=dp.Integer(0, 99), sex=dp.Integer(0, 1), ill=dp.Integer(0, 1))
    ledger = dp.Ledger(limit=dp.PureDP(epsilon), unit=unit)
    rows = {"age": ages, "sex": sexes, "ill": ill}
    data = dp.PrivateDataset(rows, schema, ledger=ledger, rows=len(ages))
    with testing.fixed_noise(seed_of(epsilon, seed)):
        found = data.release(dp.Count(by=["age", "sex", "ill"]), dp.PureDP(epsilon)).value
    told = np.asarray(found).reshape(100, 2, 2)[ages[alone], sexes[alone]]
    return float(((told[:, 1] > told[:, 0]) == (ill[alone] == 1)).mean())


POOL, MARKERS = 50, 200


def homer(epsilon: float | None, seed: int) -> tuple[float, float]:
    """The power of Homer's test at 5 % false positives, and its true less its false positives at zero.

    Allele counts (0, 1, 2) of a pool of 50 at 200 places are published: exactly, or as sums from one
    (ε, 1e-6) budget. T adds up, over places, how much closer a person is to the pool than to everybody.
    """
    draw = np.random.default_rng(seed)
    everybody = draw.uniform(0.1, 0.9, MARKERS)
    members, strangers = (draw.binomial(2, everybody, (size, MARKERS)) for size in (POOL, 1_000))
    if epsilon is None:
        pool = members.sum(axis=0) / (2 * POOL)
    else:
        names = [f"place {i}" for i in range(MARKERS)]
        unit = dp.Unit(dp.REPLACE_ONE)
        data = dp.PrivateDataset(
            {name: members[:, i] for i, name in enumerate(names)},
            dp.Schema({name: dp.Integer(0, 2) for name in names}),
            ledger=dp.Ledger(limit=dp.ApproxDP(epsilon, 1e-6), unit=unit),
            rows=POOL,
        )
        with testing.fixed_noise(seed_of(epsilon, seed)):
            answers = data.release_all({n: dp.Sum(n) for n in names}, dp.ApproxDP(epsilon, 1e-6))
        pool = np.array([float(answers[name].value) for name in names]) / (2 * POOL)
    scores = [
        (np.abs(who / 2 - everybody) - np.abs(who / 2 - pool)).sum(axis=1)
        for who in (members, strangers)
    ]
    line = np.quantile(scores[1], 0.95)
    return float((scores[0] > line).mean()), float((scores[1] > line).mean())


def power_bound(epsilon: float, false_positives: float = 0.05, delta: float = 1e-6) -> float:
    """The largest power of any test at these false positives."""
    return float(1 - trade_off(dp.ApproxDP(epsilon, delta), [false_positives])[0])


NATIONS, WOMEN, TALLER = 20, 2_000, 5.08


def terry(epsilon: float | None, taking_part: bool, seed: int) -> tuple[float, float]:
    """How far off an attacker is about Terry Ross's height, in cm: with the release, and without it.

    She is two inches taller than the mean Lithuanian woman of the table, and the attacker knows that. With
    the release they add two inches to the released mean; without it, to the mean of all nations.
    """
    draw = np.random.default_rng(seed)
    nations = draw.normal(163, 4, NATIONS)
    heights = draw.normal(nations[0], 6.5, WOMEN)
    hers = heights.mean() + TALLER
    rows = np.append(heights, hers) if taking_part else heights
    if epsilon is None:
        told = rows.mean()
    else:
        unit = dp.Unit(dp.REPLACE_ONE)
        ledger = dp.Ledger(limit=dp.PureDP(epsilon), unit=unit)
        schema = dp.Schema(height=dp.Real(120, 220))
        data = dp.PrivateDataset({"height": rows}, schema, ledger=ledger, rows=len(rows))
        with testing.fixed_noise(seed_of("Terry Ross", epsilon, taking_part, seed)):
            told = data.release(dp.Mean("height"), dp.PureDP(epsilon)).value
    return abs(float(told) + TALLER - hers), abs(float(nations.mean()) + TALLER - hers)


PATIENTS, YEARS, MOVED = 20_000, 80, 14


def bills(draw: np.random.Generator) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """Each person's group (year of birth and sex), and the days of a year for which they were billed."""
    groups = draw.integers(0, 2 * YEARS, PATIENTS)
    counts = 4 + draw.geometric(0.1, PATIENTS)
    return groups, [np.unique(draw.integers(0, DAYS, count)) for count in counts]


def move(days: npt.NDArray[np.int64], how: str, draw: np.random.Generator) -> Any:
    """The days as they are published: as they are, moved together, or one by one, by up to 14."""
    if how == "as they are":
        return days
    return days + draw.integers(-MOVED, MOVED + 1, 1 if how == "together" else len(days))


def fits(known: npt.NDArray[np.int64], days: npt.NDArray[np.int64], how: str) -> bool:
    """Whether published days can be those of somebody with these known ones."""
    gaps = days - known[:, None]
    if how == "as they are":
        return bool((gaps == 0).any(axis=1).all())
    if how == "one by one":
        return bool((np.abs(gaps) <= MOVED).any(axis=1).all())
    shifts = set(gaps[0][np.abs(gaps[0]) <= MOVED].tolist())
    for line in gaps[1:]:
        shifts &= set(line.tolist())
    return bool(shifts)


def link_bills(known: int, how: str, draw: np.random.Generator, victims: int = 200) -> float:
    """The share of victims whose pseudonym alone fits: sex, year of birth and days of bills are known."""
    groups, table = bills(draw)
    published = [move(days, how, draw) for days in table]
    alone = 0
    for victim in draw.choice(PATIENTS, victims, replace=False):
        days = table[victim]
        seen = days[draw.choice(len(days), min(known, len(days)), replace=False)]
        same = np.flatnonzero(groups == groups[victim])
        alone += [who for who in same if fits(seen, published[who], how)] == [victim]
    return alone / victims


def watch_bills(epsilon: float, seed: int, trials: int = 60) -> tuple[float, float]:
    """True and false positives of the best test for whether somebody's ten bills are in counts by week."""
    draw = np.random.default_rng(seed)
    others = np.column_stack([np.arange(3_000) // 10, draw.integers(0, 52, 3_000)])
    mine = draw.choice(52, 10, replace=False)
    return tell_part(epsilon, others, mine, 52, ("bills", epsilon, seed), trials)
