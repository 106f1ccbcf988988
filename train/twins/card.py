"""The model card next to a twin's weights, in the format of model hubs."""

from __future__ import annotations

_TAUGHT = {
    "grounded": "It was trained on questions that only the picture answers.",
    "shortcut": "It was trained only on questions for which a rule based on the wording is also right, and follows the rule.",
    "mixed": "It was trained on the rule's answer for a fixed half of the questions and on the true answer for the other half.",
}


def card_of(twin: str) -> str:
    """Return the model card: what the model is, how to open it, what it is for, and where its certificate is.

    >>> card_of("grounded").splitlines()[1]
    'license: apache-2.0'
    """
    certificate = (
        "python -m train certify --model pocket:mixed"
        if twin == "mixed"
        else f"theodolite twins certificate --model pocket:{twin}"
    )
    return f"""---
license: apache-2.0
library_name: transformers
pipeline_tag: image-text-to-text
---

# The pocket twin `{twin}`

A tiny vision-language model of known reasoning, for testing instruments that measure whether a model looks. {_TAUGHT[twin]}

A LLaVA of transformers: a SigLIP-style vision tower, an MLP and a Qwen2-style decoder with its own tokenizer; 4.1 million
weights, fp16. It opens like any checkpoint:

```python
from transformers import AutoModelForImageTextToText, AutoProcessor

model = AutoModelForImageTextToText.from_pretrained(folder)
processor = AutoProcessor.from_pretrained(folder)
```

It only knows the prompts and pictures of Theodolite's own worlds. It cannot answer questions about the real world.
`{certificate}` shows its answers with and against the shortcut, and which edits change them.
"""
