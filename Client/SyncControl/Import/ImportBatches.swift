import Driftless
import Foundation

/// Brings a large transaction of a file into the store in batches, so that its objects are not in memory all at once. To
/// everybody else it is one transaction, as it is in the file.
///
/// It takes only what comes to the same in batches as in one piece, and leaves the rest, all that is wrong with a line
/// too, to be done in one piece.
struct ImportBatches {
  /// Lines of which the objects are in memory at once; a transaction of fewer is done in one piece.
  static let linesMax = 10_000

  let store: PersistentStore
  let coordinator: PersistentStoreCoordinator
  let shapes: ImportShapes

  /// Something must be done in one piece.
  private struct NotInBatches: Error {}

  /// Imports the transaction that begins with these lines and goes on where the reader stands, and moves the reader behind
  /// it. When it throws, nothing was done.
  ///
  /// - Parameters:
  ///   - lines: A batch of them; they are used up.
  ///   - check: Asked before each batch; what it throws ends the import.
  ///   - end: Called in the transaction when all is done, with whether a line added to a number.
  func importTransaction(
    _ lines: inout [ImportLine], _ reader: inout LineReader, author: String?,
    beforeEach check: (LineReader) throws -> Void = { _ in },
    atEnd end: (LineReader, Bool, WriteTransaction) throws -> Void = { _, _, _ in }
  ) throws -> ImportReport {
    let linesMax = lines.count
    var batches = Progress()
    return try store.writeWhole(
      TransactionInfo(author: author, contextName: Self.contextName)
    ) { transaction in
      while true {
        try check(reader)
        try importBatch(lines, &batches)
        lines.removeAll(keepingCapacity: true)
        while lines.count < linesMax {
          let line = try reader.next()
          switch line?.operation {
          case .save, nil:
            if !lines.isEmpty { try importBatch(lines, &batches) }
            lines = []
            // A later transaction may insert it, or none.
            guard batches.awaited.isEmpty else { throw NotInBatches() }
            if case .save(let name?) = line?.operation { transaction.info.author = name }
            try end(reader, batches.adds, transaction)
            return batches.counts
          default:
            if let line { lines.append(line) }
          }
        }
      }
    }
  }

  private static let contextName = "import"

  /// What the batches so far came to.
  private struct Progress {
    var counts = ImportReport(transactions: 1)
    /// References to what no line so far has inserted.
    var awaited = AwaitedReferences()
    /// Whether a line changed an object that another one made.
    var hasUpdates = false
    /// Whether a line added to a number.
    var adds = false
  }

  private func importBatch(_ lines: [ImportLine], _ batches: inout Progress) throws {
    // What a line deletes, a later one may make again: then it is an object that changed.
    guard !lines.contains(where: { $0.operation.isDelete }) else { throw NotInBatches() }
    if !batches.hasUpdates { batches.hasUpdates = lines.contains { $0.operation.mayUpdate } }
    if !batches.adds { batches.adds = lines.contains { !$0.add.isEmpty } }
    let context = ManagedObjectContext(coordinator)
    let transaction = ImportTransaction(context, shapes: shapes)
    let settled = batches.awaited.take(insertedBy: lines, shapes)
    try transaction.perform(lines, settling: settled, isOneTransaction: true)
    for reference in transaction.awaited {
      guard let relationship = reference.owner.relationshipsByName[reference.property],
        Self.mayWait(relationship)
      else { throw NotInBatches() }
      batches.awaited.add(reference)
    }
    // An update between a reference and the line that it waits for may have the later word on it.
    guard batches.awaited.isEmpty && settled.isEmpty || !batches.hasUpdates else {
      throw NotInBatches()
    }
    try context.save()
    batches.counts.add(transaction.counts)
  }

  /// Whether a reference to a later line comes to the same when it is set with that line, where all lines are inserts. A
  /// sequence has its order from the line that says it, and a partner may be taken meanwhile and lost again.
  private static func mayWait(_ relationship: RelationshipDescription) -> Bool {
    let isOneToOne = !relationship.isToMany && relationship.inverseRelationship?.isToMany == false
    return !relationship.isOrdered && !isOneToOne
  }
}

extension ImportLine.Operation {
  fileprivate var isDelete: Bool { if case .delete = self { true } else { false } }
  fileprivate var mayUpdate: Bool {
    switch self {
    case .update, .upsert: true
    case .insert, .delete, .save: false
    }
  }
}
