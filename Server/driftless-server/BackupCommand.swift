import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy the server's database into a file; works while the server runs.",
    discussion: """
      The copy is of one moment, and all of it is read before the file gets its name. It holds hashes of tokens: only its
      owner may read it. Of a PostgreSQL database it makes a file of the same kind: `restore` puts either into a data
      folder, or into a database that has no zones.

      Example: driftless-server backup /backup/driftless-1.sqlite --data DIR
      """)

  @Argument(help: "A file that there is not yet.")
  var file: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    try common.reporting {
      let content = try made()
      if common.json {
        try common.printJSON(BackupLine(file: file, content))
      } else {
        try common.printLine(
          "copied \(counted(content.zones.count, content.entries)): \(file), \(content.bytes) bytes"
        )
        for left in content.removed {
          try common.printLine("removed what a backup that was killed left: \(left.path)")
        }
      }
    }
  }
}

extension BackupCommand {
  private func made() throws -> Backup.Content {
    let backup = Backup(URL(fileURLWithPath: file))
    guard let postgres = common.postgres else {
      return try backup.make(of: DataFolder(common.folder(), creates: false))
    }
    #if PostgreSQL
      return try backup.make(ofPostgres: postgres)
    #else
      throw ServerError.builtWithoutPostgres(postgres)
    #endif
  }
}

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Put a backup in the place of the server's database, while no server runs.",
    discussion: """
      All of the backup is read first. The database that was there is kept beside it. Zones keep their generations:
      replicas notice that the log is an older one and bring back what it lacks. Which zones there are, their names, tokens
      and the server's time are those of the folder: a zone that was made since the backup stays, with an empty log that its
      replicas fill, one that was deleted since stays away, and a token that was revoked since stays so.

      Example: driftless-server restore /backup/driftless-1.sqlite --yes --data DIR
      """)

  @Argument(help: "A file that `backup` made.")
  var file: String

  @Option(help: "Zones that began anew after the backup: keep its log, or renew them once more.")
  var renewedZones: RenewedZones?

  @Option(
    help:
      "Zones that were deleted after the backup: leave them out (as if not given), or restore them."
  )
  var deletedZones: DeletedZones?

  @Option(
    help:
      "What cannot be read of the database that is there: take the backup's, or revoke its tokens.")
  var unreadable: Unreadable?

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var common: CommonOptions

  enum DeletedZones: String, ExpressibleByArgument, CaseIterable {
    case leave, restore
  }

  enum Unreadable: String, ExpressibleByArgument, CaseIterable {
    case backup, revoke
  }

  enum RenewedZones: String, ExpressibleByArgument, CaseIterable {
    case keep, renew
  }

  func run() throws {
    try common.reporting {
      let backup = Backup(URL(fileURLWithPath: file))
      if let postgres = common.postgres { return try restore(backup, to: postgres) }
      let folder = try DataFolder(common.folder(), takesEmptied: true)
      try backup.checkIsOneFile()
      try common.confirm(
        "Put \(file) in the place of the database in \(folder.url.path)?", unless: yes)
      let choices = Backup.RestoreChoices(
        renewedZones: renewedZones.map { $0 == .keep ? .keep : .renew },
        deletedZones: deletedZones.map { $0 == .leave ? .leave : .restore },
        unreadable: unreadable.map { $0 == .backup ? .backup : .revoke })
      let restored = try backup.restore(to: folder, choices)
      if common.json {
        try common.printJSON(RestoreLine(file: file, restored))
      } else {
        try common.printLine(
          "restored \(counted(restored.content.zones.count, restored.content.entries))")
        for line in lines(restored) { try common.printLine(line) }
        if restored.before == nil {
          try common.printLine(
            "no database was there: tokens that were revoked since the backup are valid again, and zones that were "
              + "deleted since are back. See driftless-server token list \(common.place)")
        }
        if let before = restored.before { try common.printLine("before: \(before.path)") }
      }
    }
  }

  /// Into a database that has no zones: nothing is there that would be known better than in the backup.
  private func restore(_ backup: Backup, to postgres: String) throws {
    guard renewedZones == nil, deletedZones == nil else {
      throw ServerError(
        .folderOnly, "--renewed-zones and --deleted-zones are about a data folder's own database",
        suggestion: "A backup goes into a PostgreSQL database that has no zones: leave them out.")
    }
    #if PostgreSQL
      try backup.checkIsOneFile()
      try common.confirm("Put \(file) into the PostgreSQL database?", unless: yes)
      let restored = try backup.restore(
        toPostgres: postgres, revokesTokens: unreadable == .revoke)
      if common.json {
        try common.printJSON(RestoreLine(file: file, restored))
      } else {
        try common.printLine(
          "restored \(counted(restored.content.zones.count, restored.content.entries))")
        if restored.tokensRevoked > 0 {
          try common.printLine(
            "tokens of the backup that are revoked now: \(restored.tokensRevoked)")
        }
      }
    #else
      throw ServerError.builtWithoutPostgres(postgres)
    #endif
  }

  /// What is otherwise than in the backup.
  private func lines(_ restored: Backup.Restored) -> [String] {
    var lines: [String] = []
    lines += restored.zonesMade.map {
      "zone \($0): made since the backup; its log begins empty, and replicas bring it back"
    }
    lines += restored.zonesRenamed.map { "zone \($0.backup): its name is \($0.now)" }
    lines += restored.zonesLeftOut.map {
      "zone \($0): deleted since the backup, and left out (--deleted-zones restore brings it back)"
    }
    lines += restored.zonesBroughtBack.map {
      "zone \($0): deleted since the backup, and brought back with its tokens"
    }
    lines += restored.renewedSince.map {
      "zone \($0): renewed since the backup; "
        + (renewedZones == .renew ? "renewed once more" : "it has the backup's log")
    }
    if restored.tokensKept > 0 {
      lines.append("tokens that are not as in the backup: \(restored.tokensKept)")
    }
    if restored.tokensRevoked > 0 {
      lines.append("tokens of the backup that are revoked now: \(restored.tokensRevoked)")
    }
    if restored.givenMilliseconds < restored.backupGivenMilliseconds {
      lines.append(
        "the server's time was set back since the backup: it goes on from "
          + JSONText.time(restored.givenMilliseconds))
    }
    if let before = restored.before {
      lines += Self.lines(restored.lackedValues, before: before, place: common.place)
    }
    if !restored.unread.isEmpty {
      lines.append("not readable before: \(restored.unread.joined(separator: ", "))")
    }
    return lines
  }
}

