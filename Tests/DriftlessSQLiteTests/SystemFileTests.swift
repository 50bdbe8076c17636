import DriftlessSQLite
import Foundation
import Testing

struct SystemFileTests {
  @Test("A list of the system is read to its end")
  func list() throws {
    // As many lines as pages; every other one may be written, so that the system makes none of two.
    let (count, bytes) = (400, 4096)
    let pages = try (0..<count).map { number in
      try #require(
        mmap(
          nil, bytes, number % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    }
    defer { for page in pages { munmap(page, bytes) } }
    // The newest lie lowest, and the stack last.
    let text = try #require(SystemFile.text("/proc/self/maps"))
    #expect(text.split(separator: "\n").count > count)
    #expect(text.contains("[stack]") && text.hasSuffix("\n"))
    #expect(SystemFile.text("/proc/self/nothing") == nil)
  }
}
