import Driftless
import Foundation

/// One transaction as `log` prints it.
struct LogEntry: Encodable {
  struct Count: Encodable {
    var entity: String
    var inserted = 0
    var updated = 0
    var deleted = 0
    /// The properties that updates changed.
    var properties: Set<String> = []

    private enum Key: String, CodingKey { case entity, inserted, updated, deleted, properties }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(entity, forKey: .entity)
      try container.encode(inserted, forKey: .inserted)
      try container.encode(updated, forKey: .updated)
      try container.encode(deleted, forKey: .deleted)
      try container.encode(properties.sorted(), forKey: .properties)
    }
  }

  var transaction: Int64
  var time: Date
  var author: String?
  var context: String?
  var imported: Bool
  var changes: [Count]

  init(_ transaction: PersistentHistoryTransaction) {
    self.transaction = transaction.transactionNumber
    time = transaction.timestamp
    author = transaction.author
    context = transaction.contextName
    imported = transaction.isImported
    var counts: [String: Count] = [:]
    for change in transaction.changes ?? [] {
      var count = counts[change.entityName] ?? Count(entity: change.entityName)
      switch change.changeType {
      case .insert: count.inserted += 1
      case .update: count.updated += 1
      case .delete: count.deleted += 1
      }
      count.properties.formUnion(change.updatedProperties ?? [])
      counts[change.entityName] = count
    }
    changes = counts.values.sorted { $0.entity < $1.entity }
  }

  private enum Key: String, CodingKey { case transaction, time, author, context, imported, changes }

  /// What is not known is null, as in each command's JSON.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(transaction, forKey: .transaction)
    try container.encode(time, forKey: .time)
    try container.encode(author, forKey: .author)
    try container.encode(context, forKey: .context)
    try container.encode(imported, forKey: .imported)
    try container.encode(changes, forKey: .changes)
  }

  /// Lines for a person.
  var lines: [String] {
    var head = "\(transaction)  \(Moment.text(time))"
    if let author { head += "  \(author)" }
    if imported { head += "  (from the zone)" }
    return [head] + changes.map { "    \($0.text)" }
  }
}

extension LogEntry.Count {
  var text: String {
    var parts: [String] = []
    if inserted > 0 { parts.append("\(inserted) inserted") }
    if updated > 0 { parts.append("\(updated) updated") }
    if deleted > 0 { parts.append("\(deleted) deleted") }
    let names = properties.isEmpty ? "" : " (\(properties.sorted().joined(separator: ", ")))"
    return "\(entity): \(parts.joined(separator: ", "))\(names)"
  }
}
