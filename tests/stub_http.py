"""What the stubs of servers have in common: a thread that serves on 127.0.0.1, and the ways in which a reply breaks."""

import json
import socket
import socketserver
import struct
import sys
import threading
from abc import ABC, abstractmethod
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class StubHTTP(ABC):
    """A context manager that serves while it is open; connections are kept alive."""

    def __init__(self, port: int) -> None:
        """Opens the port (0 takes a free one); serves from `start` or `with` on."""
        self.connections = 0
        self.closing = threading.Event()
        self._server = _Server(self, port)
        self._thread: threading.Thread | None = None

    @abstractmethod
    def handle(self, method: str, path: str, raw: bytes, headers: Message) -> tuple[int, Any, str | None]:
        """Status and body (text, or what becomes JSON) of the reply to a request, and what breaks it, if anything does.

        "refuse": the connection is closed, and no other is accepted from then on. "reset": the connection is reset.
        "half": it ends in the middle of the body. "drip": a byte now and then, too slowly to come to an end.
        """

    def content_type(self, status: int, body: Any) -> str:  # noqa: ARG002
        """Of a reply."""
        return "application/json"

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Serves in a thread."""
        self._thread = threading.Thread(target=self.serve, kwargs={"poll": 0.01}, daemon=True)
        self._thread.start()

    def serve(self, poll: float = 0.5) -> None:
        """Serves until stopped."""
        self._server.serve_forever(poll)

    def serve_by_hand(self) -> None:
        """Prints where, and serves until killed."""
        sys.stdout.write(f"{self.url}\n")
        sys.stdout.flush()
        try:
            self.serve()
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """Refuses and breaks all connections from now on."""
        self.closing.set()
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.server_close()
        self._server.break_connections()

    def stop_listening(self) -> None:
        """Refuses connections from now on; those that are open stay."""
        self._server.shutdown()
        self._server.socket.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, stub: StubHTTP, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.stub = stub
        self.open: set[socket.socket] = set()

    def server_bind(self) -> None:
        """Without asking a name server for the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self.stub.connections += 1
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def break_connections(self) -> None:
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one write
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, *_args: Any) -> None:
        """Says nothing."""

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body, fault = self.server.stub.handle(self.command, self.path, raw, self.headers)
        if fault == "refuse":
            self.server.stub.stop_listening()
            self.close_connection = True
        elif fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        else:
            self._send(status, body, fault)

    def _send(self, status: int, body: Any, fault: str | None) -> None:
        data = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        self.send_response(status)
        self.send_header("Content-Type", self.server.stub.content_type(status, body))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if fault == "drip":
            self._drip(data)
        else:
            self.wfile.write(data[: len(data) // 2] if fault == "half" else data)
        self.close_connection = self.close_connection or fault in {"half", "drip"}

    def _drip(self, data: bytes) -> None:
        for byte in data:
            if self.server.stub.closing.wait(0.05):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
