"""Private deep learning on PyTorch: the door for tensors, clipped gradients, exact noise, DP-SGD.

``pip install discreet[torch]``; PATE, scattering and images need no torch. Each name is imported when it is
first used.

A network, trained on tensors behind a door:

>>> import discreet as dp, torch
>>> x = torch.randn(400, 2, generator=torch.Generator().manual_seed(0))
>>> y = (x[:, 0] > 0).long()
>>> ledger = dp.Ledger(limit=dp.ApproxDP(8, 1e-5))
>>> data = dp.deep.PrivateTensors(x, y, ledger=ledger, public_size=400)
>>> loss, model = torch.nn.CrossEntropyLoss(reduction="none"), torch.nn.Linear(2, 2)
>>> step = torch.optim.SGD(model.parameters(), lr=1.0)
>>> budget = {"epsilon": 8, "delta": 1e-5}
>>> trainer = dp.deep.PrivateTrainer(model, loss, step, batch=200, steps=20, **budget)
>>> _ = trainer.fit(data)
>>> bool((model(x).argmax(dim=1) == y).float().mean() > 0.8)
True

The same in scikit-learn's manner, from arrays or a data set:

>>> classes = dp.deep.MLPClassifier(bounds=(-5, 5), classes=[0, 1], **budget)
>>> numbers = dp.deep.MLPRegressor(bounds=(-5, 5), target_bounds=(0, 1), **budget)
>>> classes.epsilon, numbers.delta
(8, 1e-05)

A table of numbers and categories as rows for a network:

>>> schema = dp.Schema(age=dp.Integer(18, 90), ill=dp.Categorical("no", "yes"))
>>> rows = {"age": [30, 70], "ill": ["no", "yes"]}
>>> table = dp.deep.PrivateTable(dp.PrivateDataset(rows, schema, ledger=ledger), public_size=2)
>>> table.width, table.classes
(2, ('no', 'yes'))

Gradients of each person, and their clipped sum:

>>> found = dp.deep.per_person_gradients(model, loss, x[:5], y[:5])
>>> found["weight"].shape
torch.Size([5, 2, 2])
>>> summed = dp.deep.clip_gradients(model, loss, x[:5], y[:5], max_grad_norm=0.5)
>>> bool(summed["weight"].norm() <= 5 * 0.5)
True

Hospitals that keep their rows, each answering a round with an integer sum:

>>> parts = dp.deep.split_by_column(["north"] * 250 + ["south"] * 150)
>>> sites = {name: (x[rows], y[rows]) for name, rows in parts.items()}
>>> patients = dp.deep.PrivateSites(sites, ledger=dp.Ledger(limit=dp.ApproxDP(8, 1e-5)), public_size=400)
>>> training = dp.deep.FederatedSGD(model, loss, step, sampling_rate=1, rounds=2, **budget)
>>> _ = training.fit(patients)
>>> site = dp.deep.Site(x, y, model, loss, sampling_rate=1, rounds=2, max_grad_norm=1.0)

Clients of whom each is hidden with all of its rows:

>>> owned = dp.deep.split_by_label(y.numpy(), 20, seed=1)
>>> unit = dp.Unit(dp.ADD_REMOVE, id_column="client", max_rows=1)
>>> ledger = dp.Ledger(limit=dp.ApproxDP(8, 1e-5), unit=unit)
>>> given = [(x[rows], y[rows]) for rows in owned]
>>> clients = dp.deep.PrivateClients(given, ledger=ledger, public_clients=20)
>>> local = dp.deep.LocalSGD(loss, lr=0.5)
>>> rounds = {"sampling_rate": "1/2", "rounds": 2, "max_update_norm": 0.5}
>>> _ = dp.deep.FederatedAveraging(model, local, **rounds, **budget).fit(clients)

Nobody to trust: each client reports its own noised vector.

>>> channel = dp.deep.LocalGaussian(4, 1e-6, size=2, bound=1.0)
>>> channel.estimate(channel.randomize([row.numpy() for row in x])).shape
(2,)

Digits, where their files are, and the network of a paper for them:

>>> digits = dp.deep.load_mnist("mnist", part="test")  # doctest: +SKIP
>>> clothes = dp.deep.load_fashion_mnist("fashion")  # doctest: +SKIP
>>> sum(part.numel() for part in dp.deep.wavelet_paper_cnn().parameters())
1011466
"""

from importlib import import_module

_HOMES = {
    "FederatedAveraging": "federated.averaging",
    "FederatedSGD": "federated.sites",
    "LocalGaussian": "federated.local",
    "LocalSGD": "federated.averaging",
    "MLPClassifier": "networks",
    "MLPRegressor": "networks",
    "PATE": "pate",
    "PrivateClients": "federated.rounds",
    "PrivateSites": "federated.sites",
    "PrivateTable": "tables",
    "PrivateTensors": "tensors",
    "PrivateTrainer": "dpsgd",
    "Scattering": "scattering",
    "Site": "federated.sites",
    "clip_gradients": "clipping",
    "load_fashion_mnist": "images",
    "load_mnist": "images",
    "per_person_gradients": "clipping",
    "split_by_column": "federated.partitions",
    "split_by_label": "federated.partitions",
    "wavelet_paper_cnn": "paper_networks",
}

__all__ = [
    "PATE",
    "FederatedAveraging",
    "FederatedSGD",
    "LocalGaussian",
    "LocalSGD",
    "MLPClassifier",
    "MLPRegressor",
    "PrivateClients",
    "PrivateSites",
    "PrivateTable",
    "PrivateTensors",
    "PrivateTrainer",
    "Scattering",
    "Site",
    "clip_gradients",
    "load_fashion_mnist",
    "load_mnist",
    "per_person_gradients",
    "split_by_column",
    "split_by_label",
    "wavelet_paper_cnn",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.deep' has no attribute {name!r}")
    try:
        return getattr(import_module(f"discreet.deep.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f"discreet.deep.{name} needs PyTorch: pip install 'discreet[torch]'.", name="torch"
        ) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
