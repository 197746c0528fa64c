"""The stages of a training as they run: which one a step is in, its objective, its reward, its learning rate."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from transformers import get_scheduler

from bangbang.contracts import AnchoredObjective, Objective, Reward, RewardInputs
from bangbang.errors import InputError
from bangbang.files import make_folder, write_whole
from bangbang.hf.collation import Collator
from bangbang.hf.legs import Leg, is_text_function
from bangbang.hf.metric_config import MetricConfig
from bangbang.hf.policy import Policy
from bangbang.hf.preparation import without_wrappers
from bangbang.hf.text_reward import TextReward
from bangbang.hf.writing import token_texts, writing_of
from bangbang.rewards.settings import RewardSettings
from bangbang.symbols import EOS


class Curriculum:
    """The legs of a training, whose objectives are built when they begin."""

    def __init__(self, args: MetricConfig, policy: Policy, collator: Collator, dataset: Any) -> None:
        self.args, self.policy, self.collator, self.dataset = args, policy, collator, dataset
        self.legs, self.writing = args.legs(), writing_of(collator.tokenizer, policy.alphabet)
        self.built: tuple[int, Objective] | None = None

    def at(self, step: int) -> tuple[int, Leg]:
        """The number of the leg that a step is in, and the leg; after the last, the last."""
        number = max(number for number, leg in enumerate(self.legs) if leg.first_step <= step)
        return number, self.legs[number]

    def objective(self, number: int, step: int, saves: bool) -> Objective:
        """The objective of a leg; `saves`: whether this process writes what the leg began with."""
        if self.built is None or self.built[0] != number:
            leg = self.legs[number]
            objective = leg.objective.build(lambda: self.reward(leg.reward), self.args.max_target_length)
            if leg.objective.needs_start:
                assert isinstance(objective, AnchoredObjective)
                objective.begin_stage(self.start(number, step > leg.first_step, saves))
            self.built = number, objective
        return self.built[1]

    def reward(self, named: Any) -> Reward:
        if is_text_function(named):
            if self.writing is None:
                raise InputError("MetricTrainer: a function of texts needs a tokenizer as processing_class")
            return TextReward(named, self.writing.decode)
        if not isinstance(named, RewardSettings):
            reward: Reward = named
            return reward
        texts = token_texts(self.collator.tokenizer, self.policy.alphabet.size)
        return named.build(RewardInputs(texts, "", lambda: self.training_references(texts), self.writing))

    def training_references(self, texts: list[str]) -> Iterator[list[list[str]]]:
        """The tokens of each training example's references."""
        for row in self.dataset:
            example = self.collator.example(row)
            own = [self.policy.alphabet.to_ours(torch.tensor(ids)) for ids in example.references or [example.target]]
            yield [[texts[token] for token in ids.tolist() if token != EOS] for ids in own]

    def start(self, number: int, begun: bool, saves: bool) -> Policy:
        """A frozen copy of the model as it was when the leg began. It is kept beside the checkpoints."""
        path = Path(self.args.output_dir) / f"stage-{number + 1}-start.safetensors"
        frozen = copy.deepcopy(self.policy).requires_grad_(False).eval()
        without_wrappers(frozen.model)
        if begun:
            if not path.is_file():
                raise InputError(f"{path}: is not there, and the objective compares with it; train anew")
            frozen.model.load_state_dict(load_file(path))
        elif saves:
            weights = {name: tensor.detach().cpu().clone() for name, tensor in frozen.model.state_dict().items()}
            make_folder(path.parent)
            write_whole(path, save(weights))
        return frozen


def staged_schedule(optimizer: Any, args: MetricConfig) -> torch.optim.lr_scheduler.LambdaLR:
    """Each stage has a schedule of its own, of the config's kind; the first alone warms up."""
    legs = args.legs()
    shapes = []
    for number, leg in enumerate(legs):
        assert leg.steps is not None
        alone = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        shape = get_scheduler(
            args.lr_scheduler_type,
            optimizer=alone,
            num_warmup_steps=0 if number else args.get_warmup_steps(leg.steps),
            num_training_steps=leg.steps,
            scheduler_specific_kwargs=args.lr_scheduler_kwargs,
        )
        if not isinstance(shape, torch.optim.lr_scheduler.LambdaLR):
            raise InputError(f"MetricConfig: lr_scheduler_type {args.lr_scheduler_type} does not go with stages")
        shapes.append(shape.lr_lambdas[0])

    def factor(step: int) -> float:
        number = max(number for number, leg in enumerate(legs) if leg.first_step <= step)
        leg = legs[number]
        return float(leg.learning_rate / args.learning_rate * shapes[number](step - leg.first_step))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
