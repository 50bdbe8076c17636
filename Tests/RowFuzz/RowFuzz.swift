import Driftless
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// Mutants of a store's rows, a range of seeds, in a process of its own: what ends the process is seen from outside.
///
///     rowfuzz FOLDER FIRST COUNT
///
/// It prints a line for each seed before it begins (`seed N`), and one for what is wrong (`wrong N …`); at the end how many
/// mutants there were, and of how many the check named the damage.
@main
struct RowFuzz {
  /// Seconds that one mutant may take.
  private static let secondsMax = 30.0
  /// Bytes of address space that the process may have.
  private static let memoryMax: rlim_t = 6 << 30
  /// One mutant of so many is a file that is opened and synced; the others are transactions that are taken back.
  private static let fileEvery: UInt64 = 16

  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let first = UInt64(arguments[2]), let count = UInt64(arguments[3])
    else {
      print("usage: rowfuzz FOLDER FIRST COUNT")
      exit(64)
    }
    var limit = rlimit(rlim_cur: memoryMax, rlim_max: memoryMax)
    setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    let world = try await FuzzWorld.make(in: URL(fileURLWithPath: arguments[1]))
    let course = try Course(world)
    try course.checkBase()
    watch(course)
    for seed in first..<first + count { try await course.run(seed) }
    course.report()
    exit(0)
  }

  /// Ends the process when one mutant takes too long.
  private static func watch(_ course: Course) {
    Thread.detachNewThread {
      var last = course.progress.load(ordering: .relaxed)
      var since = Date()
      while true {
        usleep(200_000)
        let now = course.progress.load(ordering: .relaxed)
        if now != last { (last, since) = (now, Date()) }
        if Date().timeIntervalSince(since) > secondsMax { quick_exit(97) }
      }
    }
  }

  static func isOfFile(_ seed: UInt64) -> Bool { seed % fileEvery == 0 }
}

/// A run through mutants of one world.
final class Course: @unchecked Sendable {  // the watching thread reads the counter alone
  let progress = Atomic<UInt64>(0)
  private let world: FuzzWorld
  private let layout: Mutation.Layout
  private var store: PersistentStore
  private var counts = (mutants: 0, refused: 0, same: 0, found: 0, excused: 0)

  init(_ world: FuzzWorld) throws {
    self.world = world
    store = try FuzzWorld.open(world.file)
    layout = try store.read { try Mutation.Layout($0.connection) }
  }

  /// The store is sound, and has rows in every table.
  func checkBase() throws {
    for finding in try SyncEngine.check(store).findings {
      Self.tell("wrong base \(finding.message)")
    }
    for table in layout.tables {
      let count = try store.read {
        try $0.connection.scalar("SELECT COUNT(*) FROM \"\(table.name)\"")
      }
      if count == .integer(0), table.name != "Z_MODELCACHE" {
        Self.tell("wrong base \(table.name) is empty")
      }
    }
  }

  func run(_ seed: UInt64) async throws {
    let mutation = Mutation(seed: seed, layout)
    Self.tell("seed \(seed) \(mutation.description)")
    progress.store(seed &+ 1, ordering: .relaxed)
    if RowFuzz.isOfFile(seed) {
      try await runFile(seed, mutation)
    } else {
      runTransaction(seed, mutation)
    }
  }

  /// What the engine knows of its zone and of what is pending: a store can do without it. The journal is for people.
  private static let engineTables: Set<String> = [
    "ZDL_REPLICA", "ZDL_OUTBOX", "ZDL_OUTBOX_PART", "ZDL_STAGED", "ZDL_DANGLING", "ZDL_ZONE",
    "ZDL_PENDING", "ZDL_QUARANTINE",
    "ZDL_OMITTED", "ZDL_IMPORT", "ZDL_ORIGIN", "ZDL_PARKED_VALUE", "ZDL_KEPT", "ZDL_LACKED",
    "ZDL_ALIAS",
    "ZDL_CHAIN", "ZDL_FRAME", "ZDL_PARKED", "ZDL_DELETED", "ZDL_DELETED_SINCE", "ZDL_STRUCK",
    "ZDL_SEGMENT", "ZDL_VALUE", "ZDL_NAMED",
    "ZDL_BASE",
    "ZDL_DELTA", "ZDL_GRAVE", "ZDL_PARKED_FORMER",
  ]

