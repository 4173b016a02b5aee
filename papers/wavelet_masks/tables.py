"""The tables of the README: published figures, then ours with standard errors and repetitions."""

from __future__ import annotations

import math
from collections.abc import Iterable

from audits import AUDITED
from digits import ABADI, PUBLISHED, TRUE
from harness import Study, Summary, markdown
from learning import LEAKED, LEARNERS, MASKS, MEDIUM, PRINTED, REPAIRED, SIZE_OF
from masks import BANKS, CODES, INTENSITIES, UNIT_EPSILONS
from study import EPSILONS, STUDY

__all__: list[str] = []

HEAD = [f"ε = {epsilon:g}" for epsilon in EPSILONS]
LEARNED = ("learn-small", "learn-true", "learn-synthetic")


def percent(found: Summary, digits: int = 2) -> str:
    """A share with its standard error, in percent; without one if there was a single repetition."""
    error = "" if math.isnan(found.error) else f" ± {100 * found.error:.{digits}f}"
    return f"{100 * found.mean:.{digits}f}{error}"


def pair(found: dict[str, Summary], name: str) -> str:
    """Accuracy and balanced accuracy."""
    return f"{percent(found[name])}, {percent(found[f'{name}, balanced'], 1)}"


def counts(found: Iterable[Summary]) -> str:
    return " and ".join(str(count) for count in sorted({each.count for each in found}))


@STUDY.table("identities")
def filters(study: Study) -> str:
    found = study.get("identities")
    rows = [[name, f"{value.mean:.1g}"] for name, value in found.items()]
    return markdown(["property of table 2.1", "largest deviation"], rows)


@STUDY.table("denoise")
def denoising(study: Study) -> str:
    published = study.published["denoising"]["H"]
    rows = []
    for epsilon in EPSILONS:
        found = study.get("denoise", epsilon)
        back = found["cells read back"]
        told = [str(value) for name, value in found.items() if name != "cells read back"]
        rows.append([f"{epsilon:g}", published[f"{epsilon:g}"], *told, f"{percent(back)} %"])
    head = ["ε", "published H", *study.get("denoise", EPSILONS[0])]
    return f"{markdown(head, rows)}\n\n{study.get('denoise', 1.0)['true signs'].count} repetitions."


@STUDY.table("codes")
def qr_codes(study: Study) -> str:
    names = ["modulus", "real part", "imaginary part", "read back", "pixels read back"]
    rows = [
        [f"{each:g}", *(f"{percent(study.get('codes', each)[name], 0)} %" for name in names)]
        for each in INTENSITIES
    ]
    count = study.get("codes", INTENSITIES[0])["modulus"].count
    return f"{markdown(['δ', *names], rows)}\n\n{count} repetitions."


@STUDY.table("units")
def protected(study: Study) -> str:
    rows = []
    for code in CODES:
        for bank in BANKS:
            found = [study.get("units", code, bank, each)["scanned"] for each in UNIT_EPSILONS]
            title = f"{code[0]} × {code[0]} pixels, protects a {code[1]}, {bank}"
            rows.append([title, *(f"{percent(each, 0)} %" for each in found)])
    count = study.get("units", CODES[0], "plain", 1)["scanned"].count
    head = ["code, what is protected, noise", *(f"ε = {each}" for each in UNIT_EPSILONS)]
    return f"{markdown(head, rows)}\n\n{count} repetitions."


def table_of(study: Study, learner: str) -> str:
    """One learner: each mask by ε, as published and as obtained; then what keeps the promise."""
    published = study.published["learning"][learner]
    rows, times = [], {}
    for name in (*MASKS, *REPAIRED):
        if f"learn-{SIZE_OF[name]}" not in study.found:
            rows.append([name, *("not run yet" for _ in EPSILONS), "–"])
            continue
        cells = [study.get(f"learn-{SIZE_OF[name]}", name, epsilon) for epsilon in EPSILONS]
        times[f"masks of the {SIZE_OF[name]} table"] = cells[0][learner].count
        printed = [published.get(name, {}).get(f"{epsilon:g}") for epsilon in EPSILONS]
        rows.append(
            [
                name,
                *(
                    (f"*{was:.2f}* → " if was else "") + pair(cell, learner)
                    for was, cell in zip(printed, cells, strict=True)
                ),
                percent(cells[0]["majority"]),
            ]
        )
    for size in ("small", "large"):
        cells = [study.get("learn-synthetic", size, epsilon) for epsilon in EPSILONS]
        times["synthetic tables"] = cells[0][learner].count
        constant = percent(cells[0]["majority"])
        rows.append(
            [f"synthetic table, {size}", *(pair(cell, learner) for cell in cells), constant]
        )
    plain = {size: study.get("learn-true", size) for size in ("small", "large")}
    told = "; ".join(
        f"{size} table: {pair(found, learner)}, always the larger class {percent(found['majority'])}"
        for size, found in plain.items()
    )
    repeated = ", ".join(f"{name} {count}" for name, count in times.items())
    return (
        f"{markdown([learner, *HEAD, 'always the larger class'], rows)}\n\nRepetitions: {repeated}. "
        f"On true rows ({counts(found[learner] for found in plain.values())} repetitions), {told}."
    )


