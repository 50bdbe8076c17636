import DriftlessServer
import Foundation
import Logging
import ProgramStart
import Synchronization
import Testing

@Suite("Limits, options, log lines, property lists")
struct SmallPartsTests {
  @Test("A limits file overrides what it names and leaves the rest")
  func limits() throws {
    let limits = try ServerLimits(json: Data(#"{"bodyBytesMax": 1000, "readers": 2}"#.utf8))
    #expect(limits.bodyBytesMax == 1000)
    #expect(limits.readers == 2)
    #expect(limits.pageBytesMax == ServerLimits().pageBytesMax)
  }

  @Test(
    "A limits file that is wrong is refused",
    arguments: ["", "[]", #"{"bodyBytesMax": 0}"#, #"{"bodyBytes": 5}"#, #"{"readers": "2"}"#])
  func wrongLimits(json: String) {
    #expect(throws: ServerError.self) { try ServerLimits(json: Data(json.utf8)) }
  }

  @Test("Off loopback the server starts only with TLS or by an explicit word")
  func plaintext() throws {
    var options = ServeOptions()
    for address in ["127.0.0.1:8080", "localhost:0", "[::1]:80", "127.8.8.8:1"] {
      try options.listen(on: address)
      try options.check()
    }
    for address in ["0.0.0.0:8080", "[::]:80", "127.example.org:80", "192.168.1.2:80"] {
      try options.listen(on: address)
      #expect(throws: ServerError.self, "\(address)") { try options.check() }
    }
    options.allowsPlaintext = true
    try options.check()
    #expect(throws: ServerError.self) { try options.listen(on: "8080") }
    #expect(throws: ServerError.self) { try options.listen(on: "localhost:99999") }
  }

  @Test("A client's text cannot start a log line of its own")
  func injection() {
    let lines = Mutex<[String]>([])
    let handler = LineLogHandler(label: "test") { line in lines.withLock { $0.append(line) } }
    let logger = Logger(label: "test") { _ in handler }
    logger.info("a\nlevel=error", metadata: ["zone": "x\r\ny \"z\" \u{2028}\u{1b}[31m"])
    let text = lines.withLock { $0.joined() }
    #expect(text.filter(\.isNewline).count == 1)
    #expect(text.hasSuffix("\n"))
    #expect(text.contains(#"msg="a\u{a}level=error""#))
    #expect(!text.contains("\u{1b}"))
  }

  @Test("A list of properties reads back from its bytes; damaged bytes are an error")
  func propertySequences() throws {
    var list = PropertySequences()
    list.set(300, to: 1 << 39)
    list.set(1, to: 5)
    list.set(300, to: 1 << 40)
    #expect(list.sequence(of: 300) == 1 << 40)
    #expect(list.sequence(of: 1) == 5)
    #expect(list.sequence(of: 2) == nil)
    #expect(list.latest == 1 << 40)
    #expect(try PropertySequences(encoded: list.encoded) == list)
    #expect(throws: ServerError.self) { try PropertySequences(encoded: list.encoded.dropLast()) }
    #expect(throws: ServerError.self) {
      try PropertySequences(encoded: Data(repeating: 255, count: 30))
    }
  }

  @Test("One who waits for news is woken by it, by the end of its task, or not kept at all")
  func news() async {
    let news = ZoneNews(waitersMax: 1)
    let zone = UUID()
    let waiting = Task { await news.wait(zone, after: 5) }
    while news.waiting == 0 { await Task.yield() }
    #expect(await news.wait(zone, after: 5) == .full)
    news.publish(UUID(), head: 9)
    news.publish(zone, head: 5)
    #expect(news.waiting == 1)
    news.publish(zone, head: 6)
    #expect(await waiting.value == .woken)
    #expect(news.waiting == 0)
    #expect(await news.wait(zone, after: 5) == .over)  // The news came before.
    let cancelled = Task { await news.wait(zone, after: 6) }
    while news.waiting == 0 { await Task.yield() }
    cancelled.cancel()
    #expect(await cancelled.value == .over)
    #expect(news.waiting == 0)
    let woken = Task { await news.wait(zone, after: 6) }
    while news.waiting == 0 { await Task.yield() }
    news.wakeAll()
    #expect(await woken.value == .woken)
    #expect(news.waiting == 0)
  }
}
