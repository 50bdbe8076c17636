import Foundation
import Testing

@testable import Driftless

/// Generated classes. That they compile was tried by hand on every model file; the text is held here.
struct ModelSourceTests {
  private func files(_ entities: String, _ access: String = "internal") throws -> [String: String] {
    let model = try ManagedObjectModel(xml: Data("<model>\(entities)</model>".utf8))
    try model.freeze()
    return Dictionary(
      uniqueKeysWithValues: ModelSource.swift(for: model, accessLevel: access))
  }

  @Test("A class, whole")
  func wholeClass() throws {
    let files = try files(
      """
      <entity name="Book" representedClassName=".Volume" parentEntity="Thing">
        <attribute name="title" attributeType="String"/>
        <attribute name="printed" optional="YES" attributeType="Date"/>
        <relationship name="pages" toMany="YES" destinationEntity="Page" inverseName="book"/>
      </entity>
      <entity name="Page">
        <relationship name="book" maxCount="1" destinationEntity="Book" inverseName="pages"/>
      </entity>
      <entity name="Thing"/>
      """, "public")
    #expect(
      files["Volume.swift"] == """
        import Driftless
        import Foundation

        public final class Volume: Thing {
          public static let pages = ToMany<Volume, Page>("pages")
          public static let printed = Attribute<Volume, Date?>("printed")
          public static let title = Attribute<Volume, String>("title")

          public var pages: RelatedObjects<Page> {
            get { self[Volume.pages] }
            set { self[Volume.pages] = newValue }
          }

          public var printed: Date? {
            get { self[Volume.printed] }
            set { self[Volume.printed] = newValue }
          }

          public var title: String {
            get { self[Volume.title] }
            set { self[Volume.title] = newValue }
          }

          public override class var typedKeys: [any TypedKey] {
            super.typedKeys + [Volume.pages, Volume.printed, Volume.title]
          }
        }

        """)
    #expect(files["Thing.swift"]?.contains("public class Thing: ManagedObject {") == true)
    #expect(files["Page.swift"]?.contains("public var book: Volume? {") == true)
  }

  @Test("Names that Swift, Foundation or every object has already give way")
  func awkwardNames() throws {
    let files = try files(
      """
      <entity name="Date"><attribute name="description" attributeType="Date"/>
        <attribute name="in" attributeType="Boolean"/>
        <attribute name="at" optional="YES" attributeType="Composite" composite="Point"/>
      </entity>
      <entity name="Attribute" representedClassName="../../../etc/passwd"/>
      <composite name="Point"><attribute name="lat" attributeType="Double"/></composite>
      """)
    #expect(Set(files.keys) == ["Date.swift", "Attribute.swift"])
    let text = try #require(files["Date.swift"])
    #expect(
      text.contains(
        #"descriptionValue = Driftless.Attribute<Date, Foundation.Date>("description")"#))
    #expect(text.contains("var `in`: Bool {"))
    #expect(text.contains(#"static let atLat = Driftless.Attribute<Date, Double?>("at.lat")"#))
  }
}
