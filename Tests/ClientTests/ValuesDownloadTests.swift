import Foundation
import Testing

@testable import DriftlessSync
@testable import SyncControl

/// When `syncctl values download` asks for no more syncs.
struct ValuesDownloadTests {
  private func value(_ digest: String, isMissing: Bool = false) -> AwaitedValue {
    AwaitedValue(
      object: UUID(), entity: "Photo", property: "image", bytes: 5, digest: digest,
      isWanted: true, missingSince: isMissing ? Date(timeIntervalSince1970: 0) : nil)
  }

  @Test(
    "It goes on while fewer values are left, or more bytes are here, and ends where nothing comes")
  func ends() {
    typealias Distance = ValuesDownloadCommand.Distance
    let first = Distance([value("a"), value("b"), value("c")], bytes: 0)
    #expect(first.isLess(than: nil))
    // One is missing by now, and another one does not come.
    let second = Distance([value("a", isMissing: true), value("b")], bytes: 0)
    #expect(second.isLess(than: first))
    let third = Distance([value("a", isMissing: true), value("b")], bytes: 0)
    #expect(!third.isLess(than: second))
    #expect(Distance([value("b")], bytes: 7).isLess(than: second), "a part of it came")
    #expect(Distance([value("d")], bytes: 0).isLess(than: second), "the zone has another one there")
    #expect(!Distance([value("b", isMissing: true)], bytes: 9).isLess(than: second))
    // What was missing before may have come back: it is asked for once.
    #expect(Distance([value("a", isMissing: true)], bytes: 0).isLess(than: nil))
  }
}
