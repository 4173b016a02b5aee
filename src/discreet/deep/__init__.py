"""Private deep learning on PyTorch: the door for tensors, clipped gradients, exact noise, DP-SGD.

``pip install discreet[torch]``. Each name is imported when it is first used.
"""

from importlib import import_module

_HOMES = {
    "MLPClassifier": "networks",
    "MLPRegressor": "networks",
    "PrivateTensors": "tensors",
    "PrivateTrainer": "dpsgd",
    "clip_gradients": "clipping",
    "per_person_gradients": "clipping",
}

__all__ = [
    "MLPClassifier",
    "MLPRegressor",
    "PrivateTensors",
    "PrivateTrainer",
    "clip_gradients",
    "per_person_gradients",
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
