"""Tests against the real programs: DRIFTLESS_BIN is a folder with driftless-server and syncctl.

    DRIFTLESS_BIN=/usr/local/bin python3 -m unittest test_client
"""

import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
import zlib

import driftless
import values
import wire

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("DRIFTLESS_BIN")
MODEL = """<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
  <entity name="Shelf">
    <attribute name="name" attributeType="String" optional="YES"/>
    <relationship name="items" optional="YES" toMany="YES" ordered="YES" deletionRule="Nullify"
      destinationEntity="Item" inverseName="shelf" inverseEntity="Item"/>
  </entity>
  <entity name="Maker">
    <attribute name="name" attributeType="String" optional="YES"/>
    <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify"
      destinationEntity="Item" inverseName="maker" inverseEntity="Item"/>
  </entity>
  <entity name="Tag">
    <attribute name="name" attributeType="String" optional="YES"/>
    <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify"
      destinationEntity="Item" inverseName="tags" inverseEntity="Item"/>
  </entity>
  <entity name="Item">
    <attribute name="name" attributeType="String" optional="YES"/>
    <attribute name="small" attributeType="Integer 16" optional="YES" usesScalarValueType="YES"/>
    <attribute name="count" attributeType="Integer 64" optional="YES"/>
    <attribute name="stock" attributeType="Integer 64" optional="YES">
      <userInfo><entry key="driftless.conflictPolicy" value="counter"/></userInfo>
    </attribute>
    <attribute name="weight" attributeType="Double" optional="YES"/>
    <attribute name="width" attributeType="Float" optional="YES"/>
    <attribute name="price" attributeType="Decimal" optional="YES"/>
    <attribute name="born" attributeType="Date" optional="YES"/>
    <attribute name="sold" attributeType="Boolean" optional="YES"/>
    <attribute name="serial" attributeType="UUID" optional="YES"/>
    <attribute name="page" attributeType="URI" optional="YES"/>
    <attribute name="image" attributeType="Binary" optional="YES"/>
    <attribute name="code" attributeType="String" optional="YES"/>
    <relationship name="shelf" optional="YES" maxCount="1" deletionRule="Nullify"
      destinationEntity="Shelf" inverseName="items" inverseEntity="Shelf"/>
    <relationship name="maker" optional="YES" maxCount="1" deletionRule="Nullify"
      destinationEntity="Maker" inverseName="items" inverseEntity="Maker"/>
    <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify"
      destinationEntity="Tag" inverseName="items" inverseEntity="Item"/>
    <uniquenessConstraints>
      <uniquenessConstraint><constraint value="code"/></uniquenessConstraint>
    </uniquenessConstraints>
  </entity>
</model>
"""
FULL = {
    "name": "hämmer \n \"x\"", "small": -7, "count": 1 << 62, "stock": 10, "weight": 0.1, "width": 1.5,
    "price": "12.55", "born": "2024-02-29T12:34:56.789012Z", "sold": True,
    "serial": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "page": "https://example.com/a%20b?c=1", "image": "AAEC/w==", "code": "K1"}
KINDS = {"price": "decimals", "born": "dates", "serial": "uuids", "page": "uris", "image": "bytes",
         "maker": "references", "shelf": "references", "tags": "elements"}


def new_id():
    return str(uuid.uuid4())


def run(program, *words, ok=True):
    done = subprocess.run([os.path.join(BIN, program), *words], capture_output=True, text=True)
    if ok and done.returncode:
        raise AssertionError("%s %s: %s" % (program, " ".join(words), done.stderr))
    return done


