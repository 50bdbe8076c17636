import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation

/// What is done with a mutant: all that an application, a person and an engine do with a store.
///
/// Each piece works, or throws one of the library's errors. What traps, hangs or takes all memory ends the process.
struct Trial {
  let store: PersistentStore
  /// Errors that are none of the library's, and pieces that ended with them.
  private(set) var strange: [String] = []
  private(set) var findings: [StoreCheck.Finding] = []

  init(_ store: PersistentStore) { self.store = store }

  /// - Parameter part: which of the smaller pieces are done; nil for all.
  mutating func run(part: UInt64? = nil) {
    var found: [StoreCheck.Finding] = []
    attempt("check") { found = try SyncEngine.check($0).findings }
    findings = found
    let pieces: [(String, (PersistentStore) throws -> Void)] = [
      ("read", Self.readAll), ("history", Self.readHistory),
      ("status", { _ = try SyncEngine.status(of: $0) }),
      (
        "lists",
        {
          _ = try? SyncEngine.conflicts(of: $0)
          _ = try? SyncEngine.parked(of: $0)
          _ = try SyncEngine.quarantine(of: $0)
        }
      ), ("export", { _ = try ReplicaExport.text(of: $0) }),
    ]
    for (index, piece) in pieces.enumerated()
    where (part ?? UInt64(index)) % 3 == UInt64(index) % 3 {
      attempt(piece.0, piece.1)
    }
    attempt("save", Self.save)
  }

  /// Pushes and pulls, and looks once more.
  mutating func sync(with zone: MemoryZone) async {
    let engine = SyncEngine(store: store, transport: zone)
    do { _ = try await engine.sync() } catch { note(error, "sync") }
    do { _ = try await engine.pull() } catch { note(error, "pull") }
    await engine.close()
    attempt("check after sync") { _ = try SyncEngine.check($0) }
    attempt("export after sync") { _ = try ReplicaExport.text(of: $0) }
  }

  /// Leaves damage of the engine's own tables by the way that the check names: the store begins anew, syncs and is sound.
  mutating func beginAnew(with zone: MemoryZone, damaged table: String) async {
    do {
      try SyncEngine.enroll(
        store: store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo(),
        anew: true)
      let engine = SyncEngine(store: store, transport: zone)
      do { _ = try await engine.sync() } catch { strange.append("anew: \(error)") }
      await engine.close()
      let left = try SyncEngine.check(store).findings.filter { $0.table == table }
      strange += left.map { "anew: \($0.message)" }
    } catch {
      strange.append("anew: \(error)")
    }
  }

  private mutating func attempt(_ name: String, _ body: (PersistentStore) throws -> Void) {
    do { try body(store) } catch { note(error, name) }
  }

  mutating func note(_ error: any Error, _ name: String) {
    switch error {
    case is StoreError, is SyncError, is ObjectError, is FetchError, is ModelError,
      is ValidationError, is ValidationFailure, is SaveConflictError:
      break
    // Within a transaction of a caller's own, SQLite's errors are named when it ends.
    case is SQLiteError where name == "save": break
    default:
      let text = "\(type(of: error)): \(error)".prefix(200)
      // The context's errors are Cocoa's, the engine's way to the zone has the protocol's.
      if !text.contains("CocoaError"), !text.contains("ProtocolError"), !text.contains("NSError") {
        strange.append("\(name) threw \(text)")
      }
    }
  }

  // MARK: Work

  /// Fetches every object, fires its fault and reads each property, and what relationships hold.
  private static func readAll(_ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for entity in store.model.entities where entity.superentity == nil {
      let request = FetchRequest<ManagedObject>(entityName: entity.name)
      guard let objects = try? context.fetch(request) else { continue }
      for object in objects {
        for name in object.entity.propertiesByName.keys.sorted() {
          guard let value = try? object.value(forKey: name) else { continue }
          for case let other as ManagedObject in value as? [Any] ?? [value] {
            _ = other["name"] ?? other["title"]
          }
        }
      }
    }
    context.reset()
  }

  private static func readHistory(_ store: PersistentStore) throws {
    let all = PersistentHistoryChangeRequest.fetchHistory(after: nil as PersistentHistoryToken?)
    let transactions = try store.fetchHistory(all)
    for change in transactions.flatMap({ $0.changes ?? [] }) {
      _ = (change.changedObjectID, change.updatedProperties, change.tombstone)
    }
    _ = try store.currentHistoryToken()
    _ = try store.historyReaders()
    _ = try store.lostCommits()
  }

  /// Edits one object of each entity, makes one and deletes one.
  private static func save(_ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    context.transactionAuthor = "trial"
    for entity in store.model.entities where entity.superentity == nil {
      let request = FetchRequest<ManagedObject>(entityName: entity.name)
      guard let objects = try? context.fetch(request), let first = objects.first else { continue }
      let name = entity.name == "Item" ? "title" : "name"
      try? first.setValue("trial", forKey: name)
      if entity.name == "Item" {
        try? first.setValue((first["stock"] as? Int64 ?? 0) &+ 1, forKey: "stock")
        if objects.count > 1 { try? first.setValue(objects[1], forKey: "above") }
      }
      if let last = objects.last, last !== first { context.delete(last) }
      _ = try? context.insert(entityNamed: entity.name)
    }
    try context.save()
  }
}
