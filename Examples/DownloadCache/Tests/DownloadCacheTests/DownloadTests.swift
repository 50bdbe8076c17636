import DownloadCache
import Foundation
import Synchronization
import Testing

@Suite("Downloads through the cache")
struct DownloadTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  @Test("A fresh file comes from the cache, a stale one is asked for by its entity tag")
  func revalidation() async throws {
    let server = try FileServer()
    let cache = try DownloadCache(at: folder.cache)
    let downloader = Downloader(cache: cache)
    server.answer(body: "one", etag: "\"1\"", policy: "max-age=600")
    var result = try await downloader.data(for: server.url)
    #expect(result.source == .network && result.data == Data("one".utf8))
    result = try await downloader.data(for: server.url)
    #expect(result.source == .cache && result.data == Data("one".utf8))

    try await cache.refresh(url: server.url, expires: Date())
    result = try await downloader.data(for: server.url)
    #expect(result.source == .revalidated && result.data == Data("one".utf8))
    #expect(try await cache.entry(for: server.url)?.isExpired == false)
    #expect(try await downloader.data(for: server.url).source == .cache)

    try await cache.refresh(url: server.url, expires: Date())
    server.answer(body: "two", etag: "\"2\"", policy: "no-cache")
    result = try await downloader.data(for: server.url)
    #expect(result.source == .network && result.data == Data("two".utf8))
    #expect(try await cache.entry(for: server.url)?.entityTag == "\"2\"")
    #expect(try await cache.entry(for: server.url)?.isExpired == true)
    #expect(server.requests == ["-", "\"1\"", "\"1\""])
  }

  @Test("What must not be kept is not, and a refusal is an error that leaves the cache as it was")
  func refusals() async throws {
    let server = try FileServer()
    let cache = try DownloadCache(at: folder.cache)
    let downloader = Downloader(cache: cache)
    server.answer(body: "secret", etag: "\"1\"", policy: "no-store")
    #expect(try await downloader.data(for: server.url).data == Data("secret".utf8))
    #expect(try await cache.entries().isEmpty)
    server.answer(body: "gone", etag: nil, policy: "", status: 404)
    await #expect(throws: CacheError.self) { try await downloader.data(for: server.url) }
    #expect(try await cache.entries().isEmpty)
  }
}

/// A server of one file on the loopback interface, in this process.
final class FileServer: Sendable {
  private struct State {
    var body = ""
    var etag: String?
    var policy = ""
    var status = 200
    var requests: [String] = []
  }

  let url: URL
  private let listener: Int32
  private let state = Mutex(State())

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 8) == 0
          && getsockname(listener, $0, &length) == 0
      }
    }
    let port = UInt16(bigEndian: address.sin_port)
    guard isOpen, let url = URL(string: "http://127.0.0.1:\(port)/file") else {
      throw CocoaError(.fileNoSuchFile)
    }
    self.listener = listener
    self.url = url
    Thread { [self] in serve() }.start()
  }

  func answer(body: String, etag: String?, policy: String, status: Int = 200) {
    state.withLock {
      ($0.body, $0.etag, $0.policy, $0.status) = (body, etag, policy, status)
    }
  }

  /// The entity tags that were asked with, `-` for none.
  var requests: [String] { state.withLock { $0.requests } }

  private func serve() {
    while true {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { return }
      var bytes = [UInt8](repeating: 0, count: 16_384)
      var request = ""
      while !request.contains("\r\n\r\n") {
        let count = recv(connection, &bytes, bytes.count, 0)
        guard count > 0 else { break }
        request += String(decoding: bytes[..<count], as: UTF8.self)
      }
      let answer = Data(reply(to: request).utf8)
      _ = answer.withUnsafeBytes {
        send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      close(connection)
    }
  }

  private func reply(to request: String) -> String {
    let asked = request.split(separator: "\r\n")
      .first { $0.lowercased().hasPrefix("if-none-match:") }?
      .split(separator: ":", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces)
    return state.withLock { state in
      state.requests.append(asked ?? "-")
      let isSame = asked != nil && asked == state.etag
      let body = isSame ? "" : state.body
      var lines = [
        "HTTP/1.1 \(isSame ? 304 : state.status) Answer", "Connection: close",
        "Cache-Control: \(state.policy)",
      ]
      if !isSame { lines.append("Content-Length: \(body.utf8.count)") }
      if let etag = state.etag { lines.append("ETag: \(etag)") }
      return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }
  }
}
