"""The auditor: is it strong, is it safe, and does it catch the whole zoo in time?"""

from __future__ import annotations

import time

import numpy as np

import discreet as dp
from discreet import audit, noise
from discreet.audit import run_attack
from discreet.guarantees import all_attacks, all_claims

TRIALS, AUDITS = 1_000_000, 1000
#: How many claims are attacked; None for all.
CLAIMS: int | None = None
QUICK = {"TRIALS": 20_000, "AUDITS": 6, "CLAIMS": 2}


def laplace(value, trials):
    return value + noise.discrete_laplace(1, trials)


def gaussian(value, trials):
    return 1000 * value + noise.rounded_gaussian(1000, trials)


def told(words: str, holds: bool) -> int:
    print(f"{words:<78} {'ok' if holds else 'MISSED'}")
    return 0 if holds else 1


def null_calibration() -> int:
    """How many audits of identical inputs, at 99 %, say *violated*."""
    random = np.random.default_rng()
    mechanisms = [
        lambda _, trials: random.integers(4, size=trials),
        lambda _, trials: random.normal(size=trials),
        lambda _, trials: random.laplace(size=trials).round(1),
    ]
    return sum(
        audit.audit(mechanisms[index % 3], (0, 0), 0.0, trials=400).is_violated
        for index in range(AUDITS)
    )


def main() -> int:
    missed = 0
    floor = audit.audit(laplace, (0, 1), 1.0, trials=TRIALS).floor
    missed += told(
        f"discrete Laplace, ε = 1, 1e6 runs: floor {floor:.4f} (>= 0.9)", 0.9 <= floor <= 1
    )
    start = time.perf_counter()
    floor = audit.audit(gaussian, (0, 1), dp.GaussianDP(1), trials=TRIALS).floor
    seconds = time.perf_counter() - start
    missed += told(f"Gaussian, μ = 1, 1e6 runs: floor {floor:.4f} (>= 0.9)", 0.9 <= floor <= 1)
    print(f"    a million runs of a scalar mechanism on each side: {seconds:.1f} s")
    alarms = null_calibration()
    missed += told(
        f"1000 audits of identical inputs at 99 %: {alarms} alarms (<= 20)", alarms <= 20
    )
    start = time.perf_counter()
    wrong = {"refuted": 0, "proved": 0, "assumed": 0}
    count = dict(wrong)
    spent = dict.fromkeys(wrong, 0.0)
    confidence = 1 - 0.01 / len(all_claims())
    for entry in list(all_claims())[:CLAIMS]:
        begun = time.perf_counter()
        results = run_attack(all_attacks()[entry.audit], confidence=confidence)
        violated = any(result.is_violated for result in results)
        wrong[entry.status] += violated != (entry.status == "refuted")
        count[entry.status] += 1
        spent[entry.status] += time.perf_counter() - begun
    zoo = f"{count['refuted'] - wrong['refuted']} of {count['refuted']} refuted claims caught"
    missed += told(f"{zoo} in {spent['refuted']:.0f} s (all, <= 600 s)", not wrong["refuted"])
    missed += spent["refuted"] > 600
    others = count["proved"] + count["assumed"]
    bad = wrong["proved"] + wrong["assumed"]
    return missed + told(
        f"{others - bad} of {others} other claims consistent, in {spent['proved'] + spent['assumed']:.0f} s",
        not bad,
    )


if __name__ == "__main__":
    raise SystemExit(main())
