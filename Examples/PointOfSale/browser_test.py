"""Uses two tills as people do: their pages in headless Chromium, with a driftless-server that goes and comes back.

    DRIFTLESS_BIN=../../.build/debug TILL=../.build/debug/till python3 browser_test.py [--screenshots FOLDER]

Nothing but Python's standard library: Chromium is steered by its DevTools protocol over two pipes.
"""

import argparse
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 60
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Program:
    """A program that says where it listens."""

    def __init__(self, arguments, log):
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.address = line.split()[-1]
                return
        raise SystemExit(f"{arguments[0]} ended with {self.process.wait()}: see {log}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def runs(program):
    """A program of this name may be there only to say how the browser is installed."""
    return subprocess.run(
        [program, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS).returncode == 0


class Browser:
    """Headless Chromium, with its profile in a folder of its own."""

    def __init__(self, folder):
        program = next((path for path in map(shutil.which, BROWSERS) if path and runs(path)), None)
        if program is None:
            raise SystemExit("Chromium is not here. Try: Scripts/prepare chromium")
        # Chromium reads commands from descriptor 3 and answers at 4.
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()
        # The sandbox does not work as root; the pages are those of this test alone.
        chromium = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--window-size=1100,690", "--hide-scrollbars",
            f"--user-data-dir={folder}/profile", "about:blank"]
        with open(f"{folder}/chromium.log", "ab") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{read_commands} 4>&{write_answers}', "bash"] + chromium,
                pass_fds=(read_commands, write_answers), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(read_commands)
        os.close(write_answers)
        self.buffer = b""
        self.count = 0

    def call(self, method, session=None, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" in self.buffer:
                text, self.buffer = self.buffer.split(b"\0", 1)
                answer = json.loads(text)
                if answer.get("id") == self.count:
                    if "error" in answer:
                        raise AssertionError(f"{method}: {answer['error']}")
                    return answer["result"]
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise AssertionError("Chromium ended")
            self.buffer += data

    def open(self, address):
        return Page(self, address)

    def close(self):
        self.process.kill()
        self.process.wait()


class Page:
    """One tab."""

    def __init__(self, browser, address):
        self.browser = browser
        target = browser.call("Target.createTarget", url=address)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.loaded(f"location.href.startsWith('{address}')")

    def loaded(self, condition):
        """Asks until a page is there: what is asked of one that goes is lost."""
        while True:
            try:
                if self.value(f"{condition} && document.readyState === 'complete'"):
                    return
            except AssertionError:
                continue

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def value(self, expression):
        """What an expression of JavaScript gives; of a promise, what comes of it."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition):
        """Waits until a condition holds, looking whenever the page changes."""
        held = self.value(f"""new Promise(done => {{
            const holds = () => {{ try {{ return {condition}; }} catch {{ return false; }} }};
            if (holds()) return done(true);
            const observer = new MutationObserver(() => {{ if (holds()) end(true); }});
            const timer = setTimeout(() => end(holds()), {SECONDS * 1000});
            const end = held => {{ clearTimeout(timer); observer.disconnect(); done(held); }};
            observer.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
        }})""")
        if not held:
            raise AssertionError(f"never held: {condition}\n{self.value('document.body.innerText')}")

    def type(self, element, text):
        """Types into a field, in place of what is there."""
        self.value(f"(() => {{ const field = {element}; field.focus(); field.select(); }})()")
        if text:
            self.call("Input.insertText", text=text)
        else:
            self.press("Delete", 46)

    def press(self, key, code, text=None):
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra)

    def enter(self):
        self.press("Enter", 13, "\r")

    def add(self, name, price, stock):
        for field, text in (("name", name), ("price", price), ("stock", stock)):
            self.type(f"document.querySelector('#new [name={field}]')", text)
        self.enter()

    def sell(self, **quantities):
        for name, quantity in quantities.items():
            self.type(f"{row(name)}.quantity", quantity)
        self.value("$('sellButton').click()")

    def products(self):
        return self.value("""[...$('products').children].map(
            row => [row.cells[0].textContent, row.cells[1].textContent, row.querySelector('input').value])""")

    def reload(self):
        self.call("Page.enable")
        self.value("window.isOld = true")
        self.call("Page.reload")
        self.loaded("!window.isOld")

    def picture(self, path):
        self.value("document.activeElement.blur()")
        shot = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot))


def row(name):
    return f"[...rows.values()].find(row => row.product.name === {json.dumps(name)})"


def state(kind):
    return f"$('state').className === '{kind}'"


def step(text):
    print(f"  {text}")


def same(left, right):
    for page in (left, right):
        page.wait(state("inStep"))
    # Each shows what it reads when it reads it; the alarm bounds it.
    while left.products() != right.products():
        time.sleep(0.05)


class Shop:
    def __init__(self, folder):
        self.folder = folder
        self.server_program = os.path.join(os.environ["DRIFTLESS_BIN"], "driftless-server")
        self.address = "http://127.0.0.1:0"
        self.programs = []
        for command in (["zone", "create", "shop"], ["token", "create", "--zone", "shop"]):
            text = subprocess.run(
                [self.server_program, *command, "--data", f"{folder}/server"], check=True,
                capture_output=True, text=True).stdout
        with open(f"{folder}/token", "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, arguments, log):
        program = Program(arguments, f"{self.folder}/{log}")
        self.programs.append(program)
        return program

    def serve(self):
        self.server = self.start(
            [self.server_program, "serve", "--data", f"{self.folder}/server", "--listen",
             self.address.split("//")[1]], "server.log")
        self.address = self.server.address

    def till(self, name, port="0"):
        return self.start(
            [os.environ["TILL"], "--name", name, "--store", f"{self.folder}/{name}.sqlite", "--server",
             self.address, "--token-file", f"{self.folder}/token", "--port", port], f"{name}.log")

    def close(self):
        for program in self.programs:
            program.kill()


def use(shop, browser, pictures):
    shop.serve()
    tills = [shop.till("Till 1"), shop.till("Till 2")]
    left, right = [browser.open(till.address) for till in tills]
    left.wait(state("inStep"))

    step("products that are taken up at one till are at the other")
    for product in (("Tea", "2.50", "40"), ("Coffee", "3,20", "25"), ("Bread roll", "0.60", "120")):
        left.add(*product)
        left.wait(f"{row(product[0])} && document.querySelector('#new [name=name]').value === ''")
    right.wait("rows.size === 3")
    same(left, right)

    step("what is being typed stays when news come")
    left.type(f"{row('Coffee')}.quantity", "2")
    right.sell(Coffee="1")
    left.wait(f"{row('Coffee')}.product.stock === 24")
    assert left.value(f"{row('Coffee')}.quantity.value") == "2"
    assert left.value(f"document.activeElement === {row('Coffee')}.quantity")
    left.type(f"{row('Coffee')}.quantity", "")

    step("two tills sell and set a price while there is no server")
    same(left, right)
    shop.server.kill()
    for page in (left, right):
        page.wait(state("offline"))
    left.sell(Tea="3", Coffee="1")
    right.sell(**{"Tea": "4", "Bread roll": "12"})
    for page, price in ((left, "2.80"), (right, "3")):
        page.type(f"{row('Tea')}.querySelector('input')", price)
        page.enter()
    left.wait(f"{row('Tea')}.product.stock === 37 && {row('Tea')}.product.price === '2.80'")
    right.wait(f"{row('Tea')}.product.stock === 36 && {row('Tea')}.product.price === '3.00'")
    left.wait("$('state').textContent.endsWith('2 changes wait')")
    left.type(f"{row('Coffee')}.quantity", "2")
    left.wait("$('total').textContent === 'Total 6.40'")
    picture(left, pictures, "PointOfSaleOffline.png")

    step("a page that is loaded again shows the same")
    before = left.products()
    left.reload()
    left.wait("rows.size === 3")
    assert left.products() == before

    step("a till that is killed comes back with its sales, and its page by itself")
    tills[1].kill()
    right.wait(state("gone"))
    port = tills[1].address.rsplit(":", 1)[1]
    tills[1] = shop.till("Till 2", port)
    right.wait(f"{state('offline')} && {row('Tea')}.product.stock === 36 && $('sales').children.length === 2")

    step("the server is back: both show the same, and one asks which price it shall be")
    shop.serve()
    for page in (left, right):
        page.wait(f"{state('inStep')} && {row('Tea')}.product.stock === 33 && $('sales').children.length === 3")
    same(left, right)
    asks = "document.querySelectorAll('.decision').length"
    while left.value(asks) + right.value(asks) == 0:
        time.sleep(0.05)
    asking = left if left.value(asks) else right
    assert asking.value(asks) == 1 and left.value(asks) + right.value(asks) == 1
    picture(asking, pictures, "PointOfSaleInStep.png")
    price = asking.value("document.querySelector('.decision button').textContent").split(",")[0]
    asking.value("document.querySelector('.decision button').click()")
    for page in (left, right):
        page.wait(f"{asks} === 0 && {row('Tea')}.product.price === '{price}'")
    same(left, right)

    step("odd input is a line of text, and no HTML")
    html = "<img src=x onerror=\"document.title='broken'\">"
    right.add(html, "1", "1")
    left.wait("rows.size === 4")
    assert left.value("document.querySelectorAll('main img').length") == 0
    assert html in [product[0] for product in left.products()]
    assert left.value("document.title") == "Till 1"
    for quantity in ("abc", "-1", "0", "1.5", "99999999999999999999", "🍵"):
        left.sell(Tea=quantity)
        left.wait("$('message').textContent.startsWith('A quantity is a whole number')")
        left.type(f"{row('Tea')}.quantity", "")
        left.value("tell('')")
    left.add("", "1", "1")
    left.wait("$('message').textContent.startsWith('A name has')")
    left.add("Milk", "cheap", "1")
    left.wait("$('message').textContent.startsWith('A price is')")
    left.add("Tea", "1", "1")
    left.wait("$('message').textContent === 'There is a product Tea already.'")
    left.value("$('new').reset(); tell('')")
    same(left, right)

    step("a sale that was not answered is made once, whatever is typed meanwhile")
    tea, coffee = (right.value(f"{row(name)}.product.stock") for name in ("Tea", "Coffee"))
    tills[1].kill()
    right.wait(state("gone"))
    right.sell(Tea="1")
    right.wait("$('message').textContent.startsWith('This till')")
    right.type(f"{row('Coffee')}.quantity", "2")
    tills[1] = shop.till("Till 2", port)
    right.wait(f"!({state('gone')})")
    right.value("$('sellButton').click()")
    right.wait(f"{row('Tea')}.product.stock === {tea - 1} && {row('Tea')}.quantity.value === ''")
    assert right.value(f"{row('Coffee')}.quantity.value") == "2"
    right.value("$('sellButton').click()")
    right.wait(f"{row('Coffee')}.product.stock === {coffee - 2} && {row('Coffee')}.quantity.value === ''")
    assert right.value(f"{row('Tea')}.product.stock") == tea - 1
    same(left, right)


def picture(page, folder, name):
    if folder:
        page.picture(os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screenshots", metavar="FOLDER", help="write the two pictures of the documentation there")
    pictures = parser.parse_args().screenshots
    folder = tempfile.mkdtemp(prefix="point-of-sale.")
    browser = Browser(folder)
    shop = Shop(folder)
    # Whatever hangs, it ends.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("the browser's test took too long"))
    signal.alarm(5 * SECONDS)
    try:
        use(shop, browser, pictures)
    finally:
        browser.close()
        shop.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("the pages of two tills in Chromium: all of it holds")


if __name__ == "__main__":
    main()
