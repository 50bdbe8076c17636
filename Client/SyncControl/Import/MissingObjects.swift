import Driftless
import Foundation

/// The objects of a file that the store did not have when an import came to their first lines: where only those are wanted, lines
/// of others are passed over.
final class MissingObjects {
  private let store: PersistentStore
  /// As many as the file brings: once they are saved, nothing else tells them from what was there before.
  private var missing: Set<UUID> = []
  /// The lines that were passed over; a line may be read more than once.
  private(set) var passedOver = IndexSet()
  /// Those of them that nobody keeps so far.
  private var unkept = IndexSet()

  init(_ store: PersistentStore) { self.store = store }

  /// For an import that goes on where one before it was cut off.
  ///
  /// - Parameters:
  ///   - last: Up to here the lines are saved.
  ///   - passedOver: Those of them that were passed over; the others made what was missing.
  init(
    _ store: PersistentStore, of bytes: ImportBytes, through last: Int, passedOver: IndexSet
  ) throws(ImportError) {
    self.store = store
    self.passedOver = passedOver
    var reader = try LineReader(bytes)
    while reader.number < last, let line = try reader.next(), line.number <= last {
      if !passedOver.contains(line.number), let identity = identity(of: line) {
        missing.insert(identity)
      }
    }
  }

  /// Those passed over up to a line that nobody keeps so far. Some of later lines may have been read ahead.
  func unkept(through line: Int) -> IndexSet {
    var lines = IndexSet()
    for range in unkept.rangeView {
      guard range.lowerBound <= line else { break }
      lines.insert(integersIn: range.lowerBound..<min(range.upperBound, line + 1))
    }
    return lines
  }

  /// Those up to a line are kept.
  func noteKept(through line: Int) {
    if line > 0 { unkept.remove(integersIn: 0...line) }
  }

  /// Nil for a line that is of no object, or of none that the model knows.
  private func identity(of line: ImportLine) -> UUID? {
    switch line.operation {
    case .insert(let entity, let id, _), .update(let entity, let id, _),
      .upsert(let entity, let id, _), .delete(let entity, let id):
      store.schema.model.entitiesByName[entity].map { NamedIdentity.identity(id, of: $0) }
    case .save: nil
    }
  }

  /// Whether a line is to be carried out. What is wrong with it is said when its turn comes.
  func admits(_ line: ImportLine) throws(ImportError) -> Bool {
    guard let identity = identity(of: line) else { return true }
    if missing.contains(identity) { return true }
    do {
      let isThere = try store.read { transaction in
        guard let key = try transaction.key(of: identity) else { return false }
        return try transaction.concreteKey(root: key) != nil
      }
      if !isThere {
        missing.insert(identity)
      } else if !passedOver.contains(line.number) {
        passedOver.insert(line.number)
        unkept.insert(line.number)
      }
      return !isThere
    } catch {
      var failure = ImportError(line: line.number, "the store cannot be read: \(error)")
      failure.suggestion = "see what is wrong with it: syncctl doctor"
      throw failure
    }
  }
}
