#if PostgreSQL
  import Dispatch
  import Foundation
  import Logging
  import Synchronization

  /// Tells the other nodes of one database when a log has grown, and hears it from them: one connection that listens, on a
  /// thread of its own, and no notification within a push's transaction. What came in one tick is told at one time.
  ///
  /// Notifications may be lost, with the connection or by a database that has none. So the zones' rows are looked at as well,
  /// every `watchSeconds`; which also shows what operators' commands changed.
  final class PostgresNews: Sendable {
    private struct State {
      /// Ends of logs that the other nodes are to hear of.
      var due: [UUID: UInt64] = [:]
      var isStopped = false
    }

    private let text: String
    private let news: ZoneNews
    private let limits: LiveLimits
    private let served: PostgresServed
    private let logger: Logger
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "driftless.postgres.news")
    /// Ends the listener's waiting.
    let bell = PostgresBell()
    private static let channel = "driftless"
    /// Milliseconds between two notifications of one node.
    private static let tick: Int32 = 20
    /// As many as one notification's text holds: 8,000 bytes.
    private static let logsPerNotification = 100

    init(
      _ text: String, news: ZoneNews, limits: LiveLimits, served: PostgresServed, logger: Logger
    ) {
      self.served = served
      self.text = text
      self.news = news
      self.limits = limits
      self.logger = logger
    }

    /// Tells those who wait here at once, and the other nodes soon.
    func publish(_ generation: UUID, head: UInt64) {
      news.publish(generation, head: head)
      let isFirst = state.withLock { state in
        defer { state.due[generation] = max(state.due[generation] ?? 0, head) }
        return state.due.isEmpty
      }
      if isFirst { bell.ring() }
    }

    /// Listens until the task is cancelled.
    func run() async {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          queue.async {
            self.listen()
            continuation.resume()
          }
        }
      } onCancel: {
        stop()
      }
    }

    func stop() {
      state.withLock { $0.isStopped = true }
      bell.ring()
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Connects, again and again, and listens while that lasts. Runs on the thread of its own.
    private func listen() {
      var watch = PostgresWatch()
      var isAway = false
      while !isStopped {
        do {
          let connection = try PostgresConnection(serving: text, limits: limits.current)
          defer { connection.close() }
          try PostgresNodes.enter(connection)
          if isAway { logger.notice("the database is there again") }
          isAway = false
          try listen(on: connection, &watch)
        } catch {
          if !isAway {
            logger.warning("the database is away", metadata: ["error": "\(error)"])
          }
          isAway = true
          _ = bell.wait(milliseconds: 1000)
        }
      }
    }

    private func listen(
      on connection: PostgresConnection, _ watch: inout PostgresWatch
    ) throws {
      let hears: Bool
      do {
        try connection.execute("LISTEN \(Self.channel)")
        hears = true
      } catch let error as PostgresError where error.kind == .statement {
        hears = false
        logger.notice(
          "the database has no notifications: news of other nodes come at each look",
          metadata: ["seconds": "\(limits.watchSeconds)", "error": "\(error)"])
      }
      var nextLook = ContinuousClock.now
      // What is due from before this connection rang then.
      var isDue = true
      while !isStopped {
        if ContinuousClock.now >= nextLook {
          try look(connection, &watch)
          nextLook = .now + .seconds(limits.watchSeconds)
        }
        let left = Int32(clamping: Int((nextLook - .now) / .milliseconds(1)) + 1)
        let heard = try connection.notifications(
          milliseconds: isDue ? 0 : max(0, left), also: bell.descriptor)
        for payload in heard { hear(payload) }
        let hasRung = bell.wait(milliseconds: 0)
        defer { isDue = false }
        if !hears { state.withLock { $0.due = [:] } }
        if hasRung || isDue, hears {
          try tell {
            try connection.run("SELECT pg_notify($1, $2)", .text(Self.channel), .text($0))
          }
          // What comes meanwhile is told at one time.
          _ = poll(nil, 0, Self.tick)
        }
      }
    }

    private func look(_ connection: PostgresConnection, _ watch: inout PostgresWatch) throws {
      try served.look(connection)
      let known = news.heads
      let seen = try watch.look(connection)
      for (generation, head) in seen.grown { news.publish(generation, head: head) }
      // What was told was in the database by then: a log that ends before it has lost some, in a failover or a restore.
      let lost = seen.heads.filter { known[$0.key] ?? 0 > $0.value }
      for (generation, head) in lost {
        state.withLock { $0.due[generation] = nil }
        news.putBack(generation, from: known[generation] ?? head, to: head)
        try PostgresBounds.notePutBack(generation: generation, on: connection)
      }
      if seen.hasChanged || !lost.isEmpty { news.wakeAll() }
    }

    /// Tells the other nodes what is due. What the connection is lost with is due again, for the next one: nodes look by themselves
    /// every `watchSeconds` alone, which may be long.
    ///
    /// - Parameter notify: sends a notification's text; what it throws ends the telling.
    func tell(_ notify: (String) throws -> Void) throws {
      // What comes meanwhile is told the next time: under load there would be no end.
      var due = state.withLock { state in
        defer { state.due = [:] }
        return state.due
      }
      defer { state.withLock { $0.due.merge(due) { max($0, $1) } } }
      while !due.isEmpty, !isStopped {
        let part = due.prefix(Self.logsPerNotification).map { ($0.key, $0.value) }
        try notify(part.map { "\($0.0.uuidString):\($0.1)" }.joined(separator: " "))
        for (generation, _) in part { due[generation] = nil }
      }
    }

    /// What another node told; what is none of that is left alone.
    private func hear(_ payload: String) {
      for word in payload.split(separator: " ") {
        let parts = word.split(separator: ":")
        guard parts.count == 2, let generation = UUID(uuidString: String(parts[0])),
          let head = UInt64(parts[1])
        else { continue }
        news.publish(generation, head: head)
      }
    }

  }

  /// Wakes a thread that waits for it, once however often it was rung before.
  final class PostgresBell: Sendable {
    /// A byte in it rings.
    private let pipe = Pipe()

    /// Can be read while it rings.
    var descriptor: Int32 { pipe.fileHandleForReading.fileDescriptor }

    func ring() {
      // A full pipe rings already.
      _ = try? pipe.fileHandleForWriting.write(contentsOf: Data([1]))
    }

    /// Waits until it rings, and silences it: who waits again waits for what rings then.
    ///
    /// - Returns: whether it rang.
    func wait(milliseconds: Int32) -> Bool {
      guard isReadable(milliseconds) else { return false }
      repeat {
        var byte: UInt8 = 0
        guard read(descriptor, &byte, 1) == 1 else { break }
      } while isReadable(0)
      return true
    }

    private func isReadable(_ milliseconds: Int32) -> Bool {
      var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&wait, 1, milliseconds) > 0 && wait.revents & Int16(POLLIN) != 0
    }
  }

  /// Notices what others have changed of zones and tokens.
  struct PostgresWatch {
    private var heads: [UUID: UInt64] = [:]
    private var mark: Int?

    /// - Returns: logs that have grown since the last look, where all of them end, and whether zones or tokens have changed. The
    ///   first look says that nothing has.
    mutating func look(
      _ connection: PostgresConnection
    ) throws -> (grown: [(UUID, UInt64)], heads: [UUID: UInt64], hasChanged: Bool) {
      var hasher = Hasher()
      var found: [UUID: UInt64] = [:]
      // What is left of a deleted zone is nobody's news when it goes; nor are its tokens.
      let zones = try connection.run(
        "SELECT id, name, generation, head FROM zone WHERE \(PostgresLeavingZones.isThere) ORDER BY id"
      )
      for row in 0..<zones.count {
        hasher.combine(zones.int64(row, 0))
        hasher.combine(zones.data(row, 1))
        hasher.combine(zones.data(row, 2))
        if let generation = zones.uuid(row, 2) { found[generation] = zones.uint64(row, 3) }
      }
      let tokens = try connection.run(
        """
        SELECT id, coalesce(revoked_ms, -1), coalesce(expires_ms, -1) FROM token
        WHERE \(PostgresLeavingZones.hasZone("token")) ORDER BY id
        """)
      for row in 0..<tokens.count {
        for column in 0..<3 { hasher.combine(tokens.data(row, column)) }
      }
      let mark = hasher.finalize()
      defer {
        self.mark = mark
        heads = found
      }
      let grown = found.filter { ($0.value) > heads[$0.key] ?? 0 }.map { ($0.key, $0.value) }
      return (grown, found, self.mark.map { $0 != mark } ?? false)
    }
  }
#endif
