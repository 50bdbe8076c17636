import DriftlessSQLite
import Foundation
import Glibc
import Synchronization

/// Moves large values of one store out of its pages when they are written, and removes their files when no row names
/// them and nobody can see a state in which one did.
///
/// It is SQL that calls it: the statements that write such a column put the value through `driftless_external`, and
/// triggers of the writing connection tell which files a change let go of. So whoever writes rows, the files follow.
final class ExternalData: Sendable {
  private struct State {
    /// Files of the transaction that runs.
    var written: [String] = []
    var dropped: [String] = []
    /// Files that no row of the newest state names.
    var obsolete: [String] = []
    /// The number of the file's schema as the first of them became obsolete.
    var schemaNumber: Int64?
  }

  let folder: ExternalDataFolder
  private let state = Mutex(State())
  /// The columns that hold such values.
  private let columns: [(table: String, column: String)]

  /// Nil when the model has no such attribute, or the store no file.
  init?(file: StoreFile, schema: StoreSchema) {
    guard let url = file.url else { return nil }
    columns = schema.externalColumns
    guard !columns.isEmpty else { return nil }
    folder = ExternalDataFolder(store: url.path)
  }

  /// Prepares the connection that writes.
  func attach(to connection: SQLiteConnection) throws {
    // The connection calls it, and so is there.
    nonisolated(unsafe) unowned let own = connection
    try connection.createFunction(Self.function, argc: 1, deterministic: false) { [self] values in
      guard case .blob(let bytes)? = values.first, bytes.count > StoreTuning.externalBytes else {
        return Self.inline(values)
      }
      let name = try folder.write(
        bytes, prefix: (try? StoreSettings.mintPrefix(on: own)) ?? [])
      state.withLock { $0.written.append(name) }
      return .blob(ExternalValue.name(name))
    }
    try connection.createFunction("driftless_dropped", argc: 1, deterministic: false) {
      [self] values in
      if case .blob(let bytes)? = values.first, let name = ExternalValue.name(in: bytes) {
        state.withLock { $0.dropped.append(name) }
      }
      return .null
    }
    for (table, column) in columns {
      for (event, condition) in [
        ("UPDATE OF \"\(column)\"", "OLD.\"\(column)\" IS NOT NEW.\"\(column)\" AND "),
        ("DELETE", ""),
      ] {
        try connection.execute(
          """
          CREATE TEMP TRIGGER "driftless_\(table)_\(column)_\(event.prefix(6))"
          AFTER \(event) ON main."\(table)" WHEN \(condition)substr(OLD."\(column)", 1, 1) = x'02'
          BEGIN SELECT driftless_dropped(OLD."\(column)"); END
          """)
      }
    }
  }

  static let function = "driftless_external"

  /// For stores without a folder: values stay in their columns.
  static func attachInline(to connection: SQLiteConnection) throws {
    try connection.createFunction(function, argc: 1, deterministic: true) { inline($0) }
  }

  static let readFunction = "driftless_external_value"

  /// Lets SQL read what a column stands for.
  static func attachReading(to connection: SQLiteConnection, folder: ExternalDataFolder?) throws {
    try connection.createFunction(readFunction, argc: 1, deterministic: true) { values in
      guard case .blob(let bytes)? = values.first else { return values.first ?? .null }
      if let folder, let name = ExternalValue.name(in: bytes) {
        guard let value = folder.read(name) else {
          throw SQLiteError.system(EIO, folder.loss(of: name))
        }
        return .blob(value)
      }
      return .blob(bytes.first == 1 ? Data(bytes.dropFirst()) : bytes)
    }
  }

  private static func inline(_ values: [SQLiteValue]) -> SQLiteValue {
    if case .blob(let bytes)? = values.first { return .blob(ExternalValue.inline(bytes)) }
    return values.first ?? .null
  }

  // MARK: Transactions

  /// The transaction is about to commit: the files that its rows name are on the disk before they are. Also where a save does not
  /// wait: the system may write the log before the files, whoever copies it into the store's file, and a row would stay whose
  /// value is cut off.
  func synchronize() throws {
    let written = state.withLock { $0.written }
    if !written.isEmpty { try folder.synchronize(written) }
  }

  /// What the transaction let go of is obsolete; readers may see it still.
  func committed(_ connection: SQLiteConnection) {
    state.withLock { state in
      if state.obsolete.isEmpty, !state.dropped.isEmpty {
        state.schemaNumber = try? connection.schemaNumber()
      }
      state.obsolete += state.dropped
      state.written = []
      state.dropped = []
    }
  }

  /// What the transaction wrote is named nowhere.
  func rolledBack() {
    let written = state.withLock { state in
      defer {
        state.written = []
        state.dropped = []
      }
      return state.written
    }
    folder.remove(written)
  }

  /// All of the write-ahead log is in the file and it was cut, so nobody sees an older state than the newest.
  func nobodyReadsBehind(_ writer: SQLiteConnection) {
    let (obsolete, number) = state.withLock { state in
      defer { state.obsolete = [] }
      return (state.obsolete, state.schemaNumber)
    }
    guard !obsolete.isEmpty else { return }
    let prefix = (try? StoreSettings.mintPrefix(on: writer)) ?? []
    if let number, (try? writer.schemaNumber()) == number {
      return folder.remove(obsolete, prefix: prefix)
    }
    // A copy of the store may have been put back meanwhile, whose rows name them again. Where they cannot be looked at, the
    // files stay until they are swept up.
    guard let names = try? referenced(writer) else { return }
    folder.remove(obsolete.filter { !names.contains($0) }, prefix: prefix)
  }

  /// The files that rows name.
  func referenced(_ connection: SQLiteConnection) throws -> Set<String> {
    try Self.referenced(columns, connection)
  }

  static func referenced(
    _ columns: [(table: String, column: String)], _ connection: SQLiteConnection
  ) throws -> Set<String> {
    var names: Set<String> = []
    for (table, column) in columns {
      for row in try connection.rows(
        "SELECT \"\(column)\" FROM \"\(table)\" WHERE length(\"\(column)\") BETWEEN 37 AND 38")
      {
        if case .blob(let bytes) = row[0], let name = ExternalValue.name(in: bytes) {
          names.insert(name)
        }
      }
    }
    return names
  }
}

extension StoreSchema {
  package var mayHaveExternalData: Bool { !externalColumns.isEmpty }

  /// The columns whose values may lie in files beside the store.
  var externalColumns: [(table: String, column: String)] {
    var columns: [(table: String, column: String)] = []
    for table in tables {
      var seen: Set<Int32> = []
      for entity in table.entities {
        guard let program = program(numbered: entityNumber(of: entity)) else { continue }
        for step in program.steps
        where step.kind == .externalData && seen.insert(step.column).inserted {
          columns.append((table.name, table.columns[Int(step.column) - 3].name))
        }
      }
    }
    return columns
  }
}
