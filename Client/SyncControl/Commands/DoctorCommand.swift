import ArgumentParser
import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import Foundation
import SyncDaemon

struct DoctorCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Check a store, its files and its way to the server.",
    discussion: "Example: syncctl doctor --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @Flag(name: .long, help: "Take note of lost transactions, so that they are not told again.")
  var forgetLost = false
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    if forgetLost { try target.open().forgetLostCommits() }
    var checks = [sqlite()]
    var unreadable: ExitStatus?
    checks += DoctorCheck.files(of: target.url)
    do {
      try StoreAccess.requireFile(at: target.url)
      // A look, whatever the file is: nothing in it or beside it changes.
      let store = try StoreAccess.inspect(target.url)
      checks.append(try integrity(of: store))
      if let check = try largeValues(of: store) { checks.append(check) }
      if let check = try values(of: store) { checks.append(check) }
      // Opened as other commands open it, so that what stops them is told here; and what the mark beside the store tells
      // is noted.
      checks.append(try commits(of: try target.open(reading: true)))
      checks.append(try clock(of: store))
      checks.append(try parked(of: store))
      if let check = try unheard(of: store) { checks.append(check) }
      checks.append(try await zone(of: store))
    } catch {
      let failure = Failure(error)
      checks.append(DoctorCheck("store", .bad, failure))
      unreadable = failure.status
    }
    checks = checks.map { check in
      var check = check
      check.detail = AdvisedCommand.naming(store: target.store, in: check.detail)
      return check
    }
    try output.put(
      ["checks": checks], coloured: checks.map(\.line))
    if checks.contains(where: { $0.verdict == .bad }) {
      // A store that cannot be opened ends as it does with every command.
      throw ExitCode((unreadable ?? .failed).rawValue)
    }
  }

  private func sqlite() -> DoctorCheck {
    let version = SQLiteConnection.libraryVersion
    guard DoctorCheck.mayCorruptInCheckpoint(version) else {
      return DoctorCheck("sqlite", .good, "version \(version)")
    }
    return DoctorCheck(
      "sqlite", .note,
      "version \(version) can damage a file when a checkpoint meets a writer; Driftless never lets that happen, "
        + "other programs that write to this file must set wal_autocheckpoint=0")
  }

  private func integrity(of store: PersistentStore) throws -> DoctorCheck {
    let result = try store.read { try $0.connection.scalar("PRAGMA integrity_check(1)") }
    if case .text("ok")? = result { return DoctorCheck("integrity", .good, "ok") }
    return DoctorCheck(
      "integrity", .bad,
      "\(result.map { "\($0)" } ?? "no answer"): keep a copy, then restore it or run syncctl enroll --anew"
    )
  }

  /// Whether the files beside the store are there that rows name; nil where there are none.
  private func largeValues(of store: PersistentStore) throws -> DoctorCheck? {
    guard let lost = try store.lostValues().first else { return nil }
    let count = try store.lostValues().count
    let unsent = try SyncEngine.unsentLostValues(of: store)
    let never =
      unsent == 0
      ? ""
      : "; \(unsent) of them \(unsent == 1 ? "was" : "were") never sent, and the zone does not have \(unsent == 1 ? "it" : "them")"
    return DoctorCheck(
      "large values", .bad,
      "\(count) \(count == 1 ? "lies in a file" : "lie in files") that cannot be read, such as \(lost.file.path) of \(lost.entity).\(lost.property): put the files "
        + "back, take what the zone has (syncctl verify --repair), or go on without them "
        + "(syncctl store give-up-lost \(target.store.shellWord))\(never)")
  }

  /// What another program wrote past the library; nil where nothing shows it.
  private func unheard(of store: PersistentStore) throws -> DoctorCheck? {
    let objects = try SyncEngine.unheardObjects(of: store)
    guard let first = objects.first else { return nil }
    let number = objects.count == 1 ? "1 object" : "\(objects.count) objects, the first"
    return DoctorCheck(
      "written past", .bad,
      "\(number) \(first.entity) \(first.object.uuidString.lowercased()): another program wrote without a history, and nothing of it "
        + "waits to be pushed. What it changed besides, syncctl verify tells; syncctl verify --take-in makes edits of it"
    )
  }

  /// Whether each value can be read; nil where they can.
  private func values(of store: PersistentStore) throws -> DoctorCheck? {
    var (count, first): (Int, String?) = (0, nil)
    try store.read { transaction in
      try transaction.forEachUnreadableValue { value in
        if first == nil { first = try value.sentence(transaction) }
        count += 1
      }
    }
    guard let first else { return nil }
    let number = count == 1 ? "1 cannot be read" : "\(count) cannot be read, the first of them"
    return DoctorCheck("values", .bad, "\(number): \(first) \(BrokenValue.advice)")
  }

  /// Whether the store still has what it acknowledged, by the mark beside it.
  private func commits(of store: PersistentStore) throws -> DoctorCheck {
    guard let lost = try store.lostCommits() else {
      return DoctorCheck("commits", .good, "every acknowledged save is here")
    }
    let count = "\(lost.count) acknowledged transaction\(lost.count == 1 ? " is" : "s are") gone"
    return DoctorCheck(
      "commits", .bad,
      "\(count), found \(Moment.text(lost.found)): the log beside the store was deleted, or an older "
        + "file was put back. What the zone has comes back with a sync; for the rest look for a "
        + "backup. syncctl doctor --forget-lost takes note")
  }

  private func parked(of store: PersistentStore) throws -> DoctorCheck {
    guard let summary = ParkedText.summary(try SyncEngine.parked(of: store)) else {
      return DoctorCheck("parked", .good, "all that was pulled was taken in")
    }
    return DoctorCheck("parked", .note, summary)
  }

  private func clock(of store: PersistentStore) throws -> DoctorCheck {
    let clock = try SyncEngine.clock(of: store)
    guard let text = ClockText.report(clock) else {
      return DoctorCheck("clock", .good, "as the zone's, as far as is known")
    }
    return DoctorCheck("clock", .note, text)
  }

  private func zone(of store: PersistentStore) async throws -> DoctorCheck {
    guard try SyncEngine.status(of: store).isEnrolled else {
      return DoctorCheck("server", .note, "the store is not enrolled")
    }
    do {
      let transport = try StoreAccess.Way(of: store, at: target.url).transport()
      try SyncEngine.expectZone(of: store, by: transport)
      let info = try await WaitNotice(output: output).during({ transport.awaited }) {
        try await transport.zoneInfo()
      }
      let seconds = Date().timeIntervalSince1970 - Double(info.serverTimeMilliseconds) / 1_000
      guard abs(seconds) < 60 else {
        return DoctorCheck(
          "server", .bad, "reached, but this clock is off by \(Int(seconds)) s: set the clock")
      }
      return DoctorCheck.zone(info, for: try SyncEngine.status(of: store), at: target.store)
    } catch {
      return DoctorCheck("server", .bad, Failure(error))
    }
  }
}
