import DriftlessServer
import Foundation
import Testing

@Suite("Access tokens")
struct AccessTokenTests {
  @Test("A token reads back from its text, and no two are alike")
  func roundTrip() throws {
    let tokens = (0..<100).map { _ in AccessToken.mint() }
    #expect(Set(tokens.map(\.secret)).count == 100)
    for token in tokens {
      let read = try #require(AccessToken(text: token.text))
      #expect(read.matches(token.hash))
    }
    #expect(!tokens[0].matches(tokens[1].hash))
    #expect(!tokens[0].matches(Data()))
  }

  @Test(
    "What has not the form of a token is none",
    arguments: ["", "dl", "dl__", "xx_0123456789abcdef_0", "dl_0123456789abcdef_zz"])
  func malformed(text: String) {
    #expect(AccessToken(text: text) == nil)
  }

  @Test("A token with a character changed or added does not match")
  func changed() throws {
    let token = AccessToken.mint()
    let last: Character = token.text.last == "0" ? "1" : "0"
    let changed = try #require(AccessToken(text: token.text.dropLast() + [last]))
    #expect(!changed.matches(token.hash))
    #expect(AccessToken(text: token.text + "0") == nil)
    #expect(AccessToken(text: token.text.uppercased()) == nil)
  }

  @Test("Verbs read and write as text; another verb is refused")
  func verbs() throws {
    #expect(try Verbs(text: "read,write") == [.read, .write])
    #expect(try Verbs(text: "read").description == "read")
    #expect(throws: ServerError.self) { try Verbs(text: "admin") }
    #expect(throws: ServerError.self) { try Verbs(text: "") }
  }
}
