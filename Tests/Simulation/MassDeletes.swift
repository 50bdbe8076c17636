import Driftless
import DriftlessProtocol
import DriftlessTesting
import Foundation

@testable import DriftlessSync

/// Deletes of so many objects that a person is asked, and what the person says.
extension Simulation {
  /// A save or two that delete most of what a host shows, or all of it.
  func deleteMany(_ host: Host, _ dice: UInt64) throws {
    var generator = SeededGenerator(seed: dice &+ 19)
    let percent = generator.chance(40) ? 100 : 50 + Int(generator.next() % 50)
    for part in 0..<(generator.chance(30) ? 2 : 1) {
      try save(host, dice &+ UInt64(part)) { saves, context, image in
        try saves.deleteMany(context, image, percent: percent)
      }
    }
  }

  /// A person says of the deletes that wait at a host that they are meant, or keeps what is set aside.
  ///
  /// - Parameter isCalm: the network is whole, and nothing else happens.
  func answer(_ host: Host, _ step: Step, isCalm: Bool = false) async throws {
    guard host.asks, try host.isEnrolled else { return }
    let aside = Set(try host.setAside.flatMap(given.names))
    guard aside.isEmpty || step.kind == .allow else {
      tell("\(host.name) keeps \(aside.count) objects that are deleted in the zone")
      ledger.keep(aside, on: host.number)
      return try SyncEngine.keepMassDeleted(of: host.store)
    }
    guard isCalm else { return try await sync(host, Step(.allow, step.replica, step.dice)) }
    tell("\(host.name) allows its many deletes")
    do {
      _ = try await host.engine.sync(allowingMassDelete: true)
    } catch { fail("sync goes on", "\(host.name): \(brief(error))") }
    try host.look()
  }

  /// Whoever asks is answered, until nobody asks any more. As long as somebody does, nothing else is held up.
  func answerAll(_ step: Step) async throws {
    var generator = SeededGenerator(seed: step.dice &+ 5)
    for _ in 0..<Self.answersMax {
      try checkNothingElseWaits()
      let asking = hosts.filter(\.asks)
      guard !asking.isEmpty, failures.isEmpty else { return }
      for host in asking {
        host.network.begin(dice: step.dice)
        let kind = generator.chance(50) ? Step.Kind.allow : .keepDeleted
        try await answer(host, Step(kind, host.number, step.dice), isCalm: true)
      }
      try await syncAll(step)
    }
    for host in hosts where host.asks {
      fail("mass deletes", "\(host.name) asks again and again")
    }
  }

  /// A host asks for what it deleted itself, for what is set aside, and for what came since: once each.
  private static let answersMax = 6

  private func checkNothingElseWaits() throws {
    guard try hosts.contains(where: { try $0.asks && $0.isEnrolled }) else { return }
    let head = try hosts.map { try $0.status.cursor }.max() ?? 0
    for host in hosts {
      if try host.status.cursor != head {
        fail(
          "mass deletes",
          "\(host.name) is at \(try host.status.cursor) of \(head) while somebody asks")
      }
      for object in try host.pendingBesideDeletes.sorted(by: { name($0) < name($1) }) {
        fail(
          "mass deletes",
          "\(host.name)'s \(name(object)) waits with deletes, and has nothing to do with them")
      }
    }
  }
}

extension Host {
  /// Objects whose deletes are set aside.
  var setAside: [UUID] {
    get throws {
      try store.read { transaction in
        try ZoneStates.braked(on: transaction.connection).map { try transaction.identity(of: $0) }
      }
    }
  }

  /// What is pending, and is no delete that waits for a person's word, nothing that the saves of such did, and nothing that
  /// refers to what one of these made or deleted.
  var pendingBesideDeletes: Set<UUID> {
    get throws {
      try store.read { transaction in
        guard let state = try ReplicaState.load(from: transaction.connection) else { return [] }
        let pending = try PendingLoader.load(
          transaction, schema: SyncSchema(store.schema), acknowledged: state.acknowledged)
        let aside = try ZoneStates.braked(on: transaction.connection)
        var saves: Set<Int64> = []
        if asks {
          for (_, object) in pending.objects where object.whole == .delete {
            saves.insert(object.wholeTransaction)
          }
        }
        var waiting: Set<UUID> = []
        var others: Set<UUID> = []
        for (key, object) in pending.objects {
          let isOfThem =
            aside.contains(key) || saves.contains(object.wholeTransaction)
            || object.edits.contains { saves.contains($0.transaction) }
          let identity = try transaction.identity(of: key)
          if isOfThem { waiting.insert(identity) } else { others.insert(identity) }
        }
        waiting.formUnion(try aside.map { try transaction.identity(of: $0) })
        while let one = others.first(where: { refers($0, to: waiting) }) {
          others.remove(one)
          waiting.insert(one)
        }
        return others
      }
    }
  }

  private func refers(_ object: UUID, to waiting: Set<UUID>) -> Bool {
    let values = image.things[object]?.values ?? [:]
    return values.values.contains { !waiting.isDisjoint(with: Image.identities(in: $0)) }
  }
}

extension Saves {
  mutating func deleteMany(
    _ context: ManagedObjectContext, _ image: Image, percent: Int
  ) throws {
    for id in image.things.keys.sorted(by: { names($0) < names($1) })
    where generator.chance(percent) {
      guard let object = try context.object(withIdentity: id), !object.isDeleted else { continue }
      context.delete(object)
      told.append("deletes \(names(id))")
    }
    if generator.chance(40) { try change(context, Image()) }
  }
}
