"""Claims of a student report on k-means, naive Bayes and regression."""

from discreet.guarantees.base import NOISED, Document

CODE: tuple[str, ...] = ()
RESTS_ON = NOISED


_printed = Document(
    "student report",
    topic="student_report",
    unit="add/remove",
    status="refuted",
).claim


CLAIMS = (
    _printed(
        "report-kmeans",
        "k-means with noise scaled by the range of each cluster's own points is ε-DP.",
        "figures 2-3; one point or none means no noise: ε = ∞",
        ("kmeans",),
    ),
    _printed(
        "report-kmeans-budget",
        "With a public domain, (ε/2T + ε/2T)·T = ε covers the size and both sums of a round.",
        "section on k-means; the sums are two queries: 1.5ε",
        ("kmeans",),
    ),
    _printed(
        "report-categorical-bayes",
        "Naive Bayes with noise of scale 1/ε on every count is ε-DP.",
        "figure 5; each of 22 attributes costs ε",
        ("category_counts",),
        repair="discrete-laplace",
    ),
    _printed(
        "report-exact-class-size",
        "A noisy count divided by the exact size of the class is as private as the count.",
        "figure 5; the size sets the scale of the noise: ε = ∞",
        ("category_counts",),
        repair="coded-sums",
    ),
    _printed(
        "report-values-from-data",
        "Noisy counts of the values and classes that occur are ε-DP.",
        "figure 5; a value that one row has is told by its presence: ε = ∞",
        ("frequencies",),
        repair="discovered-keys",
    ),
    _printed(
        "report-class-counts",
        "Class counts with Laplace noise of scale 1 are ε-DP for every ε.",
        "figure 4, line 18, after Vaidya et al. 2013",
        ("class_counts",),
        repair="thesis-counts",
    ),
    _printed(
        "report-numeric-bayes",
        "Means and deviations with noise scaled by each class's own bounds and size are ε-DP.",
        "figures 6-7; equal values mean no noise: ε = ∞",
        ("mean_and_deviation",),
        repair="coded-sums",
    ),
    _printed(
        "report-sample-deviation",
        "The deviation that divides by n - 1 moves by at most √n(u-l)/(n+1).",
        "figure 7; (u-l)/√(n+1) for this one",
        ("mean_and_deviation",),
    ),
    _printed(
        "report-bayes-budget",
        "Eight statistics at ε/12 and class counts at ε/3, over disjoint classes, are ε-DP together.",
        "section on numeric attributes; given that each is right",
        status="proved",
    ),
    _printed(
        "report-noisy-stats",
        "In real numbers, NoisyStats with three independent draws is ε-DP for data in [0, 1]², n public.",
        "figure 8; Alabi, McMillan, Sarathy, Smith & Vadhan 2022",
        status="proved",
        unit="replace-one, n public",
    ),
    _printed(
        "report-regression",
        "NoisyStats with one draw for covariance and variance is ε-DP.",
        "figures 9-10, as they seem to be used; points on a line give slope 1 surely: ε = ∞",
        ("regression",),
        unit="replace-one, n public",
        repair="report-noisy-stats",
    ),
    _printed(
        "report-parallel",
        "Answers about disjoint parts cost the largest of their ε.",
        "section on the technique",
        status="proved",
    ),
    _printed(
        "report-parallel-replaced",
        "Answers about disjoint parts cost the largest of their ε when a row is replaced.",
        "section on the technique, read for replace-one: two parts change",
        unit="replace-one",
        repair="report-parallel",
    ),
)
