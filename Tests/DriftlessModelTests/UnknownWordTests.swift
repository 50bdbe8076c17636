import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Words of a model file that the reader does not know: what a person misspelt is refused, what an editor may add is noted.
struct UnknownWordTests {
  private func model(_ entities: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(xml: Data("<model>\n\(entities)\n</model>".utf8), path: "shop.xml")
  }

  @Test(
    "What is near a known word is refused, with its line and what was meant",
    arguments: [
      (#"<entty name="A"/>"#, "<entity>"),
      (#"<entity name="A"><atribute name="x" attributeType="String"/></entity>"#, "<attribute>"),
      (#"<entity name="A"><Attribute name="x" attributeType="String"/></entity>"#, "<attribute>"),
      (#"<entity name="A"><userinfo><entry key="k" value="v"/></userinfo></entity>"#, "<userInfo>"),
      (
        #"<entity name="A"><relationshp name="x" destinationEntity="A"/></entity>"#,
        "<relationship>"
      ),
      (#"<entity name="A"><uniqueConstraints/></entity>"#, "<uniquenessConstraints>"),
      (#"<entity name="A" abstract="YES"/>"#, "isAbstract"),
      (#"<entity name="A" parentEntty="B"/>"#, "parentEntity"),
      (#"<entity name="A"><attribute name="x" optinal="YES"/></entity>"#, "optional"),
      (#"<entity name="A"><attribute name="x" isOptional="YES"/></entity>"#, "optional"),
      (#"<entity name="A"><attribute name="x" type="String"/></entity>"#, "attributeType"),
      (#"<entity name="A"><attribute name="x" defaultValue="0"/></entity>"#, "defaultValueString"),
      (#"<entity name="A"><attribute name="x" optional="yes"/></entity>"#, "YES or NO"),
      (
        #"<entity name="A"><relationship name="x" toMany="Y" destinationEntity="A"/></entity>"#,
        "YES or NO"
      ),
      (
        #"<entity name="A"><relationship name="x" deleteRule="Deny" destinationEntity="A"/></entity>"#,
        "deletionRule"
      ),
      (
        #"<entity name="A"><attribute name="x"><userInfo><entry kye="k"/></userInfo></attribute></entity>"#,
        "key"
      ),
      (#"<attribute name="x" attributeType="String"/>"#, "put it into an <entity>"),
    ])
  func misspelt(text: String, meant: String) throws {
    let error = #expect(throws: ModelError.self) { try model(text) }
    #expect(error?.code == .misspelt)
    #expect(error?.message.contains("did you mean") == true)
    #expect(error?.message.contains(meant) == true, "\(error?.description ?? "")")
    #expect(error?.place == "line 2 of shop.xml")
  }

  @Test("All that is misspelt is in one message, each with its line")
  func several() throws {
    let error = #expect(throws: ModelError.self) {
      try model(
        """
        <entity name="A">
        <atribute name="x" attributeType="String"/>
        <attribute name="y" optinal="YES" attributeType="String"/>
        </entity>
        """)
    }
    #expect(error?.element == "line 3")
    #expect(error?.message.contains("line 4: optinal is no attribute of the attribute A.y") == true)
  }

  @Test("What is near no word is noted, and the rest is read")
  func unknown() throws {
    let model = try model(
      """
      <entity name="A" syncable="YES" hologram="YES" xmlns:x="urn:x" x:note="y">
      <attribute name="x" optional="true" attributeType="String" usesScalarValueType="NO" shine="2"/>
      <futureThing name="z"/>
      </entity>
      <elements><element name="A" positionX="0"/><wide/></elements>
      """)
    #expect(
      model.unknownWords.map(\.message) == [
        "line 2: hologram is no attribute of the entity A",
        "line 3: shine is no attribute of the attribute A.x",
        "line 4: <futureThing> is no element of the entity A",
      ])
    #expect(model.entitiesByName["A"]?.attributesByName["x"]?.isOptional == true)
  }

  @Test(
    "Models that Xcode wrote have no unknown word", .enabled(if: RealModels.areHere, "no ../shared")
  )
  func real() throws {
    for file in try RealModels.urls() {
      let model = try ManagedObjectModel(contentsOf: file)
      #expect(model.unknownWords.isEmpty, "\(file.path): \(model.unknownWords.map(\.message))")
    }
  }
}
