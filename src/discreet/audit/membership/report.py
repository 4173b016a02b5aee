"""What a membership attack achieved: the ROC curve, its left end, and the ε that it implies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from discreet.audit.bounds import clopper_pearson
from discreet.audit.one_run import OneRunAudit, guess
from discreet.show import decode_value, encode_value, read_document, write_document

__all__ = ["MembershipReport", "Rate"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: The shares of all records guessed "in" and "out" for the bound on ε; fixed, so that it stays valid.
_GUESSED = ((2, 2), (8, 8), (32, 32), (32, 0), (128, 0))

#: The false positive rates of the read-outs.
_READ_OUTS = (0.1, 0.01, 0.001)


@dataclass(frozen=True)
class Rate:
    """A share of trials with its Clopper-Pearson interval."""

    hits: int
    trials: int
    confidence: float

    @property
    def value(self) -> float:
        """hits/trials; NaN without trials."""
        return self.hits / self.trials if self.trials else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Holds the true rate with `confidence`, for independent trials."""
        return clopper_pearson(self.hits, self.trials, self.confidence)

    def __repr__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} [{low:.3f}, {high:.3f}]"


@dataclass(frozen=True, eq=False, repr=False)
class MembershipReport:
    """What a membership attack achieved: its scores, the truth, and what follows from them.

    Parameters
    ----------
    attack : str
        Its name.
    scores : (models, records) array
        High where the attack believes that the record was in the model's training set.
    included : (models, records) array of booleans
        The truth: a fair coin for each model and record.
    delta, confidence : float
        Of the bound on ε and of the intervals.

    Notes
    -----
    `epsilon` holds whatever the algorithm does, because the coins are independent. The intervals of the true
    positive rates treat records of one model as independent trials, as is usual: they only describe.

    Privacy
    -------
    Unit: add/remove of one record. The floor on ε is for the *training algorithm*, which ran on random
    halves of this data set; a trained model alone has no ε. It doesn't matter which attack found it.
    Proof page: ``docs/proofs/one_run.md``.
    """

    attack: str
    scores: Floats
    included: Flags
    delta: float = 0.0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.scores.shape != self.included.shape or self.included.dtype != np.bool_:
            raise ValueError("included must be booleans, one for each score.")
        if np.isnan(self.scores).any():
            raise ValueError("scores must be numbers: NaN can't be ordered.")
        if not 0 < self.confidence < 1 or not 0 <= self.delta <= 1:
            raise ValueError("confidence and delta must be between 0 and 1.")

    @cached_property
    def _counts(self) -> tuple[Floats, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Distinct thresholds from the top, and how many non-members and members reach each."""
        values, coins = self.scores.ravel(), self.included.ravel()
        thresholds, which = np.unique(-values, return_inverse=True)
        members = np.bincount(which, coins, len(thresholds)).astype(np.intp)
        others = np.bincount(which, ~coins, len(thresholds)).astype(np.intp)
        return -thresholds, others.cumsum(), members.cumsum()

    @property
    def roc(self) -> tuple[Floats, Floats]:
        """False and true positive rates, from (0, 0) to (1, 1)."""
        _, wrong, right = self._counts
        ends = (max(1, wrong[-1]), max(1, right[-1]))
        false = np.concatenate([[0.0], wrong / ends[0]])
        return false, np.concatenate([[0.0], right / ends[1]])

    @property
    def auc(self) -> float:
        """The probability that a member scores above a non-member, ties counted half."""
        ranks, coins = rankdata(self.scores.ravel()), self.included.ravel()
        members = int(coins.sum())
        others = coins.size - members
        if not members or not others:
            return float("nan")
        return float((ranks[coins].sum() - members * (members + 1) / 2) / (members * others))

    @property
    def advantage(self) -> float:
        """The largest gap of true and false positive rate at one threshold (Yeom et al. 2018, Def. 4)."""
        false, true = self.roc
        return float(np.max(true - false))

    def tpr_at(self, fpr: float) -> Rate:
        """The true positive rate at the lowest threshold whose observed false positives are within `fpr`."""
        if not 0 <= fpr <= 1:
            raise ValueError(f"fpr must be between 0 and 1, got {fpr!r}.")
        _, wrong, right = self._counts
        within = int(np.searchsorted(wrong, fpr * wrong[-1] * (1 + 1e-12), side="right"))
        return Rate(int(right[within - 1]) if within else 0, int(right[-1]), self.confidence)

    @cached_property
    def audit(self) -> OneRunAudit:
        """The guesses behind `epsilon`: all models' coins together are one set of canaries."""
        scores, coins = self.scores.ravel(), self.included.ravel()
        pairs = {(len(scores) // a, len(scores) // b if b else 0) for a, b in _GUESSED}
        tried = tuple(guess(scores, coins, *pair) for pair in sorted(pairs) if sum(pair))
        return OneRunAudit(tried or (guess(scores, coins, 1, 0),), self.delta, self.confidence)

    @property
    def epsilon(self) -> float:
        """The training algorithm isn't (ε, `delta`)-DP for any smaller ε, with `confidence`."""
        return self.audit.epsilon

    def to_json(self) -> str:
        """The result as JSON, exact to the last digit; it holds who was in, as scores and truth.

        Privacy
        -------
        It is for the owner of the data, like the attack itself: scores of single records are no release.
        """
        body = {
            "attack": self.attack,
            "scores": encode_value(self.scores),
            "included": encode_value(self.included),
            "delta": self.delta,
            "confidence": self.confidence,
        }
        return write_document("membership", 1, body)

    @classmethod
    def from_json(cls, text: str) -> MembershipReport:
        """A result that `to_json` wrote. Nothing in the text is run, and nothing in it is checked."""
        with read_document(text, "membership", 1) as body:
            scores = np.asarray(decode_value(body["scores"]), np.float64)
            included = np.asarray(decode_value(body["included"]))
            if scores.ndim != 2:
                raise ValueError("scores")
            levels = float(body["delta"]), float(body["confidence"])
            return cls(str(body["attack"]), scores, included, *levels)

    def __repr__(self) -> str:
        models, records = self.included.shape
        members = int(self.included.sum())
        lines = [
            f"{self.attack}: {models} model(s), {records} records, "
            f"{members} memberships and {self.included.size - members} non-memberships.",
            f"  AUC {self.auc:.3f} (0.5 is blind), advantage {self.advantage:.3f}",
        ]
        lines += [f"  TPR at FPR {fpr:g}: {self.tpr_at(fpr)!r}" for fpr in _READ_OUTS]
        lines += [
            f"  ε >= {self.epsilon:.3g} at δ = {self.delta:g}, with confidence {self.confidence:.1%}, "
            "for the training algorithm on halves of this data set.",
            "  An attack that fails proves nothing: a better one may not.",
        ]
        return "\n".join(lines)
