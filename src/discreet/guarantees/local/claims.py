"""Claims about reports that people randomise themselves."""

from discreet.guarantees.base import NOISED, Claim

CODE = ("discreet.mechanisms.local.*",)
RESTS_ON = NOISED


_CODE = "discreet.mechanisms.local."


def _local(name: str, statement: str, source: str, code: str) -> Claim:
    """A claim about reports that people randomise themselves."""
    return Claim(
        name=name,
        statement=statement,
        unit="one person's value: any two values of the public domain",
        measure="PureDP",
        status="proved",
        source=source,
        proof="local.md",
        functions=(
            f"{_CODE}{code}.event",
            f"{_CODE}{code}.randomize",
            f"{_CODE}probabilities.outside_mass",
        ),
    )


CLAIMS = (
    _local(
        "randomised-response",
        "A yes or no, turned round with probability 1/(e^ε + 1), rounded up, is ε-local DP.",
        "Warner 1965; Kasiviswanathan et al. 2011",
        "response.RandomizedResponse",
    ),
    _local(
        "generalised-randomised-response",
        "One of k values, kept with probability e^ε/(e^ε + k - 1), rounded down, is ε-local DP.",
        "Kairouz, Bonawitz & Ramage 2016",
        "response.GeneralizedRandomizedResponse",
    ),
    _local(
        "unary-encoding",
        "A row of bits, blurred symmetrically or by optimised probabilities, is ε-local DP.",
        "Erlingsson, Pihur & Korolova 2014; Wang, Blocki, Li & Jha 2017",
        "unary.UnaryEncoding",
    ),
    _local(
        "local-hashing",
        "A public random hash function and its value told by randomised response are ε-local DP.",
        "Wang, Blocki, Li & Jha 2017",
        "hashing.LocalHashing",
    ),
    _local(
        "memoised-reports",
        "Any number of reports of one permanent row are ε-local DP together, n of them also n times the ε "
        "of the first.",
        "Erlingsson, Pihur & Korolova 2014; the second part: this project",
        "memoised.Memoised",
    ),
    _local(
        "one-bit-mean",
        "A bounded real, rounded to an end at random and told by randomised response, is ε-local DP.",
        "Duchi, Jordan & Wainwright 2018",
        "means.DuchiMean",
    ),
    _local(
        "piecewise-mean",
        "A cell drawn from a window that is e^ε times as likely as the rest is ε-local DP, in integers.",
        "Wang et al. 2019, on a grid",
        "means.PiecewiseMean",
    ),
    _local(
        "hybrid-mean",
        "A public coin between the one-bit and the piecewise report is ε-local DP.",
        "Wang et al. 2019",
        "means.HybridMean",
    ),
)
