"""The bytes of the protocol: pages of the log, change sets, protobuf sections, columns, chains and checks.

All numbers and layouts are those of the page "The protocol"; nothing here knows a file or a network.
"""

import base64
import hashlib
import hmac
import struct
import uuid
import zlib

FORMAT_VERSION = 2
FORMAT_LEVEL = 1
HEADER_BYTES = 192
DIGEST_START, DIGEST_END = 176, 192
ENTRY_BYTES = 48
ENTRY_CHECKED_BYTES = 44
INDEX_IS_PLAIN, VALUES_ARE_PLAIN, IS_PART, NAMES_LARGE_VALUES = 1, 2, 4, 8
KNOWN_FLAGS = INDEX_IS_PLAIN | VALUES_ARE_PLAIN | IS_PART | NAMES_LARGE_VALUES

# Bounds of the page "Limits": nothing is inflated or counted beyond them.
FRAME_BYTES_MAX = 64 << 20
INDEX_BYTES_MAX = 32 << 20
VALUES_BYTES_MAX = 256 << 20
INFLATION_RATIO_MAX = 250
INFLATION_FREE_BYTES = 1 << 20
OBJECTS_MAX = 1_000_000
CELLS_MAX = 16_000_000
LARGE_VALUE_NAME_BYTES = 40
PIECE_BYTES = 1 << 20
TRANSACTIONS_MAX = 200_000
NUMBER_MAX = (1 << 63) - 1

INSERT, UPDATE, DELETE, REVIVE = range(4)
INTEGERS, DOUBLES, DATES, BOOLEANS, STRINGS, BYTES, DECIMALS, URIS, UUIDS, REFERENCES, ELEMENTS = range(1, 12)
KIND_NAMES = ["", "integers", "doubles", "dates", "booleans", "strings", "bytes", "decimals", "uris", "uuids",
              "references", "elements"]
SECONDS_1970_TO_2001 = 978307200


class Damaged(Exception):
    """Bytes are not what was sent: ask again."""


class Malformed(Exception):
    """Bytes are whole, and against the format."""


class Unknown(Exception):
    """Bytes of a later version: what they say is parked."""


# Digests

def first16(data):
    return hashlib.sha256(data).digest()[:16]


def chain_start(generation):
    return first16(b"driftless log" + generation.bytes)


def whole_pushes(entries):
    """How many of some entries are there with all parts of their pushes."""
    for count in range(len(entries), 0, -1):
        part, parts = struct.unpack_from("<HH", entries[count - 1].frame, 130)
        if part >= parts:
            return count
    return 0


def numbered(number, first_object):
    """The zone's number of an object of the table: what an earlier part of the push makes is named by its distance."""
    return first_object - ((1 << 41) - number) if 1 << 40 <= number < 1 << 41 else number


def chain_next(chain, digest, sequence, first_object):
    return first16(chain + digest + struct.pack("<QQ", sequence, first_object))


def frame_digest(frame):
    return first16(frame[:DIGEST_START] + frame[DIGEST_END:])


def content_digest(body):
    return "sha-256=:%s:" % base64.b64encode(hashlib.sha256(body).digest()).decode()


def answer_check(method, target, authorization, digest, status, field, body):
    """What `Driftless-Check` of an answer must be. `field` gives a header field, or "" where there is none."""
    media_type = field("Content-Type").split(";")[0].strip().lower()
    is_log = media_type == "application/vnd.driftless.log"
    parts = ["driftless answer", method, target[target.rindex("/v1/zones"):], authorization, digest, str(status),
             media_type, field("Retry-After"), field("Driftless-Generation"), field("Driftless-Head"),
             field("Driftless-Time"), str(len(body)) if is_log else body]
    text = b""
    for part in parts:
        part = part if isinstance(part, bytes) else part.encode()
        text += struct.pack("<Q", len(part)) + part
    return first16(text).hex()


def key_hash(zone_id, entity, properties, values):
    """16 bytes that stand for a unique key; `values` are the bytes of each property (`key_bytes`)."""
    message = struct.pack("<Q", len(properties))
    for part in [entity.encode()] + [name.encode() for name in properties] + values:
        message += struct.pack("<Q", len(part)) + part
    return hmac.new(zone_id.bytes, message, hashlib.sha256).digest()[:16]


# Numbers

def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def varints(numbers):
    return b"".join(varint(number) for number in numbers)


def zigzags(numbers):
    return varints((number << 1 ^ number >> 63) & 0xFFFFFFFFFFFFFFFF for number in numbers)


