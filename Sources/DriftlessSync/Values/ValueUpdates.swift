public import Driftless
import DriftlessProtocol
import Foundation

/// Where a large value is, and how far it has come, for a screen that shows it.
public struct ValueUpdate: Hashable, Sendable {
  /// Where the value is.
  public var state: ValueFetchState
  /// Whether somebody asked for it, and it has not come yet.
  public var isWanted = false
  /// Bytes of it that have come so far, while it is fetched.
  public var bytesFetched: Int64 = 0
}

extension SyncEngine {
  /// Where the value of a property of an object is, now and whenever that changes: it is fetched, by whatever process, comes, is let go
  /// of, is edited, or turns out to be missing.
  ///
  /// ```swift
  /// for await update in engine.valueUpdates(of: photo.objectID, Photo.image) {
  ///   if case .inZone(let bytes) = update.state, update.isWanted {
  ///     showProgress(update.bytesFetched, bytes)
  ///   }
  /// }
  /// ```
  /// How far it has come is told while this engine fetches it; what another process fetches is told when it is here.
  ///
  /// - Parameters:
  ///   - object: An object that was saved.
  ///   - key: The property.
  /// - Returns: the states, each another than the one before; a reader that is slow misses the older ones. They end when the object is
  ///   deleted, and where the store cannot be read.
  public nonisolated func valueUpdates<Root, Value>(
    of object: ManagedObjectID, _ key: Attribute<Root, Value>
  ) -> AsyncStream<ValueUpdate> {
    valueUpdates(of: object, key: key.property.name)
  }

  /// The same by the property's name: of one that the object does not have there are none.
  public nonisolated func valueUpdates(
    of object: ManagedObjectID, key: String
  ) -> AsyncStream<ValueUpdate> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: ValueUpdate.self, bufferingPolicy: .bufferingNewest(1))
    let (bell, ringing) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = UUID()
    // It hears of commits from before the first look on.
    let changes = store.changes()
    let commits = Task { for await _ in changes { ringing.yield() } }
    let reader = Task {
      await addListener(id) { _ in ringing.yield() }
      var last: ValueUpdate?
      ringing.yield()
      for await _ in bell {
        guard !Task.isCancelled, let update = try? valueUpdate(of: object, key) else { break }
        if update != last { continuation.yield(update) }
        last = update
      }
      await removeListener(id)
      commits.cancel()
      continuation.finish()
    }
    continuation.onTermination = { _ in
      ringing.finish()
      reader.cancel()
    }
    return stream
  }

  /// Nil where there is no such object, or no such property of it.
  private nonisolated func valueUpdate(
    of object: ManagedObjectID, _ key: String
  ) throws -> ValueUpdate? {
    guard !object.isTemporaryID, object.storeIdentifier == store.identifier else { return nil }
    return try store.read { transaction in
      guard let row = try transaction.knownRow(object.key),
        let slot = store.schema.entity(numbered: row.key.entity)?.layout.index(named: key)
      else { return nil }
      let value = row.values[slot]
      guard let large = LargeCell.value(in: value) else {
        return ValueUpdate(state: value.isNull && !row.lost.contains(slot) ? .none : .here)
      }
      let connection = transaction.connection
      let since = try MissedValues.since(large.digest, on: connection)
      return ValueUpdate(
        state: since.map { .missing(since: $0) } ?? .inZone(bytes: Int64(clamping: large.length)),
        isWanted: try WantedValues.contains(large.digest, on: connection),
        bytesFetched: Int64(try ValuePieces.size(of: large, on: connection)))
    }
  }
}
