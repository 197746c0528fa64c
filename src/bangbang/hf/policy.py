"""Any generator of the transformers library as a model of ours.

It samples step by step with the model's own cache, without a graph and without dropout, and is trained by one pass over
the sample. The encoder, where there is one, runs once for both. Inside, ids are ours: tokens cross the border where the
model reads them and where its head is asked for them.

Shapes: B batch, R rows, S source length, T time, D features.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bangbang.contracts import Batch, Diagnostics, Objective, Reward, RewardInputs
from bangbang.eval_mode import without_dropout
from bangbang.files import whole_folder, write_whole
from bangbang.hf.capture import output_layer
from bangbang.hf.head import Form, head_of
from bangbang.hf.inputs import Inputs, targets_of
from bangbang.hf.loading import told
from bangbang.hf.probe import probe, reads_chunks
from bangbang.hf.samples import sample_inputs
from bangbang.hf.state import HfState, start
from bangbang.hf.tokens import Frame, Tokens
from bangbang.hf.writing import token_texts, writing_of
from bangbang.models import Generator
from bangbang.randomness import seed_for
from bangbang.rewards.words import WordReward, in_words
from bangbang.symbols import PAD

FRAME = "frame.json"


class Policy(Generator[HfState]):
    """A transformers model, or a PEFT model of one, behind the contracts of this package.

    `encode` and `begin` take a batch of texts in our ids with their lengths, or `Inputs` of any kind.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any = None,
        *,
        tokens: Tokens | None = None,
        example: Inputs | None = None,
    ) -> None:
        """`tokens`: what the model's ids mean, if not what its own configs and the tokenizer say.

        `example`: an input by which the model's head is found out; without one, it is made up.
        """
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.tokens = tokens or Tokens.of(self.inner, tokenizer)
        self.alphabet, self.prefix, self.template = self.tokens.alphabet, self.tokens.prefix, self.tokens.template
        self.form, self.chunks = self._probe(example)
        self.head = head_of(self._head_parts, self.form, self.alphabet, self.tokens.rows)

    @property
    def inner(self) -> PreTrainedModel:
        """The transformers model itself: adapters are inside it, what wraps it is not."""
        whole: PreTrainedModel = self.model
        return whole.get_base_model() if hasattr(whole, "get_base_model") else whole

    def _head_parts(self) -> tuple[nn.Module, Tensor | None]:
        inner, name = self.inner, self.form.bias
        return output_layer(inner), None if name is None else inner.get_buffer(name)

    def _probe(self, example: Inputs | None) -> tuple[Form, bool]:
        """The form of the head, and whether several tokens may be read at once."""
        inner = self.inner
        if next(inner.parameters()).device.type == "meta":  # an outline: there is nothing to try
            return Form(closed=type(output_layer(inner)) is nn.Linear), False
        # what a foreign config leaves out or gets wrong shows here for the first time
        return told(type(inner).__name__, lambda: self._tried(example or sample_inputs(inner, self.tokens)))

    def _tried(self, example: Inputs) -> tuple[Form, bool]:
        inner = self.inner
        with torch.no_grad(), without_dropout(self):
            state = start(inner, example.to(next(inner.parameters()).device).tensors, self.prefix, self.tokens.filler)
            some = torch.tensor(self.tokens.ordinary(6), device=state.device).view(2, 3)
            some = some[torch.arange(state.rows) % 2]
            return probe(inner, state, some), reads_chunks(state, some)

    def encode(self, source: Tensor | Inputs, source_length: Tensor | None = None) -> HfState:
        """The state before the first token: of texts in our ids [B, S] with their lengths [B], or of other inputs."""
        if isinstance(source, Tensor):
            if source_length is None:
                source_length = (source != PAD).sum(1)
            source = self.template.inputs(source, source_length, self.alphabet, self.tokens.filler)
        return start(self.inner, source.tensors, self.prefix, self.tokens.filler)

    def step(self, state: HfState, tokens: Tensor) -> tuple[HfState, Tensor]:
        """After our tokens [R]: the next state and the features [R, D]. The first token stands for the prefix."""
        return self.step_over(state, tokens.unsqueeze(1))

    def step_over(self, state: HfState, tokens: Tensor) -> tuple[HfState, Tensor]:
        """The same after several tokens [R, n], in one call of the model if it can."""
        new = self.alphabet.to_read(tokens, self.tokens.filler)
        if not state.begun:
            return state.read(new[:, 1:])
        for part in [new] if self.chunks else new.unsqueeze(2).unbind(1):
            state, features = state.read(part)
        return state, features

    def unroll(self, state: HfState, tokens: Tensor) -> Tensor:
        """The features [B, T, D] of T steps over known tokens [B, T], in one pass without a cache."""
        if state.begun:
            return super().unroll(state, tokens)
        return state.unrolled(self.alphabet.to_read(tokens[:, 1:], self.tokens.filler))

    def keep(self, folder: Path) -> None:
        """Write what the model is beside its weights, as transformers has it, so that a run needs nothing else."""
        inner = self.inner
        inner.config.architectures = [type(inner).__name__]
        with whole_folder(folder) as draft:
            write_whole(draft / "config.json", inner.config.to_json_string())
            write_whole(draft / "generation_config.json", inner.generation_config.to_json_string())
            Frame(self.template.before, self.template.after, self.prefix).write(draft / FRAME)

    def batch(self, inputs: Mapping[str, Tensor], labels: Tensor, references: Sequence[Tensor] = ()) -> Batch:
        """A training batch of the model's own inputs and labels, and perhaps further references, each as labels are."""
        target = targets_of(labels, self.alphabet, self.prefix[1:])
        length = (target != PAD).sum(1)
        others = [targets_of(each, self.alphabet, self.prefix[1:]) for each in references] or [target]
        longest = max(each.shape[1] for each in others)
        padded = [nn.functional.pad(each, (0, longest - each.shape[1]), value=PAD) for each in others]
        source: Any = Inputs(inputs)
        return Batch(source, torch.ones_like(length), target, length, torch.stack(padded, 1))

    def in_words(self, reward: Reward, metric: str = "rouge") -> WordReward:
        """A reward over the words of decoded texts, as the metric of that name reads them."""
        writing, texts = writing_of(self.tokenizer, self.alphabet), token_texts(self.tokenizer, self.alphabet.size)
        return in_words(lambda _: reward, RewardInputs(texts, "", list, writing), metric)

    def loss(
        self, batch: Batch, objective: Objective, step: int = 0, seed: int = 1, rank: int = 0
    ) -> tuple[Tensor, Diagnostics]:
        """The loss of a batch, divided as the objective says; noise is a function of (seed, step, rank)."""
        from bangbang.objectives import scored_losses

        generator = torch.Generator().manual_seed(seed_for(seed, "targets", step, rank))
        proposal = objective.propose(self, batch, step, generator)
        losses, diagnostics = scored_losses(self.head, proposal)
        divisor = len(losses) if proposal.divisor is None else proposal.divisor
        return losses.sum() / max(1, divisor), diagnostics
