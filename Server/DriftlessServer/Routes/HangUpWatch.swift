import NIOCore

/// Notices that the other side of a connection has closed it, or has said that it sends no more.
private final class HangUpWatch: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = NIOAny

  private let onHangUp: @Sendable () -> Void

  init(onHangUp: @escaping @Sendable () -> Void) { self.onHangUp = onHangUp }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { onHangUp() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    onHangUp()
    context.fireChannelInactive()
  }
}

extension ServerContext {
  /// Returns when the client has hung up, or when the task is cancelled.
  func waitForHangUp() async {
    let (hangUps, hangUp) = AsyncStream<Void>.makeStream()
    let watch = HangUpWatch { hangUp.finish() }
    do {
      try await channel.pipeline.addHandler(watch, position: .first).get()
    } catch {
      return  // The connection is closed already.
    }
    for await _ in hangUps {}
    // Fails only when the connection, and the handler with it, is gone.
    try? await channel.pipeline.removeHandler(watch).get()
  }
}