extension RestoreCommand {
  /// What the copy lacks of large values, and how to take them back.
  private static func lines(_ lacked: NamedValues?, before: URL, place: String) -> [String] {
    let command = "driftless-server values take-from \(before.path) \(place)"
    guard let lacked else {
      return ["whether the database before has large values that the backup lacks: see \(command)"]
    }
    guard lacked.count > 0 else { return [] }
    return [
      "the backup lacks \(CountText.of(Int(clamping: lacked.count), "large value", "large values")), "
        + "\(lacked.bytes) bytes, which the database before has; replicas may have let go of theirs: "
        + command
    ]
  }
}

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Read all of the server's database and name what is damaged.",
    discussion: """
      One line each, with what to do about it on standard error; ends with 65 where there is any. Works while the server
      runs, which goes on meanwhile.

      Example: driftless-server verify --data DIR
      """)

  @OptionGroup var common: CommonOptions

  func run() throws {
    try common.administeringZones { administration in
      let outcome = try administration.verify()
      for damage in outcome.damage {
        if common.json {
          try common.printJSON(DamageLine(damage, common.place))
        } else {
          try common.printLine(
            "\(damage.table)\t\(damage.zone ?? "-")\t\(damage.place)\t\(damage.message)")
        }
      }
      for value in outcome.lacked {
        if common.json {
          try common.printJSON(LackedLine(value))
        } else {
          try common.printLine(
            "value\t\(value.zone)\tvalue \(value.digest)\tit has \(value.bytes) bytes, is named and not here, and replicas are told so"
          )
        }
      }
      if outcome.lackedCount > 0, !common.json {
        try ProgramOutput.write(
          TerminalText.data([
            "note: \(CountText.of(outcome.lackedCount, "large value is", "large values are")) named and not here: a replica "
              + "that has one sends it; what replicas have let go of is with the database before a restore, or with "
              + "another backup (driftless-server values take-from FILE \(common.place))"
          ]), to: STDERR_FILENO)
      }
      guard let first = outcome.damage.first else {
        let reserve = common.data.flatMap {
          DiskReserve(URL(fileURLWithPath: $0, isDirectory: true)).room
        }
        let line = VerifyLine(outcome, reserve)
        if common.json {
          try common.printJSON(line)
        } else {
          try common.printLine("whole: \(counted(line.zones, line.entries))")
          if let reserve, reserve.missing > 0 {
            try ProgramOutput.write(
              TerminalText.data([
                "note: \(reserve.missing) bytes of the reserve of \(reserve.wanted) are not there: make "
                  + "room on the disk, and the server takes them back"
              ]), to: STDERR_FILENO)
          }
        }
        return
      }
      let more = outcome.isCut ? "more than " : ""
      throw ServerError(
        .damagedDatabase,
        "the server's database is damaged in \(more)\(outcome.damage.count) places",
        suggestion: first.suggestion)
    }
  }
}

