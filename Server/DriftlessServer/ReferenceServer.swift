package import Foundation
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The server: storage, routes and a socket. One a data folder, or any number a PostgreSQL database.
///
/// A push: `ZoneRoutes` → `Gate` → `PushReader` → `GroupCommit` → `LogAppend` → `ObjectIndex`.
/// A pull: `ZoneRoutes` → `Gate` → `ZoneNews` (long poll) → `SQLiteZoneStorage` → the entries as
/// stored.
public struct ReferenceServer: Sendable {
  package let options: ServeOptions
  package let storage: any ZoneStorage
  package let metrics: ServerMetrics
  package let news: ZoneNews
  let logger: Logger
  /// Of the data folder, where there is one.
  private let lock: FileLock?
  private let activity = ServerActivity()
  private let pulse = ServerPulse()
  let certificate: LiveCertificate
  let limits: LiveLimits
  let refusals: AuditRefusals
  let connections: ConnectionRoom

  /// Opens a data folder for serving.
  ///
  /// - Throws: `ServerError` (`.locked` when another process serves it, `.refusedStart` for options
  ///   that would not be safe), `SQLiteError`.
  package init(data: URL, options: ServeOptions, logger: Logger) throws {
    try self.init(options, logger) { metrics, news in
      let folder = try DataFolder.toServe(data)
      if folder.isOpenToOthers {
        logger.warning(
          "other users may enter the data folder, and read what in it is not closed to them",
          metadata: ["folder": "\(data.path)", "try": "chmod 700 \(data.path)"])
      }
      if let note = folder.networkNote { logger.warning("\(note)") }
      let lock = try folder.lockForServing()
      let storage = try SQLiteZoneStorage(
        folder: folder, limits: options.limits, metrics: metrics, news: news, logger: logger)
      folder.noteDatabaseIsMade()
      storage.keepReserve()
      return (storage, lock)
    }
  }

  #if PostgreSQL
    /// Opens a PostgreSQL database for serving, which other nodes may serve as well.
    ///
    /// - Parameter database: a connection string of libpq.
    /// - Throws: `ServerError` (`.refusedStart` for options that would not be safe, and for a database that cannot be used).
    package init(database: String, options: ServeOptions, logger: Logger) throws {
      try self.init(options, logger) { metrics, news in
        let storage = try PostgresZoneStorage(
          database: database, limits: options.limits, metrics: metrics, news: news, logger: logger)
        return (storage, nil)
      }
    }
  #endif

  /// Serves a storage of another kind (*Writing a storage*).
  ///
  /// - Parameters:
  ///   - storage: where zones, tokens and logs live. It is closed when `run` ends.
  ///   - news: what the storage tells of logs that have grown, so that who waits for them is woken.
  ///   - options: how to serve. The storage goes by limits of its own.
  ///   - logger: gets a line for each request.
  /// - Throws: `ServerError` (`.refusedStart` for options that would not be safe, `.badCertificate`), and what the storage throws
  ///   when it begins to fold.
  public init(
    storage: any ZoneStorage, news: ZoneNews, options: ServeOptions, logger: Logger
  ) throws {
    try self.init(options, logger, news: news) { _, _ in (storage, nil) }
  }

  /// - Parameters:
  ///   - news: that of the storage, where it has one already.
  ///   - open: makes the storage, once the options were found to be safe, and takes the lock of its place where there is one.
  private init(
    _ options: ServeOptions, _ logger: Logger, news: ZoneNews? = nil,
    _ open: (ServerMetrics, ZoneNews) throws -> (storage: any ZoneStorage, lock: FileLock?)
  ) throws {
    try options.check()
    let shown = try ServingCertificate(options)
    shown?.warn(logger)
    certificate = LiveCertificate(shown)
    let limits = LiveLimits(Self.fitted(options.limits, logger))
    self.limits = limits
    self.options = options
    self.logger = logger
    let metrics = ServerMetrics()
    self.metrics = metrics
    connections = ConnectionRoom(limits: limits, metrics: metrics, logger: logger)
    let news = news ?? ZoneNews(waitersMax: limits.waitersMax)
    self.news = news
    let (storage, lock) = try open(metrics, news)
    self.lock = lock
    try storage.beginFolding(logger: logger, trimsMemory: options.trimsMemory)
    self.storage = storage
    refusals = AuditRefusals(storage: storage)
  }

  /// A server that listens.
  public struct Listening: Sendable {
    /// The URL that clients use.
    public let url: String
    /// Makes the server answer what it is at, and end.
    public let stop: @Sendable () async -> Void
  }

