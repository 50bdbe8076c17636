import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Model files: Core Data's XML, real and wrong.
struct ModelFileTests {
  @Test(
    "Every real model parses, freezes, and is the same after a round trip through XML",
    .enabled(if: RealModels.areHere, "no ../shared"))
  func realModelsRoundTrip() throws {
    for url in try RealModels.urls() {
      let model = try ManagedObjectModel(contentsOf: url)
      try model.freeze()
      #expect(!model.entities.isEmpty, "\(url.path)")
      let written = try ModelDocument.xml(of: model)
      let again = try ManagedObjectModel(xml: written)
      try again.freeze()
      #expect(try ModelDocument.xml(of: again) == written, "\(url.path)")
      #expect(
        again.entityVersionHashesByName == model.entityVersionHashesByName, "\(url.path)")
      #expect(
        again.entities.map(\.layout.slots.count).sorted()
          == model.entities.map(\.layout.slots.count).sorted(), "\(url.path)")
    }
  }

  private func model(_ entities: String) throws -> ManagedObjectModel {
    let model = try ManagedObjectModel(xml: Data("<model>\(entities)</model>".utf8))
    try model.freeze()
    return model
  }

  private func failure(_ entities: String) -> ModelError? {
    do {
      _ = try model(entities)
      return nil
    } catch {
      return error as? ModelError
    }
  }

  @Test("A wrong model gives an error that names the element")
  func errorsNameTheElement() {
    let cases: [(xml: String, code: ModelError.Code, element: String)] = [
      (#"<entity name="A"/><entity name="A"/>"#, .duplicateName, "A"),
      (
        #"<entity name="A"><attribute name="x" attributeType="Sting"/></entity>"#, .unknownType,
        "A.x"
      ),
      (
        #"<entity name="A"><attribute name="x" attributeType="String"/><attribute name="x" attributeType="String"/></entity>"#,
        .duplicateName, "A.x"
      ),
      (
        #"<entity name="A"><relationship name="b" maxCount="1" destinationEntity="B"/></entity>"#,
        .unknownEntity, "A.b"
      ),
      (
        #"<entity name="A"><relationship name="b" maxCount="1" destinationEntity="B" inverseName="a"/></entity><entity name="B"/>"#,
        .missingInverse, "A.b"
      ),
      (#"<entity name="A" parentEntity="B"/>"#, .unknownEntity, "A"),
      (
        #"<entity name="A" parentEntity="B"/><entity name="B" parentEntity="A"/>"#,
        .cyclicInheritance, "A"
      ),
      (
        #"<entity name="A"><attribute name="x" attributeType="Integer 16" defaultValueString="many"/></entity>"#,
        .invalidValue, "A.x"
      ),
      (
        #"<entity name="A"><attribute name="x" attributeType="String"><userInfo><entry key="driftless.conflictPolicy" value="newest"/></userInfo></attribute></entity>"#,
        .invalidPolicy, "A.x"
      ),
      (
        #"<entity name="A"><attribute name="x" attributeType="String"><userInfo><entry key="driftless.conflictPolicy" value="counter"/></userInfo></attribute></entity>"#,
        .invalidPolicy, "A.x"
      ),
    ]
    for (xml, code, element) in cases {
      let error = failure(xml)
      #expect(error?.code == code, "\(xml) gave \(String(describing: error))")
      #expect(error?.element == element, "\(xml) gave \(String(describing: error))")
      #expect(error?.suggestion.isEmpty == false)
    }
  }

  @Test("A file that was cut anywhere, or goes on after its end, is refused with file and line")
  func cutFiles() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <model>
        <entity name="Item">
          <attribute name="count" attributeType="Integer 16"/>
          <userInfo><entry key="a" value="b"/></userInfo>
        </entity>
      </model>
      """
    func failure(_ text: String) -> ModelError? {
      do {
        _ = try ManagedObjectModel(xml: Data(text.utf8), path: "/models/Shop")
        return nil
      } catch {
        return error
      }
    }
    #expect(failure(text) == nil)
    #expect(failure(text + "\n<!-- fine -->\n") == nil)
    for count in 0..<text.utf8.count {
      let error = failure(String(decoding: text.utf8.prefix(count), as: UTF8.self))
      #expect(error?.code == .malformed, "cut at \(count)")
      #expect(error?.description.contains("/models/Shop") == true)
      #expect(error?.message.contains("line") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("Error Domain") == false)
    }
    let within = failure(String(text.prefix { $0 != "/" }))
    #expect(
      within?.message.contains("line 4, within <entity> “Item”") == true, "\(within?.message ?? "")"
    )
    for rest in ["<model/>", "rest", "<!-- open"] {
      #expect(failure(text + rest)?.code == .malformed, "\(rest)")
    }
  }

  @Test("Elements one within the other without end are refused")
  func deepFile() {
    let error = failure(
      String(repeating: "<entity>", count: 50_000) + String(repeating: "</entity>", count: 50_000))
    #expect(error?.code == .malformed)
    #expect(error?.message.contains("deep at line 1") == true, "\(error?.message ?? "")")
  }

  @Test("What is wrong in a file is named with the file, when it is read and when it is checked")
  func fileIsNamed() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("contents")
    for (value, isRead) in [("many", false), ("99999999", true)] {
      let xml = """
        <model><entity name="B"><attribute name="x" attributeType="Integer 16" \
        defaultValueString="\(value)"/></entity></model>
        """
      try Data(xml.utf8).write(to: file)
      #expect(
        performing: {
          let model = try ManagedObjectModel(contentsOf: file)
          #expect(isRead)
          try model.freeze()
        },
        throws: { ($0 as? ModelError)?.place == "B.x of \(file.path)" })
    }
    let folder = directory.file("M.xcdatamodel").appendingPathComponent("contents")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let piped = directory.file("pipe")
    #expect(mkfifo(piped.path, 0o600) == 0)
    for url in [folder.deletingLastPathComponent(), piped] {
      #expect(
        performing: { try ManagedObjectModel(contentsOf: url) },
        throws: { "\($0)".contains(url.path) && !"\($0)".contains("Error Domain") })
    }
  }

  @Test("The current version of a bundle is the one that .xccurrentversion names")
  func currentVersion() throws {
    let directory = try TemporaryDirectory()
    let bundle = directory.file("M.xcdatamodeld")
    for version in ["M", "M 2"] {
      let folder = bundle.appendingPathComponent("\(version).xcdatamodel")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let xml = "<model><entity name=\"Of\(version.filter { $0 != " " })\"/></model>"
      try Data(xml.utf8).write(to: folder.appendingPathComponent("contents"))
    }
    #expect(throws: ModelError.self) { try ManagedObjectModel(contentsOf: bundle) }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "M 2.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: bundle.appendingPathComponent(".xccurrentversion"))
    #expect(try ManagedObjectModel(contentsOf: bundle).entities.map(\.name) == ["OfM2"])
  }

  @Test("Policies ride in userInfo: the property's own, else the entity's, else the parent's")
  func policies() throws {
    let model = try model(
      """
      <entity name="A">
        <attribute name="x" attributeType="Integer 64"><userInfo><entry key="driftless.conflictPolicy" value="counter"/></userInfo></attribute>
        <attribute name="y" attributeType="Integer 64"/>
        <userInfo><entry key="driftless.conflictPolicy" value="max"/><entry key="driftless.deletePolicy" value="editWins"/></userInfo>
      </entity>
      <entity name="B" parentEntity="A"><attribute name="z" attributeType="String"/></entity>
      """)
    let entity = try #require(model.entitiesByName["B"])
    #expect(entity.layout.slots.map(\.name) == ["x", "y", "z"])
    #expect(entity.layout.slots.map(\.policy) == [.counter, .max, .max])
    #expect(entity.deletePolicy == .editWins)
  }

  @Test("A frozen model is not changed by its setters")
  func frozen() throws {
    let model = try model(#"<entity name="A"/>"#)
    let entity = try #require(model.entities.first)
    entity.name = "B"
    model.entities = []
    #expect(model.entities.map(\.name) == ["A"])
  }

  @Test("What a store depends on is in the version hash, and nothing else")
  func versionHashes() throws {
    func hash(_ attributes: String, _ entity: String = "") throws -> Data? {
      try model(#"<entity name="A" \#(entity)><attribute name="x" \#(attributes)/></entity>"#)
        .entityVersionHashesByName["A"]
    }
    let plain = try hash(#"attributeType="String" optional="YES""#)
    #expect(plain?.count == 32)
    #expect(
      try plain == hash(#"attributeType="String" optional="YES" defaultValueString="d""#))
    #expect(
      try plain == hash(#"attributeType="String" optional="YES""#, #"representedClassName="C""#))
    #expect(try plain != hash(#"attributeType="URI" optional="YES""#))
    #expect(try plain != hash(#"attributeType="String""#))
    #expect(try plain != hash(#"attributeType="String" optional="YES""#, #"isAbstract="YES""#))
  }

  @Test("Generated classes have a typed key and an accessor for each property")
  func generatedClasses() throws {
    let model = try model(
      """
      <entity name="Book"><attribute name="title" attributeType="String" defaultValueString=""/>
      <attribute name="class" optional="YES" attributeType="Integer 64"/>
      <relationship name="author" optional="YES" maxCount="1" destinationEntity="Author" inverseName="books"/></entity>
      <entity name="Author"><relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="author"/></entity>
      """)
    let files = ModelSource.swift(for: model, accessLevel: "public")
    #expect(files.map(\.fileName) == ["Author.swift", "Book.swift"])
    let book = try #require(files.last).text
    #expect(book.contains(#"public static let title = Attribute<Book, String>("title")"#))
    #expect(book.contains(#"public static let `class` = Attribute<Book, Int64?>("class")"#))
    #expect(book.contains("public var author: Author? {"))
    #expect(files[0].text.contains(#"static let books = ToMany<Author, Book>("books")"#))
  }

  @Test("SHA-256 of the standard's examples")
  func digest() {
    func hex(_ text: String) -> String {
      SHA256Digest.hash(Array(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }
    #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }
}
