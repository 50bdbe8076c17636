import Foundation
import TestSupport
import Testing

@testable import Driftless

struct LockHolderTests {
  @Test("The holder of a file is found among all the locks of a busy host")
  func manyLocks() throws {
    let folder = try TemporaryDirectory()
    let paths = (0..<150).map { folder.file("\($0)").path }
    let files = paths.map { open($0, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
    defer { for file in files { close(file) } }
    for file in files { #expect(flock(file, LOCK_EX | LOCK_NB) == 0) }
    for path in paths { #expect(LockHolder.ofFile(path)?.process == getpid()) }
  }
}
