/// What an import did.
package struct ImportReport: Hashable, Sendable, Codable {
  package var transactions = 0
  package var inserted = 0
  package var updated = 0
  package var deleted = 0
  /// Objects with values that the model refuses, as the store had them that the lines are of.
  package var unfit = 0

  /// Values that were in a zone, and not in the store that the lines are of: their properties stay as they are.
  package var inZone = 0

  /// Lines of objects that were there, where only missing ones were wanted.
  package var passedOver = 0

  package init(transactions: Int = 0) { self.transactions = transactions }

  mutating func add(_ other: ImportReport) {
    transactions += other.transactions
    inserted += other.inserted
    updated += other.updated
    deleted += other.deleted
    unfit += other.unfit
    inZone += other.inZone
    passedOver += other.passedOver
  }

  /// One line for a person.
  var text: String {
    "imported \(inserted) inserted, \(updated) updated, \(deleted) deleted, "
      + "in \(transactions) transaction\(transactions == 1 ? "" : "s")"
      + (unfit == 0
        ? ""
        : "; \(unfit) object\(unfit == 1 ? " has" : "s have") values that the model refuses, as the file says (\"unfit\")")
      + (inZone == 0
        ? ""
        : "; \(inZone) value\(inZone == 1 ? " is" : "s are") not in the file, whose store had not fetched "
          + "\(inZone == 1 ? "it" : "them") (\"inZone\")")
      + (passedOver == 0
        ? ""
        : "; passed over \(passedOver) line\(passedOver == 1 ? "" : "s") of objects that are there")
  }
}

/// How far an import came.
package struct ImportProgress: Hashable, Sendable {
  /// Up to this line all is saved: the end of a transaction, or 0.
  package var line = 0
  /// A line up to there that refers to a later one, and has no reference so far.
  package var waitingLine: Int?

  package init(line: Int, waitingLine: Int? = nil) {
    self.line = line
    self.waitingLine = waitingLine
  }

  /// What is saved, for a person.
  package var text: String {
    if line == 0 { return "nothing was saved" }
    let waiting = waitingLine.map { ", but for references of line \($0) on to later lines" }
    return "lines 1 to \(line) are saved\(waiting ?? "")"
  }
}

/// Somebody ended an import before the end of its file.
package struct ImportInterrupted: Error {
  package var progress: ImportProgress
}
