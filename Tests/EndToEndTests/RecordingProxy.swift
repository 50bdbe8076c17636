import Foundation
import Glibc
import Synchronization
import TestSupport

/// A forward proxy that notes the first line of each request and answers 502.
final class RecordingProxy: Sendable {
  var port: UInt16 { listener.port }
  private let listener: LoopbackListener
  private let seen = Mutex<[String]>([])

  init() throws {
    listener = try LoopbackListener()
    listener.serve { [self] connection in
      var buffer = [UInt8](repeating: 0, count: 16_384)
      let count = recv(connection, &buffer, buffer.count, 0)
      let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
      if let line = text.split(separator: "\r\n").first {
        seen.withLock { $0.append(String(line)) }
      }
      let answer = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
      _ = answer.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
      close(connection)
    }
  }

  /// The request lines so far.
  var requests: [String] { seen.withLock { $0 } }

  func stop() { listener.stop() }
}
