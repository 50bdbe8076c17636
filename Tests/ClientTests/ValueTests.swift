import Driftless
import Foundation
import Testing

@testable import SyncControl

@Suite struct ValueTests {
  @Test(
    "Dates are read to the microsecond, in any zone",
    arguments: [
      ("2001-01-01T00:00:00Z", 0.0), ("2001-01-01", 0.0), ("2000-12-31T23:59:59.5Z", -0.5),
      ("2001-01-01T01:30:00+01:30", 0.0), ("2001-01-01T00:00:00.000001Z", 0.000001),
      ("1970-01-01T00:00:00Z", -978_307_200.0), ("2024-02-29T12:00:00Z", 730_900_800.0),
      ("1600-02-29 00:00:00Z", -12_649_305_600.0),
    ])
  func dates(text: String, seconds: Double) {
    #expect(ISODate.secondsSinceReferenceDate(text) == seconds)
  }

  @Test(
    "What is no date is refused",
    arguments: [
      "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00",
      "24-01-01T00:00:00Z", "2024-1-1T00:00:00Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00Zx",
      "2024-00-10T00:00:00Z", "2024-04-31T00:00:00Z",
    ])
  func noDates(text: String) {
    #expect(ISODate.secondsSinceReferenceDate(text) == nil)
  }

  @Test(
    "Each form of date is read, and what stands beside it is refused",
    arguments: [
      ("2026-11-21T04:47:00.25Z", 816_929_220.25), ("2026-11-21 04:47:00Z", 816_929_220),
      ("2026-11-21T06:17:00+0130", 816_929_220), ("2026-11-21T03:47:00-01:00", 816_929_220),
      ("-0001-03-01", -63_171_964_800), ("012345-01-31", 326_427_667_200),
      ("2001-01-01T00:00:00.0000000009999999Z", 9.999999e-10), ("2001-01-01T00:00:00.5Z", 0.5),
      ("2001-01-01T00:00:00.1234567890123456789Z", nil), ("2001-01-01t00:00:00Z", nil),
      ("2001-01-01T00:00:00z", nil), ("+2001-01-01", nil), ("2001-01-01T00:00Z", nil),
      ("1234567-01-01", nil), ("2001-01-01T00:00:00+24:00", nil), ("2001-01-01T00:00:00,5Z", nil),
      ("2001-01-01T00:00:00+1:30", nil), ("٢٠٠١-01-01", nil), ("", nil), ("2001-01-0", nil),
      ("2001-01-01T00:00:00ZZ", nil), ("2001-01-01T23:59:60Z", nil),
    ] as [(String, Double?)])
  func dateForms(text: String, seconds: Double?) {
    #expect(ISODate.secondsSinceReferenceDate(text) == seconds)
  }

  @Test(
    "Decimals are read exactly or refused: 38 digits fit, and some of 39",
    arguments: [
      ("12345678901234567890123456789012345678", true),
      ("123456789012345678901234567890123456789", true),
      ("1234567890123456789012345678901234567891", false),
      ("12345678901234567890123456789012345678000000000", true),
      ("0.12345678901234567890123456789012345678", true),
      ("-1234567890123456789.0123456789012345678", true),
      ("000000000000000000000000000000000000000000001.50", true), ("1e-128", true), ("1E+5", true),
      ("-0.0", true), ("999999999999999999999999999999999999999", false), ("1.", false),
      (".5", false), ("1e", false), ("1e1234", false), ("1.2x", false), ("+1", false), ("", false),
      ("-", false), ("1e400", false), ("1,5", false), ("١", false), (" 1", false),
    ])
  func decimals(text: String, isRead: Bool) throws {
    switch ImportedValue.attribute(.string(text), type: .decimal) {
    case .success(.decimal(let value)):
      #expect(isRead)
      let posix = Locale(identifier: "en_US_POSIX")
      #expect(value == Decimal(string: text, locale: posix))
    case .success: Issue.record("no decimal")
    case .failure: #expect(!isRead)
    }
  }

  /// From 1589 on: before 1582 Foundation counts in the Julian calendar, which ISO 8601 does not
  /// know.
  @Test("Dates that Foundation prints are read the same")
  func agreesWithFoundation() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let seconds = Double(Int64.random(in: -13_000_000_000...20_000_000_000, using: &random))
      let text = Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601)
      #expect(ISODate.secondsSinceReferenceDate(text) == seconds, "\(text)")
    }
  }

  @Test(
    "A key means the same object after its entity was renamed, and another one where a new entity has the name"
  )
  func renamedKeys() {
    func entity(_ name: String, _ former: String? = nil) -> EntityDescription {
      let entity = EntityDescription(name)
      if let former { entity.renamingIdentifier = former }
      entity.properties = [AttributeDescription("name", .string)]
      return entity
    }
    let item = NamedIdentity.identity("7", rootEntity: "Item")
    let renamed = ManagedObjectModel(entities: [entity("Product", "Item")])
    #expect(renamed.entities.map { NamedIdentity.identity("7", of: $0) } == [item])
    let both = ManagedObjectModel(entities: [entity("Product", "Item"), entity("Item")])
    let product = NamedIdentity.identity("7", rootEntity: "Product")
    #expect(Set(both.entities.map { NamedIdentity.identity("7", of: $0) }) == [item, product])
  }

  @Test("The identity of a key is fixed for ever")
  func namedIdentity() {
    // Python: uuid.uuid5(uuid.NAMESPACE_DNS, "driftless.import"), then uuid5 of "Package:bash" in
    // it.
    #expect(
      NamedIdentity.namespace.uuidString.lowercased() == "8b0b722c-d7e7-5c18-a29e-b10dec90d8f1")
    #expect(
      NamedIdentity.identity("bash", rootEntity: "Package").uuidString.lowercased()
        == "1c8c5bb1-f2b6-5fd7-ad00-d7f4e430cab4")
    let uuid = UUID()
    #expect(NamedIdentity.identity(uuid.uuidString.lowercased(), rootEntity: "Package") == uuid)
    #expect(
      NamedIdentity.identity("bash", rootEntity: "Package")
        != NamedIdentity.identity("bash", rootEntity: "Section"))
  }

  @Test("A number beyond what its attribute holds is told the largest, and not that it is none")
  func reach() {
    guard case .failure(let mismatch) = ImportedValue.attribute(.number("1e309"), type: .double)
    else {
      Issue.record("no double is so large")
      return
    }
    #expect(mismatch.expected == "a number up to \(Double.greatestFiniteMagnitude)")
  }
}
