import DriftlessProtocol
import Foundation
import Glibc
import Synchronization
import TestSupport

/// A TCP server on the loopback interface that answers as a test tells it to, well or badly.
///
/// One thread takes one connection after the other, so what it saw is in order.
final class CrookedServer: Sendable {
  /// What a connection does after a request was read whole.
  enum Step: Sendable {
    /// Sends bytes as they are.
    case send(String)
    /// Sends bytes one at a time.
    case trickle(String)
    /// Closes the connection in the ordinary way.
    case close
    /// Closes it with a reset.
    case reset
    /// Says nothing until the client goes away.
    case silence
  }

  /// A request as it arrived.
  struct Seen: Sendable {
    var connection: Int
    var head: String
    var body: Data
  }

  private struct State {
    var answers: [[Step]]
    var seen: [Seen] = []
    var connections = 0
  }

  var port: UInt16 { listener.port }
  private let listener: LoopbackListener
  private let state: Mutex<State>

  /// - Parameter answers: The steps for each request, in order; the last one serves all later
  ///   requests too.
  init(_ answers: [Step]...) throws {
    state = Mutex(State(answers: answers))
    listener = try LoopbackListener()
    listener.serve { [self] connection in
      let number = state.withLock { state in
        state.connections += 1
        return state.connections
      }
      while let (head, body) = Self.readRequest(connection) {
        let steps = state.withLock { state in
          state.seen.append(Seen(connection: number, head: head, body: body))
          return state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first ?? []
        }
        guard Self.perform(steps, to: head, on: connection) else { break }
      }
      close(connection)
    }
  }

  /// Stops to listen; the thread ends with the connection that it has in hand.
  func stop() { listener.stop() }

  var url: URL { URL(string: "http://127.0.0.1:\(port)") ?? URL(fileURLWithPath: "/") }
  var seen: [Seen] { state.withLock { $0.seen } }
  var connections: Int { state.withLock { $0.connections } }

  /// Performs the steps; false when the connection is over.
  private static func perform(_ steps: [Step], to head: String, on connection: Int32) -> Bool {
    for step in steps {
      switch step {
      case .send(let text):
        guard write(Array(Answer.checked(text, to: head).utf8), to: connection) else {
          return false
        }
      case .trickle(let text):
        var one: Int32 = 1
        setsockopt(
          connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        for byte in Answer.checked(text, to: head).utf8 where !write([byte], to: connection) {
          return false
        }
      case .close:
        return false
      case .reset:
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
          connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        return false
      case .silence:
        var byte: UInt8 = 0
        while recv(connection, &byte, 1, 0) > 0 {}
        return false
      }
    }
    return true
  }

  private static func write(_ bytes: [UInt8], to connection: Int32) -> Bool {
    var offset = 0
    while offset < bytes.count {
      let count = bytes[offset...].withUnsafeBytes {
        send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      offset += count
    }
    return true
  }

  /// Reads a request head and as many bytes as its Content-Length says.
  private static func readRequest(_ connection: Int32) -> (head: String, body: Data)? {
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let end = Data("\r\n\r\n".utf8)
    while true {
      if let range = data.range(of: end) {
        let head = String(decoding: data[..<range.lowerBound], as: UTF8.self)
        let length =
          head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
          .flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) } ?? 0
        if data.count - range.upperBound >= length {
          return (head, Data(data[range.upperBound..<(range.upperBound + length)]))
        }
      }
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      data.append(contentsOf: buffer[..<count])
    }
  }
}

/// Whole answers.
enum Answer {
  static let zone =
    #"{"zone":"shop","zoneID":"5F9619FF-8B86-4011-B42D-00C04FC964FF","#
    + #""generation":"6F9619FF-8B86-4011-B42D-00C04FC964FF","intent":"offer","head":7,"#
    + #""chain":"00112233445566778899aabbccddeeff","formatLevel":1,"serverTimeMilliseconds":1000}"#
  static let pushed =
    #"{"sequence":8,"firstObjectNumber":100,"chain":"00112233445566778899aabbccddeeff","#
    + #""generation":"6F9619FF-8B86-4011-B42D-00C04FC964FF","pushNumber":1,"digest":"AQID","#
    + #""serverTimeMilliseconds":1000}"#

  /// An answer of a Driftless server, with its check.
  static func json(_ body: String, status: String = "200 OK", fields: [String] = []) -> String {
    text(
      body, type: "application/json", status: status,
      fields: fields + ["\(AnswerCheck.field): \(checkPlace)"])
  }

  /// A piece of a large value.
  static func piece(_ body: String) -> String {
    text(
      body, type: "application/vnd.driftless.value",
      fields: ["\(AnswerCheck.field): \(checkPlace)"])
  }

  static func text(
    _ body: String, type: String, status: String = "200 OK", fields: [String] = []
  ) -> String {
    (["HTTP/1.1 \(status)", "Content-Type: \(type)", "Content-Length: \(body.utf8.count)"] + fields)
      .joined(separator: "\r\n") + "\r\n\r\n" + body
  }

  /// Stands where the check goes when the request is known.
  private static let checkPlace = "the check"

  /// An answer with the check that goes with the request.
  static func checked(_ answer: String, to head: String) -> String {
    guard answer.contains(checkPlace), let end = answer.range(of: "\r\n\r\n") else { return answer }
    let request = lines(head)
    let reply = lines(String(answer[..<end.lowerBound]))
    let check = Data(answer[end.upperBound...].utf8).withUnsafeBytes { body in
      AnswerCheck.value(
        for: .init(
          method: request.words[0], target: request.words[1],
          authorization: request.fields["authorization"] ?? "",
          contentDigest: request.fields["content-digest"] ?? ""),
        status: Int(reply.words[1]) ?? 0, field: { reply.fields[$0.lowercased()] }, body: body)
    }
    return answer.replacingOccurrences(of: checkPlace, with: check)
  }

  private static func lines(_ head: String) -> (words: [String], fields: [String: String]) {
    let lines = head.components(separatedBy: "\r\n")
    let fields = lines.dropFirst().compactMap { line -> (String, String)? in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (
        line[..<colon].lowercased(),
        line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      )
    }
    return (
      lines[0].components(separatedBy: " "), Dictionary(fields, uniquingKeysWith: { $1 })
    )
  }
}
