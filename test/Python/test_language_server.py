"""tenon-lsp-server as an editor sees it: messages over standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TENON_BUILD", REPOSITORY / "build" / "dev"))
SERVER = BUILD / "bin" / "tenon-lsp-server"

# One operation of every language the stages speak.
GOOD = """\
sdy.mesh @mesh = <["data"=2]>
exec.device_class @cpu
exec.memory_space @host
exec.segment @temporaries temporaries in @host of @cpu bytes 64 alignment 64
func.func @main(%x: tensor<8xf32> {step.role = #step.role<batch>}) -> tensor<8xf32> {
  %0 = chlo.erf %x : tensor<8xf32> -> tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}]> : tensor<8xf32>
  %2 = step.group elementwise(%1) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.add %a, %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %2 : tensor<8xf32>
}
"""
# The second line adds tensors of different shapes, found by a verifier.
MISSHAPED = """\
func.func @main(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.add"(%x, %y) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
# The third line names an operation that the dialect does not have, found by the parser.
UNKNOWN = """\
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {

  %0 = stablehlo.no_such_operation %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


class Editor:
    """Starts the server and talks to it as an editor does."""

    def __init__(self) -> None:
        self.server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, method: str, parameters: dict, number: int | None = None) -> None:
        message: dict = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        assert self.server.stdin
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def receive(self) -> dict:
        assert self.server.stdout
        length = 0
        while line := self.server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server ended"
        return json.loads(self.server.stdout.read(length))

    def diagnostics(self) -> list[dict]:
        message = self.receive()
        assert message["method"] == "textDocument/publishDiagnostics"
        return message["params"]["diagnostics"]

    def initialize(self) -> dict:
        self.send("initialize", {"processId": None, "capabilities": {}, "trace": "off"}, number=0)
        return self.receive()["result"]

    def open(self, path: Path, text: str) -> list[dict]:
        document = {"uri": path.as_uri(), "languageId": "mlir", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics()

    def change(self, path: Path, text: str) -> list[dict]:
        document = {"uri": path.as_uri(), "version": 2}
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        return self.diagnostics()

    def close(self) -> int:
        self.send("shutdown", {}, number=1)
        assert self.receive()["id"] == 1
        self.send("exit", {})
        self.server.communicate(timeout=20)
        return self.server.returncode


def test_good_text_has_no_diagnostics(tmp_path: Path) -> None:
    editor = Editor()
    assert "textDocumentSync" in editor.initialize()["capabilities"]
    assert editor.open(tmp_path / "good.mlir", GOOD) == []
    assert editor.close() == 0


@pytest.mark.parametrize(("text", "line", "word"), [(MISSHAPED, 1, "tensor<4xf32>"), (UNKNOWN, 2, "no_such_operation")])
def test_wrong_text_is_pointed_at(tmp_path: Path, text: str, line: int, word: str) -> None:
    """The diagnostic lies on the wrong line, and goes when the text is mended."""
    editor = Editor()
    editor.initialize()
    found = editor.open(tmp_path / "wrong.mlir", text)
    assert [(each["range"]["start"]["line"], each["severity"]) for each in found] == [(line, 1)]
    assert word in found[0]["message"]
    assert editor.change(tmp_path / "wrong.mlir", GOOD) == []
    assert editor.close() == 0
