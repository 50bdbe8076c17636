import Foundation
import Glibc
import Synchronization

/// The bytes of a file that never changes, mapped into memory: a value that nobody looks at takes none of it, and what was looked
/// at the system may take back. Thousands of objects with large values can be in a context, as Core Data has it.
///
/// Who cuts such a file off while it is mapped, or a disk that cannot read it any more, ends the program that looks at it: a file
/// that is shorter before it is read is none of the value, as far as its name says how long that is.
enum MappedFile {
  /// The system gives a process some 65,000 maps, of which threads and allocations want theirs. What is more is read.
  static let countMax = 16_384
  /// Bytes. Reading so few costs less than a map does.
  static let bytesMin = 64 << 10

  private static let count = Atomic<Int>(0)

  /// Nil where it is better read, or the file system maps none.
  static func data(of descriptor: Int32, count bytes: Int) -> Data? {
    guard bytes >= bytesMin else { return nil }
    guard count.add(1, ordering: .relaxed).newValue <= countMax,
      // Who changes the bytes in place writes to pages of the process's own.
      let address = mmap(
        nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0),
      address != MAP_FAILED
    else {
      count.subtract(1, ordering: .relaxed)
      return nil
    }
    return Data(
      bytesNoCopy: address, count: bytes,
      // It may have been cut since: all of the map goes.
      deallocator: .custom { address, _ in
        munmap(address, bytes)
        count.subtract(1, ordering: .relaxed)
      })
  }
}
