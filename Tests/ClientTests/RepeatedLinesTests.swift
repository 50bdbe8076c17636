import Foundation
import Logging
import ProgramStart
import Synchronization
import Testing

/// What a log leaves out since it was said just before.
struct RepeatedLinesTests {
  @Test("What is said again is left out for an hour, and told with how often that was")
  func again() {
    let lines = RepeatedLines()
    let now = ContinuousClock.now
    #expect(lines.say("a", at: now) == 0)
    #expect(lines.say("b", at: now) == 0)
    for minute in 1...5 { #expect(lines.say("a", at: now + .seconds(60 * minute)) == nil) }
    #expect(lines.say("a", at: now + .seconds(3600)) == 5)
    #expect(lines.say("a", at: now + .seconds(3601)) == nil)
    #expect(lines.say("b", at: now + .seconds(7300)) == 0)
  }

  @Test("How long it took, and how many bytes came, makes no other line")
  func measures() {
    let lines = RepeatedLines()
    func text(_ time: Int, _ bytes: Int, _ entry: Int) -> String {
      "Entry \(entry): timed out after \(time) milliseconds with \(bytes) out of 500 bytes received"
    }
    #expect(lines.say(text(3001, 7, 1)) == 0)
    #expect(lines.say(text(3002, 99, 1)) == nil)
    #expect(lines.say(text(3001, 7, 2)) == 0)
    #expect(
      FailureText.withoutMeasures("port 80 after 12 ms: no") == "port 80 after … ms: no")
  }

  @Test("A log writes what lasts once, and each event")
  func handler() {
    let written = Mutex<[String]>([])
    let repeated = RepeatedLines()
    func logger(_ store: String) -> Logger {
      var log = Logger(label: "driftless.test") { label in
        LineLogHandler(label: label, repeated: repeated) { line in
          written.withLock { $0.append(line) }
        }
      }
      log[metadataKey: "store"] = "\(store)"
      return log
    }
    for _ in 0..<3 {
      logger("a").warning("it waits", metadata: ["lasts": "true"])
      logger("a").warning("it broke")
      logger("a").info("it goes")
    }
    logger("b").warning("it waits", metadata: ["lasts": "true"])
    #expect(written.withLock { $0.count { $0.contains("it waits") } } == 2)
    #expect(written.withLock { $0.count { $0.contains("it goes") } } == 3)
    #expect(written.withLock { $0.count { $0.contains("it broke") } } == 3, "each is another one")
    #expect(!written.withLock { $0.contains { $0.contains("lasts") } }, "the mark is not written")
  }
}
