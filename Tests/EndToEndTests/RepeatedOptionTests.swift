import Foundation
import TestSupport
import Testing

/// A command line that says one thing twice.
@Suite(.serialized) struct RepeatedOptionTests {
  @Test("An option that takes one value is refused when it is given twice, by each program")
  func twice() throws {
    let directory = try TemporaryDirectory()
    let (first, second) = (directory.file("one").path, directory.file("two").path)
    for folder in [first, second] {
      let made = try Programs.run("driftless-server", ["zone", "create", "z", "--data", folder])
      #expect(made.status == 0, "\(made)")
    }
    let both = ["--data", first, "--data", second]
    for (program, words) in [
      ("driftless-server", ["zone", "delete", "z", "--yes"] + both),
      ("driftless-server", ["zone", "delete", "z", "--yes", "--data=\(first)", "--data", second]),
      ("syncd", ["--config", first, "--config", second]),
      ("syncctl", ["status", "--store", first, "--store", second]),
    ] {
      let refused = try Programs.run(program, words)
      #expect(refused.status == 64, "\(words): \(refused)")
      #expect(refused.errors.contains("is given twice: a command takes it once."), "\(refused)")
      #expect(refused.errors.contains("Try: "), "\(refused)")
    }
    for folder in [first, second] {
      let listed = try Programs.run("driftless-server", ["zone", "list", "--data", folder])
      #expect(listed.output.contains("z"), "\(listed)")
    }
    let limits = ["zone", "limits", "z", "--set", "replicasMax=5", "--set", "pullEntriesMax=5"]
    let set = try Programs.run("driftless-server", limits + ["--data", first])
    #expect(!set.errors.contains("given twice"), "options that are lists may: \(set)")
  }

  @Test("A wrong command line names what to try, also of the server and the daemon")
  func tries() throws {
    for (program, words) in [
      ("driftless-server", ["zone", "list", "--nonsense"]), ("syncd", []),
      ("syncd", ["--nonsense"]),
    ] {
      let refused = try Programs.run(program, words)
      #expect(refused.status == 64 && refused.errors.contains("\nTry: "), "\(words): \(refused)")
    }
  }
}
