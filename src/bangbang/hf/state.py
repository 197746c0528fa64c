"""Where a transformers model stands: the tokens so far, and what its `forward` takes beside them.

transformers itself prepares it: `generate` runs the encoder, puts the decoder's first tokens, masks and positions in
place, and hands all of it to the function that is to decode. Ours hands it back.

Shapes: R rows, P tokens so far, T time, D features.
"""

import copy
import functools
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel
from transformers.generation import GenerationMixin
from transformers.generation.utils import ALL_CACHE_NAMES

from bangbang.hf.capture import Captured, reading

try:
    from transformers.models.whisper.generation_whisper import WhisperGenerationMixin as LongForm
except ImportError:  # another version's name: then there is nothing to go around
    LongForm = ()

# a checkpoint may come with a way to decode; we only want the inputs prepared
PLAIN: dict[str, Any] = {
    "num_beams": 1,
    "num_return_sequences": 1,
    "do_sample": False,
    "max_length": 2**24,
    "max_new_tokens": None,
    "min_length": 0,
    "min_new_tokens": None,
    "use_cache": True,
    "cache_implementation": None,
    "prefill_chunk_size": None,
    "penalty_alpha": None,
    "dola_layers": None,
    "prompt_lookup_num_tokens": None,
    "token_healing": False,
}
DROPPED = (*ALL_CACHE_NAMES, "use_cache", "logits_to_keep")  # what a pass over known tokens goes without


@dataclass(frozen=True)
class HfState:
    """A state is stepped on once: the model's cache grows in place. `select` gives one of its own."""

    module: PreTrainedModel
    """The module that steps: of some models a part."""
    ids: Tensor  # [R, P] in their ids
    given: dict[str, Any]
    """All else that `forward` is called with, by name."""
    begun: bool = False
    """Whether the cache holds the tokens so far; before that, a state may be stepped on as often as one likes."""

    @property
    def rows(self) -> int:
        return len(self.ids)

    @property
    def device(self) -> torch.device:
        return self.ids.device

    def select(self, rows: Tensor) -> Self:
        given = {name: pick(value, rows, self.rows) for name, value in self.given.items()}
        return replace(self, ids=self.ids.index_select(0, rows), given=given)

    def read(self, tokens: Tensor) -> tuple["HfState", Tensor]:
        """After their tokens [R, n]: the next state, and the features [R, D]."""
        state = self if self.begun else replace(self, given=own_cache(self.given))
        new = tokens.shape[1]
        if not self.begun:
            state = state.extended(tokens)
            inputs = state.inputs(first=True)
        else:
            state = replace(state, ids=torch.cat((state.ids, tokens), 1))
            given = extend(state.module, state.given, new - 1)  # one more was made room for when the last was read
            state = replace(state, given=given)
            inputs = state.inputs(first=False, count=new if caches(given) else None)
        captured = Captured(state.module, 1)
        outputs = captured.run({**inputs, "return_dict": True})
        given = update(state.module, outputs, state.given, 1)
        return replace(state, given=given, begun=True), captured.features[:, -1]

    def unrolled(self, tokens: Tensor) -> Tensor:
        """The features [R, T, D] before each of T tokens, of which their first T - 1 [R, T - 1] are read."""
        captured = Captured(self.module, tokens.shape[1] + 1)
        captured.run(self.pass_inputs(tokens))
        return captured.features

    def pass_inputs(self, tokens: Tensor) -> dict[str, Any]:
        """What `forward` is called with to read all tokens so far and more [R, n], without a cache."""
        state = self.extended(tokens)
        given = {name: value for name, value in state.given.items() if name not in DROPPED}
        inputs = replace(state, given={**given, "use_cache": False}).inputs(first=True)
        return {**inputs, "return_dict": True}

    def extended(self, tokens: Tensor) -> "HfState":
        """The state with more tokens to read before its first step."""
        given = extend(self.module, self.given, tokens.shape[1])
        if given.get("inputs_embeds") is not None and not self.module.config.is_encoder_decoder:
            embeddings = self.module.get_input_embeddings()(tokens)
            given = {**given, "inputs_embeds": torch.cat((given["inputs_embeds"], embeddings), 1)}
        return replace(self, ids=torch.cat((self.ids, tokens), 1), given=given)

    def inputs(self, first: bool, count: int | None = None) -> dict[str, Any]:
        """What `forward` is called with to read the last `count` tokens, or all."""
        given = {name: value for name, value in self.given.items() if name != "is_first_iteration"}
        prepared: dict[str, Any] = self.module.prepare_inputs_for_generation(
            self.ids, next_sequence_length=count, is_first_iteration=first, **given
        )
        return prepared


