"""Values: as JSON in the state, as a person reads and writes them, in columns, and in unique keys."""

import base64
import json
import struct
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import wire

REFERENCE_DATE = datetime(2001, 1, 1, tzinfo=timezone.utc)


class SyncError(Exception):
    """What went wrong, in a line, and in another what to do."""

    def __init__(self, message, suggestion, code=""):
        super().__init__(message)
        self.suggestion, self.code = suggestion, code


def changed(elements, added, removed):
    """A set, in its order: what is added comes last, since who sends an ordered one sends all of it."""
    gone = set(added) | set(removed)
    return [element for element in elements if element not in gone] + list(added)


def stored(kind, value):
    """What a person wrote, in the form of the state."""
    try:
        if value is None:
            return [] if kind == wire.ELEMENTS else None
        if kind == wire.DATES and isinstance(value, str):
            moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
            return (moment - REFERENCE_DATE) / timedelta(seconds=1)
        if kind in (wire.DOUBLES, wire.DATES):
            return float(value)
        if kind in (wire.UUIDS, wire.REFERENCES):
            return str(uuid.UUID(value))
        if kind == wire.ELEMENTS:
            return [str(uuid.UUID(element)) for element in value]
        if kind == wire.BYTES:
            return base64.b64encode(base64.b64decode(value, validate=True)).decode()
        if kind == wire.DECIMALS:
            # One number has one text: unique keys are made of it.
            number = Decimal(value)
            if not number.is_finite():
                raise ValueError
            return format(number.normalize(), "f") if number else "0"
        wanted = {wire.INTEGERS: int, wire.BOOLEANS: bool}.get(kind, str)
        if type(value) is not wanted or wanted is int and abs(value) > wire.NUMBER_MAX:
            raise ValueError
        return value
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        raise SyncError("%s is no value of %s" % (json.dumps(value), wire.KIND_NAMES[kind]), "Correct the edit.")


def spelled(kind, value):
    """A value of the state as `syncctl export` writes it."""
    if kind == wire.DATES:
        return (REFERENCE_DATE + timedelta(microseconds=round(value * 1e6))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return sorted(value) if kind == wire.ELEMENTS else value


def on_wire(kind, value, place):
    """A value of the state as `wire.write_column` takes it; `place` gives an object's in the object table."""
    if value is None:
        return None
    if kind == wire.REFERENCES:
        return place[value]
    if kind == wire.ELEMENTS:
        return [place[element] for element in value["add"]], [place[element] for element in value["remove"]]
    return {wire.BYTES: base64.b64decode, wire.UUIDS: uuid.UUID}.get(kind, lambda same: same)(value)


def key_bytes(kind, value):
    """What a value of the state is in a unique key; None for a null."""
    if value is None:
        return None
    if kind == wire.INTEGERS:
        return value.to_bytes(8, "little", signed=True)
    if kind in (wire.DOUBLES, wire.DATES):
        # The two zeros are one number.
        return struct.pack("<d", value + 0.0)
    if kind == wire.BOOLEANS:
        return bytes([value])
    if kind in (wire.UUIDS, wire.REFERENCES):
        return uuid.UUID(value).bytes
    return base64.b64decode(value) if kind == wire.BYTES else value.encode()
