package import Driftless
package import DriftlessHTTP
import DriftlessSync
package import Foundation

/// Opens a store and the way to its zone, for both programs alike.
package enum StoreAccess {
  /// Opens an existing store.
  ///
  /// - Parameters:
  ///   - reading: Whether the caller only reads: then a file that may not be written is good enough, and one that Core Data
  ///     wrote stays as it is.
  ///   - model: Nil for the model that the store carries.
  ///   - configuration: The configuration of the model that the store has; nil for all entities.
  package static func open(
    _ url: URL, reading: Bool = false, model: ManagedObjectModel? = nil,
    configuration: String? = nil
  ) throws -> PersistentStore {
    let manager = FileManager.default
    try requireFile(at: url)
    if reading {
      let store = try PersistentStore.open(
        url: url, model: model, configuration: configuration, options: .inspecting(url))
      let mayWrite =
        manager.isWritableFile(atPath: url.path)
        && manager.isWritableFile(atPath: url.deletingLastPathComponent().path)
      guard mayWrite, try store.hasOwnTables() else { return store }
      store.close()
      do {
        return try openForWriting(url, model: model, configuration: configuration)
      } catch let error as StoreError where error.code == .diskFull {
        // There is no space for a log, so nobody writes: what the file holds can be read.
        return try PersistentStore.open(
          url: url, model: model, configuration: configuration, options: .inspecting(url))
      }
    }
    return try openForWriting(url, model: model, configuration: configuration)
  }

  /// - Throws: `Failure` when there is no file.
  package static func requireFile(at url: URL) throws {
    guard FileManager.default.fileExists(atPath: url.path) else {
      throw Failure(
        .badData, code: "no-store", "There is no store at \(url.path).",
        suggestion: "syncctl init --store \(url.path) --model MODEL.xcdatamodeld")
    }
  }

  private static func openForWriting(
    _ url: URL, model: ManagedObjectModel?, configuration: String?
  ) throws -> PersistentStore {
    try PersistentStore.open(
      url: url, model: model, configuration: configuration,
      options: StoreOptions(createsFile: false))
  }

  /// The transport of an enrolled store, with the token from beside it or from `tokenFile`.
  package static func transport(
    for store: PersistentStore, at url: URL, tokenFile: URL? = nil
  ) throws -> CurlTransport {
    let status = try SyncEngine.status(of: store)
    guard let server = status.server, let zone = status.zone else {
      throw Failure(
        .failed, code: "not-enrolled", "\(url.path) is not enrolled with a server.",
        suggestion: "syncctl enroll --store \(url.path) --server URL --zone NAME")
    }
    let token = try TokenFile.read(tokenFile ?? TokenFile.url(forStore: url))
    var options = TransportOptions()
    // Enrolment refused plain HTTP to another host unless it was allowed in so many words.
    options.allowsPlaintext = true
    return try CurlTransport(server: server, zone: zone, token: token, options: options)
  }
}
