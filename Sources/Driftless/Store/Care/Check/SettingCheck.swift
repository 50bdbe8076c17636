import DriftlessSQLite
import Foundation

/// `ZDL_STORE`: settings of the store's own, by name. Each has its form; two of them every store has. One that is unknown may
/// be a later version's, or an engine's, which looks after its own.
struct SettingCheck: TableCheck {
  let tables = ["ZDL_STORE"]

  /// What a setting is.
  private enum Form {
    case number(ClosedRange<Int64>)
    case text((String) -> Bool)
    case bytes(Int)

    func fits(_ value: SQLiteValue) -> Bool {
      switch (self, value) {
      case (.number(let range), .integer(let number)): range.contains(number)
      case (.text(let isRight), .text(let text)): isRight(text)
      case (.bytes(let count), .blob(let bytes)): bytes.count == count
      default: false
      }
    }
  }

  private static let mintPrefix = "mintPrefix"

  private static func places(words: ClosedRange<Int>) -> Form {
    .text { text in
      text.split(separator: "\n").allSatisfy { words.contains($0.split(separator: " ").count) }
    }
  }

  private static func isJSON(_ text: String, _ type: (some Decodable).Type) -> Bool {
    (try? JSONDecoder().decode(type, from: Data(text.utf8))) != nil
  }

  private static var forms: [String: Form] {
    [
      mintPrefix: .bytes(6), "syncing": .number(1...1),
      StoreSettings.identitiesKept: .number(1...1),
      ContentDigest.setting: .text { text in
        text.utf8.count == 32 && text.allSatisfy(\.isHexDigit)
      },
      "historyFloor": .number(-1...ReadTransaction.greatestNumber),
      FileIdentity.setting: .text { $0 == "copy" || FileIdentity(text: $0) != nil },
      FileIdentity.copySetting: .number(1...1),
      ClockOffset.setting: .text { ClockOffset(text: $0) != nil },
      ExternalColumns.setting: .text { text in
        text.split(separator: "\n").allSatisfy { $0.contains(".") }
      },
      StoreDefinition.versionSetting: .number(1...Int64.max),
      KeptCopies.setting: .text { !$0.contains("/") },
      PersistentStore.sweepingSetting: .number(1...1),
      // What a migration left to be cleaned up.
      "deferredCleanup": .text { _ in true },
      // What it left of entities that are gone.
      "goneKeys": .text { isJSON($0, [String: Int64].self) },
      "goneLayouts": .text { isJSON($0, [String: [[String: String]]].self) },
      LostCommits.setting: .text { LostCommits(text: $0) != nil },
      LogLink.setting: .text { LogLink(text: $0) != nil },
      ContentState.setting: .number(1...Int64.max),
      // How far imports came that were cut off: a line, a place and a digest, and the first line that waits for later ones. A
      // few programs kept those with a name here too.
      "import.places": places(words: 3...5),
      // The same with the name by which lines are kept that were passed over.
      "import.placesOfMissing": places(words: 5...5),
      // The imports of both, by their numbers.
      "import.owners": places(words: 4...6),
      // The one that programs of before keep.
      "import.place": .text { $0.split(separator: " ").count == 3 },
    ]
  }

  /// Lines that an import passed over, under a name for each file and transaction: ranges, or lines alone.
  private static var passedLines: Form {
    .text { text in
      text.split(separator: " ").allSatisfy { range in
        let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1]
        else { return false }
        return first > 0 && first <= last && last < Int.max
      }
    }
  }

  func check(_ inspection: StoreInspection) throws {
    try inspection.check("ZDL_STORE", key: ["key"], StoreSettings.rules)
    let forms = Self.forms
    var names: Set<String> = []
    for row in try inspection.connection.rows("SELECT key, value FROM ZDL_STORE") {
      guard case .text(let name) = row[0] else { continue }
      names.insert(name)
      let known = forms[name] ?? (name.hasPrefix("import.passed ") ? Self.passedLines : nil)
      guard let form = known, !form.fits(row[1]) else { continue }
      inspection.report(.damage, "ZDL_STORE", "ZDL_STORE, \(name): its value cannot be read.")
    }
    if !names.contains(Self.mintPrefix) {
      inspection.report(
        .damage, "ZDL_STORE", "ZDL_STORE does not say how the store makes identities.")
    }
    guard inspection.isOurs else { return }
    if !names.contains(StoreDefinition.versionSetting) {
      inspection.report(
        .disagreement, "ZDL_STORE", "ZDL_STORE does not say of which version its tables are.",
        suggestion: "Open the store for writing, which brings them up to date.")
    }
    try checkColumns(inspection)
  }

  /// The columns whose values may lie in files are columns of the model that can.
  private func checkColumns(_ inspection: StoreInspection) throws {
    guard
      case .text(let text)? = try inspection.transaction.setting(ExternalColumns.setting)
    else { return }
    let columns = Set(
      inspection.schema.tables.flatMap { table in
        table.columns.compactMap { column in
          if case .attribute(let type) = column.kind, type.isData {
            return "\(table.name).\(column.name)"
          }
          return nil
        }
      })
    for name in text.split(separator: "\n") where !columns.contains(String(name)) {
      inspection.report(
        .disagreement, "ZDL_STORE",
        "ZDL_STORE says that \(name.prefix(60)) holds values in files, which is no such column.")
    }
  }
}
