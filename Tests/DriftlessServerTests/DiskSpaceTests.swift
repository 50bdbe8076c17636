import Foundation
import Testing

@testable import DriftlessServer

/// What file systems say of themselves.
struct DiskSpaceTests {
  @Test("One without blocks has no bounds, and is not full")
  func noBlocks() {
    #expect(DiskSpace.free(0, of: 0, bytesPerBlock: 4096) == nil)
    #expect(DiskSpace.free(0, of: 10, bytesPerBlock: 4096) == 0)
  }

  @Test("More than can be counted is as much as can be counted")
  func large() {
    for free in [UInt64.max, UInt64.max / 4096 + 1, 1 << 52] {
      #expect(DiskSpace.free(free, of: .max, bytesPerBlock: 4096) == .max)
    }
    #expect(DiskSpace.free(2, of: 3, bytesPerBlock: 4096) == 8192)
  }

  @Test("A folder has some, and what is not there says nothing")
  func folder() {
    #expect(DiskSpace.free(at: FileManager.default.temporaryDirectory) != nil)
    #expect(DiskSpace.free(at: URL(fileURLWithPath: "/no such folder")) == nil)
  }
}
