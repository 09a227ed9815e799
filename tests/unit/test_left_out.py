"""What an import reports about tensors that are not used."""

import pytest

from seqloom.formats.public_folder import describe_left_out


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["embeddings.position_ids", "h.0.attn.bias", "h.0.attn.masked_bias", "lm_head.weight"], ""),
        (["model.encoder.embed_positions.weight"], ""),
        (
            ["classifier.weight", "pooler.dense.bias", "classifier.bias"],
            "classifier (2 tensors), pooler.dense (1 tensor)",
        ),
        (["encoder.layer.2.a.weight", "encoder.layer.2.b.0.bias"], "encoder.layer.2 (2 tensors)"),
        (["cls.predictions.bias", "cls.predictions.transform.dense.bias"], "cls.predictions (2 tensors)"),
        (list("fedcba"), "a (1 tensor), b (1 tensor), c (1 tensor), d (1 tensor), 2 more"),
        (["", "."], " (2 tensors)"),
    ],
)
def test_groups_by_their_beginning_and_only_a_few(names, said):
    assert describe_left_out(names) == said
