"""Looks at the server's status page as an operator does: in headless Chromium, light and dark, on a desk and on a phone.

    DRIFTLESS_BIN=.build/debug python3 -B Tests/Browser/status_page_test.py [--screenshot FILE]

Nothing but Python's standard library; Chromium is steered as the point of sale's test does it.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Examples/PointOfSale"))
from browser_test import SECONDS, Browser, Program, step  # noqa: E402

MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
  <entity name="Item"><attribute name="name" attributeType="String"/></entity>
</model>"""
# What an operator may call a token is shown as it is, and is no HTML.
NAME = "<script>document.title='broken'</script>"


class Server:
    """A server with zones, and replicas that come and go."""

    def __init__(self, folder):
        self.folder = folder
        self.data = f"{folder}/data"
        with open(f"{folder}/shop.xml", "w", encoding="utf-8") as file:
            file.write(MODEL)
        for zone in ("shop", "depot", "orders"):
            self.run("driftless-server", "zone", "create", zone, "--data", self.data)
        self.token = self.run("driftless-server", "operator", "create", "--name", "ada", "--data", self.data).strip()
        self.program = Program(
            [self.path("driftless-server"), "serve", "--data", self.data, "--listen", "127.0.0.1:0"],
            f"{folder}/server.log")
        self.address = self.program.address

    @staticmethod
    def path(program):
        return os.path.join(os.environ["DRIFTLESS_BIN"], program)

    def run(self, program, *arguments, **environment):
        done = subprocess.run(
            [self.path(program), *arguments], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS,
            env={**os.environ, **environment})
        if done.returncode:
            raise AssertionError(f"{program} {arguments}: {done.stderr}")
        return done.stdout

    def replica(self, name, zone, token_name):
        """A store that is enrolled with a zone."""
        token = self.run(
            "driftless-server", "token", "create", "--zone", zone, "--name", token_name, "--data", self.data).strip()
        store = f"{name}.sqlite"
        self.run("syncctl", "init", "--store", store, "--model", "shop.xml")
        self.run(
            "syncctl", "enroll", "--store", store, "--server", self.address, "--zone", zone, SYNCCTL_TOKEN=token)
        return store

    def change(self, store, first, count):
        with open(f"{self.folder}/{store}.jsonl", "w", encoding="utf-8") as file:
            for number in range(first, first + count):
                file.write('{"op":"insert","entity":"Item","id":"%s-%d","set":{"name":"%d"}}\n' % (store, number, number))
        self.run("syncctl", "import", "--store", store, f"{store}.jsonl")
        self.run("syncctl", "sync", "--store", store)

    def close(self):
        self.program.kill()


def look(page, width, height, scheme):
    page.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


def go(page, address, condition):
    page.call("Page.enable")
    page.call("Page.navigate", url=address)
    page.loaded(condition)


def cells(page, name):
    return page.value(f"[...document.querySelectorAll('[data-name=\"{name}\"]')].map(cell => cell.textContent)")


def sign_in(page, token, condition):
    page.type("document.querySelector('#token')", token)
    page.enter()
    page.loaded(condition)


def use(server, browser, picture):
    stores = [server.replica("till-1", "shop", "Till 1"), server.replica("till-2", "shop", NAME)]
    server.change(stores[0], 0, 50)
    server.run("syncctl", "sync", "--store", stores[1])
    server.change(stores[0], 50, 10)

    step("nobody sees it who is not signed in, and a wrong token says so")
    page = browser.open(server.address)
    page.loaded("location.pathname === '/sign-in'")
    look(page, 1100, 800, "light")
    wrong = server.token[:-8] + "00000000"
    sign_in(page, wrong, "!!document.querySelector('[role=alert]')")
    sign_in(page, server.token, "document.querySelectorAll('tbody tr').length === 3")
    assert page.value("location.pathname") == "/"
    assert page.value("document.cookie") == "", "a script could read the session"

    step("it shows zones, what replicas lack, and plots, with nothing from elsewhere and no script")
    assert cells(page, "Zone") == ["depot", "orders", "shop"]
    shop = [cells(page, name)[2] for name in ("Change sets", "Replicas")]
    assert shop == ["2", "2"], shop
    # What a replica said last of how far it is may be from before it took what it asked for.
    assert 1 <= int(cells(page, "Furthest behind")[2]) <= 2
    assert page.value("document.querySelectorAll('.plot svg').length") == 6
    assert page.value("document.scripts.length") == 0
    assert page.value("performance.getEntriesByType('resource').length") == 0

    step("light and dark, on a desk and on a phone, nothing is cut off")
    grounds = []
    for width, height, scheme in ((1100, 800, "light"), (1100, 800, "dark"), (360, 640, "light"), (360, 640, "dark")):
        look(page, width, height, scheme)
        grounds.append(page.value("getComputedStyle(document.body).backgroundColor"))
        assert page.value("document.documentElement.scrollWidth") <= width, (width, scheme)
    assert grounds[0] == grounds[2] != grounds[1] == grounds[3], grounds
    assert page.value("getComputedStyle(document.querySelector('thead')).display") == "none"
    look(page, 1100, 800, "light")

    step("it loads itself again, and has a sample of what was pushed then")
    page.value("window.isOld = true")
    page.loaded("!window.isOld && !document.body.innerText.includes('no sample so far')")

    step("a zone shows its replicas, and names are text")
    page.value("[...document.querySelectorAll('a')].find(link => link.textContent === 'shop').click()")
    page.loaded("location.pathname === '/zones/shop'")
    assert sorted(cells(page, "Token")) == sorted([NAME, "Till 1"]), cells(page, "Token")
    assert len(cells(page, "Behind")) == 2
    assert page.value("document.scripts.length") == 0 and page.value("document.title").startswith("shop")

    if picture:
        for number in range(30):
            server.change(stores[number % 2], 60 + 40 * number, (1, 40, 12, 25)[number % 4])
            time.sleep(2 + 5 * (number % 3 == 0))
        look(page, 1100, 880, "light")
        go(page, server.address, "document.querySelectorAll('tbody tr').length === 3")
        page.picture(picture)

    step("signed out is signed out, also on the way back")
    go(page, server.address, "document.querySelectorAll('tbody tr').length === 3")
    page.value("document.querySelector('header button').click()")
    page.loaded("location.pathname === '/sign-in'")
    go(page, server.address + "/zones/shop", "location.pathname === '/sign-in'")
    assert page.value("document.querySelectorAll('tbody tr').length") == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screenshot", metavar="FILE", help="write the picture of the documentation there")
    picture = parser.parse_args().screenshot
    folder = tempfile.mkdtemp(prefix="status-page.")
    browser = Browser(folder)
    server = Server(folder)
    # Whatever hangs, it ends.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("the browser's test took too long"))
    signal.alarm(6 * SECONDS)
    try:
        use(server, browser, picture)
    finally:
        browser.close()
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("the status page in Chromium: all of it holds")


if __name__ == "__main__":
    main()
