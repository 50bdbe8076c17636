import Synchronization

/// A short name of a store in this process, in place of its identifier.
enum StoreTags {
  private static let tags = Mutex<[String: UInt32]>([:])

  static func tag(of identifier: String) -> UInt32 {
    tags.withLock { tags in
      if let tag = tags[identifier] { return tag }
      let tag = UInt32(truncatingIfNeeded: tags.count + 1)
      tags[identifier] = tag
      return tag
    }
  }
}
