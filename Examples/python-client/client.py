#!/usr/bin/env python3
"""Keeps a copy of a Driftless zone in a file, and sends edits to it."""

import argparse
import json
import os
import sqlite3
import sys

from driftless import Replica, Server
from values import SyncError

TOKEN_VARIABLE = "DRIFTLESS_TOKEN"


def main():
    options = arguments()
    try:
        replica = Replica(options.state)
        options.run(options, replica)
        for note in replica.notes:
            print("Note: " + note, file=sys.stderr)
        return 0
    except SyncError as error:
        message, suggestion = str(error), error.suggestion
    except sqlite3.OperationalError as error:
        message = "%s: %s" % (options.state, error)
        suggestion = "End the other program that uses it." if "locked" in message else "Look at the path and its disk."
    except sqlite3.DatabaseError as error:
        message, suggestion = "%s: %s" % (options.state, error), "Give the state file that this program made."
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        message, suggestion = "what came is not in its form: %r" % error, "Look whether the server is one."
    except OSError as error:
        message, suggestion = str(error), "Look at the path and what it allows."
    print("Error: %s\nTry: %s" % (message, suggestion), file=sys.stderr)
    return 1


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="The token comes from the file that init names, or from the variable %s."
        % TOKEN_VARIABLE)
    parser.add_argument("--state", required=True, help="the file that holds the copy")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, run, text):
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    init = command("init", initialize, "say which zone of which server the file is of")
    init.add_argument("--server", required=True, help="https://HOST, or http://127.0.0.1:PORT")
    init.add_argument("--zone", required=True)
    init.add_argument("--token-file", help="a file that holds the token alone")
    init.add_argument("--unique", action="append", default=[], metavar="ENTITY:PROPERTY,...",
                      help="a uniqueness constraint of the zone's model; may be given again")
    command("pull", lambda options, replica: replica.pull(server(replica)), "read what is new in the zone")
    command("push", lambda options, replica: replica.sync(server(replica)),
            "read what is new, and send the edits made here")
    edit = command("edit", edit_lines, "make edits: JSON lines with op, entity, id and set, as syncctl import has them")
    edit.add_argument("file", help="the file, or - for standard input")
    command("export", export, "print what the file holds, as syncctl export does")
    command("status", status, "say where the file and the zone stand")
    return parser.parse_args()


def initialize(options, replica):
    if replica.get("generation"):
        raise SyncError("%s is of a zone already" % options.state, "Give another file.")
    unique = [[entity, names.split(",")] for entity, _, names in (text.partition(":") for text in options.unique)]
    replica.set(server=options.server, zone=options.zone, unique=json.dumps(unique),
                token_file=os.path.abspath(options.token_file) if options.token_file else None)
    replica.transaction(replica.meet, server(replica))


def server(replica):
    if replica.get("server") is None:
        raise SyncError("the state file is of no zone", "Run init first.")
    token = os.environ.get(TOKEN_VARIABLE)
    if not token and replica.get("token_file"):
        with open(replica.get("token_file")) as file:
            token = file.read()
    if not token or not token.strip().isprintable():
        raise SyncError("there is no token", "Set %s, or run init with --token-file." % TOKEN_VARIABLE)
    return Server(replica.get("server"), replica.get("zone"), token.strip())


def edit_lines(options, replica):
    with (sys.stdin if options.file == "-" else open(options.file)) as file:
        lines = []
        for number, line in enumerate(file, 1):
            try:
                edit = json.loads(line)
                if edit["op"] not in ("insert", "update", "delete") or not isinstance(edit["entity"], str):
                    raise ValueError
                lines.append(edit)
            except (ValueError, KeyError, TypeError):
                raise SyncError("%s:%d is no edit" % (options.file, number),
                                'Write {"op":"update","entity":"Item","id":"UUID","set":{"name":"x"}}.')
    try:
        replica.edit(lines)
    except ValueError:
        raise SyncError("an id is no UUID", "Give each object a UUID.")


def export(options, replica):
    for line in replica.export():
        print(json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def status(options, replica):
    zone = replica.meet(server(replica))
    waiting, = replica.one("SELECT count(*) FROM edits")
    parked, = replica.one("SELECT count(*) FROM parked")
    print("zone %s, generation %s" % (zone["zone"], zone["generation"].lower()))
    print("read up to %d of %d" % (replica.get("cursor"), zone["head"]))
    print("%d edits wait to be sent%s" % (waiting, "" if zone.get("mayWrite", True) else "; this token may only read"))
    if parked:
        print("%d entries of the log could not be read in full" % parked)


if __name__ == "__main__":
    sys.exit(main())