def _add(learner: str) -> None:
    def make(study: Study) -> str:
        return table_of(study, learner)

    make.__name__ = learner.replace(" ", "_")
    STUDY.table(*LEARNED)(make)


for _learner in LEARNERS:
    _add(_learner)


@STUDY.table("learn-by-dp-sgd")
def dp_sgd(study: Study) -> str:
    rows = [
        [
            f"{size} table",
            *(pair(study.get("learn-by-dp-sgd", size, epsilon), "DP-SGD") for epsilon in EPSILONS),
        ]
        for size in ("small", "large")
    ]
    count = study.get("learn-by-dp-sgd", "small", 1.0)["DP-SGD"].count
    return f"{markdown(['DP-SGD, δ = 10⁻⁵', *HEAD], rows)}\n\n{count} repetitions."


@STUDY.table("learn-leaky", "learn-leaky-units")
def leaky(study: Study) -> str:
    rows = []
    for learner, experiment, words in (
        ("logistic regression", "learn-leaky", "in [0, 1]"),
        ("logistic regression", "learn-leaky-units", "in their own units"),
        ("shallow network", "learn-leaky", "in [0, 1]"),
    ):
        published = study.published["learning"][learner]
        for name in LEAKED:
            cells = [
                f"*{published[name][f'{epsilon:g}']:.2f}* → "
                f"{percent(study.get(experiment, name, epsilon)[learner])}"
                for epsilon in EPSILONS
            ]
            rows.append([f"{name}, {learner}, predictors {words}", *cells])
    found = study.get("learn-leaky", "LS, γ = 1", 1.0)["majority"]
    return (
        f"{markdown(['the label among the predictors', *HEAD], rows)}\n\n{found.count} repetitions; "
        f"always the larger class {percent(found)}."
    )


@STUDY.table("learn-printed")
def printed_threshold(study: Study) -> str:
    published = study.published["learning"]
    found = {epsilon: study.get("learn-printed", epsilon) for epsilon in EPSILONS}
    rows = [
        [
            learner,
            *(
                f"*{published[learner]['pseudo-quantum'][f'{epsilon:g}']:.2f}* → {pair(each, learner)}"
                for epsilon, each in found.items()
            ),
        ]
        for learner in PRINTED
    ]
    least = min(each["labels 1"].mean for each in found.values())
    ones = "all" if least == 1 else f"{least:.2%} or more"
    first = found[EPSILONS[0]]["majority"]
    return (
        f"{markdown(['pseudo-quantum, labels 1 from −0.5 on', *HEAD], rows)}\n\n{first.count} repetitions; "
        f"always the larger class {percent(first)}; masked labels that are 1: {ones}."
    )


@STUDY.table("learn-medium")
def medium(study: Study) -> str:
    names, learners = MEDIUM
    rows = []
    for learner in learners:
        for name in names:
            printed = study.published["learning"][learner][name]
            found = {epsilon: study.get("learn-medium", name, epsilon) for epsilon in EPSILONS}
            cells = [
                f"*{printed[f'{epsilon:g}']:.2f}* → {pair(each, learner)}"
                for epsilon, each in found.items()
            ]
            rows.append([f"{name}, {learner}", *cells])
    told = study.get("learn-medium", names[0], EPSILONS[0])["majority"]
    return (
        f"{markdown(['19 683 training rows', *HEAD], rows)}\n\n{told.count} repetitions; "
        f"always the larger class {percent(told)}."
    )


@STUDY.table("audits")
def audited(study: Study) -> str:
    def show(value: float) -> str:
        return "∞" if math.isinf(value) else f"{value:.2f}"

    rows = [
        [name, *(show(study.get("audits", name, e)["floor"].mean) for e in EPSILONS)]
        for name in AUDITED
    ]
    head = ["at least this ε, where claimed is", *(f"{e:g}" for e in EPSILONS)]
    return f"{markdown(head, rows)}\n\nOne audit each, of 40 000 masks: bounds that hold with 99 %."


