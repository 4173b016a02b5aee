"""MNIST: the paper's network on masks as published and on masks with a promise; DP-SGD with scattering.

What the paper prints, the network on true images and on pseudo-quantum masks, is run as it says: all 60 000
images (twice: the paper doesn't say how often), scored on all 10 000. Masks that it has no network for
are beside it on 2000 images, with the network on as many true ones: there the difference counts. Each result
says how many images it was made of.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from harness import DATA, choose_size, seed_of
from study import EPSILONS, STUDY

import discreet as dp
from discreet import testing
from discreet.publish.imaging import ImageMask, crop_images
from discreet.publish.masks import LS, LSPlus, PseudoQuantum

__all__ = ["ABADI", "EPOCHS", "PUBLISHED", "TRUE"]

NEEDS = ("torch", "mnist/train-images-idx3-ubyte.gz")
DELTA = 1e-5
BATCH = 64
#: No mask, in the place of ε.
TRUE = "true images"
#: Where Abadi et al. 2016 state what DP-SGD reaches.
ABADI = (0.5, 2.0, 8.0)
#: Images to learn from, passes over them, and images to predict: in the paper, to compare masks, and to try.
WHOLE, PART, FEW = (60_000, 2, 10_000), (2000, 2, 2000), (256, 2, 800)
#: The masks as published; the paper has a network for the last one alone.
PUBLISHED = {
    "LS, γ = 1": lambda epsilon: LS(epsilon, 1.0),
    "LS+, γ = 1": lambda epsilon: LSPlus(epsilon, 1.0),
    "pseudo-quantum": lambda epsilon: PseudoQuantum(epsilon, 0.1),
}
#: Passes of DP-SGD over the data for a linear head, by ε: more where there is less noise.
EPOCHS = {0.5: 8, 2.0: 12, 8.0: 16}


@cache
def read(part: str) -> Any:
    from discreet.deep import load_mnist

    found = load_mnist(DATA / "mnist", part)
    count = choose_size(len(found.labels), 800)
    return found.images[:count], found.labels[:count].astype(np.int64)


def crop(images: Any) -> Any:
    """27 × 27 pixels in [0, 1], as the paper crops them for three bands."""
    return np.asarray(crop_images(images), np.float64) / 255


def train_network(images: Any, labels: Any, seed: int, passes: int) -> Any:
    """The paper's network with the dropout of the example that it names, by Adam."""
    import torch

    from discreet.deep import wavelet_paper_cnn

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = wavelet_paper_cnn(dropout=(0.25, 0.5))
    x, y = torch.from_numpy(images[:, None]).float(), torch.from_numpy(labels)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(passes):
        for rows in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
    return model.eval()


def predict(model: Any, images: Any) -> Any:
    import torch

    x = torch.from_numpy(images).float()
    with torch.no_grad():
        return torch.cat([model(part).argmax(dim=1) for part in x.split(64)]).numpy()


def learn(seed: int, mask: Any, sizes: tuple[int, int, int] = PART) -> dict[str, float]:
    """Train on a sample of masked images and predict for masked test images."""
    (images, labels), (others, truth) = read("train"), read("test")
    size, passes, tested = choose_size(sizes, FEW)
    chosen = np.random.default_rng(seed).permutation(len(labels))[:size]
    model = train_network(mask(crop(images[chosen]), "train"), labels[chosen], seed, passes)
    guess = predict(model, mask(crop(others[:tested]), "test")[:, None])
    found = {"accuracy": float((guess == truth[:tested]).mean())}
    return found | {"images": len(chosen), "passes": passes, "scored": len(guess)}


def leave(images: Any, _: str) -> Any:
    """No mask."""
    return images


def published_mask(name: str, epsilon: float, seed: int) -> Any:
    """A mask as published, drawn for each image."""

    def mask(images: Any, part: str) -> Any:
        channel = PUBLISHED[name](epsilon)
        draw = np.random.default_rng(seed_of(name, epsilon, seed, part))
        return np.stack([channel.apply(one, unit=dp.PUBLIC, random_state=draw) for one in images])

    return mask


@STUDY.experiment((TRUE, *EPSILONS), repeats=2, quick=1, needs=NEEDS)
def digits_whole(epsilon: Any, *, seed: int) -> dict[str, float]:
    """The paper's network at its size: on true images, and on pseudo-quantum masks."""
    mask = leave if epsilon == TRUE else published_mask("pseudo-quantum", epsilon, seed)
    return learn(seed, mask, WHOLE)


@STUDY.experiment(repeats=2, quick=1, needs=NEEDS)
def digits_true(*, seed: int) -> dict[str, float]:
    """The paper's network on few images as they are."""
    return learn(seed, leave)


@STUDY.experiment(tuple(PUBLISHED), EPSILONS, repeats=2, quick=1, needs=NEEDS)
def digits_masked(name: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """The paper's network on few images with masks as published."""
    return learn(seed, published_mask(name, epsilon, seed))


@STUDY.experiment(EPSILONS, repeats=2, quick=1, needs=NEEDS)
def digits_hidden(epsilon: float, *, seed: int) -> dict[str, float]:
    """The paper's network on masks that hide whole images: noise for any two images."""

    def mask(images: Any, part: str) -> Any:
        channel = ImageMask((27, 27), epsilon=epsilon, delta=str(DELTA), protects="image")
        with testing.fixed_noise(seed_of(epsilon, seed, part)):
            masked = np.stack([channel.randomize(one) for one in images])
        return masked / masked.std()  # the network is for numbers near 1

    return learn(seed, mask)


@cache
def features(part: str) -> Any:
    from discreet.deep import Scattering

    return Scattering().transform(read(part)[0][: choose_size(60_000, 800)])


@STUDY.experiment(ABADI, repeats=2, quick=1, needs=NEEDS)
def digits_scattering(epsilon: float, *, seed: int) -> dict[str, float]:
    """A linear head on scattering coefficients, by DP-SGD: wavelets where nothing is at stake."""
    import torch

    x = torch.from_numpy(features("train"))
    y = torch.from_numpy(read("train")[1][: len(x)])
    model = torch.nn.Linear(x.shape[1], 10)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=8, momentum=0.9)
    epochs = choose_size(EPOCHS[epsilon], 1)
    train_privately(model, optimizer, x, y, epsilon, seed, epochs=epochs, batch=len(y) // 8)
    guess = predict(model, features("test"))
    found = {"accuracy": float((guess == read("test")[1]).mean())}
    return found | {"images": len(y), "passes": epochs, "scored": len(guess)}


def train_privately(
    model: Any, optimizer: Any, x: Any, y: Any, epsilon: float, seed: int, **options: int
) -> None:
    """DP-SGD with gradients of norm 0.1, charged to a ledger that has room for it alone."""
    import torch

    from discreet.deep import PrivateTensors, PrivateTrainer

    torch.set_num_threads(1)
    ledger = dp.Ledger(limit=dp.ApproxDP(epsilon, DELTA))
    data = PrivateTensors(x, y, ledger=ledger, public_size=len(y))
    with testing.fixed_noise(seed_of(epsilon, seed)):
        PrivateTrainer(
            model,
            torch.nn.CrossEntropyLoss(reduction="none"),
            optimizer,
            epsilon=epsilon,
            delta=DELTA,
            max_grad_norm=0.1,
            **options,
        ).fit(data)
