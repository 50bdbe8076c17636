import Foundation
import TestSupport
import Testing

/// The programs print schemas of their configurations, which say what their readers and their manuals say.
struct SchemaTests {
  private static let programs: [(name: String, arguments: [String], manual: String)] = [
    ("syncd", ["--print-schema"], "DaemonManual.md"),
    ("driftless-server", ["serve", "--print-schema"], "ServerManual.md"),
  ]

  private func schema(_ program: String, _ arguments: [String]) throws -> [String: Any] {
    let outcome = try Programs.run(program, arguments)
    #expect(outcome.status == 0, "\(outcome)")
    return try #require(
      JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
  }

  private func page(_ name: String) throws -> String {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    return try String(
      contentsOf: root.appendingPathComponent("Sources/Driftless/Driftless.docc/\(name)"),
      encoding: .utf8)
  }

  @Test(
    "A manual has each setting of the schema, with its bounds and what counts without it",
    arguments: [0, 1])
  func manual(number: Int) throws {
    let program = Self.programs[number]
    let schema = try schema(program.name, program.arguments)
    #expect(schema["additionalProperties"] as? Bool == false)
    var settings = try #require(schema["properties"] as? [String: [String: Any]])
    #expect(settings.removeValue(forKey: "$schema") != nil)
    if let stores = settings["stores"]?["items"] as? [String: Any] {
      settings.merge(try #require(stores["properties"] as? [String: [String: Any]])) { $1 }
    }
    let text = try page(program.manual)
    let section = try #require(
      text.components(separatedBy: "\n## ").first {
        $0.hasPrefix("Configuration\n") || $0.hasPrefix("The configuration\n")
      })
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
    for (name, setting) in settings {
      #expect((setting["description"] as? String)?.isEmpty == false, "\(name)")
      let row = try #require(rows.first { $0.hasPrefix("| `\(name)` |") }, "\(name)")
      guard program.name == "syncd" else { continue }
      if let standard = setting["default"] { #expect(row.contains("\(standard)"), "\(row)") }
      for bound in ["minimum", "maximum"].compactMap({ setting[$0] }) {
        #expect(row.contains("\(bound)"), "\(row)")
      }
    }
    let told = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
    #expect(told.allSatisfy { settings[$0] != nil || $0.hasPrefix("--") }, "\(told)")
  }

  @Test("A schema refuses what a reader refuses beside each other, and has whole numbers as such")
  func rivals() throws {
    let schema = try schema("syncd", ["--print-schema"])
    let settings = try #require(schema["properties"] as? [String: [String: Any]])
    let store = try #require(settings["stores"]?["items"] as? [String: Any])
    let rules = try #require(store["allOf"] as? [[String: [String: [String]]]])
    #expect(rules == [["not": ["required": ["keyFile", "keyCommand"]]]])
    let text = try Programs.run("syncd", ["--print-schema"]).output
    #expect(!text.contains(".0"), "\(text)")
  }

  @Test("The server's schema has each limit with its bounds, its value and what it is")
  func limits() throws {
    let schema = try schema("driftless-server", ["serve", "--print-schema"])
    let settings = try #require(schema["properties"] as? [String: [String: Any]])
    let limits = try #require(settings["limits"]?["properties"] as? [String: [String: Any]])
    #expect(limits.count > 30)
    let text = try page("Limits.md")
    for (name, limit) in limits {
      // 0 is no bound, or nothing of the kind, where a limit has it.
      let least = limit["minimum"] as? Int
      let hasNone = limit["default"] as? Int == 0 || name == "reserveBytes"
      #expect(least == 1 || least == 0 && hasNone, "\(name)")
      #expect(limit["default"] as? Int != nil, "\(name)")
      let meaning = try #require(limit["description"] as? String)
      #expect(meaning.count > 10 && text.contains("| `\(name)` |"), "\(name)")
    }
  }

  @Test("Comments, a comma too many and the place of a schema are taken by both")
  func comments() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("syncd.json")
    try Data(
      """
      // What this host keeps.
      {
        "$schema": "syncd.schema.json",
        "socket": "s.sock", /* beside
        this file */
        "stores": [ { "path": "a.sqlite", }, ], // more to come
      }
      """.utf8
    ).write(to: file)
    let checked = try Programs.run("syncd", ["--config", file.path, "--check"])
    #expect(checked.status == 0, "\(checked)")
    let server = directory.file("server.json")
    try Data(
      #"{ "$schema": "x", /* one */ "data": "data", "limits": { "readers": 2, }, } // two"#.utf8
    ).write(to: server)
    let told = try Programs.run(
      "driftless-server", ["serve", "--config", server.path, "--check"])
    #expect(told.status == 0 || told.errors.contains("there is no folder"), "\(told)")
    #expect(told.output.contains("limits.readers\t2"), "\(told)")
    #expect(!told.errors.contains("JSON"), "\(told)")
  }
}
