"""The precision of the matrix products of training.

    bfloat16     y = sum_i round(x_i) round(w_i), a factor of 8 bits of fraction, the sum in float32
    float32      the same without rounding

Weights, optimizer, recurrent states, recurrent attention, softmax and loss are float32 either way. The attention of a
Transformer has rounded factors as well (nn/rounded_attention.py).
Micikevicius et al. 2018 (mixed precision), Kalamkar et al. 2019 (bfloat16).
"""

from contextlib import AbstractContextManager, nullcontext

import torch

INSTRUCTIONS = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
NARROWEST = 128  # narrower products are not faster: rounding costs as much as it saves


def choose_precision(wanted: str, device: torch.device, width: int) -> str:
    """Resolve "auto": bfloat16 where the machine has instructions for it and the model is wide enough."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if width >= NARROWEST and has_bfloat16(device) else "float32"


def has_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 is faster than float32 here: AVX-512 BF16 or AMX, or a GPU that has it."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    return any(getattr(torch.cpu, name, bool)() for name in INSTRUCTIONS)  # an older torch cannot tell: no


def products_in(precision: str, device: torch.device) -> AbstractContextManager[object]:
    return torch.autocast(device.type, torch.bfloat16) if precision == "bfloat16" else nullcontext()
