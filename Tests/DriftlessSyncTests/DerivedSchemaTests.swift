import Driftless
import DriftlessProtocol
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// What follows from a store's schema alone is made once.
struct DerivedSchemaTests {
  @Test("The schema of sync is made once for a store, with a key ring and without")
  func once() throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(url: directory.file("once.sqlite"), model: shopModel())
    defer { store.close() }
    let ring = try KeyRing(
      text: """
        driftless-keys 1
        domain 101112131415161718191a1b1c1d1e1f
        key 0102030405060708 808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f
        """)
    let (one, other) = (SyncSchema(store.schema), SyncSchema(store.schema, keys: ring))
    #expect(!one.entities.isEmpty)
    for (one, other) in zip(one.entities, other.entities) { #expect(one === other) }
    #expect(one.keys == nil)
    #expect(other.keys != nil)
    #expect(SyncSchema(store.schema).keys == nil)
  }

  @Test("Another store has its own, also of the same model")
  func ofEach() throws {
    let directory = try TemporaryDirectory()
    let model = shopModel()
    let stores = try ["a", "b"].map {
      try PersistentStore.open(url: directory.file("\($0).sqlite"), model: model)
    }
    defer { for store in stores { store.close() } }
    let entities = stores.map { SyncSchema($0.schema).entities }
    for (one, other) in zip(entities[0], entities[1]) { #expect(one !== other) }
  }

  @Test("A note is decoded anew where it says something else, and what is none gives nothing")
  func notes() throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(url: directory.file("note.sqlite"), model: shopModel())
    defer { store.close() }
    func value(_ text: String) -> [String: Int]? { DecodedNote.value(of: text, store.schema) }
    #expect(value(#"{"a":1}"#) == ["a": 1])
    #expect(value(#"{"a":1}"#) == ["a": 1])
    #expect(value(#"{"a":2}"#) == ["a": 2])
    #expect(value("none") == nil)
    #expect(value("none") == nil)
    #expect(value(#"{"a":1}"#) == ["a": 1])
  }
}
