"""What a model of the transformers library reads, as one thing with the batch in front.

Shapes: B batch, S source length, T time.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bangbang.heads import Alphabet
from bangbang.symbols import EOS, PAD


class Inputs:
    """Named tensors such as `input_ids`, `pixel_values` or `input_features`, as a tokenizer or a processor gives them.

    It stands where a `Batch` has its `source`: objectives only ever select rows of that.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = dict(tensors)

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    def __getitem__(self, rows: Any) -> "Inputs":
        return Inputs({name: tensor[rows] for name, tensor in self.tensors.items()})

    @property
    def device(self) -> torch.device:
        return next(iter(self.tensors.values())).device

    def to(self, device: torch.device | str) -> "Inputs":
        return Inputs({name: tensor.to(device) for name, tensor in self.tensors.items()})


class Template(NamedTuple):
    """How token ids of a text become a model's input."""

    before: tuple[int, ...] = ()
    """Their tokens in front of the text."""
    after: tuple[int, ...] = ()
    """Their tokens behind it."""
    left: bool = False
    """Whether padding comes first, as for models that go on writing where the text ends."""

    def inputs(self, source: Tensor, length: Tensor, alphabet: Alphabet, filler: int) -> Inputs:
        """Of texts in our ids [B, S], padded on the right, with their lengths [B]."""
        read, device = alphabet.to_read(source, filler), source.device
        whole = source.shape[1] + len(self.before) + len(self.after)
        ids = torch.full((len(source), whole), filler, device=device)
        place = torch.arange(whole, device=device).expand(len(source), -1) - len(self.before)  # [B, S'] 0: the text
        total = length + len(self.before) + len(self.after)
        if self.left:
            place = place - (whole - total).unsqueeze(1)
        end = length.unsqueeze(1)
        text = (place >= 0) & (place < end)
        ids[text] = read[torch.arange(source.shape[1], device=device) < end]
        for number, token in enumerate(self.before):
            ids[place == number - len(self.before)] = token
        for number, token in enumerate(self.after):
            ids[place == end + number] = token
        mask = (place >= -len(self.before)) & (place < end + len(self.after))
        longest = int(total.max())
        kept = slice(whole - longest, None) if self.left else slice(longest)
        return Inputs({"input_ids": ids[:, kept], "attention_mask": mask[:, kept].long()})


def targets_of(labels: Tensor, alphabet: Alphabet, prefix: tuple[int, ...]) -> Tensor:
    """Labels [B, T] of a collator, -100 where there is nothing to learn, as targets in our ids, padded on the right.

    What a decoder is given as its prefix is taken off the front, and a target that has no end gets one.
    """
    rows = []
    for row in labels.tolist():
        kept = [token for token in row if token >= 0]
        if prefix and tuple(kept[: len(prefix)]) == prefix:
            kept = kept[len(prefix) :]
        rows.append(alphabet.to_ours(torch.tensor(kept, dtype=torch.long)))
    targets = [torch.cat((row[row != EOS], torch.tensor([EOS]))) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=PAD).to(labels.device)
