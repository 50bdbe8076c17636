import Driftless

/// What sync writes of its own accord leaves room for saves: what does not fit waits, and is asked for again once there is room.
extension SyncEngine {
  /// Whether the store's disk has room for so many bytes beside what is kept for saves.
  func hasRoom(for bytes: Int) -> Bool {
    guard let url = store.url, let room = options.diskRoom(url) else { return true }
    return room.has(bytes)
  }

  /// - Parameters:
  ///   - bytes: about as many as are written.
  ///   - what: what they are, as the beginning of a sentence.
  /// - Throws: `StoreError` (`.diskFull`) where there is no room; nothing was written so far.
  func requireRoom(for bytes: Int, _ what: String) throws {
    guard let url = store.url, let room = options.diskRoom(url), !room.has(bytes) else { return }
    throw StoreError(
      .diskFull,
      "\(what) needs \(bytes) bytes on the file system of \(store.label), which has \(room.free) free, and \(room.reserve) of "
        + "them are kept for saves.",
      suggestion:
        "Make room there: sync goes on by itself then. Nothing was changed, and saves go on.")
  }
}
