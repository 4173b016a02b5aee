"""Claims that are made again and again, and are false: the classic bugs. Each is caught by its attack."""

from discreet.guarantees.base import ANY_UNIT, NOISED, Claim

CODE: tuple[str, ...] = ()
RESTS_ON = (*NOISED, "ledger")


_BUGS = "discreet.guarantees.bugs."


def _bug(
    name: str,
    statement: str,
    source: str,
    repair: str,
    code: str = "",
    unit: str = ANY_UNIT,
    measure: str = "PureDP",
) -> Claim:
    """A refuted claim, explained in one section of ``docs/proofs/bugs.md``."""
    return Claim(
        name=name,
        statement=statement,
        unit=unit,
        measure=measure,
        status="refuted",
        source=source,
        proof="bugs.md",
        functions=(_BUGS + code,) if code else (),
        repair=repair,
    )


_NOISE = (
    _bug(
        "half-the-noise",
        "Noise of half the scale is as private.",
        "a missing factor of 2, as where replace-one is taken for add/remove",
        "discrete-laplace",
    ),
    _bug(
        "textbook-laplace",
        "A double plus Laplace noise drawn as a double is ε-DP.",
        "Mironov 2012: which doubles can be reached depends on the true value",
        "discrete-laplace",
        "broken_noise.textbook_laplace",
    ),
    _bug(
        "textbook-gaussian",
        "A double plus Gaussian noise drawn as a double is μ-Gaussian DP.",
        "Mironov 2012 for Laplace noise; the same probe works for numpy's normal draws",
        "rounded-gaussian",
        "broken_noise.textbook_gaussian",
        measure="GaussianDP",
    ),
    _bug(
        "float-sum",
        "A floating-point sum of rows within [0, u] moves by at most u when one row changes.",
        "Casacuberta, Shoemate, Vadhan & Wagaman 2022",
        "coded-sums",
        "broken_noise.running_sum",
        "replace-one",
    ),
    _bug(
        "free-diagonal",
        "The entries of X'X with Laplace noise for the sensitivities that diffprivlib computes are ε-DP.",
        "diffprivlib 0.6, models/linear_regression.py: the lower bound is taken twice for squares",
        "coded-sums",
        "broken_noise.gram_with_a_free_diagonal",
    ),
    _bug(
        "mean-over-private-n",
        "A mean of rows in [0, 1] with noise of scale 1/(n·ε), n counted in the data, is ε-DP.",
        "a mean's replace-one sensitivity, used where rows come and go",
        "coded-sums",
        "broken_noise.mean_over_private_n",
        "add/remove",
    ),
    _bug(
        "bounds-from-the-data",
        "Noise scaled to the range of the rows that are there is ε-DP.",
        "a common fall-back where bounds are not given (diffprivlib warns and does it)",
        "private-bounds",
        "broken_noise.mean_within_seen_bounds",
    ),
    _bug(
        "one-draw-for-two-answers",
        "Two counts that share one draw of Laplace noise of scale 2/ε are ε-DP.",
        "a variable that is used twice",
        "discrete-laplace",
        "broken_noise.two_answers_with_one_draw",
    ),
    _bug(
        "stream-restarts",
        "Noise from a stream that is opened with the same key for each call is ε-DP, call by call.",
        "a fixed random_state left in production",
        "noise-never-comes-twice",
        "broken_noise.from_a_restarted_stream",
    ),
    _bug(
        "stream-copied-by-fork",
        "Noise from a generator that was keyed once is ε-DP in every worker process.",
        "generators of a forked process go on with the state of its parent",
        "noise-never-comes-twice",
        "broken_noise.from_a_copied_stream",
    ),
    _bug(
        "last-bit-never-flips",
        "Bits told by randomised response with ε/bits each, all but the last, are ε-local DP.",
        "an index that ends too early",
        "randomised-response",
        "broken_noise.bits_but_the_last",
        "one person's value",
    ),
    _bug(
        "report-length-follows-value",
        "One report by randomised response for each item that a person has is ε-local DP.",
        "the number of reports is told without noise",
        "unary-encoding",
        "broken_noise.one_report_for_each_item",
        "one person's value",
    ),
)

