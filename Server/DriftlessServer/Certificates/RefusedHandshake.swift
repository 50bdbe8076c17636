import NIOCore

/// Lets a client read why its certificate is refused.
///
/// With TLS 1.3 a client sends its request before the server has looked at its certificate. To close such a connection both ways
/// at once would reset it, and could take the alert with it: the client would hear of a broken line, and try again for ever. So
/// until the handshake is done it is closed for writing first, and wholly a moment later.
final class RefusedHandshake: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private var isDone = false
  /// Whether TLS found something wrong with the handshake.
  private var isRefused = false
  private var isClosing = false
  private static let seconds: Int64 = 1

  /// What tells it that the handshake is done; it stands behind TLS, where nothing comes before that is.
  var watch: any ChannelHandler { Watch(refusal: self) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // What a client that is refused still sends is let go of.
    if !isClosing { context.fireChannelRead(data) }
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all, isRefused, !isDone, context.channel.isActive else {
      return context.close(mode: mode, promise: promise)
    }
    guard !isClosing else { return context.channel.closeFuture.cascade(to: promise) }
    isClosing = true
    let channel = context.channel
    channel.closeFuture.cascade(to: promise)
    context.close(mode: .output, promise: nil)
    context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Self.seconds)) { [self] in
      isDone = true
      channel.close(promise: nil)
    }
  }

  private final class Watch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let refusal: RefusedHandshake

    init(refusal: RefusedHandshake) { self.refusal = refusal }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      refusal.isDone = true
      context.fireChannelRead(data)
    }

    /// TLS says so before it closes the connection. Who is closed for another reason is not waited for.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      refusal.isRefused = true
      context.fireErrorCaught(error)
    }
  }
}
