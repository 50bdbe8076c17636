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
}
