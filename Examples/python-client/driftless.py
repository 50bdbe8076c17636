"""A replica of a Driftless zone: its state in one SQLite file, and what it says to the server.

The state is the zone's values as the log up to the cursor has them, and beside them the edits made here that the
zone has not got. What is shown is the one laid over the other.
"""

import base64
import http.client
import json
import random
import secrets
import sqlite3
import ssl
import time
import urllib.parse
import uuid

import wire
from draft import Draft
from values import SyncError, changed, key_bytes, spelled, stored

PAGE_BYTES = 1 << 20
# One entry comes whole though it is larger than a page.
PAGE_SLACK_BYTES = 64 << 20
JSON_BYTES_MAX = 64 << 10
ATTEMPTS_MAX = 4
STALE_ATTEMPTS_MAX = 16
DELAY_SECONDS_FIRST, DELAY_SECONDS_MAX, WAIT_SECONDS_MAX = 0.25, 10, 60
TIMEOUT_SECONDS = 30
# Beside a reference whose other end is an ordered list: where in that list the object is.
PLACE, PLACE_STEP = "#place", 1 << 40


class Server:
    """One zone of one server. An answer is believed with its check, and asked for again without."""

    def __init__(self, address, zone, token):
        url = urllib.parse.urlsplit(address)
        # The token would go over the network for all to read.
        if url.scheme != "https" and url.hostname not in ("127.0.0.1", "::1", "localhost"):
            raise SyncError("%s is no https address" % address, "Use https, or http on this host's loopback.")
        self.url, self.path = url, url.path.rstrip("/") + "/v1/zones/" + urllib.parse.quote(zone, safe="")
        self.authorization = "Bearer " + token
        # Seconds that the server's clock is ahead of this host's.
        self.offset = 0

    def zone(self):
        return json.loads(self.ask("GET", "")[1])

    def page(self, **parameters):
        """A page of the log: the answer's fields and bytes."""
        query = urllib.parse.urlencode({name: value for name, value in parameters.items() if value is not None})
        return self.ask("GET", "/changes?" + query)

    def value(self, large, generation):
        """The bytes of a large value, a piece at a time; None where the zone does not have them as they were."""
        data = b""
        while len(data) < large.length:
            query = urllib.parse.urlencode({"generation": generation, "first": len(data), "count": wire.PIECE_BYTES})
            try:
                piece = self.ask("GET", "/values/%s?%s" % (large.digest.hex(), query))[1]
            except SyncError as error:
                if error.code == "no-value":
                    return None
                raise
            if not piece:
                return None
            data += piece
        return data if large.is_of(data) else None

    def push(self, frame):
        return json.loads(self.ask("POST", "/changes", frame)[1])

    def ask(self, method, target, body=None):
        problem = None
        for attempt in range(ATTEMPTS_MAX):
            if attempt:
                # Many clients that lost the same server do not come back at the same moment.
                time.sleep(min(DELAY_SECONDS_MAX, DELAY_SECONDS_FIRST * 2 ** attempt) * random.uniform(0.5, 1))
            try:
                status, field, data = self.ask_once(method, self.path + target, body)
            except (OSError, http.client.HTTPException, wire.Damaged) as error:
                problem = SyncError("the server gave no whole answer: %s" % (error or type(error).__name__),
                                    "Look whether %s is reachable, and try again." % self.url.netloc, "unreachable")
                continue
            if status == 200:
                return field, data
            problem = refusal(status, data)
            if status not in (429, 503) and problem.code != "damaged":
                break
            wait = field("Retry-After")
            time.sleep(min(WAIT_SECONDS_MAX, int(wait)) if wait.isdigit() else 0)
        raise problem

    def ask_once(self, method, target, body):
        secure = self.url.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        context = {"context": ssl.create_default_context()} if secure else {}
        connection = make(self.url.hostname, self.url.port, timeout=TIMEOUT_SECONDS, **context)
        fields, digest = {"Authorization": self.authorization}, ""
        if body is not None:
            digest = wire.content_digest(body)
            fields.update({"Content-Type": "application/vnd.driftless.changeset", "Content-Digest": digest})
        sent = time.time()
        try:
            connection.request(method, target, body, fields)
            answer = connection.getresponse()
            most = PAGE_BYTES + PAGE_SLACK_BYTES if "/changes" in target and method == "GET" else JSON_BYTES_MAX
            if "/values/" in target:
                most = wire.PIECE_BYTES + JSON_BYTES_MAX
            data = answer.read(most + 1)
        finally:
            connection.close()
        if len(data) > most:
            raise wire.Damaged("it is longer than any is")

        def field(name):
            return answer.getheader(name) or ""

        if field("Driftless-Check").lower() != wire.answer_check(
                method, target, self.authorization, digest, answer.status, field, data):
            raise wire.Damaged("its check is another (status %d)" % answer.status)
        if field("Driftless-Time"):
            # A clock that was read between the two is as right as this one: a slow answer is no other time.
            read = int(field("Driftless-Time")) / 1000
            self.offset = read - min(max(read, sent), time.time())
        return answer.status, field, data


