import Foundation
import TestSupport
import Testing

/// How the programs end: by one table, whatever the command.
@Suite(.serialized) struct ExitCodeTests {
  private let directory: TemporaryDirectory
  private let model: URL

  init() throws {
    directory = try TemporaryDirectory()
    model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
  }

  /// The codes of the documentation's table.
  private static func documented() throws -> Set<Int32> {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/Driftless/Driftless.docc/Errors.md")
    let text = try String(contentsOf: page.standardizedFileURL, encoding: .utf8)
    let table = try #require(text.components(separatedBy: "\n## Exit codes\n").last)
    return Set(table.matches(of: /(?m)^\| (\d+) \|/).compactMap { Int32($0.output.1) })
  }

  /// What a refusal owes: a code of the table, words, and what to try; the same as JSON.
  private func expectRefusal(
    _ program: String, _ arguments: [String], _ status: Int32, named: String? = nil
  ) throws {
    let plain = try Programs.run(program, arguments)
    #expect(plain.status == status, "\(program) \(arguments): \(plain)")
    #expect(plain.errors.contains("Try: "), "\(program) \(arguments): \(plain)")
    if let named {
      #expect(plain.errors.contains(named), "\(program) \(arguments): \(plain)")
    }
    let told = try Programs.run(program, arguments + ["--json"])
    #expect(told.status == status, "\(program) \(arguments) --json: \(told)")
    let lines = told.errors.split(separator: "\n")
    let errors = lines.compactMap { line -> [String: Any]? in
      let value = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return value?["error"] as? [String: Any]
    }
    #expect(errors.count == 1, "\(program) \(arguments) --json: \(told)")
    guard let error = errors.first else { return }
    #expect(Set(error.keys) == ["code", "message", "status", "suggestion"], "\(error)")
    #expect(error["status"] as? Int == Int(status), "\(program) \(arguments) --json: \(told)")
  }

  @Test("The table is complete: each program's own list is part of it")
  func table() throws {
    let documented = try Self.documented()
    #expect(documented.isSuperset(of: [0, 1, 64, 65, 69, 71, 74, 75, 77, 130]))
    for program in ["syncctl", "syncd", "driftless-server"] {
      let help = try Programs.run(program, ["--help"]).output
      let list = try #require(help.components(separatedBy: "EXIT CODES").last)
      let codes = list.matches(of: /(?m)^ *(\d+)  \w/).compactMap { Int32($0.output.1) }
      #expect(codes.count >= 6, "\(program): \(help)")
      for code in codes { #expect(documented.contains(code), "\(program): \(code)") }
    }
  }

  @Test("Every command of syncctl refuses what is no store with 65, and names it")
  func stores() throws {
    let garbage = directory.file("garbage.sqlite")
    try Data("this is no database, and never was one; not at all".utf8).write(to: garbage)
    let folder = directory.file("folder.sqlite")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let missing = directory.file("missing.sqlite")
    let input = directory.file("input.jsonl")
    try Data("{}\n".utf8).write(to: input)
    var seen = 0
    for (words, command) in try CommandTree.leaves(of: "syncctl")
    where command.takes("--store") && words != ["init"] {
      seen += 1
      let values = [
        "--model": model.path, "--server": "http://127.0.0.1:9", "--zone": "items",
        "--entity": "Item", "file": input.path, "--file": input.path, "number": "1",
        "sequence": "1",
      ]
      for store in [garbage, folder, missing] {
        var needed = command.needed(values.merging(["--store": store.path]) { $1 })
        if !needed.contains("--store") { needed += ["--store", store.path] }
        if words == ["key", "use"] {
          // The keys beside a file are let go of whatever the file is.
          guard store == missing else { continue }
          needed += ["--none"]
        }
        if words == ["doctor"] {
          // What it finds is what it prints, and no error.
          let found = try Programs.run("syncctl", words + needed)
          #expect(found.status == 65 && found.output.contains("Try: "), "\(found)")
          continue
        }
        try expectRefusal("syncctl", words + needed, 65, named: store.lastPathComponent)
      }
    }
    #expect(seen >= 20)
  }

  @Test("Every command refuses an option that it does not know with 64")
  func usage() throws {
    for program in ["syncctl", "driftless-server"] {
      for (words, _) in try CommandTree.leaves(of: program) {
        let outcome = try Programs.run(program, words + ["--no-such-option"])
        #expect(outcome.status == 64, "\(program) \(words): \(outcome)")
      }
    }
  }

  @Test("Every command of the server refuses what is no data folder with 65, and names it")
  func folders() throws {
    let file = directory.file("file")
    try Data("x".utf8).write(to: file)
    let missing = directory.file("missing")
    let damaged = directory.file("damaged")
    try FileManager.default.createDirectory(at: damaged, withIntermediateDirectories: true)
    try Data(repeating: 0x41, count: 8192)
      .write(to: damaged.appendingPathComponent("driftless.sqlite"))
    var seen = 0
    for (words, command) in try CommandTree.leaves(of: "driftless-server")
    where command.takes("--data") && !["certificate", "restore"].contains(words[0]) {
      seen += 1
      let values = [
        "--zone": "shop", "name": "shop", "file": directory.file("none.sqlite").path,
        "--name": "ada",
      ]
      for folder in [file, missing, damaged] {
        // A zone's first command makes the folder.
        if words == ["zone", "create"], folder == missing { continue }
        var needed = command.needed(values.merging(["--data": folder.path]) { $1 })
        if !needed.contains("--data") { needed += ["--data", folder.path] }
        if words == ["replica", "forget"] { needed += ["--unseen-for", "3"] }
        if words == ["zone", "put-back"] { needed += ["--all"] }
        if words == ["code", "revoke"] { needed += ["--all"] }
        try expectRefusal("driftless-server", words + needed, 65, named: folder.lastPathComponent)
      }
    }
    #expect(seen >= 20)
  }

  @Test("What is not confirmed ends with 64 in both programs")
  func unconfirmed() throws {
    let folder = try OperatorFolder(zones: ["shop"])
    for words in [["zone", "delete", "shop"], ["zone", "renew", "shop"]] {
      try expectRefusal("driftless-server", words + ["--data", folder.data.path], 64)
    }
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try replica.importLines([FaultWorld.insertion("1")])
    try expectRefusal(
      "syncctl", ["sync", "--give-up-unsent", "--store", replica.store.path], 64)
  }
}
