"""Attention with several heads, written out in linear maps that the tape notes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from discreet.deep.contributions import Tensor

if TYPE_CHECKING:
    from discreet.deep.tape import Tape

__all__ = ["attend"]


def attend(
    tape: Tape,
    func: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor,
    in_proj_bias: Tensor,
    bias_k: Tensor,
    bias_v: Tensor,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor,
    training: bool = True,
    key_padding_mask: Tensor = None,
    need_weights: bool = True,
    attn_mask: Tensor = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor = None,
    k_proj_weight: Tensor = None,
    v_proj_weight: Tensor = None,
    static_k: Tensor = None,
    static_v: Tensor = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    """``F.multi_head_attention_forward`` on the tape; places come first, rows second, as there."""
    unusual = bias_k is not None or static_k is not None or static_v is not None or add_zero_attn
    if unusual or query.dim() != 3:  # left to torch: the walk finds its parameters
        return func(
            query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k,
            bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training,
            key_padding_mask, need_weights, attn_mask, use_separate_proj_weight, q_proj_weight,
            k_proj_weight, v_proj_weight, static_k, static_v, average_attn_weights, is_causal,
        )  # fmt: skip
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _project(tape, (query, key, value), in_proj_weight, in_proj_bias, separate)
    q, k, v = (_split(each, num_heads) for each in (q, k, v))
    mask = _mask(attn_mask, key_padding_mask, q, k)
    dropped = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
        weights = F.dropout(weights, dropped, training)
        mixed = weights @ v
        weights = weights.mean(dim=1) if average_attn_weights else weights
    else:
        mixed = F.scaled_dot_product_attention(q, k, v, mask, dropped)
    rows, _, places, _ = mixed.shape
    joined = mixed.transpose(1, 2).reshape(rows, places, -1)
    return tape.linear(joined, out_proj_weight, out_proj_bias).transpose(0, 1), weights


def _project(
    tape: Tape, given: tuple[Tensor, Tensor, Tensor], weight: Tensor, bias: Tensor, separate: Any
) -> tuple[Tensor, ...]:
    """Queries, keys and values, rows first."""
    query, key, value = given
    turned = [each.transpose(0, 1) for each in given]
    width = len(separate[0] if separate is not None else weight) // (1 if separate else 3)
    thirds = [(i * width, (i + 1) * width) for i in range(3)]
    if separate is not None:  # their biases are packed all the same
        trios = zip(turned, separate, thirds, strict=True)
        return tuple(tape.linear(x, part, bias, None, third) for x, part, third in trios)
    if query is key and key is value:
        return tuple(tape.linear(turned[0], weight, bias).split(width, dim=-1))
    if key is value:
        rest = (width, 3 * width)
        first = tape.linear(turned[0], weight, bias, thirds[0], thirds[0])
        both = tape.linear(turned[1], weight, bias, rest, rest)
        return (first, *both.split(width, dim=-1))
    pairs = zip(turned, thirds, strict=True)
    return tuple(tape.linear(x, weight, bias, third, third) for x, third in pairs)


def _split(x: Tensor, heads: int) -> Tensor:
    rows, places, width = x.shape
    return x.reshape(rows, places, heads, width // heads).transpose(1, 2)


def _mask(attn_mask: Tensor, key_padding_mask: Tensor, q: Tensor, k: Tensor) -> Tensor | None:
    """Both masks as one that is added to the scores."""
    rows, heads, places, _ = q.shape
    found = None
    if attn_mask is not None:
        found = _additive(attn_mask, q)
        found = found.reshape(rows, heads, places, -1) if found.dim() == 3 else found[None, None]
    if key_padding_mask is not None:
        hidden = _additive(key_padding_mask, q).reshape(rows, 1, 1, k.shape[2])
        found = hidden if found is None else found + hidden
    return found


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype == torch.bool:
        return torch.zeros_like(mask, dtype=like.dtype).masked_fill(mask, -math.inf)
    return mask.to(like.dtype)
