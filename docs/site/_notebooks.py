"""Notebooks as pages: their text, code and stored outputs. Nothing is run."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

_PICTURES = {"image/png": "png", "image/svg+xml": "svg"}


def notebook_pages(folder: Path) -> dict[str, str | bytes]:
    """Path -> page, and path -> picture, of every notebook in the folder."""
    found: dict[str, str | bytes] = {}
    for path in sorted(folder.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        parts: list[str] = []
        for number, cell in enumerate(cells):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.append(source)
            elif cell["cell_type"] == "code" and source.strip():
                parts.append(f"```python\n{source}\n```")
                for k, output in enumerate(cell["outputs"]):
                    text, pictures = _shown(output, f"{path.stem}_{number}_{k}")
                    parts.append(text)
                    found |= {f"notebooks/{name}": data for name, data in pictures.items()}
        note = f"*A notebook: `docs/notebooks/{path.name}` in the repository. The tests run it.*"
        head, _, rest = "\n\n".join(filter(None, parts)).partition("\n")
        found[f"notebooks/{path.stem}.md"] = f"{head}\n\n{note}\n{rest}\n"
    return found


def _shown(output: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """One output as Markdown, with its picture."""
    if output["output_type"] == "stream":
        text = "".join(output["text"]).rstrip() if output["name"] == "stdout" else ""
        return (f"```text\n{text}\n```" if text else ""), {}
    data = {
        kind: "".join(value) if isinstance(value, list) else value
        for kind, value in output.get("data", {}).items()
    }
    for kind, ending in _PICTURES.items():
        if kind in data:
            content = base64.b64decode(data[kind]) if ending == "png" else data[kind].encode()
            return f"![Output of the cell above]({name}.{ending})", {f"{name}.{ending}": content}
    if "text/html" in data:
        return f'````{{raw}} html\n<div class="output">{data["text/html"]}</div>\n````', {}
    return (f"```text\n{data['text/plain']}\n```" if "text/plain" in data else ""), {}
