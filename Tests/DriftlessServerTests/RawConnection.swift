import Foundation
import Glibc

/// One TCP connection on which a test sends the bytes that it wants, right or wrong.
final class RawConnection: Sendable {
  private let descriptor: Int32

  struct Failure: Error { let reason: String }

  struct Response: Sendable {
    let status: Int
    let headers: [String: String]
    let body: Data

    var code: String? {
      (try? JSONSerialization.jsonObject(with: body) as? [String: Any])?["code"] as? String
    }
  }

  /// - Parameters:
  ///   - receives: how many bytes may wait here to be read, where that is to be little.
  ///   - patience: the seconds that it waits for anything.
  init(port: UInt16, receives: Int32? = nil, patience seconds: Int = 45) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    // A test that would wait for ever fails instead.
    var patience = timeval(tv_sec: seconds, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    if var room = receives {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(reason: "connect: \(errno)") }
  }

  deinit { close(descriptor) }

  /// The answer to a body that comes by a byte now and then: it is looked at with each, until there is an answer.
  func responseWhileTrickling() throws -> Response {
    for _ in 0..<600 where !hasMore(milliseconds: 100) { send(Data("x".utf8)) }
    return try response()
  }

  /// Sends bytes; false when the server has hung up.
  @discardableResult
  func send(_ data: Data) -> Bool {
    data.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = Glibc.send(
          descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  /// All that comes until the server hangs up.
  func rest() -> String {
    var data = Data()
    while let piece = receive() { data += piece }
    return String(decoding: data, as: UTF8.self)
  }

  /// Says that nothing more will be sent.
  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The bytes that are there, or nil at the end.
  private func receive() -> Data? {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Data(buffer[..<count]) : nil
  }

  /// Whether the server hangs up within the connection's patience.
  func isHungUp() -> Bool {
    while receive() != nil {}
    return errno != EAGAIN
  }

  /// Whether something can be read, or the end has come, before so much time is over.
  func hasMore(milliseconds: Int32) -> Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, milliseconds) > 0
  }

  /// The status of a response of which nothing more is read than what has come.
  func status() throws -> Int {
    var data = Data()
    while !data.contains(UInt8(ascii: "\r")) {
      guard let more = receive() else { throw Failure(reason: "no response") }
      data += more
    }
    let words = String(decoding: data.prefix(40), as: UTF8.self).split(separator: " ")
    return words.dropFirst().first.flatMap { Int($0) } ?? 0
  }

  /// Reads one response.
  func response() throws -> Response {
    var data = Data()
    let end = Data("\r\n\r\n".utf8)
    while data.range(of: end) == nil {
      guard let more = receive() else { throw Failure(reason: "no response: \(data.count) bytes") }
      data += more
    }
    let range = data.range(of: end) ?? 0..<0
    let lines = String(decoding: data[..<range.lowerBound], as: UTF8.self)
      .components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
        .trimmingCharacters(in: .whitespaces)
    }
    var body = Data(data[range.upperBound...])
    let length = headers["content-length"].flatMap { Int($0) } ?? 0
    while body.count < length {
      guard let more = receive() else { throw Failure(reason: "the body ends early") }
      body += more
    }
    let status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return Response(status: status ?? 0, headers: headers, body: body)
  }
}

extension LiveServer {
  /// A request on a connection of its own, its body whole.
  func request(
    _ method: String, _ path: String, token: String? = nil, headers: [String] = [],
    body: Data = Data()
  ) async throws -> RawConnection.Response {
    let port = port
    let head = Self.head(method, path, token: token, headers: headers, length: body.count)
    return try await blocking {
      let connection = try RawConnection(port: port)
      connection.send(head + body)
      return try connection.response()
    }
  }

  static func head(
    _ method: String, _ path: String, token: String? = nil, headers: [String] = [],
    length: Int? = 0
  ) -> Data {
    var lines = ["\(method) \(path) HTTP/1.1", "Host: localhost"] + headers
    if let token { lines.append("Authorization: Bearer \(token)") }
    if let length { lines.append("Content-Length: \(length)") }
    return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }
}

/// Runs blocking work on a thread of its own: the shared ones serve the server's tasks.
func blocking<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}
