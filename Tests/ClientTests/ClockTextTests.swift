import Testing

@testable import SyncControl

struct ClockTextTests {
  @Test(
    "A clock that is off is told in words, one that is right is not",
    arguments: [
      (0, nil), (1_999, nil), (-1_999, nil), (5_000, "5 s behind"), (-90_000, "90 s ahead of"),
      (600_000, "10 min behind"), (-10_800_000, "3 h ahead of"), (Int64.min, "ahead of"),
    ] as [(Int64, String?)])
  func words(offset: Int64, part: String?) {
    let line = ClockText.line(offsetMilliseconds: offset)
    #expect((line == nil) == (part == nil))
    if let part { #expect(line?.contains(part) == true) }
  }
}
