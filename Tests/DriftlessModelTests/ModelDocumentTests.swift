import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Writing model files, and reading those that are meant to do harm.
struct ModelDocumentTests {
  @Test("Whatever XML can carry comes back from a model file", arguments: 0..<60)
  func documentIsExact(seed: Int) throws {
    let model = RandomModel.make(seed: UInt64(seed), hasControlCharacters: false)
    try model.freeze()
    let xml = try ModelDocument.xml(of: model)
    let again = try ManagedObjectModel(xml: xml)
    try again.freeze()
    #expect(try ModelDocument.xml(of: again) == xml)
    #expect(again.entityVersionHashesByName == model.entityVersionHashesByName)
    for entity in model.entities {
      let twin = try #require(again.entitiesByName[entity.name])
      #expect(twin.layout.slots.map(\.defaultValue) == entity.layout.slots.map(\.defaultValue))
      #expect(twin.layout.slots.map(\.policy) == entity.layout.slots.map(\.policy))
      #expect(twin.userInfo == entity.userInfo)
    }
  }

  @Test(
    "A real file that is read and written keeps every element and attribute as it was",
    .enabled(if: RealModels.areHere, "no ../shared"))
  func realFilesAreKept() throws {
    for url in try RealModels.urls() {
      let data = try Data(contentsOf: url.appendingPathComponent("contents"))
      let model = try ManagedObjectModel(contentsOf: url)
      let file = try ModelElement.parse(data, from: url.path)
      // Where the editor draws its boxes is left out.
      file.children.removeAll { $0.name == "elements" }
      let before = ModelVocabularyTests.lines(of: file)
      let after = ModelVocabularyTests.lines(
        of: try ModelElement.parse(ModelDocument.xml(of: model), from: "ours"))
      #expect(Set(before).subtracting(after) == [], "lost from \(url.path)")
      #expect(Set(after).subtracting(before) == [], "added to \(url.path)")
      #expect(before == after, "\(url.path)")
    }
  }

  @Test("A text that XML cannot carry is refused, naming the element")
  func controlCharacters() {
    let title = AttributeDescription("title", .string, defaultValue: .string("a\u{1}b"))
    let entity = EntityDescription("Book")
    entity.properties = [title]
    let error = #expect(throws: ModelError.self) {
      try ModelDocument.xml(of: ManagedObjectModel(entities: [entity]))
    }
    #expect(error?.element == "title")
  }

  @Test("Two composite types of one name that differ are written under two names")
  func compositeNames() throws {
    func place(_ name: String, _ leaf: String) -> CompositeAttributeDescription {
      let composite = CompositeAttributeDescription()
      composite.name = name
      composite.attributeValueClassName = "Place"
      composite.elements = [AttributeDescription(leaf, .double)]
      return composite
    }
    let entity = EntityDescription("Trip")
    entity.properties = [place("from", "lat"), place("over", "lat"), place("to", "height")]
    let xml = try ModelDocument.xml(of: ManagedObjectModel(entities: [entity]))
    let again = try ManagedObjectModel(xml: xml)
    try again.freeze()
    #expect(
      again.entities[0].layout.slots.map(\.name) == ["from.lat", "over.lat", "to.height"])
  }

  @Test("Composite types that contain themselves or multiply without end are refused at once")
  func compositeBombs() {
    func failure(_ composites: String) -> ModelError? {
      let xml = """
        <model><entity name="A"><attribute name="x" attributeType="Composite" composite="C0"/>
        </entity>\(composites)</model>
        """
      do {
        _ = try ManagedObjectModel(xml: Data(xml.utf8))
        return nil
      } catch {
        return error
      }
    }
    func type(_ number: Int, _ next: Int, _ count: Int) -> String {
      let parts = (0..<count).map {
        #"<attribute name="a\#($0)" attributeType="Composite" composite="C\#(next)"/>"#
      }
      return "<composite name=\"C\(number)\">\(parts.joined())</composite>"
    }
    #expect(failure(type(0, 0, 1))?.code == .unknownType)
    #expect(failure(type(0, 1, 1) + type(1, 0, 1))?.code == .unknownType)
    let leaf = #"<composite name="C30"><attribute name="l" attributeType="String"/></composite>"#
    #expect(failure((0..<30).map { type($0, $0 + 1, 10) }.joined() + leaf)?.code == .tooLarge)
    #expect(failure(leaf)?.element == "A.x")
  }

  @Test("Entities of XML do not expand without end, nor read files")
  func xmlEntities() {
    var bomb = "<!ENTITY a0 \"aaaaaaaaaa\">"
    for level in 1..<12 {
      let inner = String(repeating: "&a\(level - 1);", count: 10)
      bomb += "<!ENTITY a\(level) \"\(inner)\">"
    }
    let expanding = "<!DOCTYPE m [\(bomb)]><model><entity name=\"&a11;\"/></model>"
    #expect(throws: ModelError.self) {
      try ManagedObjectModel(xml: Data(expanding.utf8)).freeze()
    }
    let reading =
      "<!DOCTYPE m [<!ENTITY f SYSTEM \"file:///etc/hostname\">]><model>&f;<entity name=\"A\"/></model>"
    let model = try? ManagedObjectModel(xml: Data(reading.utf8))
    #expect(model.map { $0.entities.map(\.name) } ?? ["A"] == ["A"])
  }

  @Test(
    "Instructions and declarations are refused, which Foundation's parser traps on; in comments they are nothing",
    arguments: ["<?a?>", "<?a b?>", "<!DOCTYPE m>", "<!ELEMENT m ANY>"])
  func strangers(text: String) throws {
    let model = "<model><entity name=\"A\"/></model>"
    for whole in [text + model, "<?xml version=\"1.0\"?>" + text + model, model + text] {
      #expect(throws: ModelError.self) { try ManagedObjectModel(xml: Data(whole.utf8)) }
    }
    let inside = "<?xml version=\"1.0\"?><model><!-- \(text) --><entity name=\"A\"/></model>"
    #expect(try ManagedObjectModel(xml: Data(inside.utf8)).entities.map(\.name) == ["A"])
  }

  @Test("Damaged model files give an error or a model, never a trap")
  func damage() throws {
    let count = try (0..<20).reduce(0) { try $0 + taken(seed: $1) }
    #expect((1..<800).contains(count), "\(count) of 800")
  }

  /// How many of forty damaged files give a model.
  private func taken(seed: Int) throws -> Int {
    var taken = 0
    var numbers = SeededNumbers(seed: UInt64(seed) &+ 2000)
    let bytes = try ModelDocument.xml(
      of: RandomModel.make(seed: UInt64(seed), hasControlCharacters: false))
    for _ in 0..<40 {
      var damaged = bytes
      let index = Int.random(in: 0..<damaged.count, using: &numbers)
      damaged[index] = UInt8.random(in: 32..<127, using: &numbers)
      if (try? ManagedObjectModel(xml: damaged).freeze()) != nil { taken += 1 }
    }
    return taken
  }
}
