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
    let query = RequestQuery(parameters)
    guard let generation = try query.uuid("generation") else {
      throw RequestQuery.malformed("generation")
    }
    self.generation = generation
    waitSeconds = Int(min(try query.number("wait_seconds") ?? 0, UInt64(limits.waitSecondsMax)))
    let bytes = try query.number("max_bytes") ?? UInt64(limits.pageBytesMax)
    page = PageRequest(
      after: try Self.place(query, "after", "chain") ?? Cursor.start(generation: generation).mark,
      mark: try Self.place(query, "mark", "mark_chain"),
      bytesMax: Int(min(bytes, UInt64(limits.pageBytesMax))), entriesMax: limits.pageEntriesMax)
    let ownThrough = try query.number("own_through") ?? 0
    if let replica = try query.uuid("replica") { page.own = (replica, ownThrough) }
  }

  /// A place of the log; nil when there is none, or the log's beginning without a chain.
  private static func place(
    _ query: RequestQuery, _ name: String, _ chainName: String
  ) throws -> LogMark? {
    let chain = try query.chain(chainName)
    guard let sequence = try query.number(name) else { return nil }
    guard let chain else {
      guard sequence == 0 else { throw RequestQuery.malformed(chainName) }
      return nil
    }
    return LogMark(sequence: sequence, chain: chain)
  }
}