  /// Serves until SIGTERM, SIGINT or `stop`; then answers what it is at, and closes the database.
  ///
  /// - Parameters:
  ///   - handlesSignals: whether the process is the server's own.
  ///   - onReload: called on each SIGHUP, one after the other, where the process is.
  ///   - onListening: called once, when clients can connect.
  /// - Throws: `ServerError` (`.refusedStart`) where it cannot listen.
  public func run(
    handlesSignals: Bool, onReload: (@Sendable () -> Void)? = nil,
    onListening: @escaping @Sendable (Listening) -> Void
  ) async throws {
    defer {
      storage.close()
      lock?.release()
    }
    let (urls, url) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
    let application = application { url.yield($0) }
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
    let samples = Task { await activity.run(metrics, news) }
    let ends = Task { await forgetDeadLogs() }
    let reloads = Task {
      guard handlesSignals, let onReload else { return }
      for await _ in await UnixSignalsSequence(trapping: .sighup) { onReload() }
    }
    defer {
      reloads.cancel()
      announcement.cancel()
      watch.cancel()
      samples.cancel()
      ends.cancel()
    }
    do {
      try await group.run()
      await refusals.write()
    } catch let error as IOError {
      let place = "\(options.urlHost):\(options.port)"
      let reason = String(cString: strerror(error.errnoCode))
      guard error.errnoCode != EADDRNOTAVAIL else {
        throw ServerError(
          .refusedStart, "cannot listen on \(place): no interface of this host has that address",
          suggestion: "Name an address of this host with --listen (ip -brief address), or 0.0.0.0 "
            + "for all of them.")
      }
      guard ![EACCES, EPERM].contains(error.errnoCode) else {
        throw ServerError(
          .refusedStart, "cannot listen on \(place): \(reason)",
          suggestion: "Name a port from 1024 on with --listen, or give the service the right to "
            + "this one: AmbientCapabilities=CAP_NET_BIND_SERVICE in its unit of systemd.")
      }
      throw ServerError(
        .refusedStart, "cannot listen on \(place): \(reason)",
        suggestion: "See who listens there (ss -ltnp 'sport = \(options.port)'), or name a free "
          + "address with --listen; port 0 takes a free one.")
    }
  }

  /// Lets go of what is known of logs that are no more, whatever the storage, until the task is cancelled.
  ///
  /// - Parameter pause: between two looks.
  func forgetDeadLogs(every pause: Duration = .seconds(60)) async {
    while (try? await Task.sleep(for: pause)) != nil {
      // A storage that cannot be asked is asked again.
      try? await news.forgetDead { try await storage.generations() }
    }
  }

  /// Comes back when the server gets to what it is asked: where connections come in, and where tasks run.
  package func ping() async {
    await pulse.beat()
    _ = await storage.time()
  }

  private func application(
    onListening: @escaping @Sendable (String) -> Void
  ) -> some ApplicationProtocol & Service {
    let host = options.urlHost
    let scheme = certificate.current == nil ? "http" : "https"
    return Application(
      router: router(),
      server: HTTPServerBuilder { [limits, certificate, connections] in
        ServingChannel(
          responder: $0, limits: limits, certificate: certificate, connections: connections)
      },
      configuration: ApplicationConfiguration(
        address: .hostname(options.host, port: options.port), serverName: "driftless",
        availableConnectionsDelegate: ConnectionCount(limits: limits, metrics: metrics)),
      onServerRunning: { channel in
        let port = channel.localAddress?.port ?? options.port
        pulse.begin(at: channel)
        await pauseWhereFilesAreOut(channel)
        onListening("\(scheme)://\(host):\(port)")
      },
      logger: logger)
  }

  private func router() -> Router<ServerContext> {
    let router = Router(context: ServerContext.self)
    router.add(middleware: ErrorReplies(metrics: metrics, limits: limits))
    let operators = OperatorGate(
      storage: storage, limits: limits, audit: refusals, connections: connections)
    OperatorRoutes(server: self, operators: operators).add(to: router)
    let gate = Gate(
      storage: storage, limits: limits, audit: refusals, connections: connections)
    // One for all that have bodies: what these hold together is what the limits say.
    let bodies = RequestBodyReader(
      limits: limits,
      trim: MemoryTrim(milliseconds: options.trimMilliseconds, options.trimsMemory))
    let admitted = AdmittedBodies(gate: gate, reader: bodies, metrics: metrics)
    ZoneRoutes(
      storage: storage, metrics: metrics, news: news, limits: limits, bodies: admitted
    ).add(to: router)
    EnrolmentRoutes(storage: storage, gate: gate, bodies: bodies).add(to: router)
    ValueRoutes(storage: storage, metrics: metrics, bodies: admitted).add(to: router)
    SnapshotRoutes(storage: storage, metrics: metrics, limits: limits, gate: gate)
      .add(to: router)
    DigestRoutes(storage: storage, metrics: metrics, gate: gate).add(to: router)
    StatusRoutes(server: self, activity: activity, operators: operators).add(to: router)
    return router
  }
}
