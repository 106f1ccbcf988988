"""A chat server with a tiny deterministic model, which loses parts of its prompt as real servers were seen to do."""

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Chat:
    """What the server passes on to its model, and what it tells."""

    reads_text: bool = True
    reads_lists: bool = True
    """False: a list of parts is dropped, as by templates that know plain text only."""
    takes_lists: bool = True
    """False: a list of parts is refused."""
    pictures: str = "seen"
    """``seen``, ``counted`` (a placeholder only), or ``dropped``."""
    system: str = "read"
    """``read``, ``ignored`` or ``refused``."""
    stop: str = "obeyed"
    """``obeyed``, ``ignored`` or ``refused``."""
    usage: bool = True
    logprobs: str = "given"
    """``given``, ``left out`` or ``refused``. Given only to those who ask for the top ones, too, as llama-cpp-python does."""
    answers: str = "varied"
    """``varied``, ``same``, or ``moody``: never the same twice."""
    jitter: float = 0.0
    """How far log-probabilities change when a request is repeated."""
    bodies: list = field(default_factory=list)

    def reply(self, body):
        """The status and the answer of a request."""
        self.bodies.append(body)
        roles = {message["role"] for message in body["messages"]}
        is_list = any(isinstance(message["content"], list) for message in body["messages"])
        for is_refused, what in (
            (self.system == "refused" and "system" in roles, "System role not supported"),
            (self.stop == "refused" and "stop" in body, "unknown field: stop"),
            (self.logprobs == "refused" and "logprobs" in body, "logprobs is not supported"),
            (not self.takes_lists and is_list, "content must be a string"),
        ):
            if is_refused:
                return 400, {"error": {"message": what}}
        return 200, self._completion(body)

    def _completion(self, body):
        words, pictures = [], []
        for message in body["messages"]:
            if message["role"] != "system" or self.system == "read":
                self._read(message["content"], words, pictures)
        seed = [*words, *(pictures if self.pictures == "seen" else ())]
        if self.answers == "same":
            text = "apple pie"
        else:
            mood = len(self.bodies) if self.answers == "moody" else 0
            text = f"w{_number([*seed, str(mood)]) % 9973} and more"
        if self.stop == "obeyed":
            for stop in body.get("stop", ()):
                text = text.partition(stop)[0]
        choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        if body.get("logprobs") and body.get("top_logprobs") and self.logprobs == "given":
            value = -(_number(seed) % 1000) / 100 - self.jitter * (len(self.bodies) // 2 % 2)
            other = {"token": "other", "logprob": value - 1}
            choice["logprobs"] = {
                "content": [
                    {
                        "token": word,
                        "logprob": value,
                        "top_logprobs": [{"token": word, "logprob": value}, other],
                    }
                    for word in text.split()
                ]
            }
        count = 3 + len(words) + (9 * len(pictures) if self.pictures != "dropped" else 0)
        usage = {"prompt_tokens": count, "completion_tokens": 2}
        return {"choices": [choice]} | ({"usage": usage} if self.usage else {})

    def _read(self, content, words, pictures):
        if isinstance(content, str):
            words += content.split() if self.reads_text else ()
            return
        for part in content if self.reads_lists else ():
            if part["type"] == "text" and self.reads_text:
                words += part["text"].split()
            elif part["type"] == "image_url":
                pictures.append(part["image_url"]["url"])


def _number(texts):
    return int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:6])


@contextmanager
def serving(chat):
    """Serves a chat on this machine; gives its model's name."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send(200, {"data": []})

        def do_POST(self):
            self.send(*chat.reply(json.loads(self.rfile.read(int(self.headers["content-length"])))))

        def send(self, status, payload):
            data = json.dumps(payload).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"openai:tiny@http://127.0.0.1:{server.server_port}/v1?retries=0"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
