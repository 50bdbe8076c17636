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
  /// - Parameter lines: A batch of them; they are used up.
  func importTransaction(
    _ lines: inout [ImportLine], _ reader: inout LineReader, author: String?
  ) throws -> ImportReport {
    let linesMax = lines.count
    return try store.writeWhole(
      TransactionInfo(author: author, contextName: Self.contextName)
    ) { transaction in
      var counts = ImportReport(transactions: 1)
      while true {
        counts.add(try importBatch(lines))
        lines.removeAll(keepingCapacity: true)
        while lines.count < linesMax {
          let line = try reader.next()
          switch line?.operation {
          case .save, nil:
            if !lines.isEmpty { counts.add(try importBatch(lines)) }
            lines = []
            if case .save(let name?) = line?.operation { transaction.info.author = name }
            return counts
          default:
            if let line { lines.append(line) }
          }
        }
      }
    }
  }

  private static let contextName = "import"

  private func importBatch(_ lines: [ImportLine]) throws -> ImportReport {
    // What a line deletes, a later one may make again: then it is an object that changed.
    guard !lines.contains(where: { $0.operation.isDelete }) else { throw NotInBatches() }
    let context = ManagedObjectContext(coordinator)
    let transaction = ImportTransaction(context, shapes: shapes)
    try transaction.perform(lines, into: store, settling: [])
    // A later line may be meant, whose object would have to be there.
    guard transaction.awaited.isEmpty else { throw NotInBatches() }
    try context.save()
    return transaction.counts
  }
}

extension ImportLine.Operation {
  fileprivate var isDelete: Bool { if case .delete = self { true } else { false } }
}
