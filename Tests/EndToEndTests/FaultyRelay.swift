import Foundation
import Glibc
import Synchronization
import TestSupport

/// A way to a server that does to its connections what networks do: one thread a connection, bytes passed on as they come.
final class FaultyRelay: Sendable {
  /// What happens to a connection.
  enum Fault: Sendable {
    /// Nothing.
    case none
    /// Reset once so many bytes of the requests have been passed on.
    case cutRequest(after: Int)
    /// Reset once so many bytes of the answers have been passed on.
    case cutReply(after: Int)
    /// Requests arrive, and no answer comes back.
    case oneWay
    /// Nothing arrives, and nobody says so.
    case blackHole
    /// The byte of the requests at this place is another.
    case flippedRequest(at: Int)
    /// The byte of the answers at this place is another.
    case flippedReply(at: Int)
    /// So many bytes a second, in pieces of this size, with a pause before each.
    case slow(bytesPerSecond: Int, piece: Int)
    /// Every byte by itself.
    case byteByByte
    /// These words instead of the server's, to each request.
    case answer(String)
    /// Requests with some words in them do not arrive: nobody says so, or these words are said in place of the server's.
    case swallow(String, saying: String?)
  }

  /// What a relay has seen of a connection.
  struct Passed: Sendable {
    var requestBytes = 0
    var replyBytes = 0
    /// The first of the bytes that the client sent.
    var request = Data()
  }

  private struct State {
    var target: UInt16
    var plan: @Sendable (Int) -> Fault
    var passed: [Passed] = []
    var open: Set<Int32> = []
  }

  var port: UInt16 { listener.port }
  private let listener: LoopbackListener
  private let state: Mutex<State>

  /// - Parameter address: the server's, as `http://127.0.0.1:PORT`.
  init(to address: String) throws {
    guard let target = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw HarnessError(description: "\(address) has no port")
    }
    state = Mutex(State(target: target, plan: { _ in .none }))
    listener = try LoopbackListener()
    listener.serve { [self] client in
      let (number, fault, target) = state.withLock { state in
        state.passed.append(Passed())
        state.open.insert(client)
        let number = state.passed.count - 1
        return (number, state.plan(number), state.target)
      }
      Thread { [self] in
        carry(client, number, fault, target)
        _ = state.withLock { $0.open.remove(client) }
        close(client)
      }.start()
    }
  }

  var address: String { "http://127.0.0.1:\(port)" }

  /// What each connection so far carried.
  var passed: [Passed] { state.withLock { $0.passed } }

  /// The faults of the connections that come, by their number from 0; those that are open are reset.
  func set(_ plan: @escaping @Sendable (Int) -> Fault) {
    state.withLock { state in
      state.plan = plan
      state.passed = []
      for connection in state.open { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  func set(_ fault: Fault) { set { _ in fault } }

  func stop() {
    set(.none)
    listener.stop()
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
    return address
  }

  private func carry(_ client: Int32, _ number: Int, _ fault: Fault, _ target: UInt16) {
    if case .answer(let words) = fault { return answer(client, words) }
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(server) }
    var address = Self.loopback(port: target)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { return reset(client) }
    var one: Int32 = 1
    for connection in [client, server] {
      setsockopt(
        connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }
    var total = Passed()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      var both = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0),
        pollfd(fd: server, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&both, 2, 60_000) > 0 else { return }
      for (index, entry) in both.enumerated() where entry.revents != 0 {
        let isRequest = index == 0
        let count = recv(entry.fd, &buffer, piece(fault, buffer.count), 0)
        guard count > 0 else { return }
        let done = isRequest ? total.requestBytes : total.replyBytes
        var bytes = Array(buffer[..<count])
        if isRequest, total.request.count < 4_096 { total.request += bytes }
        if isRequest, case .swallow(let words, let saying) = fault,
          String(decoding: bytes, as: UTF8.self).contains(words)
        {
          let seen = total
          state.withLock { if number < $0.passed.count { $0.passed[number] = seen } }
          guard let saying else {
            bytes = []
            continue
          }
          _ = write(Array(saying.utf8), to: client, .none)
          return
        }
        let isOver = apply(fault, isRequest, done, &bytes)
        if isRequest { total.requestBytes += count } else { total.replyBytes += count }
        let seen = total
        state.withLock { if number < $0.passed.count { $0.passed[number] = seen } }
        guard write(bytes, to: isRequest ? server : client, fault) else { return }
        if isOver { return reset(client) }
      }
    }
  }

  private func piece(_ fault: Fault, _ most: Int) -> Int {
    if case .slow(_, let piece) = fault { return piece }
    return most
  }

  /// Changes what is passed on; true when the connection is to be reset then.
  private func apply(
    _ fault: Fault, _ isRequest: Bool, _ done: Int, _ bytes: inout [UInt8]
  ) -> Bool {
    switch (fault, isRequest) {
    case (.cutRequest(let end), true), (.cutReply(let end), false):
      guard done + bytes.count >= end else { return false }
      bytes.removeLast(done + bytes.count - end)
      return true
    case (.oneWay, false), (.blackHole, _):
      bytes = []
    case (.flippedRequest(let place), true), (.flippedReply(let place), false):
      if place >= done, place < done + bytes.count { bytes[place - done] ^= 1 }
    case (.slow(let speed, _), _):
      usleep(UInt32(bytes.count * 1_000_000 / speed))
    default: break
    }
    return false
  }

  private func write(_ bytes: [UInt8], to connection: Int32, _ fault: Fault) -> Bool {
    var offset = 0
    while offset < bytes.count {
      var most = bytes.count - offset
      if case .byteByByte = fault { most = 1 }
      let count = bytes[offset...].withUnsafeBytes {
        send(connection, $0.baseAddress, most, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      offset += count
    }
    return true
  }

  /// Reads requests without bodies, or what has come of them, and answers each alike.
  private func answer(_ client: Int32, _ words: String) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(client, &buffer, buffer.count, 0)
    guard count > 0 else { return }
    _ = write(Array(words.utf8), to: client, .none)
    // What is still on its way is read, so that the answer is not lost to a reset.
    shutdown(client, Int32(SHUT_WR))
    while recv(client, &buffer, buffer.count, 0) > 0 {}
  }

  private func reset(_ client: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
  }
}
