"""Rows of a dataset as a batch: texts, chats, token ids, images and sounds.

A batch has the model's own inputs, `labels` [B, T] that end as the model ends texts, `references` [B, M, T] where rows
have several, and `texts` [B, L], the references as they were written. -100 pads the last three.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.hf.policy import Policy

IGNORED = -100
FORMS = (("source", "target"), ("source", "references"), ("prompt", "completion"))
OTHER_FORMS = (("image", "text"), ("audio", "text"))
COLUMNS = ("source", "target", "references", "prompt", "completion", "image", "audio", "text")
Row = Mapping[str, Any]


class Example(NamedTuple):
    """One row of a dataset."""

    source: list[int]
    """What the model reads, in its own ids; empty if that is no text."""
    target: list[int]
    references: list[list[int]]
    texts: list[str] | None
    """The references as they were written, if they were."""


def check_columns(columns: Sequence[str], main: str) -> None:
    """An InputError unless the columns have one of the forms; `main` is the model's main input."""
    forms = (*FORMS, *OTHER_FORMS, (main, "labels"))
    if not any(set(form) <= set(columns) for form in forms):
        known = "; ".join(" and ".join(form) for form in dict.fromkeys(forms))
        raise InputError(f"a dataset with the columns {', '.join(columns)} is not understood; it must have {known}")


