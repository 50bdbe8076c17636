import ArgumentParser
import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import Foundation
import ProgramStart
import TestSupport
import Testing

@testable import SyncControl

/// What a person reads while a command works, and as words of a shell.
@Suite struct CommandProgressTests {
  @Test("How far a command is has its rate and the time that is left, once they are known")
  func rates() {
    let progress = CommandProgress()
    let start = ContinuousClock.now
    #expect(progress.text(now: start) == nil)
    progress.note(
      CommandProgress.Step(
        doing: "sending", unit: "objects", done: 100, total: 1_100, bytes: 1_000), now: start)
    #expect(progress.text(now: start) == "sending: 100 of 1100 objects, 1000 bytes")
    progress.note(
      CommandProgress.Step(
        doing: "sending", unit: "objects", done: 600, total: 1_100, bytes: 2_001_000))
    #expect(
      progress.text(now: start + .seconds(10))
        == "sending: 600 of 1100 objects, 2001 kB, 200 kB/s, about 10 s left")
    // Something else begins, and has a rate of its own.
    progress.note(
      CommandProgress.Step(doing: "receiving", unit: "change sets", done: 0, total: 0), now: start)
    #expect(progress.text(now: start + .seconds(10)) == "receiving: 0 change sets")
  }

  @Test("A sync tells what it sends and receives, and no other state")
  func states() {
    let progress = CommandProgress()
    progress.note(.syncing)
    #expect(progress.text() == nil)
    progress.note(.receiving(SyncState.Progress(done: 2, total: 8, bytes: 500)))
    #expect(progress.text() == "receiving: 2 of 8 change sets, 500 bytes")
  }

  @Test("A word of a terminal has its colour, and nothing that the line itself brings is obeyed")
  func colours() {
    let line = ColouredLine("server:  bad  \u{1B}[2J", " bad ", .red)
    func text(_ coloured: Bool) -> String {
      String(decoding: TerminalText.data([line], coloured: coloured), as: UTF8.self)
    }
    #expect(text(false) == "server:  bad  \\u{1b}[2J\n")
    #expect(text(true) == "server: \u{1B}[31m bad \u{1B}[0m \\u{1b}[2J\n")
  }

  @Test(
    "A path in a line to copy is one word of the shell",
    arguments: ["/var/lib/a.sqlite", "a b", "it's", "$HOME", "", "-rf", "Übung*", "a\"b", "~/x"])
  func words(path: String) throws {
    let read = try ProgramRun(["sh", "-c", "printf %s \(path.shellWord)"]).output
    // What begins with a line would be taken for an option: it is the same file from here.
    #expect(read == (path.hasPrefix("-") ? "./\(path)" : path))
    #expect("/var/lib/a.sqlite".shellWord == "/var/lib/a.sqlite")
  }

  @Test("The list of conflicts ends where it was told to, and says that there are more")
  func pages() throws {
    let shop = try Shop()
    try shop.enroll()
    // The first thousand are settled, and three wait.
    _ = try shop.store.write(TransactionInfo()) { transaction in
      try transaction.connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1203)
        INSERT INTO ZDL_JOURNAL(object, entity, property, policy, outcome, origin, local_time,
          remote_time, transaction_number, sequence, explanation)
        SELECT zeroblob(16), 'Item', 'name',
          CASE WHEN i > 1200 THEN 'manual' ELSE 'lastWriterWins' END, 'remote', zeroblob(16), 0, 0, 0,
          0, 'x' FROM n
        """)
    }
    func list(_ arguments: String...) throws -> ([Int64], Bool) {
      let command = try ConflictsListCommand.parse(["--store", shop.url.path] + arguments)
      let (entries, hasMore) = try command.entries(of: shop.store)
      return (entries.map(\.number), hasMore)
    }
    #expect(try list("--waiting") == ([1_201, 1_202, 1_203], false))
    #expect(try list("--waiting", "--limit", "2") == ([1_201, 1_202], true))
    #expect(try list("--waiting", "--limit", "3") == ([1_201, 1_202, 1_203], false))
    let (numbers, hasMore) = try list()
    #expect(numbers == Array(1...1_000) && hasMore)
    #expect(try list("--after", "1000").0 == Array(1_001...1_203))
  }
}