def deltas(numbers):
    return zigzags(wrap(number - before) for before, number in zip([0] + numbers, numbers))


def wrap(number):
    """A number as the 64 bits with a sign that it takes."""
    return (number + (1 << 63) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def read_varint(data, at):
    number = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            if number >> 64:
                break
            return number, at
        shift += 7
    raise Malformed("a number does not end")


def read_varints(data, count=None):
    numbers, at = [], 0
    while at < len(data):
        number, at = read_varint(data, at)
        numbers.append(number)
    if count is not None and len(numbers) != count:
        raise Malformed("there are %d numbers where %d are said" % (len(numbers), count))
    return numbers


def read_zigzags(data, count=None):
    return [number >> 1 ^ -(number & 1) for number in read_varints(data, count)]


def sums(steps):
    total, out = 0, []
    for step in steps:
        total = wrap(total + step)
        out.append(total)
    return out


def read_deltas(data, count=None):
    return sums(read_zigzags(data, count))


def bits(flags):
    out = bytearray((len(flags) + 7) // 8)
    for row, flag in enumerate(flags):
        if flag:
            out[row >> 3] |= 1 << (row & 7)
    return bytes(out)


def bit(data, row):
    return row >> 3 < len(data) and bool(data[row >> 3] >> (row & 7) & 1)


def read_uuids(data, count):
    if len(data) != 16 * count:
        raise Malformed("identities and their number differ")
    return [uuid.UUID(bytes=bytes(data[at:at + 16])) for at in range(0, len(data), 16)]


# Protobuf

class Message:
    """A protobuf message: its fields by number. Fields that nobody asks for are so skipped."""

    def __init__(self, data):
        self.fields, at = {}, 0
        while at < len(data):
            key, at = read_varint(data, at)
            number, wire_type = key >> 3, key & 7
            if wire_type == 0:
                value, at = read_varint(data, at)
            elif wire_type in (1, 2, 5):
                size, at = read_varint(data, at) if wire_type == 2 else ({1: 8, 5: 4}[wire_type], at)
                if size > len(data) - at:
                    raise Malformed("a field does not end")
                value, at = data[at:at + size], at + size
            else:
                raise Malformed("a field is of wire type %d" % wire_type)
            self.fields.setdefault(number, []).append(value)

    # A value of another wire type than the field's own is a field that nobody knows.

    def number(self, field):
        return ([value for value in self.fields.get(field, []) if isinstance(value, int)] or [0])[-1]

    def data(self, field):
        return (self.all(field) or [b""])[-1]

    def all(self, field):
        return [value for value in self.fields.get(field, []) if not isinstance(value, int)]

    def texts(self, field):
        return [text(value) for value in self.all(field)]


def text(data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8")


def write_message(*fields):
    """A message of pairs (field number, value): a number, bytes, or a list of bytes. Zero and empty are left out."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            if value:
                out += varint(number << 3) + varint(value)
            continue
        for item in value if isinstance(value, list) else [value] if value else []:
            out += varint(number << 3 | 2) + varint(len(item)) + item
    return out


# Pages of the log

class Entry:
    def __init__(self, sequence, first_object, chain, frame):
        self.sequence, self.first_object, self.chain, self.frame = sequence, first_object, chain, frame


def read_page(body, sequence, chain):
    """The entries of a page that follow a place of the log. Each is checked: CRC, digest, number and chain."""
    entries, at = [], 0
    while at < len(body):
        head = body[at:at + ENTRY_BYTES]
        if len(head) < ENTRY_BYTES or head[:4] != b"DLLE":
            raise Damaged("a page does not consist of entries")
        version, flags, number, first_object = struct.unpack_from("<HHQQ", head, 4)
        size, crc = struct.unpack_from("<II", head, 40)
        frame = body[at + ENTRY_BYTES:at + ENTRY_BYTES + size]
        at += ENTRY_BYTES + size
        if len(frame) < size or size < HEADER_BYTES:
            raise Damaged("an entry does not end")
        if zlib.crc32(head[:ENTRY_CHECKED_BYTES] + frame[:HEADER_BYTES]) != crc:
            raise Damaged("the CRC of entry %d is another" % number)
        if version != FORMAT_VERSION:
            raise Malformed("entry %d has version %d, this client knows %d" % (number, version, FORMAT_VERSION))
        if first_object > NUMBER_MAX:
            raise Malformed("entry %d has no numbers for its objects" % number)
        if flags & 1:
            raise Malformed("entry %d comes without its body, which was not asked for" % number)
        digest = frame[DIGEST_START:DIGEST_END]
        if frame_digest(frame) != digest:
            raise Damaged("the digest of entry %d is another" % number)
        sequence, chain = sequence + 1, chain_next(chain, digest, number, first_object)
        if number != sequence or head[24:40] != chain:
            raise Damaged("entry %d does not follow entry %d" % (number, sequence - 1))
        entries.append(Entry(number, first_object, chain, frame))
    return entries


# Change sets

class Header:
    """The first 192 bytes of a frame, as far as a reader needs them."""

    def __init__(self, frame):
        if frame[:4] != b"DLCS":
            raise Malformed("a change set does not begin as one")
        version, self.size, flags = struct.unpack_from("<HHI", frame, 4)
        self.replica = uuid.UUID(bytes=bytes(frame[16:32]))
        self.push_number, = struct.unpack_from("<Q", frame, 32)
        self.index_stored, self.index_raw, self.values_stored, self.values_raw = struct.unpack_from("<IIII", frame, 104)
        self.object_count, self.new_count, self.level, self.part, self.parts = struct.unpack_from("<IIHHH", frame, 120)
        self.flags = flags
        if version != FORMAT_VERSION:
            raise Unknown("format version %d" % version)
        if self.level > FORMAT_LEVEL:
            raise Unknown("format level %d" % self.level)
        if flags & ~KNOWN_FLAGS:
            raise Unknown("required flag bit %s" % ", ".join(
                str(place) for place in range(32) if (flags & ~KNOWN_FLAGS) >> place & 1))
        if self.size < HEADER_BYTES or self.size + self.index_stored + self.values_stored > len(frame):
            raise Malformed("the lengths of a change set contradict each other")
        if self.index_raw > INDEX_BYTES_MAX or self.values_raw > VALUES_BYTES_MAX or self.object_count > OBJECTS_MAX:
            raise Malformed("a change set is larger than any may be")


def inflate(data, raw, is_plain):
    """A section. Not one byte more is inflated than the header says, and that is bounded first."""
    if is_plain:
        if len(data) != raw:
            raise Malformed("a plain section has two lengths")
        return data
    if raw > INFLATION_FREE_BYTES and raw // INFLATION_RATIO_MAX > len(data):
        raise Malformed("a section inflates by more than %d times" % INFLATION_RATIO_MAX)
    inflater = zlib.decompressobj()
    try:
        out = inflater.decompress(data, raw + 1)
    except zlib.error as error:
        raise Malformed("a section does not inflate: %s" % error)
    if len(out) != raw or not inflater.eof or inflater.unused_data:
        raise Malformed("a section inflates to another length than the header says")
    return out


class Group:
    """The same kind of change to the same properties of `objects`, which are places in the object table."""

    def __init__(self, kind, entity, properties, objects, transactions, columns):
        self.kind, self.entity, self.properties = kind, entity, properties
        self.objects, self.transactions, self.columns = objects, transactions, columns


class LargeValue:
    """What stands in a column in place of a value whose bytes go by themselves."""

    def __init__(self, data):
        self.digest, (self.length,) = bytes(data[:32]), struct.unpack("<Q", data[32:])
        if self.length <= LARGE_VALUE_NAME_BYTES:
            raise Malformed("a large value is shorter than its name")

    def is_of(self, data):
        return len(data) == self.length and hashlib.sha256(data).digest() == self.digest


class ChangeSet:
    """A frame, decoded: `new` (identity, entity name), `known` (zone object numbers), `transactions` (time,
    replica), `groups`, `tombstones` (identity, time)."""

    def __init__(self, frame):
        self.header = header = Header(frame)
        middle = header.size + header.index_stored
        index = Message(inflate(frame[header.size:middle], header.index_raw, header.flags & INDEX_IS_PLAIN))
        values = Message(inflate(frame[middle:middle + header.values_stored], header.values_raw,
                                 header.flags & VALUES_ARE_PLAIN))
        self.entities = []
        for data in index.all(1):
            entity = Message(data)
            self.entities.append((text(entity.data(1)), entity.texts(2)))
        self.new = [pair for data in index.all(2) for pair in self.read_new(Message(data))]
        self.known = sums(read_varints(index.data(3), index.number(4)))
        if len(self.new) != header.new_count or len(self.new) + len(self.known) != header.object_count:
            raise Malformed("the object table is not as long as the header says")
        self.transactions = self.read_transactions(Message(index.data(5)))
        columns = iter(values.all(1))
        self.cells = 0
        self.groups = [self.read_group(Message(data), columns) for data in index.all(6)]
        if next(columns, None) is not None:
            raise Malformed("there are columns of no group")
        self.tombstones = self.read_tombstones(Message(index.data(10)))

    def large_values(self):
        return [value for group in self.groups for _, values in group.columns for value in values or ()
                if isinstance(value, LargeValue)]

    def fill(self, found):
        """Puts the bytes of large values in, by digest; without one of them the change set waits."""
        for group in self.groups:
            for _, values in group.columns:
                for row, value in enumerate(values or ()):
                    if isinstance(value, LargeValue):
                        if value.digest not in found:
                            raise Unknown("the zone does not have the large value %s" % value.digest.hex())
                        values[row] = found[value.digest]

    def entity(self, place):
        if place >= len(self.entities):
            raise Malformed("an entity is not named")
        return self.entities[place]

    def read_new(self, run):
        name, count, data = self.entity(run.number(1))[0], run.number(2), run.data(3)
        if count > OBJECTS_MAX:
            raise Malformed("there are more new objects than a change set may have")
        if len(data) != 16:
            return [(identity, name) for identity in read_uuids(data, count)]
        high, low = data[:8], int.from_bytes(data[8:], "big")
        if low + count > 1 << 64:
            raise Malformed("a range of identities ends beyond its end")
        return [(uuid.UUID(bytes=bytes(high + (low + place).to_bytes(8, "big"))), name) for place in range(count)]

    def read_transactions(self, wire):
        count = wire.number(1)
        if count > TRANSACTIONS_MAX:
            raise Malformed("there are more transactions than a change set may have")
        times = read_deltas(wire.data(2), count)
        origins = read_varints(wire.data(7), count) if wire.data(7) else [0] * count
        replicas = read_uuids(wire.data(8), len(wire.data(8)) // 16)
        if any(time < 0 for time in times) or any(origin > len(replicas) for origin in origins):
            raise Malformed("a transaction has no time, or no origin")
        return [(time, replicas[origin - 1] if origin else self.header.replica)
                for time, origin in zip(times, origins)]

    def read_group(self, wire, columns):
        kind, count = wire.number(1), wire.number(4)
        if kind > REVIVE:
            raise Unknown("a group of kind %d" % kind)
        name, names = self.entity(wire.number(2))
        places = read_varints(wire.data(3))
        self.cells += count * max(1, len(places))
        if count > self.header.object_count or self.cells > CELLS_MAX:
            raise Malformed("there are more values than a change set may have")
        if wire.data(6):
            objects = sums(read_varints(wire.data(6), count))
        else:
            objects = list(range(wire.number(5), wire.number(5) + count))
        transactions = []
        runs = read_varints(wire.data(7)) or [0, count]
        for transaction, rows in zip(runs[::2], runs[1::2]):
            transactions += [transaction] * min(rows, count + 1)
        if len(transactions) != count or any(place >= len(self.transactions) for place in transactions) \
                or any(place >= self.header.object_count for place in objects) or any(p >= len(names) for p in places):
            raise Malformed("a group names what is not there")
        group = Group(kind, name, [names[place] for place in places], objects, transactions, [])
        for _ in places:
            data = next(columns, None)
            if data is None:
                raise Malformed("a column is missing")
            group.columns.append(read_column(Message(data), count, self.header.object_count))
        return group

    def read_tombstones(self, wire):
        count = wire.number(1)
        if count > OBJECTS_MAX:
            raise Malformed("there are more tombstones than a change set may have")
        return list(zip(read_uuids(wire.data(2), count), read_deltas(wire.data(4), count)))


# Columns

def read_column(wire, rows, object_count):
    """(kind, values): None for a null row, a place in the object table for a reference, (added, removed) for
    elements. Of a kind that is not known the values are None as a whole."""
    kind, packing, nulls = wire.number(1), wire.number(2), wire.data(3)
    numbers, content, large = wire.data(4), wire.data(5), wire.data(6)
    if large and kind != BYTES:
        raise Unknown("large values of kind %d" % kind)

    def unpack(packings):
        if packing > packings:
            raise Unknown("packing %d of %s" % (packing, KIND_NAMES[kind]))
        return read_deltas(numbers, rows) if packing else read_zigzags(numbers, rows)

    def doubles():
        if len(numbers) != 8 * rows:
            raise Malformed("a column has another number of rows than its group")
        return list(struct.unpack("<%dd" % rows, numbers))

    def slices():
        at, out = 0, []
        for size in read_varints(numbers, rows):
            out.append(bytes(content[at:at + size]))
            at += size
        if at != len(content):
            raise Malformed("the rows of a column are not as long as said")
        return out

    if kind == INTEGERS:
        values = unpack(1)
    elif kind == DOUBLES or kind == DATES and packing == 0:
        values = doubles()
    elif kind == DATES:
        scale = {1: lambda n: n / 1e6, 2: lambda n: n / 1e6 - SECONDS_1970_TO_2001, 3: lambda n: n / 2 ** 23}
        values = [scale[packing](n) for n in unpack(3)]
    elif kind == BOOLEANS:
        values = [bit(numbers, row) for row in range(rows)]
    elif kind == BYTES:
        values = slices()
        for row in range(rows):
            if bit(large, row):
                if len(values[row]) != LARGE_VALUE_NAME_BYTES:
                    raise Malformed("a large value has no name")
                values[row] = LargeValue(values[row])
    elif kind in (STRINGS, DECIMALS, URIS):
        values = [text(row) for row in slices()]
    elif kind == UUIDS:
        values = read_uuids(content, rows)
    elif kind == REFERENCES:
        values = [number - 1 if number else None for number in unpack(1)]
        if any(not bit(nulls, row) and value is not None and not 0 <= value < object_count
               for row, value in enumerate(values)):
            raise Malformed("a reference is to nothing in the object table")
    elif kind == ELEMENTS:
        counts, places, at, values = read_varints(numbers, 2 * rows), read_deltas(content), 0, []
        if any(not 0 <= place < object_count for place in places) or sum(counts) != len(places):
            raise Malformed("an element is not in the object table")
        for added, removed in zip(counts[::2], counts[1::2]):
            values.append((places[at:at + added], places[at + added:at + added + removed]))
            at += added + removed
    else:
        return kind, None
    return kind, [None if bit(nulls, row) else value for row, value in enumerate(values)]


def write_column(kind, values):
    """The reverse, in the plainest packing of each kind."""
    nulls = bits([value is None for value in values]).rstrip(b"\0")
    numbers = content = b""
    if kind == INTEGERS:
        numbers = zigzags(value or 0 for value in values)
    elif kind in (DOUBLES, DATES):
        numbers = struct.pack("<%dd" % len(values), *(value or 0.0 for value in values))
    elif kind == BOOLEANS:
        numbers = bits(values)
    elif kind in (STRINGS, BYTES, DECIMALS, URIS):
        rows = [b"" if value is None else value if kind == BYTES else value.encode() for value in values]
        numbers, content = varints(map(len, rows)), b"".join(rows)
    elif kind == UUIDS:
        content = b"".join(value.bytes if value else bytes(16) for value in values)
    elif kind == REFERENCES:
        numbers, nulls = zigzags(0 if value is None else value + 1 for value in values), b""
    elif kind == ELEMENTS:
        numbers = varints(len(places) for row in values for places in row)
        content = deltas([place for row in values for places in row for place in places])
    return write_message((1, kind), (2, 0), (3, nulls), (4, numbers), (5, content))


def write_objects(places):
    """The fields `first` and `objects` of groups, reliances and claims."""
    if places == list(range(places[0], places[0] + len(places))):
        return places[0], b""
    return 0, varints([places[0]] + [b - a for a, b in zip(places, places[1:])])


def write_frame(replica, push_number, generation, cursor, mark, object_count, new_count, index, values):
    """A whole frame; `cursor` and `mark` are pairs of sequence number and chain."""
    flags, sections = 0, []
    for section, plain in ((index, INDEX_IS_PLAIN), (values, VALUES_ARE_PLAIN)):
        stored = zlib.compress(section)
        # A section stands compressed only where that is shorter, and within the ratio that readers take.
        if len(stored) >= len(section) or len(section) // INFLATION_RATIO_MAX > len(stored):
            stored, flags = section, flags | plain
        sections.append((stored, len(section)))
    head = b"DLCS" + struct.pack("<HHII", FORMAT_VERSION, HEADER_BYTES, flags, 0)
    head += replica.bytes + struct.pack("<Q", push_number) + generation.bytes
    head += struct.pack("<Q", cursor[0]) + cursor[1] + struct.pack("<Q", mark[0]) + mark[1]
    for stored, raw in sections:
        head += struct.pack("<II", len(stored), raw)
    head += struct.pack("<IIHHH", object_count, new_count, FORMAT_LEVEL, 1, 1)
    frame = head.ljust(HEADER_BYTES, b"\0") + sections[0][0] + sections[1][0]
    return frame[:DIGEST_START] + frame_digest(frame) + frame[DIGEST_END:]
