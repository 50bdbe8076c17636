import Driftless
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("A bounded number of threads and connections work for a store", .serialized)
struct ReaderBoundTests {
  /// What many pieces of work saw of each other.
  private final class Crowd: Sendable {
    private struct State {
      var now = 0
      var most = 0
      var threads: Set<UInt> = []
      var mostFiles = 0
    }
    private let state = Mutex(State())
    private let gate = DispatchSemaphore(value: 0)
    private let store: String

    init(_ container: PersistentContainer) { store = container.storeURL?.path ?? "" }

    var now: Int { state.withLock { $0.now } }
    var most: Int { state.withLock { $0.most } }
    /// Threads that pieces were on.
    var threadCount: Int { state.withLock { $0.threads.count } }
    var mostFiles: Int { state.withLock { $0.mostFiles } }

    /// Is at work until the gate lets it go.
    func work() {
      let files = openFiles
      state.withLock { state in
        state.now += 1
        state.most = max(state.most, state.now)
        state.threads.insert(UInt(pthread_self()))
        state.mostFiles = max(state.mostFiles, files)
      }
      gate.wait()
      state.withLock { $0.now -= 1 }
    }

    func open(for count: Int) { for _ in 0..<count { gate.signal() } }

    /// How often this process has the store's own file open.
    private var openFiles: Int {
      let folder = "/proc/self/fd"
      let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return files.count { file in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(file)")) == store
      }
    }
  }

  /// Which pieces of work have begun, in their order.
  private final class Begun: Sendable {
    private let numbers = Mutex<[Int]>([])
    func append(_ number: Int) { numbers.withLock { $0.append(number) } }
    var all: [Int] { numbers.withLock { $0 } }
  }

  /// Waits for what others bring about.
  private func until(_ isSo: () -> Bool) async throws {
    while !isSo() { await Task.yield() }
  }

  private func container(readersMax: Int, _ directory: TemporaryDirectory) throws
    -> PersistentContainer
  {
    ManagedObject.register(Author.self, Book.self, Tag.self, Chapter.self, Novel.self, Link.self)
    var options = StoreOptions()
    options.readersMax = readersMax
    let container = PersistentContainer(
      name: "Bounded", model: Library.model(),
      storeURL: directory.url.appendingPathComponent("library.sqlite"), options: options)
    try container.loadPersistentStores()
    return container
  }

  @Test(
    "500 background contexts at work at once have as many threads and connections as the store allows"
  )
  func manyContexts() async throws {
    let directory = try TemporaryDirectory()
    let container = try container(readersMax: 6, directory)
    let contexts = (0..<500).map { _ in container.newBackgroundContext() }
    let crowd = Crowd(container)
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Int.self) { group in
      // A host that is too slow for it fails the test, and does not keep it for ever.
      defer { crowd.open(for: 500) }
      for context in contexts {
        group.addTask {
          try await context.perform { context in
            let count = try context.count(Book.self)
            crowd.work()
            return try count + context.fetch(Book.self).count
          }
        }
      }
      // All others have come, and wait.
      let line = container.persistentStoreCoordinator.line
      try await until { crowd.now >= 6 && crowd.now + line.waitingCount >= 500 }
      crowd.open(for: 500)
      for try await count in group { #expect(count == 0) }
    }
    // Where a host is slow, one more goes on each time that none has ended for ten seconds.
    let most = 6 + Int((ContinuousClock.now - start) / .seconds(10))
    #expect(crowd.most <= most)
    // Beside the readers' there are the writer's, and two of who looks whose file it is.
    #expect(crowd.mostFiles <= most + 3)
    // The dispatch library may change threads between two pieces.
    #expect(crowd.threadCount < 100)
  }

  @Test(
    "Pieces of a container and of background contexts share the bound, and begin in their order")
  func order() async throws {
    let directory = try TemporaryDirectory()
    let container = try container(readersMax: 1, directory)
    let background = container.newBackgroundContext()
    let crowd = Crowd(container)
    let begun = Begun()
    let first = Task { try await background.perform { _ in crowd.work() } }
    try await until { crowd.now == 1 }
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<20 {
      let task = Task {
        if number.isMultiple(of: 2) {
          try await container.perform { _ in begun.append(number) }
        } else {
          let other = container.newBackgroundContext()
          try await other.perform { _ in begun.append(number) }
        }
      }
      tasks.append(task)
      try await until { container.persistentStoreCoordinator.line.waitingCount == number + 1 }
    }
    #expect(begun.all.isEmpty)
    crowd.open(for: 1)
    try await first.value
    for task in tasks { try await task.value }
    #expect(begun.all == Array(0..<20))
  }

