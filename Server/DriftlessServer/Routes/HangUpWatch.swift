import NIOCore
import Synchronization

/// Notices that the other side of a connection has closed it, or has said that it sends no more.
///
/// It stands first in the pipeline, from the connection's beginning: the handler that keeps requests in order holds such
/// events back while an answer is due, and a client may hang up before anybody waits for it.
final class HangUpWatch: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = NIOAny

  private struct State {
    var isHungUp = false
    /// The requests of a connection are answered one after another, so one waits at a time.
    var waiting: AsyncStream<Void>.Continuation?
  }

  private let state = Mutex(State())

  /// Returns when the client has hung up, at once if it did before, or when the task is cancelled.
  func wait() async {
    let (hangUps, hangUp) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let isHungUp = state.withLock { state in
      if !state.isHungUp { state.waiting = hangUp }
      return state.isHungUp
    }
    guard !isHungUp else { return }
    for await _ in hangUps {}
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { noteHangUp() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    noteHangUp()
    context.fireChannelInactive()
  }

  private func noteHangUp() {
    let waiting = state.withLock { state in
      state.isHungUp = true
      return state.waiting.take()
    }
    waiting?.finish()
  }

  /// Puts a watch first into the pipeline of a new connection. The server adds handlers of its own behind others only.
  final class Installer: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
      try? context.pipeline.syncOperations.addHandler(HangUpWatch(), position: .first)
    }
  }
}

extension ServerContext {
  /// Returns when the client has hung up, or when the task is cancelled.
  func waitForHangUp() async {
    do {
      try await channel.pipeline.handler(type: HangUpWatch.self).get().wait()
    } catch {
      return  // The connection is gone, and the watch with it.
    }
  }
}
