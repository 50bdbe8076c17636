import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// What change sets say of sets that were sent and are not answered yet: the zone has it, or will.
struct UnansweredSets {
  /// What one of them says of a set.
  struct Word {
    var adds: [ObjectKey] = []
    var removes: [ObjectKey] = []
    /// It names all that the set has.
    var isWhole = false

    /// What a set is with it.
    func elements(over base: [ObjectKey]) -> [ObjectKey] {
      let left = isWhole ? [] : base.without(removes)
      return left + adds.without(left)
    }
  }

  private var words: [ObjectKey: [String: Word]] = [:]

  /// - Parameter pending: what is pending now, so that a deleted object is known by its own entity.
  init(_ pending: PendingSet, _ transaction: WriteTransaction, schema: SyncSchema) throws {
    do {
      guard let outbox = try Outbox.load(from: transaction.connection) else { return }
      try outbox.forEachPart(on: transaction.connection) { part, madeBefore in
        var sent = SentFrame(part, after: madeBefore, transaction, schema: schema)
        try sent.forEachSet(pending) { key, property, _, word in
          var word = word
          // An ordered one says its whole sequence.
          if property.relationship?.isOrdered == true { word.isWhole = true }
          words[key, default: [:]][property.name] = word
        }
      }
    } catch let error as SyncError where error.code == .damagedState {
      // A damaged one was never taken by a server, and goes with the log.
    }
  }

  func word(of key: ObjectKey, _ property: String) -> Word? { words[key]?[property] }

  /// The objects into whose sets of this name an object was put.
  func owners(named property: String, of element: ObjectKey) -> [ObjectKey] {
    words.filter { $0.value[property]?.adds.contains(element) == true }.keys.sorted {
      ($0.entity, $0.key) < ($1.entity, $1.key)
    }
  }
}