  @Test("Work of a task that is cancelled is done, whether it waits or not")
  func cancelled() async throws {
    let directory = try TemporaryDirectory()
    let container = try container(readersMax: 1, directory)
    let crowd = Crowd(container)
    let begun = Begun()
    let first = Task { try await container.perform { _ in crowd.work() } }
    try await until { crowd.now == 1 }
    let background = container.newBackgroundContext()
    let tasks = (0..<6).map { number in
      Task {
        if number < 3 {
          try await container.perform { _ in begun.append(1) }
        } else {
          try await background.perform { _ in begun.append(1) }
        }
      }
    }
    // Three pieces of the container, and the one context, which has three.
    try await until {
      container.persistentStoreCoordinator.line.waitingCount == 4 && background.waitingCount == 3
    }
    for task in [tasks[1], tasks[3], tasks[4]] { task.cancel() }
    #expect(begun.all.count == 0)
    crowd.open(for: 1)
    try await first.value
    for task in tasks { try await task.value }
    #expect(begun.all.count == 6)
    // Who was cancelled before is no other.
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      try await container.perform { _ in begun.append(1) }
    }
    late.cancel()
    try await late.value
    #expect(begun.all.count == 7)
    #expect(container.persistentStoreCoordinator.line.waitingCount == 0)
  }

  @Test(
    "Children that hold all threads and wait for their parent get it, whatever it has to do before")
  func childrenOfOneParent() async throws {
    let directory = try TemporaryDirectory()
    let container = try container(readersMax: 2, directory)
    let parent = container.newBackgroundContext()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          let child = BackgroundContext(parent: parent)
          try await child.perform { context in
            try context.insert(Book.self).title = "\(number)"
            try context.save()
          }
        }
        group.addTask { _ = try await parent.perform { try $0.count(Book.self) } }
        group.addTask {
          // A thread of nobody's waits for a queue whose pieces wait for a thread.
          _ = try await container.perform { _ in
            try parent.performAndWait { try $0.count(Book.self) }
          }
        }
      }
      try await group.waitForAll()
    }
    try await parent.perform { try $0.save() }
    #expect(try container.newContext().count(Book.self) == 100)
  }

  @Test(
    "Readers that write, writers that read and readers inside of readers do not wait for each other"
  )
  func crossed() async throws {
    let directory = try TemporaryDirectory()
    let container = try container(readersMax: 2, directory)
    let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          try await onThread {
            switch number % 3 {
            case 0:
              try store.read { _ in
                _ = try store.read { try $0.maximumTransactionNumber() }
                try container.performAndWait { context in
                  try context.insert(Book.self).title = "\(number)"
                  try context.save()
                }
              }
            case 1:
              _ = try store.write(TransactionInfo()) { _ in
                try store.read { try $0.maximumTransactionNumber() }
              }
            default:
              try container.performAndWait { context in
                for book in try context.fetch(Book.self) { _ = (book.title, book.chapters.count) }
                try context.insert(Book.self).title = "\(number)"
                try context.save()
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try container.newContext().count(Book.self) == 40)
  }

  /// Does blocking work on a thread of its own.
  private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      Thread { continuation.resume(with: Result { try body() }) }.start()
    }
  }

  @Test("Core Data's size of the connection pool is the bound")
  func option() throws {
    let description = PersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))
    description.setOption(12, forKey: "NSPersistentStoreConnectionPoolMaxSize")
    let container = PersistentContainer(
      name: "Bounded", model: Library.model(), storeURL: nil)
    #expect(container.persistentStoreCoordinator.line.limit == StoreOptions().readersMax)
    container.persistentStoreDescriptions = [description]
    try container.loadPersistentStores()
    #expect(container.persistentStoreCoordinator.line.limit == 12)
    description.setOption(0, forKey: "NSPersistentStoreConnectionPoolMaxSize")
    let other = PersistentContainer(name: "Refused", model: Library.model(), storeURL: nil)
    other.persistentStoreDescriptions = [description]
    #expect(throws: StoreError.self) { try other.loadPersistentStores() }
  }
}