_SELECTION = (
    _bug(
        "sparse-vector-tells-what-it-compared",
        "Sparse vector that tells the compared noisy number of an answer above is ε-DP.",
        "Roth's lecture notes of 2011; Lyu, Su & Li 2017, Algorithm 3",
        "sparse-vector",
        "broken_selection.variant_3",
    ),
    _bug(
        "sparse-vector-with-noise-for-one",
        "Sparse vector whose noise on answers doesn't grow with the cutoff is ε-DP.",
        "Lee & Clifton 2014; Lyu, Su & Li 2017, Algorithm 4",
        "sparse-vector",
        "broken_selection.variant_4",
    ),
    _bug(
        "sparse-vector-with-silent-answers",
        "Sparse vector with noise on the threshold alone, without an end, is ε-DP.",
        "Stoddard, Chen & Machanavajjhala 2014; Lyu, Su & Li 2017, Algorithm 5",
        "sparse-vector",
        "broken_selection.variant_5",
    ),
    _bug(
        "sparse-vector-without-end",
        "Sparse vector with noise as for one answer above, without an end, is ε-DP.",
        "Chen, Xiao, Zhang & Xu 2015; Lyu, Su & Li 2017, Algorithm 6",
        "sparse-vector",
        "broken_selection.variant_6",
    ),
    _bug(
        "noisy-max-with-its-value",
        "The index of the largest score plus geometric noise, with that sum, costs as much as the index.",
        "the proof of report-noisy-max covers the index alone",
        "noisy-max",
        "broken_selection.noisy_max_with_its_value",
    ),
)

_ACCOUNTING = (
    _bug(
        "one-order-with-the-whole-delta",
        "Adaptive charges that stay, at one of several Rényi orders, within what the whole δ allows are "
        "(ε, δ)-DP.",
        "the conversion of a fixed plan, used as a filter; this project",
        "ledger-filter",
        "broken_accounting.WholeDeltaFilter",
        measure="ApproxDP",
    ),
    _bug(
        "fixed-batches-as-poisson",
        "A noisy sum over a batch of fixed size costs what Poisson sampling costs at the same rate.",
        "common in DP-SGD; Lebeda, Regehr, Kamath & Steinke 2024 compare the two",
        "",
        "broken_accounting.fixed_batch_distributions",
        "add/remove",
        "ApproxDP",
    ),
    _bug(
        "threshold-without-its-mass",
        "Keys with noisy count >= τ are (ε, δ)-DP for δ = P(1 + noise > τ).",
        "a slip between > and >=; with continuous noise it makes no difference",
        "discovered-keys",
        "broken_accounting.threshold_without_its_mass",
        "add/remove",
        "ApproxDP",
    ),
    _bug(
        "noise-for-one-of-many-rows",
        "A count of rows with Laplace noise of scale 1/ε is ε-DP for persons who have several rows.",
        "a row taken for a person",
        "coded-sums",
        "broken_accounting.sum_with_the_sensitivity_of_one_row",
        "add/remove of a person with up to 3 rows",
    ),
)

_PROCESS = (
    _bug(
        "check-first-spend-last",
        "A door that checks the budget, answers and charges afterwards never answers for nothing.",
        "diffprivlib: accountant.check at the start of fit, accountant.spend at its end",
        "charged-before-read",
        "broken_process.CheckFirstSpendLast",
        measure="order of acts",
    ),
    _bug(
        "labels-from-the-data",
        "Noisy counts of the labels that occur are ε-DP.",
        "GROUP BY with noise; Korolova, Kenthapadi, Mishra & Ntoulas 2009 say what is missing",
        "discovered-keys",
        "broken_process.counts_of_seen_labels",
        "add/remove",
    ),
    _bug(
        "fails-on-nan",
        "A noisy sum that refuses rows with NaN is ε-DP.",
        "input checks of careful code",
        "coded-sums",
        "broken_process.sum_that_checks_its_rows",
    ),
    _bug(
        "message-quotes-a-row",
        "What a check of bounds says about the rows is no answer, and costs nothing.",
        "messages of validators",
        "coded-sums",
        "broken_process.message_of_a_row",
    ),
)

CLAIMS = _NOISE + _SELECTION + _ACCOUNTING + _PROCESS
