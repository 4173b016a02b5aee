"""Private training against plain training, and against Opacus where it is installed: ratios of one run.

``make bench-deep``. Each line is the throughput of a training step (batch of 256 by chance, sample and noise
included) as a multiple of a plain step on 256 rows, of Opacus with hooks and of its ghost mode (Poisson
loader included), with its bar. Also what each way to add up and to draw noise costs, and the peak of memory
in processes of their own. CPU time, one thread, taken in turn, the median of several rounds; for the CNN also
the time on the clock with all threads, which means something on an idle machine alone. Then how long it takes
to calibrate noise, and the accuracy of `MLPClassifier` on Adult (``DISCREET_DATA``, by default
``../shared/data`` beside the repository; test rows are used once). The exit status is the
number of bars missed.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import torch
from threadpoolctl import threadpool_limits
from torch import nn

import discreet as dp
from discreet.deep.clipping import Differentiator
from discreet.deep.grid import RADIUS
from discreet.deep.loop import GradientStep, _NoiseAhead
from discreet.deep.plans import PoissonSampler, TrainingPlan, calibrate_noise
from discreet.deep.probe import find_path, random_rows
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import open_paid

BATCH, PERSONS = 256, 2560
ROUNDS = 9
QUICK = {"ROUNDS": 1, "SEEDS": 1}


def cnn() -> nn.Module:
    """The network of the wavelet paper: 1,011,466 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(7744, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def mlp() -> nn.Module:
    widths = (8, 16, 18, 20, 24, 2)
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Transformer(nn.Module):
    """Four layers of width 128 on 64 places."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.inner = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.last = nn.Linear(128, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.inner(x).mean(dim=1))


#: Network, shape of a row, classes, size of blocks, and the least throughput as a multiple of others.
CASES = {
    "cnn": (cnn, (1, 27, 27), 10, 32, {"plain": 0.75, "opacus hooks": 1.9, "opacus ghost": 1.35}),
    "mlp": (mlp, (8,), 2, 288, {"opacus hooks": 3.0}),
    "transformer": (Transformer, (64, 128), 2, 16, {"plain": 0.5, "opacus ghost": 1.0}),
}
#: What is added up how: arithmetic, and noise as a multiple of the clip.
MODES = {"exact": ("exact", 1), "exact, no noise": ("exact", 0), "fast": ("fast", 1)}
#: The most memory of a step on the CNN, as a multiple of plain training.
MAX_MEMORY = 2.0
#: Trainings whose noise is looked for: chance, steps, ε, δ; and the most seconds that it may take.
PLANS = {
    "a head at ε = 0.5": (Fraction(4096, 60_000), 120, Fraction(1, 2), 1e-5),
    "a head at ε = 2.93": (Fraction(8192, 60_000), 293, 2.93, 1e-5),
    "a small network at ε = 3": (Fraction(1024, 60_000), 600, 3, 1e-5),
    "a long training": (Fraction(1, 1000), 20_000, 1, 1e-6),
    "a table at ε = 1": (Fraction(1, 4), 80, 1, 1e-6),
}
MAX_SECONDS = 2.0
#: The least accuracy on Adult, the mean over seeds.
ADULT, SEEDS = 0.845, 3


def plain_step(model: nn.Module, shape: tuple[int, ...], classes: int) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(BATCH, *shape), torch.randint(0, classes, (BATCH,))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def private_step(
    model: nn.Module, shape: tuple[int, ...], classes: int, size: int, mode: str = "exact"
) -> Callable[[], None]:
    arithmetic, noise_multiplier = MODES[mode]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(PERSONS, *shape), torch.randint(0, classes, (PERSONS,))
    plan = TrainingPlan(PoissonSampler(Fraction(BATCH, PERSONS)), 10**5, noise_multiplier * RADIUS)
    door = open_paid(x, y, plan)
    door.claim(10**5)
    loss = nn.CrossEntropyLoss(reduction="none")
    path = find_path(model, loss, random_rows([(shape, x.dtype)], ((), y.dtype), model), 8)
    batch = BatchSum(Differentiator(model, loss, path), 1.0, "flat", arithmetic)
    noise = _NoiseAhead(plan).__enter__()
    made = GradientStep(model, optimizer, 1 / RADIUS / BATCH)

    def step() -> None:
        total = batch.total(door.draw(size))
        made.apply(total + noise.next(len(total)))

    return step


def opacus_step(
    model: nn.Module, shape: tuple[int, ...], classes: int, mode: str
) -> Callable[[], None]:
    from opacus import PrivacyEngine
    from opacus.validators import ModuleValidator

    model = ModuleValidator.fix(model)  # it refuses nn.MultiheadAttention
    data = torch.utils.data.TensorDataset(
        torch.randn(PERSONS, *shape), torch.randint(0, classes, (PERSONS,))
    )
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
            criterion=nn.CrossEntropyLoss(), grad_sample_mode=mode,
        )  # fmt: skip
    net, optimizer, *rest = made
    criterion = rest[0] if mode == "ghost" else nn.CrossEntropyLoss()
    loader = rest[-1]
    batches = iter(loader)

    def step() -> None:
        nonlocal batches
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

    return step


def has_opacus() -> bool:
    try:
        import opacus  # noqa: F401
    except ImportError:
        return False
    return True


def measure(
    steps: dict[str, Callable[[], None]],
    rounds: int,
    several: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """The time of a step: the median over rounds of the mean over `several` in a row, taken in turn.

    Not the least: batches are drawn by chance, and the shortest time would be that of a small batch.
    """
    for step in steps.values():
        step()
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            begin = clock()
            for _ in range(several):
                step()
            found[name].append((clock() - begin) / several)
    return {name: statistics.median(times) for name, times in found.items()}


def compare(name: str) -> int:
    """Measure one network, print a line for each way to train it, and count missed bars."""
    build, shape, classes, size, bars = CASES[name]
    steps = {"plain": plain_step(build(), shape, classes)}
    for mode in MODES:
        steps[mode] = private_step(build(), shape, classes, size, mode)
    if has_opacus():
        for mode in ("hooks", "ghost"):
            steps[f"opacus {mode}"] = opacus_step(build(), shape, classes, mode)
    times = measure(steps, ROUNDS, 40 if name == "mlp" else 1)
    failed = 0
    print(f"{name}: " + ", ".join(f"{kind} {1000 * t:.2f} ms" for kind, t in times.items()))
    for mode in MODES:
        told = []
        for other in times:
            if other in MODES:
                continue
            ratio = times[other] / times[mode]
            bar = bars.get(other) if mode == "exact" else None
            missed = bar is not None and ratio < bar
            failed += missed
            told.append(
                f"{ratio:.2f} x {other}" + (f" (bar {bar}{', MISSED' * missed})" if bar else "")
            )
        print(f"  {mode}: {', '.join(told)}")
    return failed


def compare_clock() -> int:
    """The CNN with all threads, by the clock on the wall: what somebody waits for."""
    build, shape, classes, size, bars = CASES["cnn"]
    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    with threadpool_limits(threads):
        steps = {
            "plain": plain_step(build(), shape, classes),
            "exact": private_step(build(), shape, classes, size),
        }
        if has_opacus():
            steps["opacus ghost"] = opacus_step(build(), shape, classes, "ghost")
        times = measure(steps, ROUNDS, 1, time.perf_counter)
    torch.set_num_threads(1)
    failed, told = 0, []
    for other in times.keys() - {"exact"}:
        ratio = times[other] / times["exact"]
        missed = ratio < bars[other]
        failed += missed
        told.append(f"{ratio:.2f} x {other} (bar {bars[other]}{', MISSED' * missed})")
    print(f"cnn on the clock, {threads} threads: {1000 * times['exact']:.0f} ms, {', '.join(told)}")
    return failed


def peak(kind: str) -> int:
    """The growth of this process's memory over a few steps on the CNN, in kilobytes."""
    build, shape, classes, size, _ = CASES["cnn"]
    model = build()
    x = torch.randn(PERSONS, *shape)  # in both, the rows to draw from
    begin = highest_memory()
    if kind == "plain":
        step = plain_step(model, shape, classes)
    else:
        step = private_step(model, shape, classes, size)
    for _ in range(3):
        step()
    assert len(x) == PERSONS
    return highest_memory() - begin


def highest_memory() -> int:
    """The most memory that this process has had so far, in kilobytes.

    Linux lets a child's ``ru_maxrss`` begin with that of its parent, so it is asked for the process's own.
    """
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def compare_memory() -> int:
    """The peak of memory on the CNN, private and plain, each in a process of its own."""
    found = {}
    for kind in ("plain", "private"):
        command = [sys.executable, __file__, "--peak", kind]
        told = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        found[kind] = int(told.stdout)
    ratio = found["private"] / found["plain"]
    missed = ratio > MAX_MEMORY
    print(
        f"memory of the cnn: plain {found['plain'] // 1024} MB, private {found['private'] // 1024} MB: "
        f"{ratio:.2f} x (at most {MAX_MEMORY}{', MISSED' * missed})"
    )
    return int(missed)


def compare_calibration() -> int:
    """How long it takes to find the noise of a training."""
    failed = 0
    for name, (chance, steps, epsilon, delta) in PLANS.items():
        begin = time.process_time()
        sampler = PoissonSampler(chance)
        sigma = calibrate_noise(sampler, steps, dp.ApproxDP(epsilon, delta))
        spent = time.process_time() - begin
        missed = spent > MAX_SECONDS
        failed += missed
        print(
            f"noise of {name}: {sigma / RADIUS:.3f} in {spent:.2f} CPU-s "
            f"(at most {MAX_SECONDS}{', MISSED' * missed})"
        )
    return failed


def compare_adult() -> int:
    """The accuracy of a network for tables, with its defaults."""
    from real_tables import has_tables, load

    if not has_tables("Adult", "adult_train.csv.gz", "adult_test.csv.gz"):
        return 0
    split, found = load("adult"), []
    schema = dp.Schema.read(split.table.schema_path)
    for seed in range(SEEDS):
        data = dp.PrivateDataset(split.train, schema, ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6)))
        model = dp.deep.MLPClassifier(
            epsilon=1, delta=1e-6, expected_rows=32_000, random_state=seed
        )
        model.fit(data, target=split.table.label)
        rows = split.test.drop(columns=[split.table.label])
        found.append(float((model.predict(rows) == split.test[split.table.label]).mean()))
    mean = sum(found) / len(found)
    missed = mean < ADULT
    print(
        f"MLPClassifier on Adult, all columns, ε = 1, δ = 1e-6: {mean:.4f} "
        f"({', '.join(f'{each:.4f}' for each in found)}; at least {ADULT}{', MISSED' * missed})"
    )
    return int(missed)


#: What is measured besides the networks.
OTHERS = {
    "clock": compare_clock,
    "memory": compare_memory,
    "calibration": compare_calibration,
    "adult": compare_adult,
}


def main() -> int:
    torch.set_num_threads(1)
    threadpool_limits(1)  # numpy's products of matrices
    if sys.argv[1:2] == ["--peak"]:
        print(peak(sys.argv[2]))
        return 0
    if not has_opacus():
        print("Opacus is not installed here: ratios to it are left out.")
    chosen = sys.argv[1:] or [*CASES, *OTHERS]
    return sum(OTHERS[name]() if name in OTHERS else compare(name) for name in chosen)


if __name__ == "__main__":
    sys.exit(main())
