import DriftlessServer
import DriftlessStorageConformance
import Foundation
import Logging
import ProgramStart
import Synchronization
import TestSupport

/// A real server on a free port of the loopback interface, in this process.
final class LiveServer: Sendable {
  let directory: TemporaryDirectory
  let data: URL
  let port: UInt16
  let log: LogLines
  let server: ReferenceServer
  /// The PostgreSQL database, where it serves one.
  private let database: String?
  private let stopping: @Sendable () async -> Void
  private let running: Task<Void, any Error>

  /// Starts to serve a new data folder, or one that served before.
  ///
  /// - Parameter trimsMemory: called as soon as there is memory to give back.
  init(
    limits: ServerLimits = .init(), zones: [String] = ["shop"],
    directory: TemporaryDirectory? = nil, tls: (certificate: URL, key: URL)? = nil,
    database: String? = nil, logger: Logger? = nil,
    trimsMemory: (@Sendable () -> Void)? = nil
  ) async throws {
    self.database = database
    self.directory = try directory ?? TemporaryDirectory()
    data = self.directory.file("data")
    if directory == nil, database == nil {
      let administration = try Administration(folder: DataFolder(data))
      for zone in zones { _ = try administration.createZone(zone) }
      administration.close()
    }
    let log = LogLines()
    self.log = log
    var options = ServeOptions()
    options.port = 0
    options.limits = limits
    if let trimsMemory { (options.trimsMemory, options.trimMilliseconds) = (trimsMemory, 0) }
    options.tlsCertificate = tls?.certificate
    options.tlsKey = tls?.key
    let logger =
      logger
      ?? Logger(label: "test") { label in LineLogHandler(label: label) { log.append($0) } }
    let server = try Self.server(data, database, options, logger)
    self.server = server
    let (started, starting) = AsyncStream<ReferenceServer.Listening>.makeStream()
    running = Task {
      defer { starting.finish() }
      try await server.run(handlesSignals: false) { starting.yield($0) }
    }
    var iterator = started.makeAsyncIterator()
    guard let listening = await iterator.next(),
      let port = listening.url.split(separator: ":").last.flatMap({ UInt16($0) })
    else { throw NotStarted(log: log.text) }
    self.port = port
    stopping = listening.stop
  }

  struct NotStarted: Error { let log: String }

  private static func server(
    _ data: URL, _ database: String?, _ options: ServeOptions, _ logger: Logger
  ) throws -> ReferenceServer {
    #if PostgreSQL
      if let database {
        return try ReferenceServer(database: database, options: options, logger: logger)
      }
    #endif
    return try ReferenceServer(data: data, options: options, logger: logger)
  }

  /// Ends as on SIGTERM, and waits for the end.
  func stop() async throws {
    await stopping()
    try await running.value
  }

  func token(zone: String = "shop", verbs: Verbs = [.read, .write]) throws -> AccessToken {
    #if PostgreSQL
      if let database {
        let administration = try PostgresAdministration(database: database)
        defer { administration.close() }
        return try administration.createToken(zone: zone, verbs: verbs)
      }
    #endif
    let administration = try Administration(folder: DataFolder(data))
    defer { administration.close() }
    return try administration.createToken(zone: zone, verbs: verbs)
  }

  func revoke(_ token: AccessToken) throws {
    let administration = try Administration(folder: DataFolder(data))
    defer { administration.close() }
    try administration.revokeToken(id: token.id)
  }

  func zone(_ name: String = "shop") async throws -> ZoneRecord {
    guard let zone = try await server.storage.zone(named: name) else {
      throw TestZone.Missing(name: name)
    }
    return zone
  }
}

/// What a server logged.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])

  func append(_ line: String) { lines.withLock { $0.append(line) } }

  var text: String { lines.withLock { $0.joined() } }
}

/// Runs `test` on a server, and stops the server whatever happens.
func withServer(
  limits: ServerLimits = .init(), zones: [String] = ["shop"], database: String? = nil,
  trimsMemory: (@Sendable () -> Void)? = nil, _ test: (LiveServer) async throws -> Void
) async throws {
  let server = try await LiveServer(
    limits: limits, zones: zones, database: database, trimsMemory: trimsMemory)
  do {
    try await test(server)
  } catch {
    try? await server.stop()
    throw error
  }
  try await server.stop()
}
