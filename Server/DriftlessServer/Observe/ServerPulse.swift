import NIOCore
import Synchronization

/// Where connections come in, and whether anything still happens there.
final class ServerPulse: Sendable {
  private let loop = Mutex<(any EventLoop)?>(nil)

  func begin(at channel: any Channel) { loop.withLock { $0 = channel.eventLoop } }

  /// Comes back when the loop that takes connections has got to it.
  func beat() async {
    guard let loop = loop.withLock({ $0 }) else { return }
    try? await loop.submit {}.get()
  }
}
