"""Several processes that train one network together: each has its own persons, and noise is added once."""

from __future__ import annotations

from typing import Any, final

import torch
import torch.distributed as dist

from discreet.deep.plans import Integers

__all__ = ["Together"]


@final
class Together:
    """The processes of ``torch.distributed`` in one training; the first one pays and draws the noise.

    Privacy
    -------
    Integer sums of clipped gradients go from process to process before noise is added, so all of them and the
    way between them must be trusted as one process is. What they get back is noised.
    """

    def __init__(self) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise ValueError(
                "distributed: call torch.distributed.init_process_group('gloo') in each process first."
            )
        self.is_first = dist.get_rank() == 0

    def agree(self, facts: tuple[Any, ...], assumption: str) -> str:
        """Raise unless all processes have the same public facts; what any of them rests on that isn't proved.

        Parameters
        ----------
        facts : tuple
            What a training is decided by, as plain data.
        assumption : str
        """
        found: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(found, (facts, assumption))
        if any(each != facts for each, _ in found):
            raise ValueError(
                "distributed: all processes must give the same settings, network, unit and public_size."
            )
        return next((told for _, told in found if told), "")

    def share_weights(self, model: Any) -> None:
        """Give all processes the first one's weights and buffers."""
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, 0)

    def tell(self, value: Any) -> Any:
        """What the first process says, in all of them."""
        told = [value if self.is_first else None]
        dist.broadcast_object_list(told, 0)
        return told[0]

    def release(self, total: Integers, noise: Integers | None) -> Integers:
        """The sum over processes with the first one's noise, which is the only one that draws any.

        Privacy
        -------
        The others get nothing but the noised sum. Integers add up modulo 2^64, in any order.
        """
        summed = torch.from_numpy(total.copy())
        dist.reduce(summed, 0)
        if self.is_first:
            assert noise is not None
            summed += torch.from_numpy(noise)
        dist.broadcast(summed, 0)
        found: Integers = summed.numpy()
        return found
