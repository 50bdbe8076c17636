import DriftlessSQLite

/// Which columns of a file hold values in the form of ``ExternalValue``.
///
/// Whether an attribute allows external storage is in no version hash, so that a model may come to say otherwise than the
/// one that a file was made with. What the bytes in the file mean does not change by that: the file says so itself, and
/// only a migration, which writes it anew, goes by the model.
enum ExternalColumns {
  static let setting = "externalColumns"

  /// `TABLE.COLUMN`, one a line.
  static func text(of schema: StoreSchema) -> String {
    schema.externalColumns.map { "\($0.table).\($0.column)" }.joined(separator: "\n")
  }

  /// What the file says; nil for one that goes by the model that it is opened with, as those of Core Data do.
  static func read(
    _ connection: SQLiteConnection, numbers: [String: Int32]
  ) throws -> Set<String>? {
    guard try StoreSettings.exist(on: connection) else { return nil }
    var kept: String?
    if case .text(let text)? = try StoreSettings.value(of: setting, on: connection) {
      kept = text
    } else if let content = try ModelInside.content(on: connection) {
      // A file that does not say yet goes by the model inside.
      kept = text(of: StoreSchema(model: try ModelArchive.decode(content), numbers: numbers))
    }
    return kept.map { Set($0.split(separator: "\n").map(String.init)) }
  }
}

extension StoreSchema {
  /// Whether the column of a property holds values in the form of ``ExternalValue``.
  func holdsExternalData(_ slot: Int, of entity: EntityDescription) -> Bool {
    guard let program = program(numbered: entityNumber(of: entity)),
      program.stepOfSlot.indices.contains(slot), program.stepOfSlot[slot] >= 0
    else { return false }
    return program.steps[program.stepOfSlot[slot]].kind == .externalData
  }
}
