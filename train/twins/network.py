"""The architecture of the twins, a LLaVA of transformers, and the parts used only in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import (
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    Qwen2Config,
    SiglipVisionConfig,
)

from train.twins.lessons import LABELS, PATCH_PX, SIDE_PX
from train.twins.tokens import END, IMAGE, PAD

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

N_MARKS = 6
"""No mark, or one of five."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A LLaVA: the configurations of its vision tower and of its language model."""

    tower: type[Any]
    tower_sizes: Mapping[str, Any]
    text: type[Any]
    text_sizes: Mapping[str, Any]
    patch_px: int = PATCH_PX
    layer: int = -1
    """The tower's layer that the language model sees."""
    has_class_token: bool = False
    """True if the tower has a class token, which is dropped."""

    @property
    def n_side(self) -> int:
        """Patches along a side of the picture."""
        return SIDE_PX // self.patch_px


POCKET = Architecture(
    SiglipVisionConfig,
    {
        "hidden_size": 160,
        "intermediate_size": 480,
        "num_hidden_layers": 4,
        "num_attention_heads": 5,
        "vision_use_head": False,
    },
    Qwen2Config,
    {
        "hidden_size": 192,
        "intermediate_size": 512,
        "num_hidden_layers": 6,
        "num_attention_heads": 6,
        "num_key_value_heads": 6,
    },
)
"""The architecture of the twins: 4.1 million weights."""