def size_of(results: Iterable[dict[str, Summary]]) -> str:
    """How many images made these results, and how often."""

    def show(values: Iterable[float]) -> str:
        return ", ".join(f"{value:.0f}" for value in dict.fromkeys(values))

    found = list(results)
    images, passes, scored = (
        show(each[key].mean for each in found) for key in ("images", "passes", "scored")
    )
    times = show(each["accuracy"].count for each in found)
    return f"{images} images, {passes} passes, scored on {scored}; repetitions: {times}"


def line_of(
    name: str, found: dict[float, dict[str, Summary]], printed: dict[str, float]
) -> list[str]:
    """Accuracies by ε, published ones before ours, and what they were made of."""
    cells = [
        (f"*{printed[f'{e:g}']:.2f}* → " if f"{e:g}" in printed else "")
        + percent(found[e]["accuracy"])
        if e in found
        else "–"
        for e in EPSILONS
    ]
    return [name, *cells, size_of(found.values())]


@STUDY.table("digits-whole")
def mnist_whole(study: Study) -> str:
    name, published = "pseudo-quantum", study.published["digits"]
    found = {e: study.get("digits-whole", e) for e in EPSILONS}
    rows = [line_of(f"on {name} masks", found, published[name])]
    plain = study.get("digits-whole", TRUE)
    return (
        f"{markdown(['the network', *HEAD, 'made of'], rows)}\n\nOn true images it reaches "
        f"{percent(plain['accuracy'])} ({size_of([plain])}); published: {published['no noise']}."
    )


@STUDY.table("digits-true", "digits-masked", "digits-hidden")
def mnist(study: Study) -> str:
    rows = [
        line_of(f"on {name} masks", {e: study.get("digits-masked", name, e) for e in EPSILONS}, {})
        for name in PUBLISHED
    ]
    hidden = {e: study.get("digits-hidden", e) for e in EPSILONS}
    rows.append(line_of("on masks that hide an image, δ = 10⁻⁵", hidden, {}))
    plain = study.get("digits-true")
    return (
        f"{markdown(['the network', *HEAD, 'made of'], rows)}\n\nOn true images it reaches "
        f"{percent(plain['accuracy'])} ({size_of([plain])})."
    )


@STUDY.table("digits-scattering")
def scattering(study: Study) -> str:
    abadi = study.published["digits"]["DP-SGD of Abadi et al. 2016"]
    title = "scattering and a linear head; *DP-SGD of Abadi et al.* →"
    found = {e: study.get("digits-scattering", e) for e in ABADI}
    return markdown(["by DP-SGD, δ = 10⁻⁵", *HEAD, "made of"], [line_of(title, found, abadi)])


@STUDY.figure
def draw_learning(study: Study) -> None:
    """Logistic regression: accuracy above that of a constant, and balanced accuracy."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    learner = "logistic regression"
    lines = {
        name: [study.get(f"learn-{SIZE_OF[name]}", name, e) for e in EPSILONS]
        for name in ("LS, γ = 1", "LS+, γ = 1", "pseudo-quantum", *REPAIRED)
        if f"learn-{SIZE_OF[name]}" in study.found
    }
    for size in ("small", "large"):
        lines[f"synthetic, {size}"] = [study.get("learn-synthetic", size, e) for e in EPSILONS]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for number, (name, found) in enumerate(lines.items()):
        places = [e * 1.02 ** (number - len(lines) / 2) for e in EPSILONS]  # side by side
        style = "--" if "repaired" in name else "-." if "synthetic" in name else "-"
        gains = [each[learner].mean - each["majority"].mean for each in found]
        spread = [each[learner].error for each in found]
        left.errorbar(places, gains, spread, ls=style, marker="o", ms=3, label=name)
        told = [each[f"{learner}, balanced"] for each in found]
        means, errors = [each.mean for each in told], [each.error for each in told]
        right.errorbar(places, means, errors, ls=style, marker="o", ms=3)
    left.axhline(0, color="0.5", lw=1)
    left.set_ylabel("accuracy above a constant's")
    right.set_ylabel("balanced accuracy")
    for axis in (left, right):
        axis.set(xscale="log", xlabel="ε")
        axis.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        axis.minorticks_off()
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(study.folder / "learning.png", dpi=100)
    plt.close(figure)
