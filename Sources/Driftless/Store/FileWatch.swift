@preconcurrency import Dispatch  // its sources are thread-safe, but not marked Sendable
import Foundation
import Logging
import Synchronization

/// Calls back when a file is written, by any process: by inotify, and where the system gives none, by a look each second.
final class FileWatch: Sendable {
  private let listener: FileListener
  private let watches: FolderWatches

  init(
    path: String, _ watches: FolderWatches = .shared, _ changed: @escaping @Sendable () -> Void
  ) {
    listener = FileListener(path, changed)
    self.watches = watches
    watches.add(listener)
  }

  deinit {
    watches.remove(listener)
    listener.end()
  }

  /// Whether the system tells nothing of the file, so that it is looked at each second.
  var isPolling: Bool { listener.isPolling }
}

/// Who wants to know of one file.
final class FileListener: Sendable {
  /// Commits leave a mark in the first bytes of the file.
  private static let lookedAtBytes = 64

  private struct Content: Equatable {
    let number: FileNumber?
    let bytes: [UInt8]
  }

  private struct Looking {
    var timer: (any DispatchSourceTimer)?
    var last: Content?
    var isOver = false
  }

  let path: String
  /// Of the file in its folder.
  let name: String
  /// Watched in place of the file, so that one that is removed and made anew stays watched.
  let folder: String
  private let changed: @Sendable () -> Void
  private let queue = DispatchQueue(label: "driftless.file-watch")
  /// Whether a call is on its way that has not begun.
  private let isDue = Atomic(false)
  private let looking = Mutex(Looking())

  init(_ path: String, _ changed: @escaping @Sendable () -> Void) {
    self.path = path
    self.changed = changed
    name = (path as NSString).lastPathComponent
    let folder = (path as NSString).deletingLastPathComponent
    self.folder = folder.isEmpty ? "." : folder
  }

  /// Calls back, on a queue of its own.
  func call() {
    guard !isDue.exchange(true, ordering: .acquiringAndReleasing) else { return }
    queue.async { [self] in
      isDue.store(false, ordering: .releasing)
      changed()
    }
  }

  var isPolling: Bool { looking.withLock { $0.timer != nil } }

  /// Looks each second from now on.
  func poll() {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.setEventHandler { [weak self] in self?.look() }
    let content = content
    let isNew = looking.withLock { looking in
      guard !looking.isOver, looking.timer == nil else { return false }
      looking.timer = timer
      looking.last = content
      return true
    }
    // One that was never started may not be let go of.
    timer.resume()
    if !isNew { timer.cancel() }
  }

  private func look() {
    let content = content
    let isOther = looking.withLock { looking in
      guard !looking.isOver, looking.last != content else { return false }
      looking.last = content
      return true
    }
    if isOther { changed() }
  }

  func end() {
    let timer = looking.withLock { looking in
      looking.isOver = true
      return looking.timer.take()
    }
    timer?.cancel()
  }

  private var content: Content {
    let file = FileHandle(forReadingAtPath: path)
    let bytes = (try? file?.read(upToCount: Self.lookedAtBytes)) ?? Data()
    return Content(number: FileNumber(of: path), bytes: Array(bytes))
  }
}

