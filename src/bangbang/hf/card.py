"""The model card of an exported model: what it was trained on, how, what it scores, and how to use it."""

from collections.abc import Mapping
from typing import NamedTuple


class Facts(NamedTuple):
    """What a card states."""

    title: str
    corpus: str
    examples: int
    """Training examples."""
    method: str
    """The training method, as reports name it."""
    reward: str
    """What the reward was; empty if there was none."""
    steps: int
    checkpoint: str
    metric: str
    """The score that chose the checkpoint, on validation examples."""
    best: float | None
    split: str
    scored: int
    """Examples of the split."""
    scores: Mapping[str, tuple[float, float | None]]
    """Of the split: each score and its standard error."""
    signature: str
    decoding: str
    caveat: str
    encoder: bool
    """Whether the model has an encoder."""
    config: str
    """The run's config, as TOML."""
    version: str


def card(facts: Facts) -> str:
    parts = [header(facts), f"# {facts.title}", told(facts), scores(facts), usage(facts), settings(facts)]
    return "\n\n".join(part for part in parts if part) + "\n"


def header(facts: Facts) -> str:
    task = "text2text-generation" if facts.encoder else "text-generation"
    return f"---\nlibrary_name: transformers\npipeline_tag: {task}\ntags:\n- bangbang\n---"


def told(facts: Facts) -> str:
    reward = f", rewarded by {facts.reward}" if facts.reward else ""
    best = f" Its {facts.metric} on validation examples was {facts.best:.2f}." if facts.best is not None else ""
    lines = [
        f"Trained with bangbang {facts.version} on {facts.corpus} ({facts.examples:,} training examples) by "
        f"{facts.method}{reward}: checkpoint {facts.checkpoint} of {facts.steps:,} steps.{best}",
        facts.caveat,
    ]
    return "\n\n".join(line for line in lines if line)


def scores(facts: Facts) -> str:
    if not facts.scores:
        return ""
    rows = [
        f"| {name} | {value:.2f}{'' if error is None else f' ±{error:.2f}'} |"
        for name, (value, error) in facts.scores.items()
    ]
    return "\n".join(
        [
            "## Scores",
            "",
            f"On {facts.scored:,} examples of the {facts.split} split, by {facts.decoding}, ± the standard error:",
            "",
            "| metric | score |",
            "|---|---|",
            *rows,
            "",
            f"Signature: `{facts.signature}`",
        ]
    )


def usage(facts: Facts) -> str:
    kind = "AutoModelForSeq2SeqLM" if facts.encoder else "AutoModelForCausalLM"
    code = [
        f"from transformers import AutoTokenizer, {kind}",
        "",
        'tokenizer = AutoTokenizer.from_pretrained("FOLDER")',
        f'model = {kind}.from_pretrained("FOLDER")',
        'inputs = tokenizer("your text", return_tensors="pt", truncation=True)',
        "outputs = model.generate(**inputs)[0]",
    ]
    start = "outputs" if facts.encoder else 'outputs[inputs["input_ids"].shape[1] :]'
    code.append(f"print(tokenizer.decode({start}, skip_special_tokens=True))")
    return "\n".join(["## Use", "", "```python", *code, "```"])


def settings(facts: Facts) -> str:
    return f"## Settings\n\n```toml\n{facts.config.strip()}\n```"
