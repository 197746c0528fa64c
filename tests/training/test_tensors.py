"""Safetensors written to an open file are the library's own, byte by byte."""

import io

import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load, save
from torch import Tensor

from bangbang.training.tensors import TYPES, write_tensors

NAMES = st.text('abz.|_019é"\\\\', min_size=1, max_size=12)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Tensor]:
    shapes = st.lists(st.integers(0, 4), max_size=3)
    names = draw(st.lists(NAMES, unique=True, max_size=6))
    kinds = st.sampled_from(list(TYPES.values()))
    return {name: torch.randn(draw(shapes)).mul(9).to(draw(kinds)) for name in names}


@given(tables())
def test_bytes_are_the_librarys(tensors: dict[str, Tensor]) -> None:
    file = io.BytesIO()
    write_tensors(file, tensors)
    assert file.getvalue() == save(tensors)
    read = load(file.getvalue())
    assert all(torch.equal(read[name], tensor) for name, tensor in tensors.items())
