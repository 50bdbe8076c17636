import Foundation
import TestSupport
import Testing

@testable import Driftless

/// The localization dictionary, and the messages that are made with it.
struct LocalizationTests {
  private func model(_ words: [String: String]) -> ManagedObjectModel {
    let title = AttributeDescription("title", .string, isOptional: false)
    title.maximum = .integer(5)
    let pages = AttributeDescription("pages", .integer32)
    pages.setValidationPredicates(
      [.comparison(FetchComparison(.keyPath([]), .greater, .constant(.integer(0))))],
      withValidationWarnings: ["Too thin"])
    let book = EntityDescription("Book")
    book.properties = [title, pages]
    let model = ManagedObjectModel(entities: [book])
    model.localizationDictionary = words
    return model
  }

  private func message(
    _ words: [String: String], _ property: String = "title", _ value: PropertyValue = .null
  ) throws -> String {
    let model = model(words)
    let attribute = try #require(model.entities[0].attributesByName[property])
    let error = #expect(throws: ValidationError.self) { try attribute.validate(value) }
    return error?.localizedDescription ?? ""
  }

  @Test("Without words the names are the model's, and the rest is English")
  func plain() throws {
    #expect(try message([:]) == "title is a required value.")
    #expect(try message([:], "title", .string("too long")) == "title is too long.")
    #expect(try message([:], "pages", .integer(0)) == "Too thin")
  }

  @Test("A property's name in its entity goes before its name anywhere")
  func properties() throws {
    #expect(try message(["Property/title": "Titel"]) == "Titel is a required value.")
    #expect(
      try message(["Property/title": "Titel", "Property/title/Entity/Book": "Buchtitel"])
        == "Buchtitel is a required value.")
    #expect(try message(["Property/title/Entity/Page": "x"]) == "title is a required value.")
  }

  @Test("An entity's name stands in front where the dictionary has one")
  func entities() throws {
    #expect(try message(["Entity/Book": "Buch"]) == "Buch: title is a required value.")
  }

  @Test("Error strings are looked up by their English text")
  func errorStrings() throws {
    let words = [
      "ErrorString/is a required value.": "muss angegeben werden.", "Property/title": "Titel",
      "ErrorString/Too thin": "Zu dünn",
    ]
    #expect(try message(words) == "Titel muss angegeben werden.")
    #expect(try message(words, "pages", .integer(0)) == "Zu dünn")
    #expect(
      ValidationError.nonLocalizedString(of: ValidationError.missingMandatoryProperty)
        == "is a required value.")
  }

  @Test("The developer's description and the code do not depend on words")
  func descriptions() throws {
    let attribute = try #require(model(["Property/title": "Titel"]).entities[0].properties.first)
    let title = try #require(attribute as? AttributeDescription)
    // The entity keeps no hold on its model, so the words are gone with it.
    let error = #expect(throws: ValidationError.self) { try title.validate(.null) }
    #expect(error?.code == 1570 && error?.propertyName == "title")
    #expect(error?.description.contains("a value is required") == true)
  }

  @Test("Words survive a copy and a merge, and are in no hash")
  func kept() throws {
    let (first, second) = (model(["Entity/Book": "Buch"]), model(["Property/title": "Titel"]))
    #expect(try first.copy().localizationDictionary == ["Entity/Book": "Buch"])
    let merged = try ManagedObjectModel(byMerging: [first, second])
    #expect(merged.localizationDictionary == ["Entity/Book": "Buch", "Property/title": "Titel"])
    #expect(first.versionChecksum == second.versionChecksum)
  }

  @Test("A strings file beside a model is its dictionary; a damaged one is an error")
  func stringsFile() throws {
    let folder = try TemporaryDirectory()
    let url = folder.file("Shop.xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let book = ManagedObjectModel(entities: [EntityDescription("Book")])
    try ModelDocument.xml(of: book).write(to: url.appendingPathComponent("contents"))
    #expect(try ManagedObjectModel(contentsOf: url).localizationDictionary.isEmpty)
    let strings = """
      /* The names of things */
      "Entity/Book" = "Buch";
      "Property/title/Entity/Book" = "Der \\"Titel\\"";
      """
    try Data(strings.utf8).write(to: folder.file("ShopModel.strings"))
    #expect(
      try ManagedObjectModel(contentsOf: url).localizationDictionary
        == ["Entity/Book": "Buch", "Property/title/Entity/Book": "Der \"Titel\""])
    try Data("\"Entity".utf8).write(to: folder.file("ShopModel.strings"))
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(contentsOf: url) }
    #expect(error?.element.hasSuffix("ShopModel.strings") == true)
  }

  @Test("Words in folders of languages are taken in the order of the languages, English last")
  func languages() throws {
    let folder = try TemporaryDirectory()
    for (language, word) in [("de", "Buch"), ("fr", "Livre"), ("en", "A book")] {
      let place = folder.file("\(language).lproj")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      try Data("\"Entity/Book\" = \"\(word)\";".utf8)
        .write(to: place.appendingPathComponent("ShopModel.strings"))
    }
    func word(_ languages: String...) throws -> String? {
      try ModelFile.words(beside: folder.file("Shop.momd"), languages: languages)["Entity/Book"]
    }
    #expect(try word("de-AT", "fr") == "Buch")
    #expect(try word("fr_CA") == "Livre")
    #expect(try word("tlh") == "A book")
    #expect(try word() == "A book")
    try Data("\"Entity/Book\" = \"Book\";".utf8).write(to: folder.file("ShopModel.strings"))
    #expect(try word("de") == "Book")
  }

  @Test("A save's errors speak the model's words, of relationships too")
  func saves() throws {
    let model = model(["Property/title": "Titel", "Property/author": "Autor"])
    let author = RelationshipDescription("author", to: "Book", inverse: nil)
    author.isOptional = false
    model.entities[0].properties.append(author)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    try context.insert(entityNamed: "Book")
    let failure = #expect(throws: ValidationFailure.self) { try context.save() }
    #expect(
      Set((failure?.items ?? []).map { $0.error.localizedDescription })
        == ["Titel is a required value.", "Autor is a required value."])
  }
}