class Proxy:
    """Hands connections on to the server, one request each, and spoils what a test tells it to."""

    def __init__(self, port):
        self.port, self.spoil, self.listener = port, None, socket.create_server(("127.0.0.1", 0))
        self.address = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(client,), daemon=True).start()

    def relay(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            request, answer = read_message(client), b""
            server.sendall(request)
            answer = read_message(server)
            if self.spoil:
                answer = self.spoil(request, answer)
            client.sendall(answer)


def read_message(connection):
    data = b""
    while True:
        piece = connection.recv(65536)
        data += piece
        head, end, body = data.partition(b"\r\n\r\n")
        if not piece or end and len(body) >= length(head) and (b"chunked" not in head or body.endswith(b"0\r\n\r\n")):
            return data


def length(head):
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


@unittest.skipUnless(BIN, "DRIFTLESS_BIN names no folder with the programs")
class ClientTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.data = os.path.join(cls.folder, "server")
        run("driftless-server", "zone", "create", "first", "--data", cls.data)
        cls.server = subprocess.Popen(
            [os.path.join(BIN, "driftless-server"), "serve", "--data", cls.data, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.port = int(cls.server.stdout.readline().split()[2].rsplit(":", 1)[1].rstrip("/"))
        cls.address = "http://127.0.0.1:%d" % cls.port
        cls.model = os.path.join(cls.folder, "model.xml")
        with open(cls.model, "w") as file:
            file.write(MODEL)

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.zone = self.id().rsplit(".", 1)[1]
        self.path = os.path.join(self.folder, self.zone)
        run("driftless-server", "zone", "create", self.zone, "--data", self.data)
        self.token = run("driftless-server", "token", "create", "--zone", self.zone, "--data", self.data).stdout.strip()
        with open(os.open(self.path + ".token", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(self.token)
        self.made = None
        self.remote = driftless.Server(self.address, self.zone, self.token)
        self.replica = self.new_replica("p")

    def tearDown(self):
        self.replica.db.close()

    # Both sides

    @property
    def store(self):
        """The store of syncctl, for the tests that have one."""
        self.made = self.made or self.new_store("a")
        return self.made

    def new_store(self, name):
        store = "%s-%s.sqlite" % (self.path, name)
        run("syncctl", "init", "--store", store, "--model", self.model)
        run("syncctl", "enroll", "--store", store, "--server", self.address, "--zone", self.zone,
            "--token-file", self.path + ".token")
        return store

    def new_replica(self, name):
        replica = driftless.Replica("%s-%s.state" % (self.path, name))
        replica.set(unique='[["Item", ["code"]]]')
        replica.transaction(replica.meet, self.remote)
        return replica

    def theirs(self, *edits):
        with open(self.path + ".jsonl", "w") as file:
            for edit in edits:
                file.write(json.dumps(edit) + "\n")
        run("syncctl", "import", "--store", self.store, self.path + ".jsonl")

    def sync_theirs(self):
        run("syncctl", "sync", "--store", self.store, "--allow-mass-delete")

    def ours(self, *edits):
        self.replica.edit(list(edits))

    def sync_ours(self):
        self.replica.sync(self.remote)

    def shown_there(self):
        """The export of the store, without ordered lists: the other end's places tell them (`places`)."""
        shown, self.lists = {}, {}
        for line in run("syncctl", "export", "--store", self.store).stdout.splitlines():
            line = json.loads(line)
            self.lists[line["id"]] = line["set"].pop("items", [])
            shown[line["id"]] = line["entity"], line["set"]
        return shown

    def shown_here(self):
        shown, places = {}, {}
        for line in self.replica.export():
            place = line["set"].pop("shelf#place", 0)
            if "shelf" in line["set"]:
                places.setdefault(line["set"]["shelf"], []).append((place, line["id"]))
            shown[line["id"]] = line["entity"], line["set"]
        self.places = {shelf: [item for _, item in sorted(items)] for shelf, items in places.items()}
        return shown

    def assert_same(self):
        there, here = self.shown_there(), self.shown_here()
        self.assertEqual(there, here)
        self.assertEqual({shelf: items for shelf, items in self.lists.items() if items}, self.places)

    def settle(self):
        for _ in range(2):
            self.sync_theirs()
            self.sync_ours()
        self.assert_same()

    # Reading

    def test_reads_what_a_store_has(self):
        item, other, shelf, maker, tag, label = (new_id() for _ in range(6))
        self.theirs(
            {"op": "insert", "entity": "Tag", "id": tag, "set": {"name": "t"}},
            {"op": "insert", "entity": "Tag", "id": label, "set": {}},
            {"op": "insert", "entity": "Maker", "id": maker, "set": {"name": "m"}},
            {"op": "insert", "entity": "Item", "id": item, "set": dict(FULL, maker=maker, tags=[tag, label])},
            {"op": "insert", "entity": "Item", "id": other,
             "set": {"tags": [tag], "sold": False, "born": "1969-01-01T00:00:00Z"}},
            {"op": "insert", "entity": "Shelf", "id": shelf, "set": {"items": [other, item]}})
        self.settle()
        self.assertEqual(self.shown_here()[item][1]["tags"], sorted([tag, label]))
        self.theirs(
            {"op": "update", "entity": "Shelf", "id": shelf, "set": {"items": [item, other]}},
            {"op": "update", "entity": "Item", "id": item,
             "set": {"name": None, "tags": [label], "stock": 7, "weight": -1e300}},
            {"op": "delete", "entity": "Maker", "id": maker})
        self.settle()
        self.assertEqual(self.places, {shelf: [item, other]})
        self.assertNotIn("maker", self.shown_here()[item][1])
        self.theirs({"op": "delete", "entity": "Tag", "id": label}, {"op": "delete", "entity": "Item", "id": other})
        self.settle()

    def test_reads_page_by_page(self):
        for size in range(5):
            self.theirs(*({"op": "insert", "entity": "Item", "id": new_id(), "set": {"name": "n" * size}}
                          for _ in range(20)))
            self.sync_theirs()
        whole, driftless.PAGE_BYTES = driftless.PAGE_BYTES, 1
        try:
            self.replica.pull(self.remote)
        finally:
            driftless.PAGE_BYTES = whole
        self.assertEqual(self.replica.get("cursor"), 5)
        self.assert_same()

    # Writing

    def test_writes_what_a_store_takes(self):
        item, maker, tag, label = (new_id() for _ in range(4))
        typed = {name + (":" + KINDS[name] if name in KINDS else ""): value for name, value in FULL.items()}
        typed.update({"maker:references": maker, "tags:elements": [tag, label]})
        self.ours({"op": "insert", "entity": "Item", "id": item, "set": typed},
                  {"op": "insert", "entity": "Maker", "id": maker, "set": {"name": "m"}},
                  {"op": "insert", "entity": "Tag", "id": tag}, {"op": "insert", "entity": "Tag", "id": label})
        # A later edit of a new object stands by itself in the change set.
        self.ours({"op": "update", "entity": "Item", "id": item, "set": {"name": "later"}})
        self.sync_ours()
        self.settle()
        expected = dict(FULL, name="later", maker=maker, tags=sorted([tag, label]))
        self.assertEqual(self.shown_there()[item], ("Item", expected))
        self.ours({"op": "update", "entity": "Item", "id": item,
                   "set": {"tags": [label], "price": "0.1", "born": None}},
                  {"op": "delete", "entity": "Maker", "id": maker})
        self.sync_ours()
        self.settle()
        self.assertEqual(self.shown_there()[item][1]["tags"], [label])

    def test_both_edit_at_once(self):
        item = new_id()
        self.theirs({"op": "insert", "entity": "Item", "id": item, "set": {"name": "a", "count": 1, "stock": 10}})
        self.settle()
        # The later edit stands on both sides; what only one edited stays; counts add up.
        self.ours({"op": "update", "entity": "Item", "id": item, "set": {"name": "ours", "weight": 2.5, "stock": 12}})
        self.theirs({"op": "update", "entity": "Item", "id": item, "set": {"name": "theirs", "count": 2, "stock": 9}})
        self.sync_ours()
        self.settle()
        self.assertEqual(self.shown_here()[item][1], {"name": "theirs", "weight": 2.5, "count": 2, "stock": 11})
        self.theirs({"op": "update", "entity": "Item", "id": item, "set": {"name": "theirs too"}})
        self.ours({"op": "update", "entity": "Item", "id": item, "set": {"name": "ours too"}})
        self.sync_theirs()
        self.settle()
        self.assertEqual(self.shown_here()[item][1]["name"], "ours too")

    def test_a_delete_stands_against_an_edit(self):
        item, other = new_id(), new_id()
        self.theirs({"op": "insert", "entity": "Item", "id": item}, {"op": "insert", "entity": "Item", "id": other})
        self.settle()
        self.theirs({"op": "delete", "entity": "Item", "id": item},
                    {"op": "update", "entity": "Item", "id": other, "set": {"name": "x"}})
        self.ours({"op": "update", "entity": "Item", "id": item, "set": {"name": "x"}},
                  {"op": "delete", "entity": "Item", "id": other})
        self.sync_theirs()
        self.settle()
        self.assertEqual(self.shown_here(), {})
        self.assertIn("the zone deleted it", " ".join(self.replica.notes))

    def test_both_make_one_object(self):
        item = new_id()
        self.ours({"op": "insert", "entity": "Item", "id": item, "set": {"name": "ours", "weight": 1.5}})
        self.theirs({"op": "insert", "entity": "Item", "id": item, "set": {"name": "theirs", "count": 2}})
        self.sync_theirs()
        self.settle()
        self.assertEqual(self.shown_here(), {item: ("Item", {"name": "theirs", "weight": 1.5, "count": 2})})

    def test_a_stale_push_is_made_anew(self):
        item = new_id()
        self.theirs({"op": "insert", "entity": "Item", "id": item, "set": {"name": "a"}})
        self.settle()
        self.ours({"op": "update", "entity": "Item", "id": item, "set": {"name": "b"}})
        self.replica.transaction(self.replica.prepare)
        first = self.replica.one("SELECT push, frame FROM outbox")
        self.theirs({"op": "update", "entity": "Item", "id": item, "set": {"name": "c", "count": 3}})
        self.ours({"op": "update", "entity": "Item", "id": item, "set": {"name": "d"}})
        self.sync_theirs()
        with self.assertRaises(driftless.SyncError) as caught:
            self.remote.push(first[1])
        self.assertEqual(caught.exception.code, "stale")
        self.settle()
        self.assertEqual(self.shown_there()[item][1], {"name": "d", "count": 3})

    def test_what_was_read_for_an_edit_and_changed_takes_it_back(self):
        item = new_id()
        self.theirs({"op": "insert", "entity": "Item", "id": item, "set": {"count": 2}})
        self.settle()
        self.ours({"op": "update", "entity": "Item", "id": item, "set": {"name": "two"}, "reads": ["count"]})
        self.theirs({"op": "update", "entity": "Item", "id": item, "set": {"count": 3}})
        self.replica.transaction(self.replica.prepare)
        self.sync_theirs()
        self.assertFalse(self.replica.send(self.remote))
        self.settle()
        self.assertEqual(self.shown_there()[item][1], {"count": 3})

    def test_a_key_that_another_has_is_not_taken(self):
        item, other = new_id(), new_id()
        self.assertEqual(values.stored(wire.DECIMALS, "1.50E+3"), "1500")
        self.theirs({"op": "insert", "entity": "Item", "id": item, "set": {"code": "K"}})
        self.ours({"op": "insert", "entity": "Item", "id": other, "set": {"code": "K", "name": "b"}})
        self.replica.transaction(self.replica.prepare)
        self.sync_theirs()
        # The server knows the key by its hash alone, as both sides make it.
        self.assertFalse(self.replica.send(self.remote))
        self.settle()
        self.assertEqual(self.shown_there()[other][1], {"name": "b"})

    def test_the_order_of_a_set_is_sent(self):
        item, one, two, three = (new_id() for _ in range(4))
        self.ours({"op": "insert", "entity": "Item", "id": item, "set": {"tags:elements": [one, two]}},
                  *({"op": "insert", "entity": "Tag", "id": tag} for tag in (one, two, three)))
        self.sync_ours()
        for wanted in ([one, three, two], [two, one], [three, two]):
            self.ours({"op": "update", "entity": "Item", "id": item, "set": {"tags": wanted}})
            self.sync_ours()
            self.assertEqual(self.replica.values(item)["tags"], (wire.ELEMENTS, wanted))
        self.settle()

    # What goes wrong

    def test_killed_before_any_answer(self):
        proxy = Proxy(self.port)
        state = self.path + "-killed.state"
        environment = dict(os.environ, DRIFTLESS_TOKEN=self.token)

        def client(*words):
            return subprocess.Popen([sys.executable, os.path.join(HERE, "client.py"), "--state", state, *words],
                                    env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def done(*words):
            process = client(*words)
            out, error = process.communicate()
            self.assertEqual((process.returncode, error), (0, ""))
            return out

        done("init", "--server", proxy.address, "--zone", self.zone)
        # The client asks for the zone, pulls, pushes, and pulls what it pushed: it is killed before these answers.
        for pushed, asked in enumerate(range(3, 7), 1):
            with open(self.path + ".edits", "w") as file:
                file.write(json.dumps({"op": "insert", "entity": "Item", "id": new_id(), "set": {"name": str(asked)}}))
            done("edit", self.path + ".edits")
            requests = []

            def kill(request, answer):
                requests.append(request.split(b" ")[0])
                if len(requests) == asked:
                    process.kill()
                return answer

            proxy.spoil, process = kill, None
            process = client("push")
            process.communicate()
            self.assertEqual(process.returncode, -9)
            if asked == 4:
                self.assertEqual(requests[-1], b"POST")
            proxy.spoil = None
            done("push")
            self.assertEqual(self.remote.zone()["head"], pushed)
        self.assertEqual(len(done("export").splitlines()), 4)
        self.assertIn("read up to 4 of 4\n0 edits", done("status"))
        self.replica.pull(self.remote)
        self.sync_theirs()
        self.assert_same()
        proxy.listener.close()

    def test_damaged_answers_are_not_believed(self):
        self.theirs({"op": "insert", "entity": "Item", "id": new_id(), "set": {"name": "whole"}})
        self.sync_theirs()
        proxy = Proxy(self.port)
        damaged = []

        def flip(place):
            def spoil(request, answer):
                if b"/changes?" in request.split(b"\r\n")[0] and len(damaged) < 2:
                    at = len(answer) - 10 if place == "body" else answer.lower().index(b"driftless-head: 1") + 16
                    damaged.append(at)
                    answer = answer[:at] + bytes([answer[at] ^ 1]) + answer[at + 1:]
                return answer
            return spoil

        remote = driftless.Server(proxy.address, self.zone, self.token)
        for place in ("body", "head"):
            proxy.spoil = flip(place)
            damaged.clear()
            self.replica.pull(remote)
            self.assertEqual(len(damaged), 2)
            self.assert_same()
        proxy.listener.close()

    def test_busy_is_waited_for(self):
        proxy, asked = Proxy(self.port), []

        def busy(request, answer):
            asked.append(request)
            if len(asked) > 1:
                return answer
            body = b'{"code":"busy","message":"m","suggestion":"s"}'
            target, words = request.split(b" ")[1].decode(), "Bearer " + self.token
            fields = {"Retry-After": "1", "Content-Type": "application/json"}
            check = wire.answer_check("GET", target, words, "", 503, lambda name: fields.get(name, ""), body)
            return ("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Type: application/json\r\nDriftless-Check: %s\r\n"
                    "Content-Length: %d\r\n\r\n" % (check, len(body))).encode() + body

        proxy.spoil = busy
        self.assertEqual(driftless.Server(proxy.address, self.zone, self.token).zone()["head"], 0)
        self.assertEqual(len(asked), 2)
        proxy.listener.close()

    def test_says_what_became_of_the_zone(self):
        self.replica.edit([{"op": "insert", "entity": "Tag", "id": new_id()}])
        self.sync_ours()
        self.replica.set(chain="00" * 16)
        with self.assertRaises(driftless.SyncError) as caught:
            self.replica.pull(self.remote)
        self.assertEqual(caught.exception.code, "diverged")
        run("driftless-server", "zone", "renew", self.zone, "--replace", "--yes", "--data", self.data)
        with self.assertRaises(driftless.SyncError) as caught:
            self.replica.pull(self.remote)
        self.assertEqual(caught.exception.code, "generation-changed")
        self.assertIn("replaced on purpose", str(caught.exception))

    def test_a_copy_becomes_another_replica(self):
        self.ours({"op": "insert", "entity": "Tag", "id": new_id()})
        self.sync_ours()
        for is_made in (False, True):
            copy = driftless.Replica("%s-copy-%s.state" % (self.path, is_made))
            self.replica.db.backup(copy.db)
            copy.edit([{"op": "insert", "entity": "Tag", "id": new_id()}])
            if is_made:
                # A push of the original's number, with other bytes: the server says forked.
                copy.transaction(copy.prepare)
            self.ours({"op": "insert", "entity": "Tag", "id": new_id()})
            self.sync_ours()
            copy.sync(self.remote)
            self.sync_ours()
            self.assertNotEqual(copy.get("replica"), self.replica.get("replica"))
            self.assertEqual(list(copy.export()), list(self.replica.export()))
            copy.db.close()
        self.assertEqual(len(list(self.replica.export())), 5)

    # Many edits

    def test_random_edits_converge(self):
        dice = random.Random(7)
        items, tags, makers, shelves = ([new_id() for _ in range(count)] for count in (12, 4, 3, 2))
        self.theirs(*({"op": "insert", "entity": entity, "id": identity, "set": {"name": "n"}} for entity, group in
                      (("Item", items), ("Tag", tags), ("Maker", makers), ("Shelf", shelves)) for identity in group))
        self.theirs({"op": "update", "entity": "Shelf", "id": shelves[0], "set": {"items": items[:3]}})
        self.settle()
        made = 0
        while made < 200:
            for side in (self.theirs, self.ours):
                here = self.shown_here() if side == self.ours else self.shown_there()
                alive = {entity: [identity for identity, (kind, _) in here.items() if kind == entity]
                         for entity in ("Item", "Tag", "Maker")}
                edits, touched = [], set()
                for _ in range(dice.randint(5, 20)):
                    does = dice.choices(["update", "insert", "delete"], [12, 2, 1])[0]
                    if does == "insert":
                        edits.append({"op": "insert", "entity": "Item", "id": new_id(), "set": {"count": made}})
                    elif alive["Item"]:
                        item = dice.choice(alive["Item"])
                        if item in touched:
                            continue
                        touched.add(item)
                        edit = {"op": does, "entity": "Item", "id": item}
                        if does == "update":
                            choices = {"name": str(made), "count": made, "weight": made / 7, "stock": made,
                                       "sold": bool(made & 1), "price": "%d.5" % made,
                                       "maker": dice.choice(alive["Maker"] + [None]),
                                       "shelf": dice.choice(shelves + [None]),
                                       "tags": dice.sample(alive["Tag"], dice.randint(0, len(alive["Tag"])))}
                            chosen = dice.sample(sorted(choices), 3)
                            edit["set"] = {name + (":" + KINDS[name] if side == self.ours and name in KINDS else ""):
                                           choices[name] for name in chosen}
                        edits.append(edit)
                    made += 1
                if side == self.theirs and alive["Item"]:
                    some = dice.sample(alive["Item"], dice.randint(0, min(5, len(alive["Item"]))))
                    edits.append({"op": "update", "entity": "Shelf", "id": dice.choice(shelves),
                                  "set": {"items": [item for item in some if item not in touched]}})
                side(*edits)
            if dice.random() < 0.5:
                self.sync_ours()
            if dice.random() < 0.5:
                self.sync_theirs()
        self.settle()
        # Who reads the log from its beginning has the same.
        late = self.new_replica("late")
        late.pull(self.remote)
        self.assertEqual(list(late.export()), list(self.replica.export()))
        late.db.close()


    def test_the_readme_works(self):
        with open(os.path.join(HERE, "README.md")) as file:
            script = file.read().split("```sh\n")[1].split("```")[0]
        with socket.create_server(("127.0.0.1", 0)) as free:
            script = script.replace("8080", str(free.getsockname()[1]))
        folder = tempfile.mkdtemp(dir=self.folder)
        for name in ("client.py", "driftless.py", "draft.py", "values.py", "wire.py"):
            shutil.copy(os.path.join(HERE, name), folder)
        path = os.pathsep.join([BIN, os.path.dirname(sys.executable), os.environ["PATH"]])
        done = subprocess.run(["bash", "-ec", "trap 'kill %1' EXIT\n" + script], cwd=folder, capture_output=True,
                              text=True, env=dict(os.environ, PATH=path))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(*done.stdout.splitlines()[-2:])
        self.assertIn('"price":"9.9"', done.stdout)


class FormatTests(unittest.TestCase):
    def frame(self, flags=0, optional=0, kind=wire.STRINGS, index=b"", size=192):
        column = wire.write_column(wire.STRINGS, ["x"])
        column = wire.varint(8) + wire.varint(kind) + column[2:]
        index += wire.write_message(
            (1, [wire.write_message((1, b"Tag"), (2, [b"name"]))]),
            (2, [wire.write_message((2, 1), (3, uuid.UUID(int=1).bytes))]),
            (5, [wire.write_message((1, 1), (2, wire.deltas([5 << 16])), (4, b"\0"), (5, b"\0"))]),
            (6, [wire.write_message((3, b"\0"), (4, 1))]))
        start = 0, bytes(16)
        frame = bytearray(wire.write_frame(uuid.UUID(int=2), 1, uuid.UUID(int=3), start, start, 1, 1, index,
                                           wire.write_message((1, [column]))))
        struct.pack_into("<HII", frame, 6, size, struct.unpack_from("<I", frame, 8)[0] | flags, optional)
        frame[192:192] = bytes(size - 192)
        frame[176:192] = wire.frame_digest(bytes(frame))
        return bytes(frame)

    def read(self, frame):
        replica = driftless.Replica(":memory:")
        replica.set(replica=str(uuid.UUID(int=9)), push=0, cursor=0)
        entry = wire.Entry(1, 1, bytes(16), frame)
        replica.transaction(replica.apply_page, [entry], 0, {})
        return replica

    def test_what_is_optional_is_skipped(self):
        later = wire.write_message((99, b"later"), (98, 7))
        replica = self.read(self.frame(optional=0x80, index=later, size=200))
        self.assertEqual([line["set"] for line in replica.export()], [{"name": "x"}])
        self.assertEqual(replica.notes, [])

    def test_what_is_required_and_not_known_is_parked_by_name(self):
        replica = self.read(self.frame(flags=1 << 5))
        self.assertEqual(replica.notes, ["entry 1 is parked: required flag bit 5"])
        self.assertEqual(replica.get("cursor"), 1)
        replica = self.read(self.frame(kind=17))
        self.assertEqual(replica.notes, ["entry 1 is parked: Tag.name has values of kind 17"])
        self.assertEqual([line["set"] for line in replica.export()], [{}])

    def test_inflation_is_bounded(self):
        bomb = zlib.compress(bytes(64 << 20))
        for raw in (1000, 64 << 20):
            with self.assertRaises(wire.Malformed):
                wire.inflate(bomb, raw, False)

    def test_columns_come_back(self):
        columns = [
            (wire.INTEGERS, [1, None, -(1 << 63), (1 << 63) - 1]), (wire.DOUBLES, [0.1, None, -1e308]),
            (wire.DATES, [0.0, -12.5]), (wire.BOOLEANS, [True, False, None] * 5), (wire.STRINGS, ["", "ä", None]),
            (wire.BYTES, [b"\0", None]), (wire.DECIMALS, ["1.50"]), (wire.URIS, ["a:b"]),
            (wire.UUIDS, [uuid.UUID(int=5), None]),
            (wire.REFERENCES, [3, None, 0]), (wire.ELEMENTS, [([1, 2], [3]), ([], [0])])]
        for kind, values in columns:
            written = wire.Message(wire.write_column(kind, values))
            self.assertEqual(wire.read_column(written, len(values), 4), (kind, values))
        ticks = wire.Message(wire.write_message((1, wire.DATES), (2, 2), (4, wire.deltas([978307200_500000]))))
        self.assertEqual(wire.read_column(ticks, 1, 0), (wire.DATES, [0.5]))

    def test_no_bytes_end_in_another_error(self):
        frame, dice = self.frame(flags=0), random.Random(3)
        for _ in range(3000):
            damaged = bytearray(frame)
            for _ in range(dice.randint(1, 4)):
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
            try:
                wire.ChangeSet(bytes(damaged))
            except (wire.Malformed, wire.Unknown):
                pass


if __name__ == "__main__":
    unittest.main()
