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
      Prints one line on standard output when it listens; logs to standard error.

      Example: driftless-server serve --data DIR --listen 127.0.0.1:8080
               driftless-server serve --postgres 'host=db dbname=driftless'
      """)

  @OptionGroup var common: CommonOptions

  @Option(help: "HOST:PORT to listen on; port 0 takes a free one.")
  var listen = "127.0.0.1:8080"

  @Option(
    help: """
      PEM file with the certificate chain: serve TLS 1.2 or newer. Without it, off loopback, what \
      `certificate create` made in the data folder is taken.
      """)
  var tlsCertificate: String?

  @Option(help: "PEM file with the certificate's private key.")
  var tlsKey: String?

  @Flag(help: "Listen off loopback without TLS, say behind a proxy that speaks TLS.")
  var allowPlaintext = false

  @Option(help: "JSON file that overrides single limits, as in {\"bodyBytesMax\": 33554432}.")
  var limits: String?

  @Option(help: "Least level to log: trace, debug, info, notice, warning, error or critical.")
  var logLevel = "info"

  func run() async throws {
    try await common.reportingWhenEnded {
      guard let level = Logger.Level(rawValue: logLevel) else {
        throw ServerError(
          .badName, "unknown log level \"\(logLevel)\"", suggestion: "Use info, or debug for more.")
      }
      var logger = Logger(label: "server") { LineLogHandler(label: $0) }
      logger.logLevel = level
      let server = try server(logger)
      try await server.run(handlesSignals: true) { [logger] listening in
        let url = listening.url
        do throws(UnwrittenOutput) {
          let line = common.json ? "{\"listening\":\"\(url)\"}" : "listening on \(url)"
          try ProgramOutput.write(Data((line + "\n").utf8))
        } catch {
          logger.warning(
            "listening on \(url), which standard output does not take: \(error.message)")
        }
        ServiceNotice.ready(log: logger)
      }
    }
  }

  private func server(_ logger: Logger) throws -> ReferenceServer {
    guard let postgres = common.postgres else {
      return try ReferenceServer(
        data: common.folder(), options: try options(), logger: logger)
    }
    #if PostgreSQL
      return try ReferenceServer(database: postgres, options: try options(), logger: logger)
    #else
      throw ServerError.builtWithoutPostgres(postgres)
    #endif
  }

  private func options() throws -> ServeOptions {
    var options = ServeOptions()
    try options.listen(on: listen)
    options.tlsCertificate = tlsCertificate.map { URL(fileURLWithPath: $0) }
    options.tlsKey = tlsKey.map { URL(fileURLWithPath: $0) }
    options.allowsPlaintext = allowPlaintext
    if let folder = try? common.folder() { options.takeCertificate(ofData: folder) }
    if let limits {
      guard let data = FileManager.default.contents(atPath: limits) else {
        throw ServerError(
          .badLimits, "cannot read the limits file \(limits)", suggestion: "Check its path.")
      }
      if let name = RepeatedName.first(in: data) {
        throw ServerError(
          .badLimits, "the limits file has \(name) twice; only one of the two would count",
          suggestion: "Leave one of them.")
      }
      options.limits = try ServerLimits(json: data)
    }
    return options
  }
}
