import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Logging

extension SyncEngine {
  /// Takes from the zone anew what its log comes to otherwise with the model of now than with the one before. It comes when a
  /// pull has reached the head.
  ///
  /// - Parameters:
  ///   - odd: what `oddDefaults` found before the pull.
  ///   - pulling: comes to the head of the log once more.
  /// - Returns: whether something was taken.
  func takeAnew(
    odd: Set<String>, _ pulling: () async throws -> Void
  ) async throws -> Bool {
    let meaning = ModelMeaning.of(schema, store.schema)
    let (formers, notes) = try store.read {
      (try ModelMeaning.formers($0), try ModelMeaning.Notes($0, odd: odd))
    }
    let change = meaning.change(of: schema, since: formers, notes)
    guard formers != [meaning] || !change.isEmpty else { return false }
    guard try !change.isEmpty && replicaState().cursor > 0 else {
      try bookkeep {
        try meaning.save($0)
        try notes.settle(schema, unmade: notes.unmade, $0)
      }
      return false
    }
    // It is all of the zone that is read.
    if let anewFailed, .now - anewFailed < SyncTuning.anewPause { return false }
    do {
      defer { anewFailed = nil }
      return try await takeAnew(change, as: meaning, pulling)
    } catch  where Task.isCancelled {
      throw error
    } catch {
      anewFailed = .now
      // It is what the migration left until the next sync; all else goes on.
      log.warnOfLasting("What the model has otherwise is not taken from the zone yet: \(error)")
      return false
    }
  }

  /// What the next sync takes anew, as far as the store's notes tell it, in the order of the names.
  static func toComeAgain(
    _ state: ReplicaState, _ schema: SyncSchema, _ transaction: ReadTransaction
  ) throws -> [String] {
    guard state.cursor > 0 else { return [] }
    let change = try ModelMeaning.of(schema, transaction.schema).change(
      of: schema, since: ModelMeaning.formers(transaction), ModelMeaning.Notes(transaction))
    let properties = change.properties.flatMap { entity, names in
      change.entities.contains(entity) ? [] : names.map { "\(entity).\($0)" }
    }
    return (change.entities + properties).sorted()
  }

  /// Notes with which model entries are read or sent from here on.
  ///
  /// - Parameter reads: false where nothing is read.
  func noteMeaning(reads: Bool) throws {
    try noteRules()
    let meaning = ModelMeaning.of(schema, store.schema)
    guard let note = try store.read({ try meaning.noting($0, reads: reads) }) else { return }
    try bookkeep { try note($0) }
  }

  /// Attributes that came with the model of now, and of which rows have another value than the default, though nobody edited
  /// it: a migration to a model between filled it in. And relationships that no end said before, and that rows have all the same: the
  /// end that said it is gone, and with it what the zone had.
  func oddDefaults() throws -> Set<String> {
    let meaning = ModelMeaning.of(schema, store.schema)
    return try store.read { transaction in
      guard let former = try ModelMeaning.load(transaction), former != meaning,
        let state = try ReplicaState.load(from: transaction.connection)
      else { return [] }
      // What is in flight was told by the former model: what that did not have is not told.
      let sent = try Outbox.loadUndamaged(from: transaction.connection)?.throughTransaction ?? 0
      func isPending(_ edit: Int64?) -> Bool { edit.map { $0 < 0 || $0 > sent } ?? false }
      var odd: Set<String> = []
      for entity in schema.entities {
        let added = ModelMeaning.added(entity, since: former)
        guard !added.isEmpty else { continue }
        let pending = try pendingSet(transaction, state: state)
        try transaction.forEachKey(of: entity.description) { key in
          guard let row = try transaction.knownOwnRow(key) else { return }
          for property in added
          where !row.lost.contains(property.slot)
            && !isPending(pending[key]?.transaction(of: property.slot))
          {
            let name = "\(entity.name).\(property.name)"
            guard !odd.contains(name) else { continue }
            let isOdd =
              switch property.kind {
              case .elements(let relationship):
                try !transaction.toManyKeys(of: key, relationship).isEmpty
              case .toOne: !row.values[property.slot].isNull
              case .attribute, .place: row.values[property.slot] != property.standIn?.value
              }
            if isOdd { odd.insert(name) }
          }
        }
      }
      return odd
    }
  }

  private func takeAnew(
    _ change: ModelMeaning.Change, as meaning: ModelMeaning, _ pulling: () async throws -> Void
  ) async throws -> Bool {
    let info = try await transport.zoneInfo()
    let newcomer = try Newcomer(
      beside: store, replicaState(), info: info, by: transport.way, options)
    do {
      for _ in 0..<SyncTuning.verifyAttemptsMax {
        // Nobody sees that store: deletes take nothing away there.
        _ = try await newcomer.engine.pull(allowingMassDelete: true)
        try await pulling()
        guard try await newcomer.engine.replicaState().position == replicaState().position else {
          continue
        }
        let other = SyncSchema(newcomer.store.schema)
        try newcomer.store.read { there in
          try settling { applier, state -> Void in
            let next = try LogPlaces.nextNumber(after: state.cursor, on: there.connection) ?? 1
            var anew = try ZoneAnew(applier, state, change, from: there, other, upTo: next)
            try anew.take()
            try meaning.save(applier.transaction)
            try ModelMeaning.Notes(applier.transaction).settle(
              schema, unmade: ModelMeaning.Notes(there).unmade,
              unknown: Self.unknownColumns(there), applier.transaction)
            try noteUnsettled(applier)
            try ImportTimes.purge(applier.transaction.connection)
          }
        }
        await newcomer.remove()
        return true
      }
    } catch {
      await newcomer.remove()
      throw error
    }
    await newcomer.remove()
    throw SyncError(
      .notVerified, "The zone moved on faster than it could be read.",
      suggestion: "Sync again when less is written to it.")
  }

  /// What an empty store that has just read the zone could not read of it.
  private static func unknownColumns(_ there: ReadTransaction) throws -> Set<ParkedName> {
    let left = try NamesLeftOut.load(there)?.names ?? []
    return try Parking.entries(on: there.connection).reduce(left) { $0.union($1.unknown) }
      .filter { $0.kind == .unknown }
  }
}
