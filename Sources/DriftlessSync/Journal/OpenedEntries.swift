import Driftless
import Foundation

/// Journal entries as who has the keys reads them: what was sealed when it was settled is kept as the cell that came.
struct OpenedEntries {
  private let transaction: ReadTransaction
  private let schema: SyncSchema

  init(_ transaction: ReadTransaction, _ schema: SyncSchema) {
    self.transaction = transaction
    self.schema = schema
  }

  /// The entry, with the texts of what opens.
  func opened(_ entry: JournalEntry) throws -> JournalEntry {
    guard schema.keys != nil,
      [entry.local, entry.remote].contains(JournalDraft.sealedText), let name = entry.property,
      let entity = schema.entity(namedNowOrBefore: entry.entity),
      let property = entity.property(namedNowOrBefore: name),
      let values = try Journal.entry(entry.number, on: transaction.connection)?.values
    else { return entry }
    var entry = entry
    let object = entry.object
    func open(_ value: PropertyValue?) throws -> String? {
      guard let cell = value.flatMap({ SealedValue.cell(in: $0) }),
        let plain = CellOpener(transaction, schema: schema)
          .value(ofCell: cell, property, of: entity, identity: object)
      else { return nil }
      var json = JSONText()
      try json.value(plain) { key, json in json.uuid(try transaction.identity(of: key)) }
      return String(decoding: json.bytes, as: UTF8.self)
    }
    let (local, remote) = (entry.local, entry.remote)
    entry.local = try open(values.local) ?? local
    entry.remote = try open(values.remote) ?? remote
    if entry.kept == JournalDraft.sealedText {
      switch entry.outcome {
      case .local where local == entry.kept: entry.kept = entry.local
      case .remote where remote == entry.kept: entry.kept = entry.remote
      default: break
      }
    }
    return entry
  }
}
