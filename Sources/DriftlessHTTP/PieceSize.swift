import Synchronization

/// How much may be asked for at once on one way to a server.
///
/// A line that breaks after so many bytes never brings a larger answer. So what broke is asked for again in a quarter of the
/// bytes, and each piece that came lets the next one be twice as large.
final class PieceSize: Sendable {
  /// What is asked for however often the line breaks: an entry of a log comes whole at any rate. Bytes.
  static let least = 16 << 10

  private let most = Mutex(Int.max)

  /// The bytes to ask for where so many are wanted.
  func bound(_ wanted: Int) -> Int { min(wanted, most.withLock { $0 }) }

  /// An answer to so many bytes did not come.
  func broke(asking bytes: Int) {
    guard bytes > Self.least else { return }
    most.withLock { $0 = min($0, max(Self.least, bytes / 4)) }
  }

  /// An answer to so many bytes came.
  func came(asking bytes: Int) {
    most.withLock { most in
      guard bytes == most else { return }
      most = most > Int.max / 2 ? Int.max : most * 2
    }
  }
}
