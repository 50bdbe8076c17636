import Foundation
import Testing

@testable import Driftless

/// Format strings in a model's file are read with it: one that is none is told with its place.
struct ModelFormatTests {
  @Test(
    "A predicate or an expression that does not parse is refused with element, line and file",
    arguments: [
      (#"<fetchRequest name="Some" entity="A" predicateString="n == AND"/>"#, "", "Some", 3),
      (
        "",
        #"<fetchedProperty name="f"><fetchRequest name="f" entity="A" predicateString="n =="/></fetchedProperty>"#,
        "A.f", 2
      ),
      (
        "",
        #"<attribute name="d" attributeType="String" derived="YES" derivationExpression="lower("/>"#,
        "A.d", 2
      ),
    ])
  func refused(template: String, property: String, element: String, line: Int) throws {
    let xml = """
      <model><entity name="A"><attribute name="n" attributeType="String"/>
      \(property)</entity>
      \(template)</model>
      """
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(xml: Data(xml.utf8), path: "shop.xml")
    }
    #expect(error?.code == .invalidValue && error?.element == element)
    #expect(error?.file == "shop.xml")
    #expect(error?.message.contains("line \(line)") == true, "\(error?.description ?? "")")
  }

  @Test("Variables, derivations as Xcode writes them and empty texts are read")
  func read() throws {
    let xml = """
      <model><entity name="A"><attribute name="n" attributeType="String"/>
      <attribute name="l" attributeType="String" derived="YES" derivationExpression="lowercase:(n)"/>
      <attribute name="t" attributeType="Date" derived="YES" derivationExpression="now()"/>
      </entity>
      <fetchRequest name="Named" entity="A" predicateString="n BEGINSWITH[cd] $NAME"/>
      <fetchRequest name="All" entity="A" predicateString=""/></model>
      """
    let model = try ManagedObjectModel(xml: Data(xml.utf8), path: "shop.xml")
    #expect(model.fetchRequestTemplatesByName["Named"]?.predicate == "n BEGINSWITH[cd] $NAME")
    #expect(model.entitiesByName["A"]?.attributesByName.count == 3)
  }

  @Test(
    "A predicate that Core Data may take and this library does not leaves the model to be read",
    arguments: ["distanceToLocation:fromLocation:(n, n) == 5", "FUNCTION(n, 'otherwise:') == 1"])
  func unsupported(predicate: String) throws {
    let xml = """
      <model><entity name="A"><attribute name="n" attributeType="String"/></entity>
      <fetchRequest name="Some" entity="A" predicateString="\(predicate)"/></model>
      """
    let model = try ManagedObjectModel(xml: Data(xml.utf8), path: "shop.xml")
    try model.freeze()
    #expect(model.fetchRequestTemplatesByName["Some"]?.predicate == predicate)
    let error = #expect(throws: FetchError.self) { try FetchPredicate(format: predicate) }
    #expect(error?.code == .unsupported, "who fetches by it is told")
  }
}
