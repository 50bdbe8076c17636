import DriftlessSync
package import Foundation
package import Logging
import ProgramStart

/// Keeps the stores of a configuration in step until it is stopped.
///
/// It works on a thread of its own: whoever has the socket may keep it waiting, and so many stores may wait for disks that no
/// queue gets a thread.
package actor Daemon {
  private let file: URL
  private let log: Logger
  private var configuration: DaemonConfiguration
  private var workers: [URL: StoreWorker] = [:]
  private var listener: DaemonListener?
  private var isStopping = false
  private let executor = ThreadExecutor(name: "syncd")

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  /// - Throws: `Failure` when the configuration cannot be used.
  package init(configuration file: URL, log: Logger) throws(Failure) {
    self.file = file
    let configuration = try DaemonConfiguration(contentsOf: file)
    var log = log
    log.logLevel = Logger.Level(rawValue: configuration.logLevel) ?? .info
    self.configuration = configuration
    self.log = log
  }

  /// Where the daemon listens.
  package var socket: String { configuration.socket ?? DaemonConfiguration.defaultSocket }

  /// Files that a daemon without stores opens at most.
  package static let ownFiles = 32
  /// Files that it opens at most for a store. One at rest has twelve: the database and its log twice, their memory, its locks and claim,
  /// the file itself, and the connection to its server.
  private static let storeFiles = 16

  private static func files(for stores: [DaemonConfiguration.Store]) -> Int {
    ownFiles + storeFiles * stores.count
  }

  /// Listens and begins to sync.
  ///
  /// - Throws: `Failure` when the socket cannot be used, another daemon listens there, or so many stores need more files
  ///   than the system lets the process open.
  package func start() async throws(Failure) {
    do {
      try OpenFiles.require(Self.files(for: configuration.stores))
    } catch { throw Failure(error) }
    // Dispatch takes a file for the timers of each clock when the first begins, and ends the process where there is none then.
    try? await Task.sleep(for: .nanoseconds(1), clock: .continuous)
    try? await Task.sleep(for: .nanoseconds(1), clock: .suspending)
    listener = try DaemonListener(path: socket, log: log) { [weak self] request, store in
      await self?.answer(request, store) ?? DaemonReply(pid: getpid())
    }
    let stores = Self.counted(configuration.stores)
    if listener?.isListening == true {
      log.notice("listening at \(socket), \(stores)")
    } else {
      log.warning(
        "the folder of the socket \(socket) is not there, and is waited for: nobody reaches the daemon until then, \(stores)"
      )
    }
    for entry in configuration.stores { await begin(entry) }
  }

  private static func requireFiles(for stores: [DaemonConfiguration.Store]) throws(Failure) {
    do {
      try OpenFiles.require(inAll: files(for: stores))
    } catch {
      throw Failure(error)
    }
  }

  private static func counted(_ stores: [DaemonConfiguration.Store]) -> String {
    "\(stores.count) store\(stores.count == 1 ? "" : "s")"
  }

  /// Reads the configuration again: stores that are new begin, stores that are gone end, the rest
  /// read their tokens again and sync. A file that is wrong changes nothing.
  package nonisolated func reload() async {
    // Not where the daemon answers: a store may be on a disk that does not.
    let read = Result { () throws(Failure) in try DaemonConfiguration(contentsOf: file) }
    await take(read)
  }

  private func take(_ read: Result<DaemonConfiguration, Failure>) async {
    guard !isStopping else { return }
    let fresh: DaemonConfiguration
    do {
      fresh = try read.get()
      if fresh.stores.count > configuration.stores.count {
        try Self.requireFiles(for: fresh.stores)
      }
    } catch {
      log.error("the former configuration stays: \(error)")
      return
    }
    log.notice("configuration read again, \(Self.counted(fresh.stores))")
    if fresh.socket != configuration.socket {
      log.warning("the socket changes when syncd is started again")
    }
    let former = configuration
    configuration.stores = fresh.stores
    configuration.retrySecondsMax = fresh.retrySecondsMax
    for entry in former.stores where !fresh.stores.contains(entry) { await end(entry) }
    for entry in fresh.stores {
      if let worker = workers[entry.path] {
        await worker.restart(delays: delays)
      } else {
        await begin(entry)
      }
    }
  }

  /// Comes back when the daemon gets to what it is asked.
  package func ping() {}

  /// Ends everything cleanly: requests under way are cancelled, stores closed, socket and marks
  /// removed.
  package func stop() async {
    guard !isStopping else { return }
    isStopping = true
    log.notice("stopping")
    listener?.stop()
    await withTaskGroup { group in
      for worker in workers.values { group.addTask { await worker.stop() } }
    }
    workers = [:]
  }

  private var delays: SyncSchedule.Delays {
    var delays = SyncSchedule.Delays()
    delays.retryMax = configuration.retrySecondsMax
    return delays
  }

  private func begin(_ entry: DaemonConfiguration.Store) async {
    let mark = DaemonMark(pid: getpid(), socket: socket)
    let worker = StoreWorker(
      entry: entry, mark: mark, delays: delays, log: log,
      onOtherTarget: { [weak self] in await self?.reload() })
    workers[entry.path] = worker
    await worker.start()
  }

  private func end(_ entry: DaemonConfiguration.Store) async {
    guard let worker = workers.removeValue(forKey: entry.path) else { return }
    await worker.stop()
  }

  /// Answers a request of the socket.
  ///
  /// - Parameter store: the one that it is about, with links resolved.
  private func answer(_ request: DaemonRequest, _ store: URL?) async -> DaemonReply {
    var reply = DaemonReply(pid: getpid())
    if request.verb == .stores {
      reply.paths = configuration.stores.map(\.path.path).sorted()
      return reply
    }
    guard let path = request.store, let store else {
      for worker in workers.values { reply.stores.append(await worker.state) }
      reply.stores.sort { $0.store < $1.store }
      return reply
    }
    guard let worker = workers[store] else {
      reply.failure = Failure(
        .failed, code: DaemonClient.unknownStoreCode, "This daemon does not keep \(path).",
        suggestion: "add the store to \(file.path) and send SIGHUP to syncd")
      return reply
    }
    do {
      let allowsMassDelete = request.allowsMassDelete ?? false
      switch request.verb {
      case .verify, .repair:
        reply.verified = try await worker.verify(
          repairs: request.verb == .repair, allowsMassDelete: allowsMassDelete)
      case .status, .stores, .sync, .push, .pull, .giveUpUnsent, .wake:
        reply.report = try await worker.perform(
          request.verb, allowsMassDelete: allowsMassDelete)
      }
    } catch {
      // How the store does says the failure as well, and is what was asked for.
      if request.verb != .status { reply.failure = Failure(error) }
    }
    reply.stores = [await worker.state]
    return reply
  }
}
