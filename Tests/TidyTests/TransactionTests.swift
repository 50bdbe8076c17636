import Foundation
import Testing

/// A transaction is begun where it is ended, by the connection: a statement that begins or ends one by hand is one that some
/// error leaves open, or that commits what was to be taken back.
struct TransactionTests {
  /// The files that say such statements, each for one kind of database.
  private static let owners: Set<String> = [
    "Sources/DriftlessSQLite/SQLiteTransaction.swift",
    "Server/DriftlessServer/Storage/PostgreSQL/PostgresConnection.swift",
  ]

  /// The statements of a line of code that begin or end a transaction, or a part of one. The body of a trigger begins and ends
  /// in words that are followed by others.
  private static func statements(in line: Substring) -> [String] {
    let code = line.drop { $0 == " " }
    guard !code.hasPrefix("//"), !code.hasPrefix("*") else { return [] }
    let pattern =
      #/\b(COMMIT|ROLLBACK|SAVEPOINT|RELEASE|BEGIN(?= *(?:"|;|IMMEDIATE|EXCLUSIVE|DEFERRED|TRANSACTION|ISOLATION|CONCURRENT)))\b/#
    return code.matches(of: pattern).map { String($0.output.1) }
  }

  @Test("A transaction is begun where it is ended: by the connection")
  func transactionsAreClosures() throws {
    var found: Set<String> = []
    for folder in ["Sources", "Server", "Client", "Examples", "Plugins"] {
      let paths = FileManager.default.enumerator(
        atPath: Pages.root.appendingPathComponent(folder).path)
      while let path = paths?.nextObject() as? String {
        guard path.hasSuffix(".swift"), !path.contains(".build/") else { continue }
        let file = "\(folder)/\(path)"
        let text = try String(contentsOf: Pages.root.appendingPathComponent(file), encoding: .utf8)
        // Most files have none of the letters.
        guard
          ["COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "BEGIN"].contains(where: text.contains)
        else { continue }
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
          .enumerated()
        {
          for statement in Self.statements(in: line) {
            found.insert(file)
            guard !Self.owners.contains(file) else { continue }
            Issue.record(
              "\(file):\(number + 1) says \(statement) by hand: use transaction, savepoint, probing or reading of the connection"
            )
          }
        }
      }
    }
    #expect(Self.owners.subtracting(found) == [], "they have no such statement any more")
  }

  @Test(
    "What begins or ends a transaction is told from the body of a trigger and from what is said of it"
  )
  func statementsAreTold() {
    for line in [
      #"try connection.execute("BEGIN")"#, #"execute("BEGIN IMMEDIATE")"#,
      #"execute("UPDATE t SET a = 1; COMMIT")"#, #"run("SAVEPOINT push")"#,
      #"run("ROLLBACK TO push")"#, "  BEGIN;", "  INSERT INTO t VALUES (1); COMMIT",
    ] {
      #expect(Self.statements(in: Substring(line)).count == 1, "\(line)")
    }
    for line in [
      "  // COMMIT is said by the connection", #"BEGIN SELECT f(NEW.a); END"#,
      #"BEGIN \(statement); END"#, #"text.contains("-----BEGIN CERTIFICATE-----")"#,
      #"INSTEAD OF \(event) ON v BEGIN"# + " SELECT 1",
    ] {
      #expect(Self.statements(in: Substring(line)).isEmpty, "\(line)")
    }
  }
}
