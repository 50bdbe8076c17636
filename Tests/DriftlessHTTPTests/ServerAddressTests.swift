import DriftlessHTTP
import Foundation
import Testing

@Suite struct ServerAddressTests {
  private func isAccepted(_ text: String, allowsPlaintext: Bool = false) throws -> Bool {
    let url = try #require(URL(string: text))
    do {
      try ServerAddress.check(url, allowsPlaintext: allowsPlaintext)
      return true
    } catch {
      #expect(error.code == .badConfiguration)
      return false
    }
  }

  @Test(
    "HTTPS and this host are taken",
    arguments: [
      "https://sync.example", "https://sync.example:8443/base", "http://127.0.0.1:8080",
      "http://localhost:1", "http://[::1]:8080",
    ])
  func taken(text: String) throws {
    #expect(try isAccepted(text))
  }

  @Test(
    "Plain HTTP to another host, credentials and other schemes are refused",
    arguments: [
      "http://sync.example", "http://127.0.0.1.evil.example", "http://127.1.evil:80",
      "https://user:word@sync.example", "https://sync.example/?token=x", "ftp://sync.example",
      "file:///etc/passwd", "sync.example",
    ])
  func refused(text: String) throws {
    #expect(try !isAccepted(text))
  }

  @Test("Plain HTTP to another host can be allowed")
  func plaintextAllowed() throws {
    #expect(try isAccepted("http://sync.example:8080", allowsPlaintext: true))
  }

  @Test("A token with a line break and a zone that is a path are refused before any request")
  func injection() throws {
    let url = try #require(URL(string: "http://127.0.0.1:1"))
    #expect(throws: TransportError.self) {
      try CurlTransport(server: url, zone: "a", token: "x\r\nHost: evil")
    }
    #expect(throws: TransportError.self) { try CurlTransport(server: url, zone: "..", token: "x") }
    #expect(throws: TransportError.self) { try CurlTransport(server: url, zone: "", token: "x") }
  }
}
