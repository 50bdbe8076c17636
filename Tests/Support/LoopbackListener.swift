import Foundation

/// A socket that listens on this host alone, at a port that the system chose.
public struct LoopbackListener: Sendable {
  public let port: UInt16
  private let descriptor: Int32

  public init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRINUSE) }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  /// Gives the connections that come, one after another on a thread of its own, until `stop`.
  public func serve(_ connected: @escaping @Sendable (Int32) -> Void) {
    let descriptor = descriptor
    Thread {
      while case let connection = accept(descriptor, nil, nil), connection >= 0 {
        connected(connection)
      }
      close(descriptor)
    }.start()
  }

  /// Ends the listening; connections go on.
  public func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
