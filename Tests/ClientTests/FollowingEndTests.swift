import Driftless
import DriftlessSync
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// `why` of an end of a relationship that other objects say.
struct FollowingEndTests {
  @Test("It says which end it follows, who changed that last, and the objects by their names")
  func following() throws {
    let shop = try Shop()
    func run(_ author: String, _ lines: String...) throws {
      _ = try Importer(store: shop.store, author: author, source: "f")
        .run(Data(lines.joined(separator: "\n").utf8))
    }
    try run(
      "ben", #"{"op":"insert","entity":"Box","id":"b","set":{"name":"top"}}"#,
      #"{"op":"insert","entity":"Tag","id":"t","set":{"name":"red"}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"name":"hammer","tags":["t"]}}"#)
    try run("anna", #"{"op":"update","entity":"Item","id":"1","set":{"box":"b"}}"#)
    try run("ben", #"{"op":"update","entity":"Item","id":"1","set":{"stock":4}}"#)
    let box = NamedIdentity.identity("b", rootEntity: "Box")
    let item = NamedIdentity.identity("1", rootEntity: "Item").uuidString.lowercased()
    let why = try SyncEngine.why(of: shop.store, object: box, property: "items")
    #expect(why.follows == "Item.box")
    #expect(why.value == "[\"\(item)\"]")
    #expect(why.author == "anna")
    #expect(why.policy == "lastWriterWins")
    #expect(!why.isPending && why.conflicts.isEmpty)
    let labels = ObjectLabels(shop.store)
    #expect(labels.reference(why.value, "items", of: "Box") == "Item/\(item) \"hammer\"")
    let owner = try SyncEngine.why(
      of: shop.store, object: try #require(UUID(uuidString: item)), property: "box")
    #expect(owner.follows == nil)
    #expect(
      labels.reference(owner.value, "box", of: "Item")
        == "Box/\(box.uuidString.lowercased()) \"top\"")
    #expect(labels.reference("\"\(item)\"", "name", of: "Item") == nil, "a text is no reference")
    #expect(labels.reference("null", "box", of: "Item") == nil)
    // Of many to many one end says it, and the other one follows.
    let tag = NamedIdentity.identity("t", rootEntity: "Tag")
    let ends = [
      try SyncEngine.why(of: shop.store, object: tag, property: "items"),
      try SyncEngine.why(
        of: shop.store, object: try #require(UUID(uuidString: item)), property: "tags"),
    ]
    #expect(ends.count { $0.follows != nil } == 1)
    #expect(ends.allSatisfy { $0.author == "ben" && $0.value.hasPrefix("[\"") }, "\(ends)")
    #expect(throws: SyncError.self) {
      try SyncEngine.why(of: shop.store, object: box, property: "nothing")
    }
  }
}