class Collator:
    """Makes batches of rows that have texts, or of what another collator has made of them."""

    def __init__(
        self,
        policy: Policy,
        processor: Any,
        lengths: tuple[int, int],
        other: Callable[[list[Any]], Mapping[str, Tensor]] | None = None,
    ) -> None:
        """`lengths`: tokens of a source and of a target at most."""
        self.processor, self.tokenizer = processor, tokenizer_of(processor)
        self.tokens, self.main = policy.tokens, policy.inner.main_input_name
        self.coder, self.other = policy.inner.config.is_encoder_decoder, other
        self.source_length, self.target_length = lengths

    def __call__(self, rows: list[Row]) -> dict[str, Tensor]:
        if self.other is not None:
            return self.with_labels(dict(self.other(list(rows))))
        check_columns(list(rows[0]), self.main)
        examples = [self.example(row) for row in rows]
        inputs = self.read(rows) if any(key in rows[0] for key in ("image", "audio")) else self.sources(rows, examples)
        batch = {**inputs, "labels": padded([each.target for each in examples])}
        if any(len(each.references) > 1 for each in examples):
            batch["references"] = stacked([each.references for each in examples])
        if all(each.texts is not None for each in examples):
            batch["texts"] = as_bytes([each.texts or [] for each in examples])
        return batch

    def example(self, row: Row) -> Example:
        if "labels" in row:
            source, target = list(row.get("input_ids", [])), list(row["labels"])
            if not self.coder and source:
                source, target = split(source, target)
            return Example(source, self.ended(target), [], None)
        if "completion" in row:
            return self.completed(row["prompt"], row["completion"])
        references = [*row["references"]] if "references" in row else [row.get("target", row.get("text"))]
        for text in references:
            if not isinstance(text, str):
                raise InputError(f"a reference must be a text, not {text!r}; `references` is a list of texts")
        if not references:
            raise InputError("a row of the dataset has no references")
        ids = [self.target(text) for text in references]
        target = self.target(row["target"]) if "target" in row else ids[0]
        return Example(self.source(row["source"]) if "source" in row else [], target, ids, references)

    def source(self, text: str) -> list[int]:
        """A text as the model reads it: what a tokenizer puts around it, or the separator behind it."""
        template = self.tokens.template
        ids = self.plain(text)[: max(1, self.source_length - len(template.before) - len(template.after))]
        return [*template.before, *ids, *template.after]

    def target(self, text: str) -> list[int]:
        if not self.coder:
            return self.ended(self.plain(text))
        return self.ended(list(self.tokenizer(text_target=text)["input_ids"]))

    def plain(self, text: str) -> list[int]:
        if self.tokenizer is None:
            raise InputError("texts need a tokenizer; give it as processing_class")
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def completed(self, prompt: Any, completion: Any) -> Example:
        """A prompt and what follows it, as texts or as messages of a chat."""
        if isinstance(prompt, str) and isinstance(completion, str):
            source = self.source(prompt) if self.coder else [*self.tokens.template.before, *self.plain(prompt)]
            target = self.target(completion)
            return Example(source if self.coder else source[-self.source_length :], target, [], [completion])
        if isinstance(prompt, str) or isinstance(completion, str):
            raise InputError("prompt and completion must both be texts, or both be messages of a chat")
        read = chat(self.tokenizer, prompt, add_generation_prompt=True)
        whole = chat(self.tokenizer, [*prompt, *completion])
        if not whole.startswith(read):
            raise InputError("the chat template does not go on from a prompt to its completion")
        target = self.ended(self.plain(whole.removeprefix(read)))
        written = " ".join(str(message["content"]) for message in completion)
        return Example(self.plain(read)[-self.source_length :], target, [], [written])

    def ended(self, labels: list[int]) -> list[int]:
        """Labels without what is not to be learnt and what the decoder is given anyway, with one end."""
        kept, prefix = [token for token in labels if token >= 0], list(self.tokens.prefix)
        for given in (prefix, prefix[1:]):  # some collators leave the decoder's start in front
            if given and kept[: len(given)] == given:
                kept = kept[len(given) :]
                break
        end = next((at for at, token in enumerate(kept) if token in self.tokens.ends), len(kept))
        return [*kept[: min(end, self.target_length - 1)], self.tokens.ends[0]]

    def sources(self, rows: list[Row], examples: list[Example]) -> dict[str, Tensor]:
        """Token ids, padded as the model asks for; other inputs as they are."""
        if self.main in rows[0] and self.main != "input_ids":
            return {self.main: torch.stack([torch.as_tensor(row[self.main]) for row in rows])}
        ids = [each.source for each in examples]
        left = self.tokens.template.left
        mask = padded([[1] * len(each) for each in ids], 0, left)
        return {"input_ids": padded(ids, self.tokens.filler, left), "attention_mask": mask}

    def read(self, rows: list[Row]) -> dict[str, Tensor]:
        """Images or sounds, by the model's own processor."""
        if "image" in rows[0]:
            reader = getattr(self.processor, "image_processor", None)
            if reader is None:
                raise InputError("images need a processor with an image_processor; give it as processing_class")
            return dict(reader(images=[row["image"] for row in rows], return_tensors="pt"))
        reader = getattr(self.processor, "feature_extractor", None)
        if reader is None:
            raise InputError("sounds need a processor with a feature_extractor; give it as processing_class")
        sounds = [row["audio"] for row in rows]
        arrays = [sound["array"] if isinstance(sound, Mapping) else sound for sound in sounds]
        rate = sounds[0]["sampling_rate"] if isinstance(sounds[0], Mapping) else reader.sampling_rate
        padding = {} if hasattr(reader, "chunk_length") else {"padding": True}  # some have one length for all
        return dict(reader(arrays, sampling_rate=rate, return_tensors="pt", **padding))

    def with_labels(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """A batch of another collator, whose labels end, and whose prompts end where the labels begin."""
        if "labels" not in batch:
            raise InputError(f"the collator's batch has no labels: it has {', '.join(batch)}")
        batch = {name: value for name, value in batch.items() if not name.startswith("decoder_")}
        labels = batch.pop("labels").tolist()
        if not self.coder and "input_ids" in batch:
            read = zip(batch["input_ids"].tolist(), batch["attention_mask"].tolist(), labels, strict=True)
            pairs = [split(*without(self.tokens.filler, *row)) for row in read]
            ids, labels = [source for source, _ in pairs], [target for _, target in pairs]
            mask = padded([[1] * len(each) for each in ids], 0, True)
            batch = {**batch, "input_ids": padded(ids, self.tokens.filler, True), "attention_mask": mask}
        return {**batch, "labels": padded([self.ended(row) for row in labels])}


def tokenizer_of(processor: Any) -> Any:
    """The tokenizer itself, or that of a processor of images or sounds."""
    return getattr(processor, "tokenizer", processor)


def chat(tokenizer: Any, messages: Sequence[Any], **options: Any) -> str:
    """Messages as the tokenizer's template writes them."""
    try:
        return str(tokenizer.apply_chat_template(list(messages), tokenize=False, **options))
    except ValueError as error:
        raise InputError(f"messages need a tokenizer with a chat template: {str(error).split('.')[0]}") from None


def without(filler: int, ids: list[int], mask: list[int], labels: list[int]) -> tuple[list[int], list[int]]:
    """A row without its padding."""
    kept = [at for at, there in enumerate(mask) if there]
    return [ids[at] for at in kept], [labels[at] for at in kept]


def split(ids: list[int], labels: list[int]) -> tuple[list[int], list[int]]:
    """The prompt, whose labels are -100, and what follows it; labels of the same length as the ids."""
    if len(ids) != len(labels):
        return ids, labels
    begin = next((at for at, label in enumerate(labels) if label != IGNORED), len(labels))
    if begin == 0:
        raise InputError("labels begin with the first token: there is no prompt; set those of the prompt to -100")
    return ids[:begin], labels[begin:]


def padded(rows: Sequence[Sequence[int]], value: int = IGNORED, left: bool = False) -> Tensor:
    """[B, T] of the longest; padded on the right, or on the left."""
    longest = max(map(len, rows))
    fill = ([value] * (longest - len(row)) for row in rows)
    return torch.tensor([[*more, *row] if left else [*row, *more] for row, more in zip(rows, fill, strict=True)])


def as_bytes(texts: Sequence[list[str]]) -> Tensor:
    """Lists of texts as a tensor [B, L]: processes can exchange nothing else."""
    return padded([list(json.dumps(each).encode()) for each in texts])


def stacked(rows: Sequence[Sequence[Sequence[int]]]) -> Tensor:
    """[B, M, T]; a reference that is not there is all padding."""
    most, longest = max(map(len, rows)), max(len(each) for row in rows for each in row)
    full = [[*row, *[[]] * (most - len(row))] for row in rows]
    return torch.tensor([[[*each, *[IGNORED] * (longest - len(each))] for each in row] for row in full])
