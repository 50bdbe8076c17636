import DriftlessProtocol

extension ChangeSetBuilder {
  /// A name of an author or a context as a zone takes it: of one that is longer the beginning, and an ellipsis. This store's
  /// history keeps it whole, and the objects of its transaction are sent all the same.
  static func shortened(_ name: String?) -> String? {
    let most = ChangeSetLimits().nameBytesMax
    guard let name, name.utf8.count > most else { return name }
    var (kept, room) = ("", most - "…".utf8.count)
    for character in name {
      room -= character.utf8.count
      guard room >= 0 else { break }
      kept.append(character)
    }
    return kept + "…"
  }

  /// Which transactions rows are of, one after the other.
  static func runs(_ transactions: [Int]) -> [ChangeSetIndex.Group.TransactionRun] {
    var runs: [ChangeSetIndex.Group.TransactionRun] = []
    for transaction in transactions {
      if runs.last?.transaction == transaction {
        runs[runs.count - 1].count += 1
      } else {
        runs.append(.init(transaction: transaction, count: 1))
      }
    }
    return runs
  }

  /// What a log that is over had and its maker may not know of.
  mutating func addUnanswered() throws {
    let told = Set(index.transactions.map(\.name)).union(index.covered.map(\.name))
    for name in try UnansweredSaves.names(transaction) where !told.contains(name) {
      index.covered.append(.init(name: name, isPartial: true))
    }
  }
}
