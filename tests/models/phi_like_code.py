"""The code that a checkpoint brings with it, in the manner of Phi-3.5-Vision: nothing here knows of us.

Config, processor and model stand beside the weights. The processor takes one prompt at a time and numbers its pictures
downward from -1; pictures are cut into crops behind which every row ends with a separator, and the whole comes last.
Attention is written out, and the forward cannot be told which logits to keep.
"""

import re

import numpy as np
import torch
from PIL import Image
from torch import nn
from transformers import BatchFeature, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.processing_utils import ProcessorMixin


class PhiLikeConfig(PretrainedConfig):
    model_type = "phi3_v"

    def __init__(self, vocab_size=512, hidden_size=32, num_hidden_layers=4, img_processor=None, **more):
        self.vocab_size, self.hidden_size, self.num_hidden_layers = vocab_size, hidden_size, num_hidden_layers
        self.num_attention_heads = 4
        self.img_processor = img_processor or {"side": 56, "num_img_tokens": 4, "image_dim_out": 16}
        super().__init__(**more)


def hd_size(width, height, side, num_crops):
    """The size after resizing, and after padding to whole crops; a tall picture is treated as a wide one."""
    if width < height:
        (w, h), (pw, ph) = hd_size(height, width, side, num_crops)
        return (h, w), (ph, pw)
    scale = 1
    while scale * np.ceil(scale / (width / height)) <= num_crops:
        scale += 1
    new = (scale - 1) * side, int((scale - 1) * side / (width / height))
    return new, (new[0], int(np.ceil(new[1] / side)) * side)


class PhiLikeProcessor(ProcessorMixin):
    attributes = ("tokenizer",)
    tokenizer_class = "AutoTokenizer"

    def __init__(self, tokenizer, side=56, num_crops=4, chat_template=None, **more):
        self.side, self.num_crops = side, num_crops
        super().__init__(tokenizer)

    def __call__(self, text, images=None, return_tensors="pt"):
        if not isinstance(text, str):
            raise TypeError("one prompt at a time")
        chunks = [
            self.tokenizer(part, add_special_tokens=False)["input_ids"]
            for part in re.split(r"<\|image_\d+\|>", text)
        ]
        if not images:
            return BatchFeature({"input_ids": torch.tensor([[token for chunk in chunks for token in chunk]])})
        made = [self._picture(image) for image in images]
        ids = list(chunks[0])
        for i, (chunk, (_, (h, w))) in enumerate(zip(chunks[1:], made, strict=True)):
            rows, columns = h // self.side, w // self.side
            ids += [-1 - i] * ((rows * columns + 1) * 4 + 1 + (rows + 1) * 2) + chunk
        return BatchFeature(
            {
                "input_ids": torch.tensor([ids]),
                "pixel_values": torch.stack([pixels for pixels, _ in made]),
                "image_sizes": torch.tensor([size for _, size in made]),
            }
        )

    def _picture(self, image):
        (w, h), (pw, ph) = hd_size(*image.size, self.side, self.num_crops)
        padded = Image.new("RGB", (pw, ph), "white")
        padded.paste(image.convert("RGB").resize((w, h)), (int((pw - w) / 2), int((ph - h) / 2)))
        crops = [padded.resize((self.side, self.side))] + [
            padded.crop((x, y, x + self.side, y + self.side))
            for y in range(0, ph, self.side)
            for x in range(0, pw, self.side)
        ]
        crops += [Image.new("RGB", (self.side, self.side))] * (self.num_crops + 1 - len(crops))
        stacked = np.stack([np.asarray(crop, np.float32) for crop in crops]) / 127.5 - 1
        return torch.tensor(stacked).permute(0, 3, 1, 2), (ph, pw)


