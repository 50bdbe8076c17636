"""Bodies of bytes for Scripts/openapi: what the server has in its log, with some bytes changed, cut off or put in."""

import os

import schemathesis
from hypothesis import strategies as st

TYPES = ("application/vnd.driftless.changeset", "application/vnd.driftless.log")
with open(os.environ["DRIFTLESS_LOG_PAGE"], "rb") as file:
    PAGE = file.read()


def frames(page):
    """The frames of a page: each stands behind 48 bytes that say how long it is."""
    found, place = [], 0
    while place < len(page):
        length = int.from_bytes(page[place + 40:place + 44], "little")
        found.append(page[place + 48:place + 48 + length])
        place += 48 + length
    return found


def changed(draw, base):
    body = bytearray(draw(st.sampled_from(base)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(body)))
        kind = draw(st.sampled_from(("set", "cut", "put")))
        if kind == "set" and place < len(body):
            body[place] = draw(st.integers(0, 255))
        elif kind == "cut":
            del body[place:place + draw(st.integers(0, 64))]
        else:
            body[place:place] = draw(st.binary(max_size=64))
    return bytes(body)


schemathesis.openapi.media_type(TYPES[0], st.composite(changed)(frames(PAGE)))
schemathesis.openapi.media_type(TYPES[1], st.composite(changed)([PAGE]))


# A piece of a large value is any bytes.
VALUE = "application/vnd.driftless.value"
schemathesis.openapi.media_type(VALUE, st.binary(max_size=1024))


@schemathesis.serializer(*TYPES, VALUE)
def as_bytes(_, value):
    return value if isinstance(value, bytes) else str(value).encode()
