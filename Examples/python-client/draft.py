"""Makes a change set of edits."""

import json
import uuid

import wire
from values import on_wire


class Draft:
    """The change set of edits that wait: `rows` as the table `edits` has them, `numbers` of known objects by identity,
    `keys` that gives an object's unique keys (the constraint's properties, the values' bytes)."""

    def __init__(self, rows, numbers, keys, zone_id):
        self.rows, self.keys, self.zone_id = rows, keys, zone_id
        # By identity of a new object: its entity, and when it was made.
        self.new = {identity: (entity, moment) for identity, name, entity, kind, _, moment, *_ in rows
                    if not name and kind == wire.INSERT}
        # By time of a save: the name that it drew.
        self.saves = {moment: drawn for _, _, _, _, _, moment, drawn, *_ in rows}
        self.order = sorted(self.saves)
        self.entities = {}
        self.place_objects(numbers)

    def place_objects(self, numbers):
        """The object table: what is new by entity, then what the zone knows by number."""
        named = set()
        for identity, name, _, kind, value, *_ in self.rows:
            value = json.loads(value)
            named.add(identity)
            if name and kind == wire.REFERENCES and value:
                named.add(value)
            elif name and kind == wire.ELEMENTS:
                named.update(value["add"] + value["remove"])
        self.made = sorted(self.new, key=lambda identity: (self.new[identity][0], identity))
        known = sorted((numbers[identity], identity) for identity in named if identity not in self.new)
        self.known = [number for number, _ in known]
        self.place = {identity: at for at, identity in enumerate(self.made + [identity for _, identity in known])}

    def names(self, entity, *properties):
        """The indexes of an entity and of properties among the names, to which those that are missing are added."""
        names = self.entities.setdefault(entity, [])
        names += [name for name in properties if name not in names]
        return list(self.entities).index(entity), wire.varints(names.index(name) for name in properties)

    def new_objects(self):
        runs = {}
        for identity in self.made:
            runs.setdefault(self.new[identity][0], []).append(uuid.UUID(identity).bytes)
        # The identities are drawn, or come from outside: no store minted them.
        return [wire.write_message((1, self.names(entity)[0]), (2, len(ids)), (3, b"".join(ids)), (4, 1))
                for entity, ids in runs.items()]

    def groups(self):
        """Groups and columns: rows of one kind, with the same properties and of one save, are a group."""
        objects = {}
        for identity, name, entity, kind, value, moment, *_ in self.rows:
            # What was set by the save that made an object stands in its insert, later edits by themselves.
            first = identity in self.new and self.new[identity][1] == moment
            does = wire.INSERT if first else kind if not name else wire.UPDATE
            values = objects.setdefault((does, entity, moment, identity), {})
            if name:
                values[name] = kind, json.loads(value)
        batches = {}
        for (does, entity, moment, identity), values in objects.items():
            # Two edits may have a property's values in two kinds: each is a column of its own.
            shape = tuple(sorted((name, kind) for name, (kind, _) in values.items()))
            batches.setdefault((does, entity, moment, shape), []).append((self.place[identity], values))
        groups, columns = [], []
        for (does, entity, moment, shape), members in sorted(batches.items()):
            members.sort(key=lambda member: member[0])
            index, properties = self.names(entity, *(name for name, _ in shape))
            first, places = wire.write_objects([at for at, _ in members])
            groups.append(wire.write_message(
                (1, does), (2, index), (3, properties), (4, len(members)), (5, first), (6, places),
                (7, wire.varints([self.order.index(moment), len(members)]))))
            for name, kind in shape:
                columns.append(wire.write_column(kind, [
                    on_wire(kind, values[name][1], self.place) for _, values in members]))
        return groups, columns

    def transactions(self):
        count = len(self.order)
        return wire.write_message(
            (1, count), (2, wire.deltas(self.order)), (4, bytes(count)), (5, bytes(count)),
            (6, b"".join(self.saves[moment] for moment in self.order)))

    def covered(self):
        """Saves that later ones went over before they were sent: only their names are told."""
        names = {bytes.fromhex(name) for row in self.rows for name in json.loads(row[7])}
        names = sorted(names - set(self.saves.values()))
        return [wire.write_message((1, len(names)), (2, b"".join(names)),
                                   (3, wire.bits([True] * len(names))))] if names else []

    def reliances(self):
        relied = {}
        for identity, _, entity, *_, reads in self.rows:
            for read in json.loads(reads) if identity not in self.new else ():
                relied.setdefault((entity, read), set()).add(self.place[identity])
        messages = []
        for (entity, name), places in sorted(relied.items()):
            index, properties = self.names(entity, name)
            first, objects = wire.write_objects(sorted(places))
            messages.append(wire.write_message(
                (1, index), (2, properties), (3, len(places)), (4, first), (5, objects)))
        return messages

    def claims(self):
        claims = {}
        for identity, name, entity, *_ in self.rows:
            for properties, parts in self.keys(identity, entity, name) if name else ():
                key = wire.key_hash(self.zone_id, entity, properties, parts)
                claims.setdefault((entity, tuple(properties)), {})[self.place[identity]] = key
        messages = []
        for (entity, names), keys in sorted(claims.items()):
            index, properties = self.names(entity, *names)
            first, objects = wire.write_objects(sorted(keys))
            messages.append(wire.write_message(
                (1, index), (2, properties), (4, len(keys)), (5, first), (6, objects),
                (7, b"".join(keys[place] for place in sorted(keys)))))
        return messages

    def frame(self, replica, push_number, generation, cursor, mark):
        groups, columns = self.groups()
        new_objects, relied, claims = self.new_objects(), self.reliances(), self.claims()
        # The names come last: all others add to them.
        entities = [wire.write_message((1, entity.encode()), (2, [name.encode() for name in names]))
                    for entity, names in self.entities.items()]
        known = wire.varints(number - before for before, number in zip([0] + self.known, self.known))
        index = wire.write_message(
            (1, entities), (2, new_objects), (3, known), (4, len(self.known)), (5, self.transactions()),
            (6, groups), (7, relied), (8, claims), (9, self.covered()))
        return wire.write_frame(
            replica, push_number, generation, cursor, mark, len(self.place), len(self.made), index,
            wire.write_message((1, columns)))
