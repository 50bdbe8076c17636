import Foundation
import Testing

/// The pages of reference name all that the sources have: `Errors.md`, `Protocol.md` and `ServerManual.md`.
struct ReferencePageTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: Pages.root.appendingPathComponent(path), encoding: .utf8)
  }

  private static func swiftFiles(in folder: String) throws -> [(path: String, text: String)] {
    let names = FileManager.default.enumerator(
      atPath: Pages.root.appendingPathComponent(folder).path)
    var files: [(String, String)] = []
    while let name = names?.nextObject() as? String {
      guard name.hasSuffix(".swift"), !name.hasSuffix(".pb.swift") else { continue }
      files.append(("\(folder)/\(name)", try text("\(folder)/\(name)")))
    }
    return files
  }

  private static func matches(_ pattern: String, in text: String) throws -> [[String]] {
    try text.matches(of: Regex(pattern).anchorsMatchLineEndings()).map { match in
      match.output.dropFirst().map { String($0.substring ?? "") }
    }
  }

  /// What stands below a heading, up to the next of its rank.
  private static func section(_ title: String, of page: String) -> String {
    page.components(separatedBy: "\n## \(title)").dropFirst().first?
      .components(separatedBy: "\n## ").first ?? ""
  }

  // MARK: Errors.md

  private static let coded = [
    ("StoreError", "Sources/Driftless/Store/StoreError.swift"),
    ("ObjectError", "Sources/Driftless/Objects/ObjectError.swift"),
    ("ModelError", "Sources/Driftless/Model/ModelError.swift"),
    ("FetchError", "Sources/Driftless/Predicates/FetchError.swift"),
    ("SyncError", "Sources/DriftlessSync/SyncError.swift"),
    ("ProtocolError", "Sources/DriftlessProtocol/ProtocolError.swift"),
    ("TransportError", "Sources/DriftlessHTTP/TransportError.swift"),
    ("ServerError", "Server/DriftlessServer/ServerError.swift"),
  ]

  @Test("Every code of every error has a row in its section of Errors.md", arguments: coded)
  func codes(type: String, path: String) throws {
    let section = Self.section("`\(type)`", of: try Pages.text("Errors.md"))
    let codes = try Self.matches(
      #"static let (\w+) = Code\((?:rawValue: |name: )?"([^"]+)""#, in: try Self.text(path))
    #expect(codes.count > 5, "\(path)")
    for code in codes {
      let isThere = section.contains("\n| `\(code[0])` |") && section.contains("`\(code[1])`")
      #expect(isThere, "Errors.md, section \(type), has no row for \(code)")
    }
  }

  @Test("Every public type of error is in Errors.md")
  func errorTypes() throws {
    let page = try Pages.text("Errors.md")
    var types: Set<String> = []
    for file in try Self.swiftFiles(in: "Sources") {
      for type in try Self.matches(
        #"^ *public (?:struct|enum|final class) (\w+): (?:\w+, )*Error\b"#, in: file.text)
      {
        types.insert(type[0])
      }
    }
    #expect(types.count > 10)
    for type in types.sorted() { #expect(page.contains("`\(type)`"), "Errors.md lacks \(type)") }
  }

  @Test("Every code that a program says is in Errors.md, and every exit code")
  func programs() throws {
    let page = try Pages.text("Errors.md")
    for folder in ["Client", "Server"] {
      for file in try Self.swiftFiles(in: folder) {
        for code in try Self.matches(#"\bcode: "([a-z-]+)""#, in: file.text) {
          #expect(page.contains("`\(code[0])`"), "Errors.md lacks \(code[0]) of \(file.path)")
        }
      }
    }
    let exits = try Self.matches(
      #"^  case \w+ = (\d+)$"#, in: try Self.text("Client/SyncDaemon/Access/ExitStatus.swift"))
    #expect(exits.count > 5)
    for exit in exits { #expect(page.contains("\n| \(exit[0]) |"), "Errors.md: exit \(exit[0])") }
    let rules = try Self.matches(
      #"public static let (\w+) = (\d{4})$"#,
      in: try Self.text("Sources/Driftless/Model/ValidationError.swift"))
    #expect(rules.count > 10)
    for rule in rules {
      #expect(page.contains("`\(rule[0])` | \(rule[1]) |"), "Errors.md lacks \(rule)")
    }
  }

  // MARK: Protocol.md

  private static let wire = "Sources/DriftlessProtocol"

  @Test("Every route that the server has is in Protocol.md")
  func routes() throws {
    let page = try Pages.text("Protocol.md")
    var routes: [String] = []
    for file in try Self.swiftFiles(in: "Server/DriftlessServer") {
      for route in try Self.matches(#"router\.(\w+?)(?:AndHead)?\("([^"]+)"\)"#, in: file.text) {
        let path = route[1].replacingOccurrences(of: ":zone", with: "{zone}")
          .replacingOccurrences(of: ":name", with: "{name}")
          .replacingOccurrences(of: ":digest", with: "{digest}")
        routes.append("\(route[0].uppercased()) /\(path)")
      }
    }
    #expect(routes.count >= 7)
    for route in routes { #expect(page.contains("## `\(route)`"), "Protocol.md lacks \(route)") }
    // And none that the server has not.
    for heading in try Self.matches(#"^### `([A-Z]+ /[^`]+)`"#, in: page) {
      #expect(routes.contains(heading[0]), "the server has no \(heading[0])")
    }
  }

  @Test("openapi.yaml has the routes of Protocol.md that are for programs, and their parameters")
  func openAPI() throws {
    let page = try Pages.text("Protocol.md")
    let file = try Self.text("Server/openapi.yaml")
    var described: Set<String> = []
    var path = ""
    for line in file.split(separator: "\n") {
      if line.hasPrefix("  /"), line.hasSuffix(":") { path = String(line.dropFirst(2).dropLast()) }
      if line == "    get:" { described.insert("GET \(path)") }
      if line == "    post:" { described.insert("POST \(path)") }
      if line == "    put:" { described.insert("PUT \(path)") }
    }
    var stated: Set<String> = []
    let forBrowsers = page.components(separatedBy: "\n### For operators' browsers")
    try #require(forBrowsers.count == 2)
    for heading in try Self.matches(#"^### `([A-Z]+ /[^`]+)`"#, in: forBrowsers[0]) {
      stated.insert(heading[0])
    }
    #expect(described == stated && stated.count >= 14)
    let query = try Self.text("Server/DriftlessServer/Routes/PullQuery.swift")
    for name in try Self.matches(#""([a-z_]+)""#, in: query)
    where !["generation"].contains(name[0]) {
      #expect(file.contains("- { name: \(name[0]), in: query"), "openapi.yaml lacks \(name[0])")
    }
    for type in try Self.matches(
      #""(application/vnd[a-z.]+)""#, in: try Self.text("\(Self.wire)/Wire/WirePath.swift"))
    {
      #expect(file.contains("\(type[0]): {"), "openapi.yaml lacks \(type[0])")
    }
  }

  @Test("Every parameter, key, field and code of the wire is in Protocol.md")
  func names() throws {
    let page = try Pages.text("Protocol.md")
    var names: Set<String> = []
    let query = try Self.text("Server/DriftlessServer/Routes/PullQuery.swift")
    for name in try Self.matches(#""([a-z_]+)""#, in: query) { names.insert(name[0]) }
    for file in [
      "Wire/ZoneInfo.swift", "Wire/PushReply.swift", "Wire/RefillReply.swift",
      "Wire/WireError.swift", "Zone/LogChain.swift",
    ] {
      let text = try Self.text("\(Self.wire)/\(file)")
      for name in try Self.matches(#"^  public var (\w+): [^{\n]+$"#, in: text) {
        names.insert(name[0])
      }
    }
    for file in try Self.swiftFiles(in: Self.wire) {
      for name in try Self.matches(#""((?:Driftless|Content)-[A-Za-z]+)""#, in: file.text) {
        names.insert(name[0])
      }
      for name in try Self.matches(#"static let \w+ = Code\(rawValue: "([^"]+)"\)"#, in: file.text)
      {
        names.insert(name[0])
      }
      for name in try Self.matches(#""(application/[a-z.]+)""#, in: file.text) {
        names.insert(name[0])
      }
    }
    #expect(names.count > 40, "\(names)")
    for name in names.sorted() {
      #expect(page.contains("`\(name)`"), "Protocol.md lacks \(name)")
    }
  }

  @Test(
    "Protocol.md has each byte of the headers",
    arguments: ["ChangeSet/ChangeSetHeader.swift", "Wire/PullPage.swift"])
  func bytes(file: String) throws {
    let page = try Pages.text("Protocol.md")
    let rows = try Self.matches(
      #"^ */// (\| \d+\.\.[.<]\d* \| [^\n]*)$"#, in: try Self.text("\(Self.wire)/\(file)"))
    #expect(rows.count >= 8)
    for row in rows { #expect(page.contains("\n\(row[0])\n"), "Protocol.md lacks \(row[0])") }
  }

  @Test(
    "Protocol.md has every message and field of a change set's sections, and every kind of column")
  func sections() throws {
    let page = try Pages.text("Protocol.md")
    let proto = try Self.text("\(Self.wire)/Codec/ChangeSet.proto")
    let messages = try Self.matches(#"^message (\w+) \{"#, in: proto)
    let fields = try Self.matches(#"^  (?:repeated )?\w+ (\w+) = (\d+);"#, in: proto)
    let kinds = try Self.matches(#"(\d+) ([a-z]+)(?:,|$)"#, in: proto)
      .filter { (1...11).contains(Int($0[0]) ?? 0) }
    #expect(messages.count >= 10 && fields.count >= 40 && kinds.count >= 11)
    for message in messages { #expect(page.contains("`\(message[0])`"), "lacks \(message[0])") }
    for field in fields {
      #expect(page.contains("`\(field[0])` \(field[1])"), "Protocol.md lacks \(field)")
    }
    for kind in kinds
    where [
      "integers", "doubles", "dates", "booleans", "strings", "bytes",
      "decimals", "uris", "uuids", "references", "elements",
    ].contains(kind[1]) {
      #expect(page.contains("\n| \(kind[0]) | \(kind[1]) |"), "Protocol.md lacks kind \(kind)")
    }
  }

  // MARK: Manuals

  @Test("ServerManual.md has every metric, and every option of serve")
  func metrics() throws {
    let page = try Pages.text("ServerManual.md")
    func names(_ call: String, of file: String) throws -> [String] {
      try Self.matches(
        "\\b\(call)\\(\\s*\"(\\w+)\",",
        in: try Self.text("Server/DriftlessServer/Observe/\(file)")
      ).map { $0[0] }
    }
    let metrics =
      try names("(?:metric|counter|gauge)", of: "MetricsPage.swift").map { "driftless_\($0)" }
      + names("metric", of: "ProcessFigures.swift").map { "process_\($0)" }
    #expect(metrics.count >= 25)
    for metric in metrics {
      #expect(page.contains("`\(metric)`"), "ServerManual.md lacks \(metric)")
    }
    let watched = try Self.matches(
      #"\b((?:driftless|process)_\w+)"#, in: try Self.text("Server/Packaging/alerts.yml"))
    #expect(watched.count >= 12)
    for name in watched {
      let family = name[0].replacingOccurrences(of: "_bucket", with: "")
      #expect(metrics.contains(family), "alerts.yml watches \(family)")
    }
    let options = try Self.matches(
      #"@(?:Option|Flag)\([^)]*\)\s+var (\w+)"#,
      in: try Self.text("Server/driftless-server/ServeCommand.swift"))
    #expect(options.count >= 6)
    for option in options {
      // Capitals that follow each other are one word.
      let name = option[0].replacing(#/([a-z])([A-Z])/#) { "\($0.1)-\($0.2)" }.lowercased()
      #expect(page.contains("`--\(name)`"), "ServerManual.md lacks --\(name)")
    }
  }

  @Test("DaemonManual.md has every setting of the configuration")
  func settings() throws {
    let page = try Pages.text("DaemonManual.md")
    let names =
      try Self.matches(
        #"SettingDeclaration\(\s*"(\w+)""#,
        in: try Self.text("Client/SyncDaemon/DaemonSettings.swift")
      ).map { $0[0] } + ["logLevel"]
    #expect(names.count == 11, "\(names)")
    for name in names { #expect(page.contains("| `\(name)` |"), "DaemonManual.md lacks \(name)") }
  }
}
