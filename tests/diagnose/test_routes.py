"""The same weights get the same verdict from a checkpoint, through a server, and by replaying recorded answers."""

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path

import pytest

from theodolite.core.types import Message, Picture, Request
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.running import run_diagnosis
from theodolite.instruments.instrument import find_instruments
from theodolite.models import open_model
from theodolite.runs import slug

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

INSTRUMENTS = ("compass", "grid")


@contextmanager
def served(name):
    """A chat server in front of a model, and its address."""
    model, lock = open_model(name), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._send({"object": "list", "data": []})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            parts = body["messages"][-1]["content"]
            shown = [
                _part(part)
                for part in (parts if isinstance(parts, list) else [{"type": "text", "text": parts}])
            ]
            request = Request((Message.user(*shown),), max_tokens=body.get("max_tokens") or 64)
            with lock:
                text = model.generate([request])[0].text
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            self._send(
                {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
            )

        def _send(self, value):
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        model.close()


def _part(part):
    if part["type"] == "text":
        return part["text"]
    return Picture.from_bytes(base64.b64decode(part["image_url"]["url"].partition(",")[2]))


@pytest.mark.parametrize("twin", ["grounded", "mixed", "shortcut"])
def test_three_routes_to_the_same_weights_give_one_verdict(twin, tmp_path):
    weights = Path(str(resources.files("theodolite.models"))) / "weights" / twin
    chosen = find_instruments(INSTRUMENTS)
    found = {}

    def diagnosed(route, name):
        diagnosis = run_diagnosis(DiagnosisRequest((name,), tmp_path / route, chosen, "quick"))
        found[route] = {each.name: each.models[0].looking[0] for each in diagnosis.instruments}

    diagnosed("checkpoint", f"hf:{weights}")
    with served(f"pocket:{twin}") as url:
        name = f"openai:{twin}@{url}"
        diagnosed("server", name)
    diagnosed("replay", f"replay:{tmp_path / 'server' / 'runs' / slug(name)}")
    for instrument in INSTRUMENTS:
        standings = {route: lookings[instrument].standing for route, lookings in found.items()}
        assert len(set(standings.values())) == 1, (instrument, standings)
        followed = [lookings[instrument].followed.value for lookings in found.values()]
        assert max(followed) - min(followed) < 0.05, (instrument, followed)
        excluded = {tuple(lookings[instrument].excluded) for lookings in found.values()}
        assert len(excluded) == 1, (instrument, excluded)
