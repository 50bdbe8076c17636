import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Of two objects of the zone's log with one unique key, which programs without the constraint, or with another name for it, gave to
/// both, the one of the later entry is without it, wherever it was read in which order: a replica has its own entries before
/// what others sent before them.
extension PageApplier {
  /// Lets those give way whose word on a key came after what was refused for it.
  func letLaterHoldersGiveWay() throws {
    let refused = keptKeys.takeRefused()
    var words = LastWords()
    try forEachHolder(of: refused) { holder, key, sequence in
      if let giving = try giving(holder, to: key) { words.ask(giving.question, after: sequence) }
    }
    guard !words.isEmpty else { return }
    try words.read(on: transaction.connection)
    try forEachHolder(of: refused) { holder, key, sequence in
      guard let giving = try giving(holder, to: key),
        let word = words.last(giving.question, after: sequence)
      else { return }
      try giveWay(holder, giving.slots, by: word)
    }
  }

  /// Hands over who holds the keys that were refused, with whom it was refused for and the entry that said so.
  private func forEachHolder(
    of refused: [(key: ObjectKey, slot: Int)],
    _ body: (KeyHolder, ObjectKey, _ sequence: UInt64) throws -> Void
  ) throws {
    for (key, slot) in refused {
      guard let kept = keptKeys.values[key]?[slot], kept.side.sequence > 0,
        pending[key]?.transaction(of: slot) == nil
      else { continue }
      for holder in try keptKeys.holders(of: key) where holder.slots.contains(slot) {
        try body(holder, key, kept.side.sequence)
      }
    }
  }

  /// Of what a holder has the key, where that may go: nothing of it was edited here.
  private func giving(
    _ holder: KeyHolder, to key: ObjectKey
  ) throws -> (slots: [Int], question: LastWords.Question)? {
    let names = holder.slots.compactMap {
      schema.entity(numbered: key.entity)?.property(at: $0)?.name
    }
    guard let entity = schema.entity(numbered: holder.holder.entity),
      pending[holder.holder].map({ $0.whole == .none }) ?? true
    else { return nil }
    let properties = names.compactMap { entity.property(named: $0) }
    // Of a partner the later word stands.
    guard properties.count == names.count, properties.contains(where: { $0.relationship == nil }),
      properties.allSatisfy({ pending[holder.holder]?.transaction(of: $0.slot) == nil }),
      let number = try directory.number(
        root: schema.root(of: holder.holder), key: holder.holder.key)
    else { return nil }
    return (
      properties.map(\.slot),
      LastWords.Question(number: number, names: Set(properties.flatMap(\.names)))
    )
  }

  private func giveWay(_ holder: KeyHolder, _ slots: [Int], by word: RemoteSide) throws {
    guard let layout = transaction.schema.entity(numbered: holder.holder.entity)?.layout,
      let slot = WriteTransaction.preferred(slots, layout),
      var row = try transaction.knownOwnRow(holder.holder)?.values
    else { return }
    let side = keptKeys.side
    defer { keptKeys.side = side }
    keptKeys.side = word
    let value = row[slot]
    row[slot] = .null
    try transaction.update(
      holder.holder, PropertyMask([slot]), values: row, expectedVersion: nil)
    try keptKeys.keep(holder.holder, slot, value)
    report.updated += 1
  }
}

/// The last entries that are kept here of those that say properties of objects: all are looked for at once, and an entry is read once.
private struct LastWords {
  struct Question: Hashable {
    /// The object's, in the zone.
    var number: UInt64
    /// Of properties, by all their names.
    var names: Set<String>
  }

  private var questions: [UInt64: Set<Question>] = [:]
  private var words: [Question: RemoteSide] = [:]
  /// What is asked of no entry up to here.
  private var first = UInt64.max

  var isEmpty: Bool { questions.isEmpty }

  mutating func ask(_ question: Question, after sequence: UInt64) {
    questions[question.number, default: []].insert(question)
    first = min(first, sequence)
  }

  func last(_ question: Question, after sequence: UInt64) -> RemoteSide? {
    words[question].flatMap { $0.sequence > sequence ? $0 : nil }
  }

  mutating func read(on connection: SQLiteConnection) throws {
    try KeptFrames.forEach(after: first, on: connection) { entry in
      guard let (header, index) = try? ChangeSetDecoder().decodeIndex(entry.frame) else { return }
      let made = index.newObjectCount
      for group in index.groups where group.kind != .delete {
        let names = index.entities[group.entity].properties
        let told = Set(group.properties.map { names[$0] })
        for object in group.objects {
          let number =
            object < made
            ? entry.firstObjectNumber &+ UInt64(object) : index.knownNumbers[object - made]
          for question in questions[number] ?? [] where !question.names.isDisjoint(with: told) {
            let times = group.transactionRuns.map { index.transactions[$0.transaction].hybridTime }
            words[question] = RemoteSide(
              value: .null, time: HybridTime(rawValue: times.max() ?? 0), origin: header.replica,
              sequence: entry.sequence)
          }
        }
      }
    }
  }
}