def make_model(
    tokenizer: PreTrainedTokenizerFast, *, seed: int, architecture: Architecture = POCKET
) -> LlavaForConditionalGeneration:
    """Create a model with random weights."""
    torch.manual_seed(seed)
    image, end, pad = (tokenizer.convert_tokens_to_ids(token) for token in (IMAGE, END, PAD))
    config = LlavaConfig(
        vision_config=architecture.tower(
            **architecture.tower_sizes, image_size=SIDE_PX, patch_size=architecture.patch_px
        ),
        text_config=architecture.text(
            **architecture.text_sizes,
            vocab_size=len(tokenizer),
            max_position_embeddings=4096,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=end,
            pad_token_id=pad,
        ),
        image_token_index=image,
        vision_feature_select_strategy="default" if architecture.has_class_token else "full",
        vision_feature_layer=architecture.layer,
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    model.set_attn_implementation("sdpa")
    return model


class Learner(nn.Module):
    """The model and a patch head, which predicts the object whose centre is in each patch. The head is not shipped."""

    def __init__(self, model: LlavaForConditionalGeneration) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(model.config.text_config.hidden_size, len(LABELS) + N_MARKS + 4)

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return logits of the target tokens, (rows, said, vocabulary), and of the patch head, (pictures, patches, …).

        The layers are called individually, so that only tensors pass between them. A test compares this with the
        model's own forward.
        """
        body = self.model.model
        features = body.multi_modal_projector(self._seen(batch["frames"]))
        hidden = with_pictures(
            self.model.get_input_embeddings()(batch["ids"]), features, self._is_image(batch)
        )
        text = body.language_model
        mask = attention_mask(batch["part"], batch["sees"])
        mask = torch.zeros(mask.shape, dtype=features.dtype, device=mask.device).masked_fill(
            ~mask, -torch.inf
        )
        turned = text.rotary_emb(hidden, batch["place"])
        for layer in text.layers:
            hidden = layer(hidden, attention_mask=mask, position_embeddings=turned)
        hidden = text.norm(hidden)
        at_targets = hidden.gather(1, batch["at"][..., None].expand(-1, -1, hidden.shape[-1]))
        return self.model.lm_head(at_targets), self.head(features)

    def _seen(self, frames: Tensor) -> Tensor:
        """Return the features that the model's own forward uses, before the tower's last norm."""
        tower, config = self.model.model.vision_tower, self.model.config
        seen: Tensor = tower.embeddings(frames.permute(0, 3, 1, 2).float() / 127.5 - 1)
        if hasattr(tower, "pre_layrnorm"):  # spelt so in CLIP
            seen = tower.pre_layrnorm(seen)
        layers = tower.encoder.layers
        for layer in layers[: len(layers) + 1 + config.vision_feature_layer]:
            seen = layer(seen, None)
        return seen[:, 1:] if config.vision_feature_select_strategy == "default" else seen

    def _is_image(self, batch: dict[str, Tensor]) -> Tensor:
        return batch["ids"].eq(self.model.config.image_token_index)


def with_pictures(embedded: Tensor, features: Tensor, is_image: Tensor) -> Tensor:
    """Replace the image tokens of each row by the features of its pictures, in order."""
    rows, width = len(embedded), embedded.shape[-1]
    of_row = features.reshape(rows, -1, width).to(embedded.dtype)
    order = (is_image.cumsum(1) - 1).clamp(0, of_row.shape[1] - 1)
    placed = of_row.gather(1, order[..., None].expand(-1, -1, width))
    return torch.where(is_image[..., None], placed, embedded)


def attention_mask(part: Tensor, sees: Tensor) -> Tensor:
    """Return the mask (rows, 1, tokens, tokens): each question attends to itself, causally, and to the pictures.

    Part 0 contains the pictures. All questions of a row share it, except those without a picture.
    """
    n = part.shape[1]
    causal = torch.ones(n, n, dtype=torch.bool, device=part.device).tril()
    own = part[:, :, None] == part[:, None, :]
    opening = (part[:, None, :] == 0) & sees[:, :, None]
    return ((own | opening) & causal)[:, None]


def losses(said: Tensor, patches: Tensor, batch: dict[str, Tensor], shares: Tensor) -> dict[str, Tensor]:
    """Return the cross-entropy of target tokens and of the object and mark of each patch, and the squared error of its lengths.

    words = Σ_task share · Σ w·CE / Σ w, over the target tokens of the task's rows, so that the weight of a task does not
    depend on the length of its answers.

    Args:
        said: Logits of the target tokens.
        patches: Logits of the patch head.
        batch: Rows of lessons.
        shares: Shares of the tasks, by number.
    """
    token_losses = nn.functional.cross_entropy(
        said.float().flatten(0, 1), batch["words"].flatten(), ignore_index=-100, reduction="none"
    ).view_as(batch["words"])
    weight = batch["weight"].float()
    of_task = torch.zeros(2, len(shares), device=said.device)
    of_row = torch.stack([(token_losses * weight).sum(1), weight.sum(1)])
    error, total = of_task.index_add(1, batch["task"], of_row)
    words = (shares * error / total.clamp(min=1)).sum()
    kinds, marks, sizes = torch.split(patches.float(), [len(LABELS), N_MARKS, 4], -1)
    kind = nn.functional.cross_entropy(kinds.flatten(0, 1), batch["labels"].long().flatten())
    mark = nn.functional.cross_entropy(marks.flatten(0, 1), batch["marks"].long().flatten())
    is_marked = batch["marks"] > 0
    error = ((sizes - batch["sizes"]) ** 2).mean(-1)
    size = (error * is_marked).sum() / is_marked.sum().clamp(min=1)
    return {"words": words, "kind": kind, "mark": mark, "size": size}


@torch.no_grad()
def start_from(
    model: LlavaForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, folder: str | Path
) -> None:
    """Load the weights of a checkpoint with a possibly different vocabulary.

    Tokens are matched by their text. A token that the checkpoint does not have starts as the mean of its pieces.
    """
    from transformers import AutoTokenizer

    source = LlavaForConditionalGeneration.from_pretrained(folder)
    words = AutoTokenizer.from_pretrained(folder)
    known = words.get_vocab()
    pieces = [
        [known[text]] if text in known else words.encode(tokenizer.decode([number]), add_special_tokens=False)
        for text, number in sorted(tokenizer.get_vocab().items(), key=lambda word: word[1])
    ]
    embedded = source.get_input_embeddings().weight
    state = source.state_dict()
    for name, values in state.items():
        if values.shape == embedded.shape:
            state[name] = torch.stack([embedded[numbers].mean(0) for numbers in pieces])
    model.load_state_dict(state)
    model.tie_weights()


def save_twin(
    model: LlavaForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, folder: str | Path
) -> None:
    """Write a checkpoint: half-precision weights, processor, and tokenizer with chat template."""
    from transformers import SiglipImageProcessorPil

    folder, strategy = Path(folder), model.config.vision_feature_select_strategy
    state: dict[str, Any] = {name: value.detach().half().cpu() for name, value in model.state_dict().items()}
    copy = LlavaForConditionalGeneration(model.config).half()
    copy.load_state_dict(state)
    copy.tie_weights()
    copy.save_pretrained(folder)
    LlavaProcessor(
        image_processor=SiglipImageProcessorPil(size={"height": SIDE_PX, "width": SIDE_PX}),
        tokenizer=tokenizer,
        patch_size=model.config.vision_config.patch_size,
        vision_feature_select_strategy=strategy,
        num_additional_image_tokens=int(strategy == "default"),
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)
