import Driftless
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// Objects as a person names them to commands.
struct NamedObjectTests {
  @Test("An object goes by its identity, with or without its entity, and by the ID of import files")
  func names() throws {
    let shop = try Shop()
    let identity = UUID()
    let lower = identity.uuidString.lowercased()
    for text in [lower, "Item/\(lower)"] {
      #expect(try NamedObject(text)?.identity(in: shop.store) == identity)
    }
    #expect(
      try NamedObject("Item/a/b")?.identity(in: shop.store)
        == NamedIdentity.identity("a/b", rootEntity: "Item"))
    for text in ["", "17", "/17", "Item/"] { #expect(NamedObject(text) == nil, "\(text)") }
    #expect(throws: Failure.self) { try NamedObject("Itme/17")?.identity(in: shop.store) }
  }
}