private struct BackupLine: Encodable {
  let file: String
  let bytes: Int64
  let zones: Int
  let entries: Int
  let removed: [String]

  init(file: String, _ content: Backup.Content) {
    self.file = file
    bytes = content.bytes
    removed = content.removed.map(\.path)
    zones = content.zones.count
    entries = content.entries
  }
}

private struct RestoreLine: Encodable {
  let file: String
  let zones: Int
  let entries: Int
  let renewedSince: [String]
  let tokensKept: Int
  let tokensRevoked: Int
  let zonesMade: [String]
  let zonesRenamed: [Renaming]
  let zonesLeftOut: [String]
  let zonesBroughtBack: [String]
  let unreadable: [String]
  @OrNull var lackedValues: Int64?
  @OrNull var lackedValueBytes: Int64?
  @OrNull var before: String?
  @OrNull var given: String?

  struct Renaming: Encodable {
    let backup: String
    let now: String
  }

  init(file: String, _ restored: Backup.Restored) {
    self.file = file
    zones = restored.content.zones.count
    entries = restored.content.entries
    renewedSince = restored.renewedSince
    tokensKept = restored.tokensKept
    tokensRevoked = restored.tokensRevoked
    zonesMade = restored.zonesMade
    zonesRenamed = restored.zonesRenamed.map { Renaming(backup: $0.backup, now: $0.now) }
    zonesLeftOut = restored.zonesLeftOut
    zonesBroughtBack = restored.zonesBroughtBack
    unreadable = restored.unread
    given = restored.givenMilliseconds > 0 ? JSONText.time(restored.givenMilliseconds) : nil
    before = restored.before?.path
    lackedValues = restored.lackedValues?.count
    lackedValueBytes = restored.lackedValues?.bytes
  }
}

#if PostgreSQL
  extension RestoreLine {
    fileprivate init(file: String, _ restored: Backup.RestoredToPostgres) {
      self.file = file
      zones = restored.content.zones.count
      entries = restored.content.entries
      (renewedSince, zonesMade, zonesRenamed) = ([], [], [])
      (zonesLeftOut, zonesBroughtBack, unreadable) = ([], [], [])
      tokensKept = 0
      tokensRevoked = restored.tokensRevoked
    }
  }
#endif

private struct DamageLine: Encodable {
  let table: String
  let place: String
  let message: String
  let suggestion: String
  @OrNull var zone: String?

  init(_ damage: DatabaseCheck.Damage, _ option: String) {
    table = damage.table
    place = damage.place
    message = damage.message
    suggestion = AdvisedCommand.naming(place: option, in: damage.suggestion)
    zone = damage.zone
  }
}

private struct LackedLine: Encodable {
  let zone: String
  let lackedValue: String
  let bytes: UInt64

  init(_ value: DatabaseCheck.LackedValue) {
    (zone, lackedValue, bytes) = (value.zone, value.digest, value.bytes)
  }
}

private struct VerifyLine: Encodable {
  let zones: Int
  let entries: Int
  /// Large values that are named and not here.
  let lackedValues: Int
  /// What the data folder keeps for its operator, and how much of it is there now.
  @OrNull var reserveBytes: Int?
  @OrNull var reserveHeldBytes: Int?

  init(_ outcome: DatabaseCheck.Outcome, _ reserve: DiskReserve.Room?) {
    reserveBytes = reserve?.wanted
    reserveHeldBytes = reserve?.held
    zones = outcome.zones
    entries = outcome.entries
    lackedValues = outcome.lackedCount
  }
}

/// As people say it.
private func counted(_ zones: Int, _ entries: some BinaryInteger) -> String {
  "\(zones) zone\(zones == 1 ? "" : "s"), \(entries) entr\(entries == 1 ? "y" : "ies")"
}
