package import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
package import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The server: storage, routes and a socket. One a data folder, or any number a PostgreSQL database.
///
/// A push: `ZoneRoutes` → `Gate` → `PushReader` → `GroupCommit` → `LogAppend` → `ObjectIndex`.
/// A pull: `ZoneRoutes` → `Gate` → `ZoneNews` (long poll) → `SQLiteZoneStorage` → the entries as
/// stored.
package struct ReferenceServer: Sendable {
  package let options: ServeOptions
  package let storage: any ZoneStorage
  package let metrics: ServerMetrics
  package let news: ZoneNews
  private let logger: Logger
  /// Of the data folder, where there is one.
  private let lock: FileLock?
  /// Nil where it speaks no TLS.
  private let certificate: ServingCertificate?

  /// Opens a data folder for serving.
  ///
  /// - Throws: `ServerError` (`.locked` when another process serves it, `.refusedStart` for options
  ///   that would not be safe), `SQLiteError`.
  package init(data: URL, options: ServeOptions, logger: Logger) throws {
    try options.check()
    certificate = try ServingCertificate(options)
    let folder = try DataFolder.toServe(data)
    if folder.isOpenToOthers {
      logger.warning(
        "other users may enter the data folder; its files are closed to them",
        metadata: ["folder": "\(data.path)", "try": "chmod 700 \(data.path)"])
    }
    certificate?.warn(logger)
    lock = try folder.lockForServing()
    self.options = options
    self.logger = logger
    metrics = ServerMetrics()
    news = ZoneNews(waitersMax: options.limits.waitersMax)
    let storage = try SQLiteZoneStorage(
      folder: folder, limits: options.limits, metrics: metrics, news: news, logger: logger)
    folder.noteDatabaseIsMade()
    try storage.beginFolding(logger: logger)
    self.storage = storage
  }

  #if PostgreSQL
    /// Opens a PostgreSQL database for serving, which other nodes may serve as well.
    ///
    /// - Parameter database: a connection string of libpq.
    /// - Throws: `ServerError` (`.refusedStart` for options that would not be safe, and for a database that cannot be used).
    package init(database: String, options: ServeOptions, logger: Logger) throws {
      try options.check()
      certificate = try ServingCertificate(options)
      certificate?.warn(logger)
      lock = nil
      self.options = options
      self.logger = logger
      metrics = ServerMetrics()
      news = ZoneNews(waitersMax: options.limits.waitersMax)
      storage = try PostgresZoneStorage(
        database: database, limits: options.limits, metrics: metrics, news: news, logger: logger)
    }
  #endif

  /// A server that listens.
  package struct Listening: Sendable {
    /// The URL that clients use.
    package let url: String
    /// Makes the server answer what it is at, and end.
    package let stop: @Sendable () async -> Void
  }

  /// Serves until SIGTERM, SIGINT or `stop`; then answers what it is at, and closes the database.
  ///
  /// - Parameters:
  ///   - handlesSignals: whether the process is the server's own.
  ///   - onListening: called once, when clients can connect.
  package func run(
    handlesSignals: Bool, onListening: @escaping @Sendable (Listening) -> Void
  ) async throws {
    defer {
      storage.close()
      lock?.release()
    }
    let (urls, url) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
    let application = try application { url.yield($0) }
    let group = ServiceGroup(
      configuration: .init(
        services: [application],
        gracefulShutdownSignals: handlesSignals ? [.sigterm, .sigint] : [], logger: logger))
    let announcement = Task {
      for await url in urls {
        onListening(Listening(url: url, stop: { await group.triggerGracefulShutdown() }))
      }
    }
    let watch = Task { await storage.watch() }
    defer {
      announcement.cancel()
      watch.cancel()
    }
    do {
      try await group.run()
    } catch let error as IOError {
      let place = "\(options.urlHost):\(options.port)"
      let reason = String(cString: strerror(error.errnoCode))
      throw ServerError(
        .refusedStart, "cannot listen on \(place): \(reason)",
        suggestion: "See who listens there (ss -ltnp 'sport = \(options.port)'), or name a free "
          + "address with --listen; port 0 takes a free one.")
    }
  }

  private func application(
    onListening: @escaping @Sendable (String) -> Void
  ) throws -> some ApplicationProtocol & Service {
    let limits = options.limits
    var configuration = HTTP1Channel.Configuration(
      additionalChannelHandlers: [HangUpWatch.Installer()],
      idleTimeout: .seconds(Int64(limits.idleSeconds)))
    configuration.httpDecoder = .init(
      maxHeaderFieldSize: limits.headerBytesMax, maxHeaderListSize: limits.headerBytesMax,
      maxHeaderFieldCount: limits.headerFieldsMax)
    let tls = certificate?.configuration
    let plain = HTTPServerBuilder.http1(configuration: configuration)
    let host = options.urlHost
    let scheme = tls == nil ? "http" : "https"
    return Application(
      router: router(),
      server: try tls.map { try .tls(plain, tlsConfiguration: $0) } ?? plain,
      configuration: ApplicationConfiguration(
        address: .hostname(options.host, port: options.port), serverName: "driftless",
        availableConnectionsDelegate: ConnectionCount(
          connectionsMax: limits.connectionsMax, metrics: metrics)),
      onServerRunning: { channel in
        let port = channel.localAddress?.port ?? options.port
        onListening("\(scheme)://\(host):\(port)")
      },
      logger: logger)
  }

  private func router() -> Router<ServerContext> {
    let router = Router(context: ServerContext.self)
    router.add(middleware: ErrorReplies(metrics: metrics, limits: options.limits))
    OperatorRoutes(
      storage: storage, metrics: metrics, news: news, entryCheck: storage.entryCheck,
      certificateEnds: certificate?.ends
    ).add(to: router)
    let gate = Gate(storage: storage, limits: options.limits)
    ZoneRoutes(storage: storage, metrics: metrics, news: news, limits: options.limits, gate: gate)
      .add(to: router)
    SnapshotRoutes(storage: storage, metrics: metrics, limits: options.limits, gate: gate)
      .add(to: router)
    DigestRoutes(storage: storage, metrics: metrics, gate: gate).add(to: router)
    return router
  }
}
