import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// What stands between a connection and the routes, by the limits and the certificate that are in force when it is made.
struct ServingChannel: HTTPChannelHandler {
  typealias Value = HTTP1Channel.Value

  let responder: Responder
  let limits: LiveLimits
  let certificate: LiveCertificate
  let connections: ConnectionRoom

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    connections.opened(channel)
    let shown = certificate.current
    let plain = HTTP1Channel(responder: responder, configuration: configuration)
    return channel.eventLoop.makeCompletedFuture {
      guard let shown else { return }
      let pipeline = channel.pipeline.syncOperations
      let handshake = NIOSSLServerHandler(context: shown.context)
      guard shown.clientAuthorities != nil else { return try pipeline.addHandler(handshake) }
      let refusal = RefusedHandshake()
      try pipeline.addHandlers([refusal, handshake, refusal.watch])
    }.flatMap { plain.setup(channel: channel, logger: logger) }
  }

  func handle(value: Value, logger: Logger) async {
    await handleHTTP(asyncChannel: value, logger: logger)
  }

  private var configuration: HTTP1Channel.Configuration {
    let limits = limits.current
    var configuration = HTTP1Channel.Configuration(
      additionalChannelHandlers: [
        HangUpWatch.Installer(), HeadWatch(seconds: limits.headSeconds),
      ],
      idleTimeout: .seconds(Int64(limits.idleSeconds)))
    configuration.httpDecoder = .init(
      maxHeaderFieldSize: limits.headerBytesMax, maxHeaderListSize: limits.headerBytesMax,
      maxHeaderFieldCount: limits.headerFieldsMax)
    return configuration
  }
}
