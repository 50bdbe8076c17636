"""Clients of a server that is measured or attacked: what a push is made of, requests by raw connections, a server of its own."""

import http.client
import json
import os
import pathlib
import resource
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Examples" / "python-client"))
import wire  # noqa: E402


# Seconds for which a client waits for an answer.
PATIENCE = 300


def open_files(count):
    """Has this process open so many files, as far as the system lets it."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(count, most),) * 2)
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def repeated(field, items):
    """As `wire.write_message` for tens of thousands of items, in one step."""
    return b"".join(wire.varint(field << 3 | 2) + wire.varint(len(item)) + item for item in items)


class Frames:
    """A replica's pushes of boxes."""

    def __init__(self, zone):
        self.replica, self.number, self.zone = uuid.uuid4(), 0, zone
        self.generation = uuid.UUID(zone["generation"])
        self.cursor = zone["head"], bytes.fromhex(zone["chain"])
        self.mark = 0, bytes(16)

    def frame(self, properties, column, new=0, known=()):
        """Sets properties of new boxes, or of known ones; `column` gives the values of one."""
        self.number += 1
        count = new or len(known)
        moment = int(time.time() * 1000) << 16
        index = wire.write_message(
            (1, wire.write_message((1, b"Box")) + repeated(2, properties)),
            (2, [wire.write_message((1, 0), (2, new), (3, b"".join(uuid.uuid4().bytes for _ in range(new))), (4, 1))]
             if new else []),
            (3, wire.varints(number - before for before, number in zip((0,) + tuple(known), known))), (4, len(known)),
            (5, wire.write_message((1, 1), (2, wire.deltas([moment])), (4, bytes(1)), (5, bytes(1)),
                                   (6, secrets.token_bytes(8)))),
            (6, [wire.write_message((1, wire.INSERT if new else wire.UPDATE), (2, 0),
                                    (3, wire.varints(range(len(properties)))), (4, count), (7, wire.varints([0, count])))]))
        values = repeated(1, [column(count)] * len(properties))
        return wire.write_frame(self.replica, self.number, self.generation, self.cursor, self.mark, count, new, index, values)

    def insert(self, count=1, text="box"):
        return self.frame([b"title"], lambda rows: wire.write_column(wire.STRINGS, [text] * rows), new=count)

    def update(self, numbers, properties):
        return self.frame(properties, lambda rows: wire.write_column(wire.INTEGERS, [1] * rows), known=tuple(numbers))

    def acknowledged(self, answer):
        """What was pushed is the end of the log as this replica knows it."""
        told = json.loads(answer)
        self.cursor = self.mark = told["sequence"], bytes.fromhex(told["chain"])


class Target:
    """A server's address, and a token of one zone: what a client has."""

    def __init__(self, host, zone, token):
        (self.host, port), self.zone, self.token = host.split(":"), zone, token
        self.port = int(port)

    def connect(self, receive=None, source="127.0.0.1"):
        connection = socket.socket()
        if receive:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        connection.settimeout(PATIENCE)
        connection.bind((source, 0))
        connection.connect((self.host, self.port))
        return connection

    def head(self, method, path, length=None):
        fields = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", f"Authorization: Bearer {self.token}"]
        if length is not None:
            fields += ["Content-Type: application/vnd.driftless.changeset", f"Content-Length: {length}"]
        return ("\r\n".join(fields) + "\r\n\r\n").encode()

    def changes(self, frame):
        return self.head("POST", f"/v1/zones/{self.zone}/changes", len(frame)) + frame

    def poll(self, zone, seconds=50, most=4 << 20):
        return self.head("GET", f"/v1/zones/{self.zone}/changes?generation={zone['generation']}&after={zone['head']}"
                                f"&chain={zone['chain']}&max_bytes={most}&wait_seconds={seconds}")

    def ask(self, request):
        """One request by a connection of its own: its status and its body."""
        with self.connect() as connection:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read()

    def look(self):
        status, body = self.ask(self.head("GET", f"/v1/zones/{self.zone}"))
        if status != 200:
            sys.exit(f"the zone {self.zone} is answered {status}: {body[:200]!r}")
        return json.loads(body)

    def push(self, frames, frame):
        status, body = self.ask(self.changes(frame))
        if status == 200:
            frames.acknowledged(body)
        return status


class Server:
    """A server of its own, with a zone for the attacker and one for who is honest."""

    def __init__(self, options, limits=None, files=None):
        self.options, self.folder = options, pathlib.Path(tempfile.mkdtemp(prefix="driftless-attack."))
        self.program = options.programs / "driftless-server"
        self.place = ["--postgres", options.postgres] if options.postgres else ["--data", str(self.folder / "server")]
        self.names = {role: f"{role}-{secrets.token_hex(4)}" for role in ("attacked", "honest")}
        self.tokens = {}
        for role, name in self.names.items():
            self.admin("zone", "create", name)
            self.tokens[role] = self.admin("token", "create", "--zone", name).strip().splitlines()[-1]
        bounds = self.folder / "limits.json"
        bounds.write_text(json.dumps(limits or {}))
        self.log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(
            [str(self.program), "serve", *self.place, "--listen", "127.0.0.1:0", "--limits", str(bounds),
             "--log-level", "warning"], stdout=subprocess.PIPE, stderr=self.log, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)) if files else None)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.host = urllib.parse.urlsplit(line.split()[-1]).netloc
                return
        sys.exit("the server does not say its address")

    def admin(self, *words):
        done = subprocess.run([str(self.program), *words, *self.place], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def target(self, role):
        return Target(self.host, self.names[role], self.tokens[role])

    def processor(self):
        """Seconds of the processor so far: the clock of that process, by its number."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def peak(self):
        """Megabytes that were resident at most since `forget_peak`."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
        sys.exit("the server ended")

    def memory(self):
        """Megabytes that are resident."""
        return int(open(f"/proc/{self.process.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