  private struct TakeBack: Error {}

  /// The mutant is a transaction, and all that is done with it: nothing of it stays.
  private func runTransaction(_ seed: UInt64, _ mutation: Mutation) {
    var trial = Trial(store)
    var isAnother = false
    do {
      _ = try store.writeWhole(TransactionInfo(author: "fuzz")) { transaction in
        do {
          isAnother = try mutation.apply(layout, on: transaction.connection)
        } catch {
          counts.refused += 1
          throw TakeBack()
        }
        if isAnother { trial.run(part: seed) }
        throw TakeBack()
      }
    } catch is TakeBack {
    } catch {
      trial.note(error, "transaction")
    }
    judge(seed, mutation, trial, isAnother)
  }

  /// The mutant is a file.
  private func runFile(_ seed: UInt64, _ mutation: Mutation) async throws {
    let url = world.folder.appendingPathComponent("mutant.sqlite")
    for suffix in ["", "-wal", "-shm", "-driftless-lock", "-driftless-file", "-driftless-sync"] {
      unlink(url.path + suffix)
    }
    try store.backup(to: url)
    let connection = try SQLiteConnection(path: url.path, mode: .readWrite)
    // It is the file that the store was made in.
    try connection.run("DELETE FROM ZDL_STORE WHERE key = 'file'")
    let isAnother: Bool
    let changed: [[SQLiteValue]]
    let written: [[SQLiteValue]]
    do {
      let before = try Self.rows(of: mutation, on: connection)
      isAnother = try mutation.apply(layout, on: connection)
      let after = try Self.rows(of: mutation, on: connection)
      changed = before.filter { !after.contains($0) }
      written = after.filter { !before.contains($0) }
    } catch {
      connection.close()
      counts.refused += 1
      return
    }
    connection.close()
    world.zone.putBack(world.log)
    let opened: PersistentStore
    do {
      opened =
        seed % (2 * 16) == 0 ? try FuzzWorld.open(url) : try PersistentStore.open(url: url)
    } catch {
      var trial = Trial(store)
      trial.note(error, "open")
      for text in trial.strange { Self.tell("wrong \(seed) \(mutation.description): \(text)") }
      counts.mutants += 1
      counts.found += 1
      return
    }
    // Opening brings tables of an unreadable version up to date, for one, and notes anew how far the file's log has come.
    let there = try opened.read { try Self.rows(of: mutation, on: $0.connection) }
    let isNotedAnew =
      mutation.table == "ZDL_STORE" && !written.isEmpty && !written.contains(where: there.contains)
    let isMended = isNotedAnew || !changed.isEmpty && changed.allSatisfy(there.contains)
    var trial = Trial(opened)
    trial.run()
    await trial.sync(with: world.zone)
    if Self.engineTables.contains(mutation.table) {
      await trial.beginAnew(with: world.zone, damaged: mutation.table)
    }
    opened.close()
    judge(seed, mutation, trial, isAnother && !isMended)
  }

  /// The rows of a mutation's table.
  private static func rows(
    of mutation: Mutation, on connection: SQLiteConnection
  ) throws -> [[SQLiteValue]] {
    try connection.rows("SELECT * FROM \"\(mutation.table)\"")
  }

  private func judge(_ seed: UInt64, _ mutation: Mutation, _ trial: Trial, _ isAnother: Bool) {
    for text in trial.strange { Self.tell("wrong \(seed) \(mutation.description): \(text)") }
    guard isAnother else {
      counts.same += 1
      return
    }
    counts.mutants += 1
    if !trial.findings.isEmpty {
      counts.found += 1
    } else if Excuse.covers(mutation) {
      counts.excused += 1
      if Self.showsExcused { Self.tell("excused \(seed) \(mutation.description)") }
    } else {
      Self.tell("missed \(seed) \(mutation.description)")
    }
  }

  /// `DRIFTLESS_SHOW=1` tells which mutants nobody can tell from what was meant.
  private static let showsExcused = ProcessInfo.processInfo.environment["DRIFTLESS_SHOW"] != nil

  /// At once: whoever reads has to know which seed it was that ended the process.
  private static func tell(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  func report() {
    print(
      "done \(counts.mutants) mutants, \(counts.found) found, \(counts.excused) sound, "
        + "\(counts.refused) refused, \(counts.same) the same")
  }
}
