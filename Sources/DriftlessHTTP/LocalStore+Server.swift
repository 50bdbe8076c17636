public import Driftless
import DriftlessProtocol
public import DriftlessSync
public import Foundation

extension LocalStore {
  /// Keeps the store in step with a zone of a server, for as long as somebody iterates, and tells how it does.
  ///
  /// ```swift
  /// for await state in try await library.sync(with: serverURL, zone: "library", token: token) {
  ///   show(state)
  /// }
  /// ```
  /// It enrols the store when the server first answers: see `sync(through:options:delays:)`. With another token than before,
  /// say after a person has brought one, it goes on with that for all that iterate.
  ///
  /// - Parameters:
  ///   - server: `https://HOST[:PORT][/PATH]`, or `http://` for this host or where the transport's options allow it.
  ///   - zone: The zone's name, as the server knows it.
  ///   - token: The bearer token.
  ///   - options: Bounds, rules and what to do when a server was put back.
  ///   - transport: Bounds, delays and what is trusted on the way.
  ///   - delays: How long it waits for what.
  /// - Returns: The states as they come; a reader that is slow misses the older ones.
  /// - Throws: `TransportError` that names the part which cannot be used; `SyncError` with the code `alreadyEnrolled` when
  ///   the store is enrolled with another zone; `StoreError` when it cannot be read.
  public func sync(
    with server: URL, zone: String, token: String, options: SyncOptions = SyncOptions(),
    transport: TransportOptions = TransportOptions(),
    delays: SyncSchedule.Delays = SyncSchedule.Delays()
  ) async throws -> AsyncStream<SyncState> {
    var transport = transport
    if transport.replicaName == nil {
      transport.replicaName = try SyncEngine.name(of: store) ?? ReplicaName.ofHost
    }
    let way = try CurlTransport(server: server, zone: zone, token: token, options: transport)
    return try await sync(through: way, options: options, delays: delays)
  }
}
