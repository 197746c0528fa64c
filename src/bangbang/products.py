"""Products of matrices, the way round and by the library that does them well on CPUs.

Samplers multiply, at every step, the rows that are still open with weight matrices. MKL, which `torch.mm` calls, does
x Wᵀ with up to 64 rows badly: on some machines in one thread whatever the number of threads, on others at half of the
rate of W xᵀ, the same numbers, which in turn is fast for 16, 32, 48 and 64 columns alone, so that others are filled up
with zeros. For the [V, D] weights of a vocabulary oneDNN, torch's other library, takes two thirds of the time of that.

MKL uses AVX-512 on Intel's CPUs alone. On others that have it, oneDNN does float32 at twice MKL's rate, so all large
products of a training or a decoding go there (`by_widest_instructions`).

Shapes: n rows, K inputs, M outputs.
"""

import re
from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

EXACT = "highest"  # torch's default of float32 products
FEW = range(2, 65)  # rows: a single one is bound by reading W, and more are multiplied as well the one way as the other
LARGE = 2**20  # elements of W from which oneDNN is faster
MKL_COLUMNS, ONEDNN_COLUMNS = 16, 8  # that are multiplied at once

# F.linear by oneDNN. torch has no public name for it, nor every build the operator.
has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
onednn_linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if has_onednn else None


@cache
def by_widest_instructions(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """From here on, this process has its large products of float32 matrices by oneDNN, if the CPU is one of those where
    MKL stays behind it, and there is no accelerator. Returns whether that is so.

    torch has no switch for the library alone, only leave to multiply float32 less exactly, which oneDNN makes use of
    where there is AMX. So leave is given only where there is none, and taken back if a product comes out rounded. What
    somebody has chosen already stays.
    """
    if torch.accelerator.is_available() or not has_onednn or not mkl_stays_behind(cpuinfo):
        return False
    if chosen_precision() != EXACT:
        return False
    torch.set_float32_matmul_precision("medium")
    if not float32_is_whole():
        torch.set_float32_matmul_precision(EXACT)
    return chosen_precision() != EXACT


def chosen_precision() -> str:
    """How exactly torch multiplies float32; nothing where it was told so for one device alone."""
    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:
        return ""


def mkl_stays_behind(cpuinfo: Path) -> bool:
    """Whether the CPU has AVX-512 and is not Intel's; and has no AMX, by which oneDNN would round float32."""
    try:
        told = cpuinfo.read_text("ascii", "replace")
    except OSError:
        return False
    flags = set(re.findall(r"\w+", "".join(re.findall(r"^flags\s*:.*", told, re.MULTILINE))))
    return "GenuineIntel" not in told and "avx512f" in flags and not any(flag.startswith("amx") for flag in flags)


def float32_is_whole() -> bool:
    """Whether products keep what bfloat16 would round away."""
    odd = 1 + 2.0**-12  # 12 binary digits; bfloat16 has 8
    rows = torch.full((64, 64), odd)
    products = torch.mm(rows, torch.ones(64, 64)), torch.zeros(64, 64).addmm_(torch.ones(64, 64), rows)
    return all(torch.equal(each, torch.full((64, 64), 64 * odd)) for each in products)


def filled_up(rows: Tensor, columns: int) -> Tensor:
    """The rows and as many of zeros as make a multiple of `columns`, unless they are so few that it does not pay."""
    missing = -len(rows) % columns
    return F.pad(rows, (0, 0, 0, missing)) if missing and len(rows) > columns // 2 else rows


def by_columns(rows: Tensor, weight: Tensor) -> Tensor | None:
    """W x of each row x, [n, K], [M, K] → [n, M], laid out column by column; None where x Wᵀ is as good."""
    if len(rows) not in FEW or rows.device.type != "cpu":
        return None
    if onednn_linear is not None and weight.numel() >= LARGE and weight.dtype == rows.dtype == torch.float32:
        product: Tensor = onednn_linear(weight, filled_up(rows, ONEDNN_COLUMNS), None, "none", [], "")
    elif torch.get_num_threads() > 1 and len(rows) > MKL_COLUMNS // 2:
        product = torch.mm(weight, filled_up(rows, MKL_COLUMNS).t())
    else:
        return None
    return product.t()[: len(rows)]


def affine(rows: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> Tensor:
    """W x + b of each row x, in `out`: [n, K], [M, K], [M] → [n, M]. Without a bias, W x."""
    product = by_columns(rows, weight)
    if bias is None:
        return torch.mm(rows, weight.t(), out=out) if product is None else out.copy_(product)
    return torch.addmm(bias, rows, weight.t(), out=out) if product is None else torch.add(product, bias, out=out)


def add_product(total: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
    """Adds W x of each row x to `total` [n, M], in place."""
    product = by_columns(rows, weight)
    return total.addmm_(rows, weight.t()) if product is None else total.add_(product)
