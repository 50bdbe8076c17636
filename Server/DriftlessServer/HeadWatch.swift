import NIOCore

/// Closes a connection on which no whole head of a request has come in time.
final class HeadWatch: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let seconds: Int
  private var end: Scheduled<Void>?

  init(seconds: Int) { self.seconds = seconds }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    end = context.eventLoop.scheduleTask(in: .seconds(Int64(seconds))) {
      channel.close(promise: nil)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

  /// It stands behind the decoder: what comes first is a head.
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    end?.cancel()
    end = nil
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end?.cancel()
    context.fireChannelInactive()
  }
}
