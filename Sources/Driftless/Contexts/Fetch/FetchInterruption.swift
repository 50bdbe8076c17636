import DriftlessSQLite
import Synchronization

/// Stops a fetch from another thread: the statement that runs ends with an error.
final class FetchInterruption: Sendable {
  private struct State: @unchecked Sendable {  // under the mutex; any thread may interrupt SQLite
    var isCancelled = false
    var connection: SQLiteConnection?
  }

  private let state = Mutex(State())

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      state.connection?.interrupt()
    }
  }

  func check() throws(FetchError) {
    if isCancelled { throw Self.cancelled }
  }

  /// Runs `body`, which `cancel` stops. Afterwards the connection is others' to use, and no longer interrupted.
  func during<Value>(
    _ connection: SQLiteConnection, _ body: () throws -> Value
  ) throws -> Value {
    let handle = State(connection: connection)
    state.withLock { $0.connection = handle.connection }
    defer { state.withLock { $0.connection = nil } }
    try check()
    return try body()
  }

  static let cancelled = FetchError(
    .cancelled, "The fetch was cancelled", suggestion: "Fetch again when the result is wanted.")
}
