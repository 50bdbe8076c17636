import DriftlessSQLite
import Foundation

/// A store's content in another place, under the same identifier.
extension PersistentStore {
  /// Runs `body` while nobody in this process writes the store, and no process checkpoints it.
  ///
  /// - Throws: `StoreError` with the code `busy` within a write of this thread, and what `body` throws.
  func whileNobodyWrites<T>(movedTo place: URL? = nil, _ body: () throws -> T) throws -> T {
    do {
      return try connections.withWriter(movedTo: place) { writer in
        guard !writer.isInTransaction else {
          throw StoreError(
            .busy, "\(file.name) is being written here.",
            suggestion:
              "Move a store when the write, the handler or the policy that asks for it is over.")
        }
        return try body()
      }
    } catch let error as SQLiteError {
      throw StoreError(error, path: file.name)
    }
  }

  /// Copies the store, and opens the copy with the same model.
  ///
  /// - Parameter url: Where no file is; nil for memory.
  func copy(to url: URL?, options: StoreOptions) throws -> PersistentStore {
    guard let url else { return try copyIntoMemory(options) }
    try backup(to: url)
    do {
      let copy = try PersistentStore.open(
        url: url, model: model, configuration: configurationName, options: options)
      try schema.requireSameRows(in: copy.schema, at: url.path)
      if file.url == nil, !copy.isReadOnly { try copy.moveLargeValuesOut() }
      return copy
    } catch {
      NewFile.removeStore(url)
      throw error
    }
  }

  /// The store in its own file, wherever that is.
  func reopened(at url: URL) throws -> PersistentStore {
    var options = options
    options.createsFile = false
    let store = try PersistentStore.open(
      url: url, model: model, configuration: configurationName, options: options)
    do {
      guard store.identifier == identifier else {
        throw StoreError(
          .invalidArgument, "At \(url.path) lies another store.",
          suggestion: "Remove this store from the coordinator, and add the other.")
      }
      // A file that somebody changed numbers entities otherwise under the same identifier.
      try schema.requireSameRows(in: store.schema, at: url.path)
      return store
    } catch {
      store.close()
      throw error
    }
  }

  // MARK: Large values

  private func copyIntoMemory(_ options: StoreOptions) throws -> PersistentStore {
    var options = options
    options.isReadOnly = false
    options.isImmutable = false
    let file = StoreFile(url: nil, options: options)
    let memory = try file.connect(readOnly: false)
    do {
      try connections.withReader { connection in
        try connection.withSnapshot {
          try content?.check(connection)
          let folder = self.file.url.map { ExternalDataFolder(store: $0.path) }
          let lost = try ExternalData.referenced(schema.externalColumns, connection)
            .filter { folder?.has($0) != true }
          if let first = lost.min() {
            throw StoreError.lostFile(
              "\(lost.count) values of \(self.file.name) lie in files that cannot be read. "
                + (folder?.loss(of: first) ?? ""), of: self.file.name)
          }
          try connection.backUp(to: memory) { _ in }
          try takeLargeValuesIn(memory, from: folder)
        }
      }
      let copy = try PersistentStore(
        file: file, connection: memory, model: model, configuration: configurationName)
      // As a file that was copied: it gives no identity that the original may give.
      _ = try copy.write(TransactionInfo()) { transaction in
        try transaction.renewMintPrefix()
        try transaction.setSetting(FileIdentity.copySetting, .integer(1))
      }
      return copy
    } catch {
      memory.close()
      throw error
    }
  }

  /// What lies in files goes into its column.
  private func takeLargeValuesIn(
    _ memory: SQLiteConnection, from folder: ExternalDataFolder?
  ) throws {
    try ExternalData.attachReading(to: memory, folder: folder)
    defer { try? ExternalData.attachReading(to: memory, folder: nil) }
    try memory.withoutTriggers {
      for (table, column) in schema.externalColumns {
        try memory.execute(
          """
          UPDATE "\(table)" SET "\(column)" =
          CAST(x'01' || \(ExternalData.readFunction)("\(column)") AS BLOB)
          WHERE substr("\(column)", 1, 1) = x'02'
          """)
      }
    }
  }

  /// What is large goes into files of its own, as if it were written now. Where it cannot, it may stay in its column.
  private func moveLargeValuesOut() throws {
    guard !schema.externalColumns.isEmpty else { return }
    _ = try write(TransactionInfo()) { transaction in
      let connection = transaction.connection
      try connection.withoutTriggers {
        for (table, column) in schema.externalColumns {
          try connection.execute(
            """
            UPDATE "\(table)" SET "\(column)" =
            \(ExternalData.function)(\(ExternalData.readFunction)("\(column)"))
            WHERE length("\(column)") > \(StoreTuning.externalBytes + 1)
            AND substr("\(column)", 1, 1) = x'01'
            """)
        }
      }
    }
  }
}
