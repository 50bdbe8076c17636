import Foundation
import Testing

/// Each table of a store, Core Data's and those that Driftless adds, has one owner, the file or folder that `FileFormats.md`
/// names. No other file says anything of it in a statement.
struct OwnerTests {
  /// A file, or a folder, that names tables which are not its own.
  private struct Guest {
    let path: String
    /// Nil for all.
    let tables: Set<String>?
    let reason: String

    init(_ path: String, _ tables: Set<String>?, _ reason: String) {
      self.path = path
      self.tables = tables
      self.reason = reason
    }
  }

  private static let guests = [
    Guest(
      "Driftless/Store/Care/Check/", nil,
      "a check reads rows as they lie in the file, damaged ones too, which no owner hands out"),
    Guest("DriftlessSync/Check/", nil, "as the store's own checks do"),
    Guest(
      "DriftlessSync/Replica/EngineTables.swift",
      [
        "ZDL_KEPT", "ZDL_LACKED", "ZDL_ALIAS", "ZDL_DELETED", "ZDL_DELETED_SINCE",
        "ZDL_IMPORT", "ZDL_GRAVE",
        "ZDL_SEGMENT",
        "ZDL_STAGED", "ZDL_VALUE", "ZDL_MISSED", "ZDL_WANTED",
        "ZDL_PARKED_VALUE", "ZDL_PARKED_FORMER", "ZDL_NAMED",
      ],
      "a check names the table that is damaged, and its owner is asked to forget what is in it"),
    Guest(
      "Driftless/Store/Tables/EngineRows.swift",
      [
        "ZDL_REPLICA", "ZDL_OUTBOX", "ZDL_ALIAS", "ZDL_PARKED_VALUE", "ZDL_PENDING", "ZDL_DANGLING",
        "ZDL_JOURNAL",
      ], "a program without the engine reads, writes and migrates a store that syncs"),
    Guest(
      "Driftless/Store/Tables/TransactionDeltas.swift", ["ZDL_TRANSACTION"],
      "a join: what a transaction did, with the name that the transaction has"),
    Guest(
      "Driftless/Store/History/TransactionTable.swift", ["ZDL_TRANSACTION"],
      "a join: Core Data's row of a transaction with what is noted of it"),
    Guest(
      "Driftless/Store/History/TransactionNotes.swift", ["ATRANSACTION", "ACHANGE"],
      "a join: what Core Data recorded, and nothing is noted of yet"),
    Guest(
      "Driftless/Migration/", [rows, pairs],
      "the rows of one model become those of another: statements over the tables of both"),
    Guest(
      "DriftlessSync/Verify/PageApplier+Repair.swift", [rows],
      "a row that came back without a word is taken out without one, before history tells that it came and went"
    ),
    Guest(
      "Driftless/Contexts/Batch/", [rows, pairs],
      "a batch deletes and updates rows that no object stands for"),
    Guest(
      "Driftless/Model/FetchIndexElementDescription.swift", [rows],
      "the elements of an index in a model file that mean no property"),
  ]

  /// The tables of entities, which are known by the columns that each has.
  private static let rows = "ZNAME"
  /// Join tables, which are known by what is asked of their description.
  private static let pairs = "Z_1BOOKS"
  private static let rowColumns: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
  private static let pairColumns: Set<String> = [
    "sourceColumn", "destinationColumn", "sourceOrderColumn", "destinationOrderColumn",
  ]
  /// Core Data's tables that every store has under one name.
  private static let named = [
    "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ATRANSACTION", "ATRANSACTIONSTRING", "ACHANGE",
  ]

  /// A table's name in the code of a file.
  private struct Mention: Hashable {
    let table: String
    let file: String
    let line: Int
  }

  /// The owner of each table: a file, or a folder, whose name ends with a slash.
  private static func owners() throws -> [String: String] {
    var owners: [String: String] = [:]
    let page = try Pages.text("FileFormats.md")
    for part in page.components(separatedBy: "\n### ").dropFirst() where part.hasPrefix("ZDL_") {
      let lines = part.components(separatedBy: "\n")
      let owner = lines.first { $0.hasPrefix("Owner: `") }
      owners[lines[0]] = owner?.components(separatedBy: "`")[1]
    }
    // Of Core Data's tables, the last column of the page's table.
    for line in page.components(separatedBy: "\n") {
      guard let table = (named + [rows, pairs]).first(where: { line.hasPrefix("| `\($0)`") })
      else { continue }
      owners[table] =
        line.components(separatedBy: "|").dropLast().last?
        .components(separatedBy: "`")[1]
    }
    return owners
  }

