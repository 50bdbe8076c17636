import DriftlessSQLite
import Foundation

/// One state of a store, which can be read as long as this lives, whatever is written meanwhile.
///
/// It is a connection with an open read transaction: the store's log keeps what the state needs, and grows until it is
/// let go.
final class StoreSnapshot: @unchecked Sendable {  // the connection is used under the lock
  private let lock = NSRecursiveLock()
  private var connection: SQLiteConnection?
  private let schema: StoreSchema
  private let file: StoreFile
  private let files: OpenedFiles?

  init(
    _ connection: SQLiteConnection, _ schema: StoreSchema, _ file: StoreFile, _ files: OpenedFiles?
  ) throws {
    self.connection = connection
    self.schema = schema
    self.file = file
    self.files = files
    try connection.holdState()
  }

  deinit { close() }

  func read<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    lock.lock()
    defer { lock.unlock() }
    guard let connection else {
      throw StoreError(
        .cannotOpen, "\(file.name) was closed.", suggestion: "Open the store again.")
    }
    do {
      return try HeldConnections.hold {
        try body(ReadTransaction(connection: connection, schema: schema))
      }
    } catch let error as SQLiteError {
      throw files?.told(error, path: file.name) ?? StoreError(error, path: file.name)
    }
  }

  func close() {
    lock.lock()
    defer { lock.unlock() }
    guard let connection else { return }
    connection.close()
    self.connection = nil
  }
}

extension PersistentStore {
  /// The store as it is now; nil for a store in memory, which has no other state than the present one.
  ///
  /// - Parameter isOfRead: Whether it goes with a piece of work that reads it. There are no more of these than work at once
  ///   (``StoreOptions/readersMax``), so that they take no place from those that are held (``StoreOptions/queryGenerationsMax``).
  func snapshot(isOfRead: Bool = false) throws -> StoreSnapshot? {
    guard url != nil else { return nil }
    do {
      return try connections.snapshot(isCounted: !isOfRead) { connection in
        let snapshot = try StoreSnapshot(connection, schema, file, openedFiles)
        // It is this state from now on, whatever is put in the file's place.
        try content?.check(connection)
        return snapshot
      }
    } catch let error as SQLiteError {
      throw told(error)
    }
  }
}
