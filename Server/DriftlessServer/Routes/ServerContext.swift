import Hummingbird
import NIOCore

/// A request's context: the parameters of its path, its logger, and its connection.
struct ServerContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  /// Where the request comes from, as text.
  var address: String { channel.remoteAddress?.ipAddress ?? "" }
}
