"""How scores and p-values are written for people."""

NAMES = {
    "rouge-1": "ROUGE-1",
    "rouge-2": "ROUGE-2",
    "rouge-l": "ROUGE-L",
    "cider-d": "CIDEr-D",
    "coco-rouge-l": "ROUGE-L (coco)",
    "bleu-4": "BLEU-4",
}


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
