import ArgumentParser
import DriftlessServer
import Foundation
import Logging
import ProgramStart

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve the zones of a data folder, or of a database, until SIGTERM or SIGINT.",
    discussion: """
      Prints one line on standard output when it listens; logs to standard error. What is not said here comes from the \
      environment (DRIFTLESS_SERVER_LISTEN for --listen), then from the configuration file. SIGHUP reads certificate, \
      limits and log level again.

      Example: driftless-server serve --data DIR --listen 127.0.0.1:8080
               driftless-server serve --config /etc/driftless-server/server.json --check
               driftless-server serve --postgres 'host=db dbname=driftless'
      """)

  @Option(
    help:
      "A configuration file (JSON, which may have comments). Options here, and variables, go before what it says."
  )
  var config: String?

  @Flag(help: "Say what is wrong with all that it is told, and what it would serve by; then end.")
  var check = false

  @Flag(help: "Print a JSON Schema of the configuration file, for editors, and end.")
  var printSchema = false

  @Option(help: "The server's data folder.")
  var data: String?

  @Option(
    help: """
      In place of a data folder, the PostgreSQL database, as libpq has it: 'host=db dbname=driftless'. \
      Its password comes from the file PGPASSFILE, not from here.
      """)
  var postgres: String?

  @Option(help: "HOST:PORT to listen on; port 0 takes a free one. By default 127.0.0.1:8080.")
  var listen: String?

  @Option(
    help: """
      PEM file with the certificate chain: serve TLS 1.2 or newer. Without it, off loopback, what \
      `certificate create` made in the data folder is taken.
      """)
  var tlsCertificate: String?

  @Option(help: "PEM file with the certificate's private key.")
  var tlsKey: String?

  @Option(
    help: """
      PEM file with authorities: a client that shows no certificate of one of them is refused at the handshake.
      """)
  var tlsClientCA: String?

  @Flag(help: "Listen off loopback without TLS, say behind a proxy that speaks TLS.")
  var allowPlaintext = false

  @Option(help: "JSON file that overrides single limits, as in {\"bodyBytesMax\": 33554432}.")
  var limits: String?

  @Option(
    help: """
      Least level to log: trace, debug, info, notice, warning, error or critical. By default info.
      """)
  var logLevel: String?

  @OptionGroup var report: ReportOptions

  func validate() throws {
    guard data != "" else { throw ValidationError("--data names no folder: its value is empty.") }
  }

  func run() async throws {
    if printSchema {
      return try ProgramOutput.write(
        SettingsSchema.text("The configuration of driftless-server", ServerSettings.declared))
    }
    let input = input
    if check { return try ServeCheck(input: input, report: report).run() }
    if input.file == nil, input.read().settings.data == nil, input.read().settings.postgres == nil,
      input.read().complaints.isEmpty
    {
      throw ValidationError(
        "Say where zones are: --data DIR, --postgres 'host=… dbname=…', or a --config FILE that says it."
      )
    }
    do { try await serve(input) } catch {
      let folder = input.read().settings.data?.value.path
      try report.report(
        error, check: "what the server is told (serve --check)",
        at: folder.map { "--data \(CommonOptions.word($0))" })
    }
  }

  private var input: ServeInput {
    var flags: [String: String] = [:]
    flags["data"] = data
    flags["postgres"] = postgres
    flags["listen"] = listen
    flags["tlsCertificate"] = tlsCertificate
    flags["tlsKey"] = tlsKey
    flags["tlsClientCA"] = tlsClientCA
    flags["allowPlaintext"] = allowPlaintext ? "true" : nil
    flags["limits"] = limits
    flags["logLevel"] = logLevel
    return ServeInput(
      flags: flags, config: config, environment: ProcessInfo.processInfo.environment)
  }

  private func serve(_ input: ServeInput) async throws {
    let (settings, options) = try input.settings()
    defer { if let data = settings.data { DataFolder.giveToOwner(data.value) } }
    let level = LiveLogLevel(settings.level)
    let logger = Logger(label: "server") { LineLogHandler(label: $0, level: level) }
    for note in ServerSettings.unknownVariables(input.environment) { logger.warning("\(note)") }
    let server = try server(settings, options, logger)
    let reload = ServeReload(
      input: input, began: settings, server: server, level: level, logger: logger)
    try await server.run(handlesSignals: true, onReload: { reload.run() }) { [logger] listening in
      let url = listening.url
      do throws(UnwrittenOutput) {
        let line = report.json ? "{\"listening\":\"\(url)\"}" : "listening on \(url)"
        try ProgramOutput.write(Data((line + "\n").utf8))
      } catch {
        logger.warning(
          "listening on \(url), which standard output does not take: \(error.message)")
      }
      ServiceNotice.ready(log: logger)
      ServiceNotice.keepWatchdog(log: logger) { await server.ping() }
    }
  }

  private func server(
    _ settings: ServerSettings, _ options: ServeOptions, _ logger: Logger
  ) throws -> ReferenceServer {
    if let data = settings.data {
      // A connection has the database and its log open.
      try OpenFiles.require(
        2 * options.limits.readers + 64,
        or: "Or let the limit readers, which is \(options.limits.readers), be less.")
      return try ReferenceServer(data: data.value, options: options, logger: logger)
    }
    guard let postgres = settings.postgres else { throw ServerSettings.noZones }
    #if PostgreSQL
      return try ReferenceServer(database: postgres.value, options: options, logger: logger)
    #else
      throw ServerError.builtWithoutPostgres(postgres.value)
    #endif
  }
}

extension ServerSettings {
  var level: Logger.Level { logLevel.flatMap { Logger.Level(rawValue: $0.value) } ?? .info }

  static let noZones = ServerError(
    .badConfiguration, "nothing says where zones are: neither \"data\" nor \"postgres\"",
    suggestion: "Say \"data\" in the file, or --data DIR.")
}

/// What a server does on SIGHUP.
struct ServeReload: Sendable {
  let input: ServeInput
  let zones: String
  let server: ReferenceServer
  let level: LiveLogLevel
  let logger: Logger

  init(
    input: ServeInput, began: ServerSettings, server: ReferenceServer, level: LiveLogLevel,
    logger: Logger
  ) {
    self.input = input
    zones = began.zones
    self.server = server
    self.level = level
    self.logger = logger
  }

  func run() {
    do {
      let (settings, options) = try input.settings()
      var reload = try server.reload(options)
      if settings.zones != zones {
        reload.left.append(settings.data != nil ? "data" : "postgres")
      }
      let former = level.current
      if settings.level != former { reload.changed.append("logLevel") }
      // What it says of itself is logged by the more talkative of the two.
      level.current = min(settings.level, former)
      defer { level.current = settings.level }
      logger.notice(
        "settings and certificate were read again",
        metadata: ["changed": "\(reload.changed.sorted().joined(separator: ","))"])
      guard !reload.left.isEmpty else { return }
      logger.warning(
        "settings that change when the server is started again",
        metadata: ["settings": "\(reload.left.sorted().joined(separator: ","))"])
    } catch {
      let reason =
        (error as? ServerError).map { "\(FailureText.sentence($0.message)) \($0.suggestion)" }
        ?? "\(error)"
      logger.error(
        "settings and certificate were read again and are wrong: all stays as it was",
        metadata: ["error": "\(reason)"])
    }
  }
}

extension ServerSettings {
  /// Where zones are, so that one place is told from another.
  fileprivate var zones: String { data?.value.path ?? postgres?.value ?? "" }
}
