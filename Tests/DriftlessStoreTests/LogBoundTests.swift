import DriftlessSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Driftless

/// The write-ahead log of a store that two write all the time, each with connections and a lock of its own as two processes
/// have them.
struct LogBoundTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("shop.sqlite")
  }

  private func open() throws -> PersistentStore {
    var options = StoreOptions(durability: .normal)
    // A busy machine takes its time, and nobody here is to give up.
    options.busyTimeoutMilliseconds = 600_000
    return try PersistentStore.open(url: url, model: Shop.model(), options: options)
  }

  private var logBytes: Int64 { FileNumber.size(of: url.path + "-wal") ?? 0 }

  @Test("Who waits for another one to commit keeps no checkpoint from the log")
  func waiting() async throws {
    let store = try open()
    let (path, held) = (url.path, DispatchSemaphore(value: 0))
    let isOver = Mutex(false)
    let freed = Mutex(0)
    try await onSeveralThreads(2) { number in
      if number == 0 {
        defer { isOver.withLock { $0 = true } }
        held.wait()
        try store.insert("Item")
        return
      }
      let holder: SQLiteConnection
      do {
        defer { held.signal() }
        holder = try SQLiteConnection(path: path, mode: .readWrite)
        try holder.execute("BEGIN IMMEDIATE")
      }
      defer { holder.close() }
      let lock = try FileLock(path: path + "-driftless-lock")
      // It looks often enough to see it held, which is for moments only.
      var (isHeld, looks) = (false, 0)
      while freed.withLock({ $0 }) < 10, looks < 200_000, !isOver.withLock({ $0 }) {
        if lock.tryLock() {
          lock.unlock()
          if isHeld { freed.withLock { $0 += 1 } }
          isHeld = false
        } else {
          isHeld = true
        }
        looks += 1
        usleep(50)
      }
      try holder.execute("COMMIT")
    }
    #expect(freed.withLock { $0 } == 10)
    #expect(
      try store.read { try $0.connection.scalar("SELECT COUNT(*) FROM ZITEM") } == .integer(1))
  }

  @Test("Two that save all the time cut the log as often as one", .timeLimit(.minutes(10)))
  func bounded() async throws {
    let most = Mutex<Int64>(0)
    let (url, own) = (url, self)
    try await onSeveralThreads(2) { number in
      let store = try own.open()
      let picture = PropertyValue.data(Data(repeating: UInt8(number), count: 100_000))
      for _ in 0..<900 {
        try store.insert("Item", ["picture": picture])
        let bytes = FileNumber.size(of: url.path + "-wal") ?? 0
        most.withLock { $0 = max($0, bytes) }
      }
    }
    // 180 MB were saved.
    #expect(
      most.withLock { $0 } < Int64(4 * StoreTuning.checkpointBytes), "\(most.withLock { $0 })")
  }

  @Test("Once another one has cut the log, it is due when it is large again, however large it was")
  func cutElsewhere() throws {
    let (store, other) = (try open(), try open())
    let picture = PropertyValue.data(Data(repeating: 1, count: 100_000))
    // A reader keeps the log from being cut, and it grows.
    let snapshot = try #require(try store.snapshot())
    for _ in 0..<400 { try store.insert("Item", ["picture": picture]) }
    #expect(logBytes > 2 * StoreTuning.checkpointBytes)
    snapshot.close()
    other.checkpointNow()
    #expect(logBytes == 0)
    for _ in 0..<300 { try store.insert("Item", ["picture": picture]) }
    #expect(logBytes < 2 * StoreTuning.checkpointBytes)
  }

  @Test("A write that finds no room leaves nothing of itself in the log")
  func withoutRoom() throws {
    let store = try open()
    try store.insert("Item")
    store.checkpointNow()
    _ = try store.write(TransactionInfo()) { transaction in
      let connection = transaction.connection
      guard case .integer(let pages)? = try connection.scalar("PRAGMA page_count") else { return }
      // What does not fit the cache goes to the log before the transaction ends.
      try connection.execute(
        "PRAGMA cache_size = 10; PRAGMA max_page_count = \(pages + 500)")
    }
    let error = #expect(throws: StoreError.self) {
      try store.write(TransactionInfo()) { transaction in
        try transaction.connection.execute("CREATE TABLE FILLER(bytes)")
        for _ in 0..<1000 {
          try transaction.connection.execute("INSERT INTO FILLER VALUES(zeroblob(4000))")
        }
      }
    }
    #expect(error?.code == .diskFull)
    #expect(logBytes == 0)
    try store.insert("Item")
  }
}
