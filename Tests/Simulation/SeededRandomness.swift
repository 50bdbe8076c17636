import DriftlessTesting
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Where a simulation's UUIDs, mint prefixes and names come from: of the seed, like all else.
final class SeededRandomness: Sendable {
  @TaskLocal static var current: SeededRandomness?

  private let generator: Mutex<SeededGenerator>

  init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

  fileprivate func fill(_ bytes: UnsafeMutableRawBufferPointer) {
    generator.withLock { generator in
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
    }
  }
}

/// Stands before the standard library's own source of randomness, in this process alone. What runs
/// in no simulation gets the system's bytes.
@_cdecl("swift_stdlib_random")
public func simulatedRandom(_ buffer: UnsafeMutableRawPointer, _ count: Int) {
  if let seeded = SeededRandomness.current {
    return seeded.fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
  }
  // The call gives 256 bytes at most.
  var done = 0
  while done < count {
    let part = min(256, count - done)
    if getentropy(buffer + done, part) == 0 { done += part }
  }
}
