"""Tiny cross-encoders made here, so that the adapters run on real ONNX files: they count words that two texts share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = [
    *("[PAD]", "[UNK]", "[SEP]", "not", "tea", "coffee", "green", "porto", "lyon", "cat", "dog"),
    *("live", "like", "meet", "monday", "tuesday", "お茶", "犬", "猫", "京都", "绿茶", "狗", "上海"),
]
NOT = WORDS.index("not")


def tokenizer(folder: Path) -> None:
    """Words of the list above, a pair as "a [SEP] b" with segments 0 and 1."""
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    cjk = pre_tokenizers.Split(pattern=Regex("お茶|犬|猫|京都|绿茶|狗|上海"), behavior="isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), cjk])
    made.post_processor = processors.TemplateProcessing(
        single="$A:0 [SEP]:0", pair="$A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[SEP]", 2)]
    )
    made.save(str(folder / "tokenizer.json"))


def cross_encoder(folder: Path, rows: Sequence[Sequence[float]], bias: Sequence[float]) -> Path:
    """A model whose logits are `[shared, negated] @ rows + bias`: one column a label.

    shared: how many words of the second text the first one has; negated: whether one of both says "not".
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer(folder)
    n = helper.make_node

    def constant(name: str, value: object, kind: type = np.float32) -> onnx.TensorProto:
        return numpy_helper.from_array(np.asarray(value, dtype=kind), name)

    nodes = [
        n("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        n("Sub", ["one", "second"], ["first"]),
        n("Greater", ["input_ids", "specials"], ["worded"]),
        n("Cast", ["worded"], ["words"], to=TensorProto.FLOAT),
        n("Mul", ["first", "words"], ["mine"]),
        n("Mul", ["second", "words"], ["theirs"]),
        n("Unsqueeze", ["input_ids", "axis1"], ["across"]),
        n("Unsqueeze", ["input_ids", "axis2"], ["down"]),
        n("Equal", ["across", "down"], ["equal"]),
        n("Cast", ["equal"], ["same"], to=TensorProto.FLOAT),
        n("Unsqueeze", ["mine", "axis1"], ["mine1"]),
        n("Mul", ["same", "mine1"], ["in_mine"]),
        n("ReduceMax", ["in_mine"], ["found"], axes=[2], keepdims=0),
        n("Mul", ["found", "theirs"], ["hits"]),
        n("ReduceSum", ["hits", "axis1"], ["shared"], keepdims=1),
        n("Equal", ["input_ids", "not"], ["is_not"]),
        n("Cast", ["is_not"], ["nots"], to=TensorProto.FLOAT),
        n("Mul", ["nots", "first"], ["not1"]),
        n("Mul", ["nots", "second"], ["not2"]),
        n("ReduceSum", ["not1", "axis1"], ["n1"], keepdims=1),
        n("ReduceSum", ["not2", "axis1"], ["n2"], keepdims=1),
        n("Sub", ["n1", "n2"], ["difference"]),
        n("Abs", ["difference"], ["negated"]),
        n("Concat", ["shared", "negated"], ["features"], axis=1),
        n("MatMul", ["features", "rows"], ["weighed"]),
        n("Add", ["weighed", "bias"], ["logits"]),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(bias)])],
        [
            constant("one", 1.0),
            constant("specials", 3, np.int64),
            constant("axis1", [1], np.int64),
            constant("axis2", [2], np.int64),
            constant("not", NOT, np.int64),
            constant("rows", rows),
            constant("bias", bias),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    return folder


def reranker(folder: Path) -> Path:
    """Two shared words are an even chance."""
    return cross_encoder(folder, [[2.0], [0.0]], [-4.0])


def nli(folder: Path) -> Path:
    """Says "contradiction" where one of two texts with shared words says "not"; labels in another order than ours."""
    made = cross_encoder(folder, [[0.0, 1.0, -1.0], [8.0, -4.0, 0.0]], [-2.0, 0.0, 1.0])
    labels = {"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"}
    (made / "config.json").write_text(json.dumps({"id2label": labels}))
    return made
