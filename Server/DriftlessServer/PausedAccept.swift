import NIOCore

#if canImport(Glibc)
  import Glibc
#endif

/// Lets a second pass where a connection could not be accepted, say since the process may open no more files: the socket stays
/// ready all the while, and to try at once would take the whole of a processor.
final class PausedAccept: ChannelInboundHandler, Sendable {
  typealias InboundIn = any Channel

  private static let passing: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

  /// Told of each pause.
  private let onPause: @Sendable (IOError) -> Void

  init(onPause: @escaping @Sendable (IOError) -> Void) { self.onPause = onPause }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? IOError, Self.passing.contains(error.errnoCode) else {
      return context.fireErrorCaught(error)
    }
    onPause(error)
    let channel = context.channel
    channel.setOption(.autoRead, value: false).whenSuccess {
      channel.eventLoop.scheduleTask(in: .seconds(1)) {
        _ = channel.setOption(.autoRead, value: true)
      }
    }
  }
}
