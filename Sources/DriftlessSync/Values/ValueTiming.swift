public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Which large values a replica fetches with the change that names them, and which when somebody asks for them.
public enum ValueFetching: String, Hashable, Sendable, CaseIterable {
  /// All with the change that names them, whatever the model says.
  case eager
  /// As the model says of each attribute (`driftless.fetch`).
  case asDeclared = "as-declared"
  /// All that can wait, when somebody asks for them.
  case firstUse = "first-use"
}

/// Which properties' large values wait in the zone until somebody asks for them, on one replica.
struct ValueTiming {
  /// What the store says of itself, for engines that are told nothing else.
  static let setting = "sync.values.fetch"

  private let fetching: ValueFetching

  init(_ options: SyncOptions, _ transaction: ReadTransaction) throws {
    fetching = try options.values ?? Self.stored(transaction) ?? .asDeclared
  }

  static func stored(_ transaction: ReadTransaction) throws -> ValueFetching? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return ValueFetching(rawValue: text)
  }

  /// Whether they wait. What an object cannot show as such never does: of a unique key, of what edits add to, and of what is no bytes.
  func waits(_ property: SyncSchema.Property) -> Bool {
    guard property.standIn?.showsNames == true else { return false }
    switch fetching {
    case .eager: return false
    case .asDeclared: return property.fetchTiming == .firstUse
    case .firstUse: return true
    }
  }

  /// Those of the values that an entry names which are fetched before it is applied.
  func due(_ frame: Data, _ schema: SyncSchema) -> [LargeValue] {
    let named = ValuePieces.named(by: frame)
    guard !named.isEmpty, schema.entities.contains(where: { $0.properties.contains(where: waits) }),
      let changeSet = try? ChangeSetDecoder().decode(frame)
    else { return named }
    let due = Set(due(changeSet, schema))
    return named.filter(due.contains)
  }

  /// The same, with how many objects get each.
  func dueCounts(_ frame: Data, _ schema: SyncSchema) -> [LargeValue: Int] {
    let due = Set(due(frame, schema))
    guard !due.isEmpty, let changeSet = try? ChangeSetDecoder().decode(frame) else { return [:] }
    let counts = changeSet.valueCounts
    return Dictionary(uniqueKeysWithValues: due.map { ($0, counts[$0] ?? 1) })
  }

  /// - Parameter isNews: of which transactions.
  func due(
    _ changeSet: ChangeSet, _ schema: SyncSchema, where isNews: (Int) -> Bool = { _ in true }
  ) -> [LargeValue] {
    changeSet.largeValues { entity, property in
      schema.entity(namedNowOrBefore: entity)?.property(namedNowOrBefore: property)
        .map { !waits($0) } ?? true
    } where: {
      isNews($0)
    }
  }
}

extension ChangeSet {
  /// The large values that its rows name, each with how many do.
  var valueCounts: [LargeValue: Int] {
    guard !index.values.isEmpty else { return [:] }
    return largeValues(of: { _, _ in true }, where: { _ in true })
      .reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  /// The large values of rows of some transactions, in the columns of some properties.
  func largeValues(
    of isMeant: (_ entity: String, _ property: String) -> Bool,
    where isNews: (_ transaction: Int) -> Bool
  ) -> [LargeValue] {
    var values: [LargeValue] = []
    var rest = columns[...]
    for group in index.groups {
      let names = index.entities[group.entity]
      let own = zip(group.properties, rest.prefix(group.properties.count))
        .filter { $1.large != nil && isMeant(names.name, names.properties[$0]) }.map(\.1)
      rest = rest.dropFirst(group.properties.count)
      guard !own.isEmpty else { continue }
      var row = 0
      for run in group.transactionRuns {
        for row in row..<row + run.count where isNews(run.transaction) {
          values += own.compactMap { $0.largeValue(at: row) }
        }
        row += run.count
      }
    }
    return values
  }
}

extension SyncEngine {
  func valueTiming() throws -> ValueTiming { try store.read { try ValueTiming(options, $0) } }

  /// Says which large values the store fetches when somebody asks for them, to all engines that are told nothing else
  /// (``SyncOptions/values``). What is here stays; what waits and shall not any more comes with the next syncs.
  ///
  /// - Parameters:
  ///   - fetching: which; nil for what the model says.
  ///   - store: the replica.
  /// - Throws: `SyncError` (`notEnrolled`), `StoreError`.
  public static func setValueFetching(_ fetching: ValueFetching?, of store: PersistentStore) throws
  {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    _ = try store.write(info) { transaction in
      guard try transaction.isReplica else { throw SyncError.notEnrolled(store.label) }
      try transaction.setSetting(
        ValueTiming.setting, fetching.map { .text($0.rawValue) })
      // What had no room and is due still notes that again; what waits from now on needs none.
      try MissedValues.forget(.room, on: transaction.connection)
      // What waits may be due by now.
      if fetching != .firstUse,
        try ParkedValues.nameRows(on: transaction.connection).isEmpty == false
      {
        try transaction.setSetting(missingSetting, .integer(1))
      }
    }
  }

  /// Which large values the store says that it fetches when somebody asks for them; nil where it says nothing.
  /// - Throws: `StoreError`.
  public static func valueFetching(of store: PersistentStore) throws -> ValueFetching? {
    try store.read { try ValueTiming.stored($0) }
  }
}
