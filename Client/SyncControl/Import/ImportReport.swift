/// What an import did.
package struct ImportReport: Hashable, Sendable, Codable {
  package var transactions = 0
  package var inserted = 0
  package var updated = 0
  package var deleted = 0

  package init(transactions: Int = 0) { self.transactions = transactions }

  mutating func add(_ other: ImportReport) {
    transactions += other.transactions
    inserted += other.inserted
    updated += other.updated
    deleted += other.deleted
  }

  /// One line for a person.
  var text: String {
    "imported \(inserted) inserted, \(updated) updated, \(deleted) deleted, "
      + "in \(transactions) transaction\(transactions == 1 ? "" : "s")"
  }
}