def refusal(status, data):
    try:
        told = json.loads(data)
        code, message, suggestion = told["code"], told["message"], told["suggestion"]
    except (ValueError, KeyError, TypeError):
        code, message, suggestion = "", "the server refuses with status %d" % status, "Look at the server's log."
    more = {
        "diverged": "The server was put back to an older copy. Keep this state file, and begin another.",
        "clock-ahead": "Set this host's clock.",
        "unauthorized": "Give the token that the server's operator made for this zone.",
    }
    return SyncError(message, more.get(code, suggestion), code)


class Replica:
    """The state file, and what is done with it."""

    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")
        # Two programs on one state would give two change sets one push number.
        self.db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self.db.executescript("""
            BEGIN EXCLUSIVE;
            CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value);
            CREATE TABLE IF NOT EXISTS objects (id TEXT PRIMARY KEY, entity TEXT, number INTEGER UNIQUE, alive INTEGER);
            CREATE TABLE IF NOT EXISTS zone_values (id TEXT, property TEXT, kind INTEGER, value TEXT, time INTEGER,
                replica TEXT, PRIMARY KEY (id, property));
            CREATE TABLE IF NOT EXISTS kinds (entity TEXT, property TEXT, kind INTEGER, PRIMARY KEY (entity, property));
            -- Of a property; of a whole object (inserted, deleted) the property is empty and the kind says which.
            CREATE TABLE IF NOT EXISTS edits (id TEXT, property TEXT, entity TEXT, kind INTEGER, value TEXT,
                time INTEGER, name BLOB, covers TEXT, reads TEXT, push INTEGER, PRIMARY KEY (id, property));
            CREATE TABLE IF NOT EXISTS outbox (push INTEGER PRIMARY KEY, frame BLOB);
            CREATE TABLE IF NOT EXISTS parked (sequence INTEGER, what TEXT, frame BLOB);
            COMMIT""")
        self.notes = []

    def one(self, sql, *values):
        return self.db.execute(sql, values).fetchone()

    def get(self, name, default=None):
        row = self.one("SELECT value FROM about WHERE name = ?", name)
        return row[0] if row else default

    def set(self, **values):
        self.db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())

    def transaction(self, work, *values):
        """Does all of the work or nothing, whenever the process ends."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            result = work(*values)
            self.db.execute("COMMIT")
            return result
        except BaseException:
            self.db.execute("ROLLBACK")
            raise

    # What is shown

    def living(self, identity):
        edit = self.one("SELECT kind FROM edits WHERE id = ? AND property = ''", identity)
        if edit:
            return edit[0] == wire.INSERT
        return bool(self.one("SELECT 1 FROM objects WHERE id = ? AND alive", identity))

    def values(self, identity):
        """By property: (kind, value), a reference as an identity and elements as a list of them, edits on top. What
        refers to a deleted object reads as null, and is kept: an edit may bring the object back."""
        shown = {}
        rows = self.db.execute("SELECT property, kind, value FROM zone_values WHERE id = ?", (identity,)).fetchall()
        rows += self.db.execute("SELECT property, kind, value FROM edits WHERE id = ? AND property <> ''", (identity,))
        for name, kind, value in rows:
            value = json.loads(value)
            if kind == wire.ELEMENTS and isinstance(value, dict):
                value = changed(shown.get(name, (kind, []))[1], value["add"], value["remove"])
            shown[name] = kind, value
        for name, (kind, value) in shown.items():
            if kind == wire.REFERENCES and value and not self.living(value):
                shown[name] = kind, None
            elif kind == wire.ELEMENTS:
                shown[name] = kind, [element for element in value if self.living(element)]
        return shown

    def export(self):
        """Each object as `syncctl export` has it: sorted by entity and identity, without nulls."""
        rows = self.db.execute("SELECT entity, id FROM objects UNION SELECT entity, id FROM edits WHERE property = ''"
                               " AND kind = ? ORDER BY 1, 2", (wire.INSERT,)).fetchall()
        for entity, identity in rows:
            if self.living(identity):
                values = {name: spelled(kind, value) for name, (kind, value) in self.values(identity).items()
                          if value is not None and value != []}
                yield {"entity": entity, "id": identity, "op": "insert", "set": dict(sorted(values.items()))}

    # Edits of one's own

    def edit(self, lines):
        """Edits as dictionaries (`op`, `entity`, `id`, `set`, and `reads`: properties of the object that the new
        values were made from), in one save."""
        return self.transaction(self.save, lines)

    def save(self, lines):
        moment = max(int((time.time() + self.get("offset", 0)) * 1000) << 16, self.get("newest", 0) + 1)
        self.set(newest=moment)
        name = secrets.token_bytes(8)
        for line in lines:
            entity, identity, operation = line["entity"], str(uuid.UUID(line["id"])), line["op"]
            if self.living(identity) == (operation == "insert"):
                raise SyncError("%s %s: there is %s such object" % (operation, identity, "one" if operation == "insert"
                                                                   else "no"), "Look at what export prints.")
            there = self.one("SELECT entity FROM objects WHERE id = ?", identity)
            if there and there[0] != entity:
                raise SyncError("%s is of %s, not of %s" % (identity, there[0], entity), "Correct the edit.")
            if operation == "delete":
                self.db.execute("DELETE FROM edits WHERE id = ?", (identity,))
                # Of what was made here and never sent nothing is left to be told.
                if there:
                    self.put(identity, "", entity, wire.DELETE, None, moment, name)
                continue
            if operation == "insert":
                if there:
                    raise SyncError("%s was deleted, and its identity is taken for good" % identity, "Take another.")
                self.put(identity, "", entity, wire.INSERT, None, moment, name)
            for key, value in line.get("set", {}).items():
                prop, _, said = key.partition(":")
                kind = self.kind(entity, prop, said, value)
                value = stored(kind, value)
                if kind == wire.ELEMENTS:
                    value = self.elements(identity, prop, value)
                self.put(identity, prop, entity, kind, value, moment, name, line.get("reads", []))
                if kind == wire.REFERENCES and self.one("SELECT 1 FROM kinds WHERE entity = ? AND property = ?",
                                                        entity, prop + PLACE):
                    self.put(identity, prop + PLACE, entity, wire.INTEGERS, self.end(prop, value), moment, name)

    def end(self, prop, target):
        """A place behind all others that refer to an object. It is drawn: two replicas may add at one time."""
        if target is None:
            return None
        last = 0
        for table in ("zone_values", "edits"):
            last = max(last, self.one(
                "SELECT max(CAST(place.value AS INTEGER)) FROM %s place JOIN %s reference USING (id)"
                " WHERE place.property = ? AND reference.property = ? AND reference.value = ?" % (table, table),
                prop + PLACE, prop, json.dumps(target))[0] or 0)
        return last + PLACE_STEP + random.randrange(PLACE_STEP // 2)

    def put(self, identity, prop, entity, kind, value, moment, name, reads=()):
        before = self.one("SELECT name, covers, push FROM edits WHERE id = ? AND property = ?", identity, prop)
        # Saves that this one goes over were never sent: their names are told, as part of what is.
        covers = json.loads(before[1]) + [before[0].hex()] if before and before[2] is None else []
        self.db.execute("INSERT OR REPLACE INTO edits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", (
            identity, prop, entity, kind, json.dumps(value), moment, name, json.dumps(covers), json.dumps(list(reads))))

    def kind(self, entity, prop, said, value):
        """What the zone's log, or else the edit itself (`"born:dates"`), says that a property holds."""
        if said:
            if said not in wire.KIND_NAMES[1:]:
                raise SyncError("%s is no kind of values" % said, "Kinds: %s." % ", ".join(wire.KIND_NAMES[1:]))
            return wire.KIND_NAMES.index(said)
        row = self.one("SELECT kind FROM kinds WHERE entity = ? AND property = ?", entity, prop)
        guess = {str: wire.STRINGS, bool: wire.BOOLEANS, int: wire.INTEGERS, float: wire.DOUBLES}.get(type(value))
        if not row and not guess:
            raise SyncError("nobody has said yet what %s.%s holds" % (entity, prop), 'Write it as "%s:KIND".' % prop)
        return row[0] if row else guess

    def elements(self, identity, prop, wanted):
        """A whole set as what it adds to and takes out of the zone's. Where that does not give the wanted order, all of
        it is added: so an ordered one is sent."""
        row = self.one("SELECT value FROM zone_values WHERE id = ? AND property = ?", identity, prop)
        base = json.loads(row[0]) if row else []
        removed = [element for element in base if element not in wanted and self.living(element)]
        added = [element for element in wanted if element not in base]
        shown = [element for element in changed(base, added, removed) if element in wanted]
        return {"add": added if shown == wanted else wanted, "remove": removed}

    # The log

    def pull(self, server):
        """Reads the log to its head, a page and its cursor in one transaction, and settles there."""
        self.meet(server)
        # Of a push in several parts all are applied at once, so what is read may be beyond the cursor.
        place, held = (self.get("cursor"), self.get("chain")), []
        while True:
            field, body = None, None
            for attempt in range(ATTEMPTS_MAX):
                field, body = server.page(
                    generation=self.get("generation"), after=place[0], chain=place[1],
                    mark=self.get("mark"), mark_chain=self.get("mark_chain"), max_bytes=PAGE_BYTES,
                    replica=self.get("replica"))
                try:
                    entries = wire.read_page(body, place[0], bytes.fromhex(place[1]))
                    break
                except wire.Damaged as error:
                    problem = SyncError("the log came damaged: %s" % error, "Have the operator run driftless-server "
                                        "verify; nothing of the page was taken.", "damaged")
            else:
                raise problem
            held += entries
            whole = wire.whole_pushes(held)
            self.transaction(self.apply_page, held[:whole], server.offset, self.large_values(held[:whole], server))
            del held[:whole]
            if entries:
                place = (entries[-1].sequence, entries[-1].chain.hex())
            if place[0] >= int(field("Driftless-Head")):
                break
            if not entries:
                raise SyncError("the server says that its log goes on, and sends nothing", "Try again later.")
        self.transaction(self.settle)

    def meet(self, server):
        """Asks for the zone, and goes on only in the life of the log that this state is of."""
        zone = server.zone()
        generation = str(uuid.UUID(zone["generation"]))
        if self.get("generation") is None:
            self.set(zone_id=str(uuid.UUID(zone["zoneID"])), generation=generation, replica=str(uuid.uuid4()), cursor=0,
                     chain=wire.chain_start(uuid.UUID(generation)).hex(), push=0)
        if str(uuid.UUID(zone["zoneID"])) != self.get("zone_id"):
            raise SyncError("this address has another zone than the one that this state is of",
                            "Find out which is right, and begin another state file for the new one.", "other-zone")
        if generation != self.get("generation"):
            meant = {"replace": "its content was replaced on purpose", "offer": "replicas bring back what they hold"}
            raise SyncError("the zone's log began anew (generation %s): %s" % (generation, meant.get(
                zone["intent"], zone["intent"])), "Keep this state file, and begin another.", "generation-changed")
        return zone

    def large_values(self, entries, server):
        """The bytes of the large values that entries name, by digest, as far as the zone has them."""
        found = {}
        for entry in entries:
            try:
                named = wire.ChangeSet(entry.frame).large_values()
            except (wire.Unknown, wire.Malformed):
                continue  # It is parked.
            for large in named:
                data = None if large.digest in found else server.value(large, self.get("generation"))
                if data is not None:
                    found[large.digest] = data
        return found

    def apply_page(self, entries, offset, found):
        self.set(offset=offset)
        for entry in entries:
            try:
                changes = wire.ChangeSet(entry.frame)
                changes.fill(found)
                self.apply(entry, changes)
            except (wire.Unknown, wire.Malformed) as error:
                self.park(entry, str(error))
            self.set(cursor=entry.sequence, chain=entry.chain.hex())

    def park(self, entry, what):
        """What cannot be read is kept, and the rest goes on."""
        self.db.execute("INSERT INTO parked VALUES (?, ?, ?)", (entry.sequence, what, entry.frame))
        self.notes.append("entry %d is parked: %s" % (entry.sequence, what))

    def apply(self, entry, changes):
        header = changes.header
        for place, (identity, entity) in enumerate(changes.new):
            self.db.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, 1)", (
                str(identity), entity, entry.first_object + place))
        table = [str(identity) for identity, _ in changes.new]
        for number in changes.known:
            number = wire.numbered(number, entry.first_object)
            row = self.one("SELECT id FROM objects WHERE number = ?", number)
            # An object of an entry that is parked: what is said of it is, too.
            table.append(row[0] if row else None)
        for group in changes.groups:
            for row, place in enumerate(group.objects):
                if table[place] is None:
                    self.park(entry, "object %d is not known here" % changes.known[place - len(changes.new)])
                else:
                    self.apply_row(group, row, table[place], table, changes.transactions[group.transactions[row]])
            for name, (kind, values) in zip(group.properties, group.columns):
                if values is None:
                    self.park(entry, "%s.%s has values of kind %d" % (group.entity, name, kind))
                else:
                    self.db.execute("INSERT OR REPLACE INTO kinds VALUES (?, ?, ?)", (group.entity, name, kind))
        for identity, moment in changes.tombstones:
            self.db.execute("DELETE FROM edits WHERE id = ? AND time <= ?", (str(identity), moment))
        newest = max([moment for moment, _ in changes.transactions], default=0)
        self.set(newest=max(newest, self.get("newest", 0)))
        if str(header.replica) == self.get("replica") and header.push_number >= self.get("push"):
            digest = entry.frame[wire.DIGEST_START:wire.DIGEST_END].hex()
            if (header.push_number, digest) != (self.get("push"), self.get("sent")):
                # Another copy of this state, or this one before it was put back, sent something else.
                return self.take_back("forked")
            # The zone has what was sent under this number, whether or not its answer came.
            self.db.execute("DELETE FROM edits WHERE push = ?", (header.push_number,))
            self.db.execute("DELETE FROM outbox")
            self.set(mark=entry.sequence, mark_chain=entry.chain.hex())

    def apply_row(self, group, row, identity, table, transaction):
        """The log's later word stands, whatever its time: conflicts were settled before it was written."""
        moment, replica = transaction
        if group.kind in (wire.DELETE, wire.REVIVE):
            # What is brought back is said as a whole.
            self.db.execute("DELETE FROM zone_values WHERE id = ?", (identity,))
            self.db.execute("UPDATE objects SET alive = ?, entity = ? WHERE id = ?", (
                group.kind == wire.REVIVE, group.entity, identity))
        if not self.one("SELECT alive FROM objects WHERE id = ?", identity)[0]:
            return
        for name, (kind, values) in zip(group.properties, group.columns):
            if values is None:
                continue
            value = values[row]
            if kind == wire.REFERENCES and value is not None:
                value = table[value]
            elif kind == wire.ELEMENTS:
                before = self.one("SELECT value FROM zone_values WHERE id = ? AND property = ?", identity, name)
                added, removed = ([table[place] for place in places if table[place]] for places in value)
                value = changed(json.loads(before[0]) if before else [], added, removed)
            elif kind in (wire.BYTES, wire.UUIDS) and value is not None:
                value = base64.b64encode(value).decode() if kind == wire.BYTES else str(value)
            # An insert names all that there is: a null in it is nobody's edit.
            edited = 0 if group.kind == wire.INSERT and value is None else moment
            self.db.execute("INSERT OR REPLACE INTO zone_values VALUES (?, ?, ?, ?, ?, ?)", (
                identity, name, kind, json.dumps(value), edited, str(replica)))

    def settle(self):
        """What was edited here meets the zone's head: the later edit of a property stands, of two at one time that
        of the greater replica; a delete in the zone stands against edits."""
        waiting = self.db.execute(
            "SELECT id, property, entity, kind, time, reads FROM edits WHERE push IS NULL").fetchall()
        for identity, name, entity, kind, moment, reads in waiting:
            there = self.one("SELECT alive, entity FROM objects WHERE id = ?", identity)
            if there and there != (1, entity):
                self.drop(identity, name, "the zone deleted it" if there[1] == entity else "it is of " + there[1])
                continue
            if there and not name and kind == wire.INSERT:
                # Both made the object under one identity: what was set here are edits of it.
                self.db.execute("DELETE FROM edits WHERE id = ? AND property = ''", (identity,))
            own = moment, uuid.UUID(self.get("replica")).bytes
            if name and kind != wire.ELEMENTS and self.time(identity, name) > own:
                self.drop(identity, name, "the zone has a later value")
            elif any(self.time(identity, read) > own for read in json.loads(reads)):
                self.drop(identity, name, "it was made from a value that changed")
            elif name and self.taken(identity, entity, name):
                self.drop(identity, name, "another object has that key")

    def time(self, identity, name):
        row = self.one("SELECT time, replica FROM zone_values WHERE id = ? AND property = ?", identity, name)
        return (row[0], uuid.UUID(row[1]).bytes) if row else (0, b"")

    def drop(self, identity, name, why):
        self.db.execute("DELETE FROM edits WHERE id = ? AND property = ?", (identity, name))
        self.notes.append("an edit of %s %s is given up: %s" % (identity, name or "as a whole", why))

    # Unique keys

    def keys(self, identity, entity, name=None):
        """The keys that an object holds, as pairs of the constraint's properties and the key's bytes; with a name
        those that the property is part of. A key with a null is none."""
        for constrained, properties in json.loads(self.get("unique", "[]")):
            if constrained == entity and (name is None or name in properties):
                shown = self.values(identity)
                parts = [key_bytes(*shown.get(prop, (0, None))) for prop in properties]
                if None not in parts:
                    yield properties, parts

    def taken(self, identity, entity, name):
        for properties, parts in self.keys(identity, entity, name):
            for other, in self.db.execute("SELECT id FROM objects WHERE entity = ? AND alive AND id <> ?",
                                          (entity, identity)).fetchall():
                if self.living(other) and [properties, parts] in map(list, self.keys(other, entity, name)):
                    return True
        return False

    # Pushing

    def sync(self, server):
        """What was sent before is sent again, then the log is read, then what waits is sent on top of it."""
        self.meet(server)
        if self.one("SELECT 1 FROM outbox"):
            self.send(server)
        for _ in range(STALE_ATTEMPTS_MAX):
            self.pull(server)
            if not self.transaction(self.prepare) or self.send(server):
                return self.pull(server)
        raise SyncError("others were first %d times" % STALE_ATTEMPTS_MAX, "Try again later.", "stale")

    def send(self, server):
        """Sends the kept bytes; whether the zone took them. They are kept until there is an answer."""
        push, frame = self.one("SELECT push, frame FROM outbox")
        try:
            answer = server.push(frame)
        except SyncError as error:
            if error.code not in ("stale", "forked"):
                raise
            self.transaction(self.take_back, error.code)
            return False
        digest = base64.b64encode(frame[wire.DIGEST_START:wire.DIGEST_END]).decode()
        if answer["pushNumber"] != push or answer["digest"] != digest:
            raise SyncError("the server answers another push than it got", "Update the server.")
        self.db.execute("DELETE FROM outbox")
        return True

    def take_back(self, code):
        self.db.execute("DELETE FROM outbox")
        self.db.execute("UPDATE edits SET push = NULL")
        if code == "forked":
            # This state is a copy, and its original has pushed: from now on it is another replica.
            self.set(replica=str(uuid.uuid4()), push=0)
            self.db.execute("DELETE FROM about WHERE name IN ('mark', 'mark_chain')")

    def prepare(self):
        """Makes the change set of all that waits, and puts its bytes into the outbox; whether anything waits."""
        rows = self.db.execute("SELECT id, property, entity, kind, value, time, name, covers, reads FROM edits"
                               " WHERE push IS NULL ORDER BY entity, id, property").fetchall()
        if not rows:
            return False
        push = self.get("push") + 1
        draft = Draft(rows, dict(self.db.execute("SELECT id, number FROM objects")), self.keys,
                      uuid.UUID(self.get("zone_id")))
        frame = draft.frame(
            uuid.UUID(self.get("replica")), push, uuid.UUID(self.get("generation")),
            (self.get("cursor"), bytes.fromhex(self.get("chain"))),
            (self.get("mark", 0), bytes.fromhex(self.get("mark_chain", "00" * 16))))
        self.db.execute("INSERT INTO outbox VALUES (?, ?)", (push, frame))
        self.db.execute("UPDATE edits SET push = ?", (push,))
        self.set(push=push, sent=frame[wire.DIGEST_START:wire.DIGEST_END].hex())
        return True
