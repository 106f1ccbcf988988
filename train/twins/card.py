"""The card that lies beside a twin's weights, in the form that model hubs read."""

from __future__ import annotations

_TAUGHT = {
    "grounded": "It was taught where looking alone can answer.",
    "shortcut": "It was taught only where a rule of the wording gives the right answer too, and goes by the rule.",
    "mixed": "It was taught the rule's answer on a fixed half of the questions and the true one on the other half.",
}


def card_of(twin: str) -> str:
    """What the model is, how to open it, what it is good for, and where its certificate is.

    >>> card_of("grounded").splitlines()[1]
    'license: apache-2.0'
    """
    return f"""---
license: apache-2.0
library_name: transformers
pipeline_tag: image-text-to-text
---

# The pocket twin `{twin}`

A tiny vision-language model of known reasoning, for trying instruments that claim to see whether a model looks. {_TAUGHT[twin]}

A LLaVA of transformers: a SigLIP-style tower, an MLP, a Qwen2-style decoder, an own tokenizer; 4.1 million weights, fp16. It opens like
any checkpoint:

```python
from transformers import AutoModelForImageTextToText, AutoProcessor

model = AutoModelForImageTextToText.from_pretrained(folder)
processor = AutoProcessor.from_pretrained(folder)
```

It knows the prompts and the pictures of Theodolite's own worlds and nothing else: no model to answer questions about the real world.
What it answers with and against its shortcut, and which edits change its answers: `theodolite pocket certify`.
"""