class PhiLikeImageEmbedding(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.side, width = config.img_processor["side"], config.img_processor["image_dim_out"]
        self.img_processor = nn.Conv2d(3, width, 14, 14)
        self.sub_GN, self.glb_GN = (nn.Parameter(torch.randn(1, 4 * width)) for _ in range(2))
        self.img_projection = nn.Sequential(
            nn.Linear(4 * width, config.hidden_size),
            nn.GELU(),
            nn.Linear(config.hidden_size, config.hidden_size),
        )

    def merged(self, crops, rows, columns):
        """Two by two patches a token, crops put together, a separator behind each row."""
        features = torch.tanh(self.img_processor(crops))  # (crops, width, 4, 4)
        _, width, n, _ = features.shape
        whole = (
            features.reshape(rows, columns, width, n, n)
            .permute(0, 3, 1, 4, 2)
            .reshape(rows * n, columns * n, width)
        )
        tokens = whole.reshape(rows * n // 2, 2, columns * n // 2, 2, width).permute(0, 2, 1, 3, 4).flatten(2)
        return torch.cat([tokens, self.sub_GN.expand(len(tokens), 1, -1)], dim=1).flatten(0, 1)

    def forward(self, pixel_values, image_sizes):
        found = []
        for crops, (height, width) in zip(pixel_values, image_sizes.tolist(), strict=True):
            rows, columns = height // self.side, width // self.side
            parts = [self.merged(crops[1 : 1 + rows * columns], rows, columns), self.glb_GN]
            found += [*parts, self.merged(crops[:1], 1, 1)]
        return self.img_projection(torch.cat(found))


class PhiLikeLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.hidden_size
        self.heads = config.num_attention_heads
        self.norm, self.mlp_norm = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))

    def forward(self, hidden, mask=None):
        batch, n, d = hidden.shape
        q, k, v = self.qkv(self.norm(hidden)).reshape(batch, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask).softmax(dim=-1)
        hidden = hidden + self.out((weights @ v).transpose(1, 2).reshape(batch, n, d))
        return (hidden + self.mlp(self.mlp_norm(hidden)),)


class PhiLikeModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.vision_embed_tokens = PhiLikeImageEmbedding(config)
        self.layers = nn.ModuleList(PhiLikeLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size)


class PhiLikeForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = PhiLikeConfig
    base_model_prefix = "model"
    _supports_cache_class = False

    def __init__(self, config):
        super().__init__(config)
        self.model = PhiLikeModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def _init_weights(self, module):
        if isinstance(module, nn.Linear | nn.Embedding | nn.Conv2d):
            module.weight.data.normal_(0, 0.3)

    def get_input_embeddings(self):
        return self.model.embed_tokens

    def prepare_inputs_for_generation(self, input_ids, **inputs):
        kept = ("attention_mask", "pixel_values", "image_sizes")
        return {"input_ids": input_ids, **{name: inputs[name] for name in kept if name in inputs}}

    def forward(
        self,
        input_ids,
        attention_mask=None,
        pixel_values=None,
        image_sizes=None,
        use_cache=None,
        return_dict=None,
    ):
        hidden = self.model.embed_tokens(input_ids.clamp(min=0))
        if pixel_values is not None:
            found = self.model.vision_embed_tokens(pixel_values, image_sizes)
            hidden = hidden.masked_scatter((input_ids < 0)[..., None], found.to(hidden.dtype))
        n = input_ids.shape[1]
        mask = torch.ones(n, n, dtype=torch.bool, device=hidden.device).tril()[None, None]
        if attention_mask is not None:
            mask = mask & attention_mask[:, None, None].bool()
        mask = mask | torch.eye(n, dtype=torch.bool, device=hidden.device)  # a padded row sees itself
        additive = torch.zeros(mask.shape, dtype=hidden.dtype, device=hidden.device).masked_fill(~mask, -1e9)
        for layer in self.model.layers:
            hidden = layer(hidden, mask=additive)[0]
        return CausalLMOutputWithPast(logits=self.lm_head(self.model.norm(hidden)))
