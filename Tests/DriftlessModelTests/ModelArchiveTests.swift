import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The form in which a model travels inside a store.
struct ModelArchiveTests {
  @Test("Whatever can be frozen comes back from the archive, bit for bit", arguments: 0..<60)
  func archiveIsExact(seed: Int) throws {
    let model = RandomModel.make(seed: UInt64(seed), hasControlCharacters: true)
    try model.freeze()
    let bytes = try ModelArchive.encode(model)
    let again = try ModelArchive.decode(bytes)
    #expect(try ModelArchive.encode(again) == bytes)
    #expect(again.entityVersionHashesByName == model.entityVersionHashesByName)
    #expect(again.versionIdentifiers == model.versionIdentifiers)
    for entity in model.entities {
      let twin = try #require(again.entitiesByName[entity.name])
      #expect(twin.layout.slots.map(\.name) == entity.layout.slots.map(\.name))
      #expect(twin.layout.slots.map(\.defaultValue) == entity.layout.slots.map(\.defaultValue))
      #expect(twin.layout.slots.map(\.policy) == entity.layout.slots.map(\.policy))
      #expect(twin.layout.slots.map(\.isOptional) == entity.layout.slots.map(\.isOptional))
      #expect(twin.deletePolicy == entity.deletePolicy)
      #expect(twin.indexes == entity.indexes)
    }
  }

  @Test("A model is coded whole, by any coder", arguments: 0..<20)
  func codable(seed: Int) throws {
    let model = RandomModel.make(seed: UInt64(seed), hasControlCharacters: true)
    model.localizationDictionary = ["Entity/Entity0": "x"]
    let bytes = try JSONEncoder().encode([model])
    let again = try JSONDecoder().decode([ManagedObjectModel].self, from: bytes)
    #expect(try ModelArchive.encode(again[0]) == ModelArchive.encode(model))
    #expect(!again[0].isFrozen && again == [model])
    #expect(throws: (any Error).self) {
      try JSONDecoder().decode([ManagedObjectModel].self, from: Data(#"["AAAA"]"#.utf8))
    }
  }

  @Test("Values that no text spells survive: NaN with its bits, decimals, defaults without a type")
  func unspeakableValues() throws {
    let number = AttributeDescription("number", .double)
    number.defaultValue = .double(Double(nan: 77, signaling: true))
    let amount = AttributeDescription("amount", .decimal, defaultValue: .decimal(.nan))
    let anything = AttributeDescription("anything", .undefined, defaultValue: .integer(7))
    anything.isTransient = true
    let entity = EntityDescription("Thing")
    entity.properties = [number, amount, anything]
    let again = try ModelArchive.decode(
      ModelArchive.encode(ManagedObjectModel(entities: [entity])))
    let twin = try #require(again.entitiesByName["Thing"])
    for attribute in [number, amount, anything] {
      #expect(twin.attributesByName[attribute.name]?.defaultValue == attribute.defaultValue)
    }
  }

  @Test("The bytes of a model do not change from version to version")
  func bytesAreStable() throws {
    let title = AttributeDescription("title", .string, isOptional: false)
    title.defaultValue = .string("")
    title.maximum = .integer(80)
    let book = EntityDescription("Book")
    book.properties = [title, RelationshipDescription("author", to: "Author", inverse: "books")]
    let author = EntityDescription("Author")
    author.properties = [
      RelationshipDescription("books", to: "Book", inverse: "author", toMany: true)
    ]
    let bytes = try ModelArchive.encode(ManagedObjectModel(entities: [book, author]))
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == #"{"entities":[{"name":"Author","properties":[{"kind":"relationship","name":"books","#
        + #""relationship":{"destination":"Book","inverse":"author","rule":1}}]},"#
        + #"{"name":"Book","properties":[{"kind":"relationship","name":"author","relationship":"#
        + #"{"destination":"Author","inverse":"books","most":1,"rule":1}},{"attribute":"#
        + #"{"defaultValue":{"kind":"string","text":""},"maximum":{"kind":"integer","text":"80"},"#
        + #""type":700},"kind":"attribute","name":"title","required":true}]}],"format":1}"#)
  }

  @Test("An archive of a later format is refused with advice, and rubbish with a reason")
  func refusals() {
    func failure(_ text: String) -> ModelError? {
      do {
        _ = try ModelArchive.decode(Data(text.utf8))
        return nil
      } catch {
        return error
      }
    }
    #expect(failure(#"{"format":2,"things":[]}"#)?.code == .unsupportedFormat)
    #expect(failure("")?.code == .malformed)
    #expect(failure("<model/>")?.code == .malformed)
    #expect(failure(#"{"format":1}"#)?.code == .malformed)
    let attribute = #"{"kind":"attribute","name":"x","attribute":{"type":12345}}"#
    #expect(
      failure(#"{"format":1,"entities":[{"name":"A","properties":[\#(attribute)]}]}"#)?.element
        == "A.x")
    let bare = #"{"kind":"relationship","name":"r"}"#
    #expect(
      failure(#"{"format":1,"entities":[{"name":"A","properties":[\#(bare)]}]}"#)?.code
        == .malformed)
  }

  @Test("Damaged archives give an error or a model, never a trap")
  func damage() throws {
    let count = try (0..<20).reduce(0) { try $0 + taken(seed: $1) }
    #expect((1..<800).contains(count), "\(count) of 800")
  }

  /// How many of forty damaged archives give a model.
  private func taken(seed: Int) throws -> Int {
    var taken = 0
    var numbers = SeededNumbers(seed: UInt64(seed) &+ 1000)
    let bytes = try ModelArchive.encode(
      RandomModel.make(seed: UInt64(seed), hasControlCharacters: true))
    for _ in 0..<40 {
      var damaged = bytes
      for _ in 0...Int.random(in: 0..<3, using: &numbers) {
        let index = Int.random(in: 0..<damaged.count, using: &numbers)
        damaged[index] = UInt8.random(in: .min ... .max, using: &numbers)
      }
      if Bool.random(using: &numbers) {
        damaged = damaged.prefix(Int.random(in: 0..<damaged.count, using: &numbers))
      }
      if (try? ModelArchive.decode(damaged)) != nil { taken += 1 }
    }
    return taken
  }
}
