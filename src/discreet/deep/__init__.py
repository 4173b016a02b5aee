"""Private deep learning on PyTorch: the door for tensors, clipped gradients, exact noise, DP-SGD.

``pip install discreet[torch]``; PATE, scattering and images need no torch. Each name is imported when it is
first used.
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