def caches(given: Mapping[str, Any]) -> bool:
    return any(given.get(name) is not None for name in ALL_CACHE_NAMES)


def own_cache(given: dict[str, Any]) -> dict[str, Any]:
    """With caches of its own, which are empty yet."""
    return {name: copy.deepcopy(value) if name in ALL_CACHE_NAMES else value for name, value in given.items()}


def extend(module: PreTrainedModel, given: dict[str, Any], count: int) -> dict[str, Any]:
    """Masks and positions for so many tokens more."""
    return update(module, {}, given, count) if count else given


def update(module: PreTrainedModel, outputs: Mapping[str, Any], given: dict[str, Any], count: int) -> dict[str, Any]:
    is_encoder_decoder = module.config.is_encoder_decoder
    changed: dict[str, Any] = module._update_model_kwargs_for_generation(
        outputs, dict(given), is_encoder_decoder=is_encoder_decoder, num_new_tokens=count
    )
    return changed


def pick(value: Any, rows: Tensor, batch: int) -> Any:
    """Some rows of whatever a model is given: tensors, caches, and tables and lists of these."""
    if isinstance(value, Tensor):
        if value.ndim and len(value) == batch:
            return value.index_select(0, rows)
        if value.ndim == 3 and value.shape[1] == batch:  # positions in several dimensions
            return value.index_select(1, rows)
        return value
    if isinstance(value, Cache):
        return selected_cache(value, rows)
    if isinstance(value, Mapping):
        chosen = copy.copy(value)
        for name, part in value.items():
            chosen[name] = pick(part, rows, batch)  # type: ignore[index]
        return chosen
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(pick(part, rows, batch) for part in value)
    return value


def selected_cache(cache: Cache, rows: Tensor) -> Cache:
    """A cache of its own: layers replace their tensors when they are reordered, and what is shared stays unchanged."""
    chosen = shallow(cache)
    chosen.reorder_cache(rows)
    return chosen


def shallow(cache: Any) -> Any:
    """The cache with layers of its own, and their tensors shared."""
    copied = copy.copy(cache)
    for name, value in vars(cache).items():
        if isinstance(value, Cache):
            setattr(copied, name, shallow(value))
        elif name == "layers":
            copied.layers = [shallow_layer(layer) for layer in value]
        elif isinstance(value, dict | list):
            setattr(copied, name, copy.copy(value))
    return copied


def shallow_layer(layer: Any) -> Any:
    copied = copy.copy(layer)
    for name, value in vars(layer).items():
        if isinstance(value, dict | list):
            setattr(copied, name, copy.copy(value))
    return copied


def start(model: PreTrainedModel, inputs: Mapping[str, Tensor], prefix: tuple[int, ...], filler: int) -> HfState:
    """The state before the first token. The encoder runs here, with a graph where gradients are enabled.

    `prefix`: the decoder's first tokens, of models that have an encoder; none leaves it to the model.
    """
    given: dict[str, Any] = dict(inputs)
    if prefix:
        batch = next(iter(inputs.values()))
        given["decoder_input_ids"] = torch.tensor([prefix], device=batch.device).repeat(len(batch), 1)
    with with_graph(model), reading(model, inputs):
        state: HfState = model.generate(**given, **PLAIN, pad_token_id=filler, custom_generate=take)
    return state


def take(model: PreTrainedModel, input_ids: Tensor, generation_config: Any, **given: Any) -> HfState:
    """What `generate` hands over to decoding."""
    for name in ("logits_processor", "stopping_criteria", "synced_gpus", "streamer"):
        given.pop(name, None)
    return HfState(model, input_ids, given)


@contextmanager
def with_graph(model: PreTrainedModel) -> Iterator[None]:
    """`generate` without the `no_grad` around it, of the model and of generators inside it.

    Whisper's own cuts long recordings to pieces, and is gone around.
    """
    inner = [module for module in model.modules() if isinstance(module, GenerationMixin)]
    for module in inner:
        method = GenerationMixin.generate if isinstance(module, LongForm) else type(module).generate
        module.__dict__["generate"] = functools.partial(inspect.unwrap(method), module)
    try:
        yield
    finally:
        for module in inner:
            del module.__dict__["generate"]
