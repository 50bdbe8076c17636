import DriftlessProtocol
import Foundation
import Hummingbird

/// The query of a pull, checked and cut to the server's limits.
struct PullQuery {
  var generation: UUID
  var waitSeconds: Int
  var page: PageRequest

  /// - Throws: `ServerError` (`.malformed`) that names the parameter.
  init(_ parameters: Parameters, limits: ServerLimits) throws {
    guard let text = parameters["generation"], let generation = UUID(uuidString: String(text))
    else {
      throw Self.malformed("generation")
    }
    self.generation = generation
    waitSeconds = Int(
      min(try Self.number(parameters, "wait_seconds") ?? 0, UInt64(limits.waitSecondsMax)))
    let bytes = try Self.number(parameters, "max_bytes") ?? UInt64(limits.pageBytesMax)
    page = PageRequest(
      after: try Self.place(parameters, "after", "chain")
        ?? Cursor.start(generation: generation).mark,
      mark: try Self.place(parameters, "mark", "mark_chain"),
      bytesMax: Int(min(bytes, UInt64(limits.pageBytesMax))), entriesMax: limits.pageEntriesMax)
    guard let replica = parameters["replica"] else { return }
    guard let replica = UUID(uuidString: String(replica)) else { throw Self.malformed("replica") }
    page.own = (replica, try Self.number(parameters, "own_through") ?? 0)
  }

  /// A place of the log; nil when there is none, or the log's beginning without a chain.
  private static func place(
    _ parameters: Parameters, _ name: String, _ chainName: String
  ) throws -> LogMark? {
    guard let sequence = try number(parameters, name) else { return nil }
    guard let text = parameters[Substring(chainName)] else {
      guard sequence == 0 else { throw malformed(chainName) }
      return nil
    }
    guard let chain = LogChain(hexadecimal: String(text)) else { throw malformed(chainName) }
    return LogMark(sequence: sequence, chain: chain)
  }

  private static func number(_ parameters: Parameters, _ name: String) throws -> UInt64? {
    guard let text = parameters[Substring(name)] else { return nil }
    guard let number = UInt64(text) else { throw malformed(name) }
    return number
  }

  private static func malformed(_ name: String) -> ServerError {
    ServerError(
      .malformed, "the query parameter \(name) is missing or is not what it must be",
      suggestion: "Update the client.")
  }
}
