import Testing

@testable import SyncControl

@Suite struct DoctorCheckTests {
  @Test(
    "The SQLite versions with the WAL-reset defect are known",
    arguments: [
      ("3.40.1", true), ("3.51.2", true), ("3.51.3", false), ("3.50.6", true), ("3.50.7", false),
      ("3.44.5", true), ("3.44.6", false), ("3.45.0", true), ("3.6.23", false), ("3.52.0", false),
      ("4.0.0", false), ("odd", false),
    ])
  func versions(version: String, isAffected: Bool) {
    #expect(DoctorCheck.mayCorruptInCheckpoint(version) == isAffected)
  }
}