/// The folders that are watched: one inotify instance for all of a process, of which the system gives a user few (often 128).
final class FolderWatches: Sendable {
  static let shared = FolderWatches { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) }

  private struct State {
    var descriptor: Int32 = -1
    var source: (any DispatchSourceRead)?
    /// By the number of the watch, which is one a folder, whatever its path.
    var listeners: [Int32: [ObjectIdentifier: FileListener]] = [:]
    var numbers: [ObjectIdentifier: Int32] = [:]
    var isWarned = false
  }

  /// Where events are read.
  let queue = DispatchQueue(label: "driftless.folder-watches")
  private let state = Mutex(State())
  private let makeInstance: @Sendable () -> Int32

  /// - Parameter makeInstance: Gives an inotify instance, or a negative number and `errno`.
  init(_ makeInstance: @escaping @Sendable () -> Int32) { self.makeInstance = makeInstance }

  deinit { state.withLock { $0.source?.cancel() } }

  /// The listener hears from now on, of its file in the folder that is there now.
  func add(_ listener: FileListener) {
    let failure = state.withLock { state -> Int32? in
      if state.source == nil {
        let descriptor = makeInstance()
        guard descriptor >= 0 else { return errno }
        start(descriptor, &state)
      }
      let mask = UInt32(IN_MODIFY | IN_CREATE)
      let number = inotify_add_watch(state.descriptor, listener.folder, mask)
      guard number >= 0 else { return errno }
      state.listeners[number, default: [:]][ObjectIdentifier(listener)] = listener
      state.numbers[ObjectIdentifier(listener)] = number
      return nil
    }
    guard let failure else { return }
    listener.poll()
    warn("\(listener.folder) cannot be watched: \(String(cString: strerror(failure)))")
  }

  func remove(_ listener: FileListener) {
    state.withLock { state in
      guard let number = state.numbers.removeValue(forKey: ObjectIdentifier(listener)) else {
        return
      }
      state.listeners[number]?[ObjectIdentifier(listener)] = nil
      guard state.listeners[number]?.isEmpty == true else { return }
      state.listeners[number] = nil
      inotify_rm_watch(state.descriptor, number)
    }
  }

  private func start(_ descriptor: Int32, _ state: inout State) {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.drain(descriptor) }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    state.descriptor = descriptor
    state.source = source
  }

  /// Once a process: the reason is the same for all that follow.
  private func warn(_ reason: String) {
    let isFirst = state.withLock { state in
      defer { state.isWarned = true }
      return !state.isWarned
    }
    guard isFirst else { return }
    Logger(label: "driftless.store").warning(
      """
      \(reason). Commits of other processes are looked for each second. \
      Raise fs.inotify.max_user_instances and max_user_watches to hear of them at once.
      """)
  }

  // MARK: Events

  private enum Event {
    case change(Int32, name: String)
    /// The folder is not watched any more: it is gone.
    case end(Int32)
    /// Events were lost.
    case overflow
  }

  /// Reads all waiting events, and calls those whom they are about.
  private func drain(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return }
      tell(Self.events(buffer[..<count]))
    }
  }

  private func tell(_ events: [Event]) {
    var called: [ObjectIdentifier: FileListener] = [:]
    var left: [FileListener] = []
    state.withLock { state in
      for event in events {
        switch event {
        case .change(let number, let name):
          for (id, listener) in state.listeners[number] ?? [:] where listener.name == name {
            called[id] = listener
          }
        case .overflow:
          for listeners in state.listeners.values { called.merge(listeners) { $1 } }
        case .end(let number):
          for (id, listener) in state.listeners.removeValue(forKey: number) ?? [:] {
            state.numbers[id] = nil
            left.append(listener)
          }
        }
      }
    }
    for listener in left {
      listener.poll()
      listener.call()
      warn("\(listener.folder), which was watched, is gone")
    }
    for listener in called.values { listener.call() }
  }

  /// An event is the number of the watch, what happened, 4 bytes more, and the length of the name that follows.
  private static func events(_ bytes: ArraySlice<UInt8>) -> [Event] {
    var events: [Event] = []
    bytes.withUnsafeBytes { bytes in
      var position = 0
      while position + 16 <= bytes.count {
        let number = bytes.loadUnaligned(fromByteOffset: position, as: Int32.self)
        let what = bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
        let length = Int(bytes.loadUnaligned(fromByteOffset: position + 12, as: UInt32.self))
        let end = min(bytes.count, position + 16 + length)
        if what & UInt32(IN_Q_OVERFLOW) != 0 {
          events.append(.overflow)
        } else if what & UInt32(IN_IGNORED) != 0 {
          events.append(.end(number))
        } else {
          let name = bytes[position + 16..<end].prefix { $0 != 0 }
          events.append(.change(number, name: String(decoding: name, as: UTF8.self)))
        }
        position += 16 + length
      }
    }
    return events
  }
}