  private static func mentions(of tables: Set<String>) throws -> [Mention] {
    var mentions: [Mention] = []
    for folder in ["Sources", "Client", "Server"] {
      let url = Pages.root.appendingPathComponent(folder)
      let paths = FileManager.default.enumerator(atPath: url.path)
      while let path = paths?.nextObject() as? String {
        guard path.hasSuffix(".swift") else { continue }
        let text = try String(contentsOf: url.appendingPathComponent(path), encoding: .utf8)
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
          let names = names(in: line)
          guard !names.isEmpty, !isComment(Substring(line)) else { continue }
          for name in names {
            let file = folder == "Sources" ? path : "\(folder)/\(path)"
            mentions.append(
              Mention(table: table(name, tables), file: file, line: number + 1))
          }
        }
      }
    }
    return mentions
  }

  /// The words of a line that are names of tables or indexes, or of what tells a table of entities or a join table. By bytes:
  /// to the library of regular expressions, `main.ZDL_STORE` is one word.
  private static func names(in line: Substring.UTF8View) -> [String] {
    let words = line.split { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        false
      default: true
      }
    }
    return words.compactMap { word in
      guard word.count > 3, let first = word.first, "ZAsd".utf8.contains(first) else { return nil }
      let name = String(Substring(word))
      return isName(name) ? name : nil
    }
  }

  private static func isName(_ word: String) -> Bool {
    if named.contains(word) || rowColumns.contains(word) || pairColumns.contains(word) {
      return true
    }
    if word.hasPrefix("Z_FOK") { return true }
    guard word.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (65...90).contains($0) }) else {
      return false
    }
    return (word.hasPrefix("ZDL_") && word.count > 4 && !word.hasSuffix("_"))
      || named.contains { word.hasPrefix("\($0)_") }
  }

  private static func isComment(_ line: Substring) -> Bool {
    line.drop(while: \.isWhitespace).hasPrefix("//")
  }

  /// The table whose name it is, or whose index's.
  private static func table(_ name: String, _ tables: Set<String>) -> String {
    if tables.contains(name) { return name }
    if pairColumns.contains(name) { return pairs }
    if rowColumns.contains(name) || name.hasPrefix("Z_FOK") { return rows }
    return tables.filter { name.hasPrefix("\($0)_") }.max { $0.count < $1.count } ?? name
  }

  private static func isWithin(_ file: String, _ path: String) -> Bool {
    path.hasSuffix("/") ? file.hasPrefix(path) : file == path
  }

  @Test("Only the owner of a table names it")
  func tablesHaveOneOwner() throws {
    let owners = try Self.owners()
    let mentions = try Self.mentions(of: Set(owners.keys))
    #expect(owners.count > 30 && mentions.count > 500)
    #expect(Self.named.allSatisfy { owners[$0] != nil })
    for mention in mentions {
      let place = "\(mention.file):\(mention.line)"
      guard let owner = owners[mention.table] else {
        Issue.record("\(place) names \(mention.table), which FileFormats.md does not describe")
        continue
      }
      let isGuest = Self.guests.contains {
        Self.isWithin(mention.file, $0.path) && $0.tables?.contains(mention.table) != false
      }
      #expect(
        Self.isWithin(mention.file, owner) || isGuest,
        "\(place) names \(mention.table): its owner is \(owner), which is to be asked")
    }
  }

  @Test("Every owner names its table, and every guest the tables that it is let name")
  func ownersAndGuestsAreThere() throws {
    let owners = try Self.owners()
    let mentions = try Self.mentions(of: Set(owners.keys))
    for (table, owner) in owners.sorted(by: { $0.key < $1.key }) {
      let isThere = mentions.contains { $0.table == table && Self.isWithin($0.file, owner) }
      #expect(isThere, "\(owner) does not name \(table)")
    }
    for guest in Self.guests {
      let named = Set(mentions.filter { Self.isWithin($0.file, guest.path) }.map(\.table))
      #expect(!named.isEmpty, "\(guest.path) names no table: \(guest.reason)")
      let unnamed = guest.tables?.subtracting(named) ?? []
      #expect(unnamed.isEmpty, "\(guest.path) does not name \(unnamed.sorted())")
    }
  }
}
