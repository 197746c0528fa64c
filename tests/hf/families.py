"""Tiny random models of many families, built from their configs: nothing is downloaded.

Ids of all of them: 0 pads, 1 starts, 2 ends, 3 is unknown; 40 tokens.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from bangbang.hf import Inputs, Policy
from bangbang.hf.samples import sample_inputs, waves
from bangbang.hf.state import HfState

SIZE = 40
IDS: dict[str, Any] = {"vocab_size": SIZE, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
START = {**IDS, "decoder_start_token_id": 1}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, **START}
BART = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": 32,
    **START,
}
PLAIN = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
    **IDS,
}
GROUPED = {**PLAIN, "num_key_value_heads": 1, "head_dim": 8}
VIT = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
GPT2 = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32, **IDS}


def plain(name: str, **settings: Any) -> Callable[[], nn.Module]:
    """A model whose class is `name` and whose config takes all settings itself."""

    def build() -> nn.Module:
        kind = getattr(transformers, name)
        return kind(kind.config_class(**settings))

    return build


def two_parts(kind: str, encoder: tuple[str, dict[str, Any]], decoder: tuple[str, dict[str, Any]]) -> nn.Module:
    """An encoder and a decoder that were made apart."""
    first, second = (getattr(transformers, name)(**settings) for name, settings in (encoder, decoder))
    model = getattr(transformers, kind)
    config = model.config_class.from_encoder_decoder_configs(first, second)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 2
    return model(config)


def bert2bert() -> nn.Module:
    decoder = {**PLAIN, "is_decoder": True, "add_cross_attention": True}
    return two_parts("EncoderDecoderModel", ("BertConfig", PLAIN), ("BertConfig", decoder))


def vit_gpt2() -> nn.Module:
    decoder = {**GPT2, "add_cross_attention": True}
    return two_parts("VisionEncoderDecoderModel", ("ViTConfig", VIT), ("GPT2Config", decoder))


def trocr() -> nn.Module:
    decoder = {**{key: value for key, value in BART.items() if not key.startswith("encoder")}}
    return two_parts("VisionEncoderDecoderModel", ("ViTConfig", VIT), ("TrOCRConfig", decoder))


def t5gemma() -> nn.Module:
    part = {**GROUPED, "sliding_window": 4, "final_logit_softcapping": 0.5}
    config = transformers.T5GemmaConfig(encoder=part, decoder=part, **START)
    return transformers.T5GemmaForConditionalGeneration(config)


def git() -> nn.Module:
    return transformers.GitForCausalLM(transformers.GitConfig(vision_config=VIT, **PLAIN))


def llava() -> nn.Module:
    text, vision = {**GROUPED, "model_type": "llama"}, {**VIT, "model_type": "clip_vision_model"}
    config = transformers.LlavaConfig(vision_config=vision, text_config=text, image_token_id=SIZE - 1)
    return transformers.LlavaForConditionalGeneration(config)


def pix2struct() -> nn.Module:
    vision = {"hidden_size": 16, "patch_embed_hidden_size": 12, "d_ff": 16, "d_kv": 8, "num_hidden_layers": 1}
    text = {"hidden_size": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, **START}
    config = transformers.Pix2StructConfig(
        text_config=text, vision_config={**vision, "num_attention_heads": 2, "seq_len": 8}
    )
    return transformers.Pix2StructForConditionalGeneration(config)


def blip2(text: str, settings: dict[str, Any]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        qformer = {**PLAIN, "encoder_hidden_size": 16, "cross_attention_frequency": 1}
        config = transformers.Blip2Config(
            vision_config={**VIT, "model_type": "blip_2_vision_model"},
            qformer_config=qformer,
            text_config={**settings, "model_type": text},
            num_query_tokens=2,
            image_token_index=SIZE - 1,
        )
        return transformers.Blip2ForConditionalGeneration(config)

    return build


OPT = {"ffn_dim": 16, "word_embed_proj_dim": 16, **PLAIN}
ENCODER_DECODERS: dict[str, Callable[[], nn.Module]] = {
    "t5": plain("T5ForConditionalGeneration", **T5),
    "mt5": plain("MT5ForConditionalGeneration", **{**T5, "feed_forward_proj": "gated-gelu"}),
    "umt5": plain("UMT5ForConditionalGeneration", **T5),
    "longt5": plain("LongT5ForConditionalGeneration", **{**T5, "local_radius": 2}),
    "bart": plain("BartForConditionalGeneration", **BART),
    "mbart": plain("MBartForConditionalGeneration", **BART),
    "marian": plain("MarianMTModel", **BART),
    "pegasus": plain("PegasusForConditionalGeneration", **BART),
    "pegasus-x": plain("PegasusXForConditionalGeneration", **{**BART, "block_size": 4, "num_global_tokens": 2}),
    "m2m100": plain("M2M100ForConditionalGeneration", **BART),
    "nllb-moe": plain(
        "NllbMoeForConditionalGeneration",
        **{**BART, "num_experts": 2, "encoder_sparse_step": 1, "decoder_sparse_step": 1},
    ),
    "blenderbot": plain("BlenderbotForConditionalGeneration", **BART),
    "led": plain(
        "LEDForConditionalGeneration",
        **{**BART, "max_encoder_position_embeddings": 32, "max_decoder_position_embeddings": 32, "attention_window": 4},
    ),
    "mvp": plain("MvpForConditionalGeneration", **BART),
    "plbart": plain("PLBartForConditionalGeneration", **BART),
    "bert2bert": bert2bert,
    "switch": plain("SwitchTransformersForConditionalGeneration", **{**T5, "num_decoder_layers": 1, "num_experts": 2}),
    "t5gemma": t5gemma,
}
CAUSAL: dict[str, Callable[[], nn.Module]] = {
    "gpt2": plain("GPT2LMHeadModel", **GPT2),
    "gpt-neo": plain(
        "GPTNeoForCausalLM",
        **{
            **IDS,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_layers": 2,
            "num_heads": 2,
            "max_position_embeddings": 32,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
        },
    ),
    "gpt-neox": plain("GPTNeoXForCausalLM", **PLAIN),
    "gptj": plain("GPTJForCausalLM", **{**GPT2, "rotary_dim": 4}),
    "opt": plain("OPTForCausalLM", **OPT),
    "bloom": plain("BloomForCausalLM", **{"hidden_size": 16, "n_layer": 1, "n_head": 2, **IDS}),
    "biogpt": plain("BioGptForCausalLM", **PLAIN),
    "xglm": plain("XGLMForCausalLM", **{**IDS, "d_model": 16, "ffn_dim": 16, "num_layers": 1, "attention_heads": 2}),
    "llama": plain("LlamaForCausalLM", **GROUPED),
    "mistral": plain("MistralForCausalLM", **{**GROUPED, "sliding_window": 4}),
    "mixtral": plain("MixtralForCausalLM", **{**GROUPED, "num_local_experts": 2, "num_experts_per_tok": 1}),
    "qwen2": plain("Qwen2ForCausalLM", **GROUPED),
    "qwen3": plain("Qwen3ForCausalLM", **GROUPED),
    "gemma": plain("GemmaForCausalLM", **GROUPED),
    "gemma2": plain("Gemma2ForCausalLM", **{**GROUPED, "final_logit_softcapping": 0.5, "sliding_window": 4}),
    "gemma3": plain("Gemma3ForCausalLM", **{**GROUPED, "sliding_window": 4}),
    "phi": plain("PhiForCausalLM", **PLAIN),
    "phi3": plain("Phi3ForCausalLM", **PLAIN),
    "falcon": plain("FalconForCausalLM", **{**PLAIN, "new_decoder_architecture": False}),
    "stablelm": plain("StableLmForCausalLM", **{**PLAIN, "num_key_value_heads": 2}),
    "olmo2": plain("Olmo2ForCausalLM", **PLAIN),
    "granite": plain("GraniteForCausalLM", **{**PLAIN, "logits_scaling": 4.0}),
    "cohere": plain("CohereForCausalLM", **{**PLAIN, "logit_scale": 0.25}),
    "mpt": plain("MptForCausalLM", **{**IDS, "d_model": 16, "n_heads": 2, "n_layers": 1, "max_seq_len": 32}),
    "mamba": plain("MambaForCausalLM", **{**IDS, "hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}),
    "mamba2": plain(
        "Mamba2ForCausalLM",
        **{
            **IDS,
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "state_size": 4,
            "num_heads": 4,
            "head_dim": 8,
            "n_groups": 1,
            "chunk_size": 4,
        },
    ),
    "jamba": plain(
        "JambaForCausalLM",
        **{
            **PLAIN,
            "num_hidden_layers": 2,
            "num_key_value_heads": 1,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "num_experts": 2,
            "mamba_d_state": 4,
            "mamba_dt_rank": 4,
            "use_mamba_kernels": False,
        },
    ),
    "starcoder2": plain("Starcoder2ForCausalLM", **{**PLAIN, "num_key_value_heads": 1}),
    "bert": plain("BertLMHeadModel", **{**PLAIN, "is_decoder": True}),
    "roberta": plain("RobertaForCausalLM", **{**PLAIN, "is_decoder": True}),
}
OTHER_INPUTS: dict[str, Callable[[], nn.Module]] = {
    "whisper": plain(
        "WhisperForConditionalGeneration",
        **{**BART, "num_mel_bins": 4, "max_source_positions": 8, "max_target_positions": 32},
    ),
    "speech-to-text": plain(
        "Speech2TextForConditionalGeneration",
        **{
            **BART,
            "input_feat_per_channel": 4,
            "conv_channels": 8,
            "max_source_positions": 16,
            "max_target_positions": 32,
        },
    ),
    "moonshine": plain(
        "MoonshineForConditionalGeneration",
        **{
            **START,
            "hidden_size": 16,
            "intermediate_size": 16,
            "encoder_num_hidden_layers": 1,
            "decoder_num_hidden_layers": 1,
            "encoder_num_attention_heads": 2,
            "decoder_num_attention_heads": 2,
            "max_position_embeddings": 64,
        },
    ),
    "git": git,
    "llava": llava,
    "pix2struct": pix2struct,
    "vit-gpt2": vit_gpt2,
    "trocr": trocr,
    "blip2-opt": blip2("opt", OPT),
    "blip2-t5": blip2("t5", T5),
}
FAMILIES = {**ENCODER_DECODERS, **CAUSAL, **OTHER_INPUTS}


@cache
def policy_of(name: str) -> Policy:
    """The model of a family, in evaluation mode; tests share it and leave it as it is."""
    return Policy(new_model(name)).eval()


def new_model(name: str) -> nn.Module:
    torch.manual_seed(0)
    model = FAMILIES[name]()
    for parameter in model.parameters():  # as initialised, all logits would nearly be 0
        if parameter.ndim > 1:
            parameter.data.normal_(0, 0.3)
    for key, buffer in model.named_buffers():
        if key.endswith("final_logits_bias"):
            buffer.normal_()
    return model.eval()


# in our ids, which are theirs + 4
SOURCE = torch.tensor([[10, 11, 12, 13, 14], [15, 16, 17, 0, 0], [18, 0, 0, 0, 0]])
LENGTH = torch.tensor([5, 3, 1])
READ = torch.tensor([[1, 20, 21, 22, 23], [1, 24, 25, 24, 26], [1, 27, 28, 29, 30]])
TARGET = torch.tensor([[20, 21, 22, 23, 2], [24, 25, 24, 2, 0], [27, 2, 0, 0, 0]])


def inputs_of(name: str, policy: Policy) -> Inputs:
    """Three inputs of the kind that a family reads."""
    if name == "git":
        return Inputs({"input_ids": torch.ones(3, 1, dtype=torch.long), "pixel_values": waves((3, 3, 8, 8))})
    if policy.inner.main_input_name != "input_ids":
        two = sample_inputs(policy.inner, policy.tokens)
        return Inputs({key: torch.cat((value, value[:1].flip(-1)), 0) for key, value in two.tensors.items()})
    return policy.template.inputs(SOURCE, LENGTH, policy.alphabet, policy.tokens.filler)


def features_by_steps(policy: Policy, state: HfState, tokens: Tensor) -> Tensor:
    found = []
    for each in tokens.unbind(1):
        state, features = policy.step(state, each)
        found.append(features)
    return torch.stack(found, 1)
