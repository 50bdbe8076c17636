import ArgumentParser
import DriftlessServer
import Foundation

struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy the server's database into a file; works while the server runs.",
    discussion: """
      The copy is of one moment, and all of it is read before the file gets its name. It holds hashes of tokens: only its
      owner may read it.

      Example: driftless-server backup /backup/driftless-1.sqlite --data DIR
      """)

  @Argument(help: "A file that there is not yet.")
  var file: String

  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.reporting {
      let folder = try DataFolder(common.folder, creates: false)
      let content = try Backup(URL(fileURLWithPath: file)).make(of: folder)
      if common.json {
        try common.printJSON(BackupLine(file: file, content))
      } else {
        try common.printLine(
          "copied \(counted(content.zones.count, content.entries)): \(file), \(content.bytes) bytes"
        )
      }
    }
  }
}

struct RestoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Put a backup in the place of the server's database, while no server runs.",
    discussion: """
      All of the backup is read first. The database that was there is kept beside it. Zones keep their generations:
      replicas notice that the log is an older one and bring back what it lacks. Tokens are those of the folder, where it
      can be read: one that was revoked since stays so. The server's time goes on.

      Example: driftless-server restore /backup/driftless-1.sqlite --yes --data DIR
      """)

  @Argument(help: "A file that `backup` made.")
  var file: String

  @Option(help: "Zones that began anew after the backup: keep its log, or renew them once more.")
  var renewedZones: RenewedZones?

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var common: CommonOptions

  enum RenewedZones: String, ExpressibleByArgument, CaseIterable {
    case keep, renew
  }

  func run() async throws {
    try await common.reporting {
      let backup = Backup(URL(fileURLWithPath: file))
      let folder = try DataFolder(common.folder)
      try common.confirm(
        "Put \(file) in the place of the database in \(common.data)?", unless: yes)
      let policy: Backup.RenewedZones? = renewedZones.map { $0 == .keep ? .keep : .renew }
      let restored = try backup.restore(to: folder, renewedZones: policy)
      if common.json {
        try common.printJSON(RestoreLine(file: file, restored))
      } else {
        try common.printLine(
          "restored \(counted(restored.content.zones.count, restored.content.entries))")
        if let before = restored.before { try common.printLine("before: \(before.path)") }
      }
    }
  }
}

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Read all of the server's database and name what is damaged.",
    discussion: """
      One line each, with what to do about it on standard error; ends with 65 where there is any. Works while the server
      runs, which goes on meanwhile.

      Example: driftless-server verify --data DIR
      """)

  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.administering { administration in
      let outcome = try administration.verify()
      for damage in outcome.damage {
        if common.json {
          try common.printJSON(DamageLine(damage))
        } else {
          try common.printLine(
            "\(damage.table)\t\(damage.zone ?? "-")\t\(damage.place)\t\(damage.message)")
        }
      }
      guard let first = outcome.damage.first else {
        let line = VerifyLine(outcome)
        if common.json {
          try common.printJSON(line)
        } else {
          try common.printLine("whole: \(counted(line.zones, line.entries))")
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

  init(file: String, _ content: Backup.Content) {
    self.file = file
    bytes = content.bytes
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
  @OrNull var before: String?

  init(file: String, _ restored: Backup.Restored) {
    self.file = file
    zones = restored.content.zones.count
    entries = restored.content.entries
    renewedSince = restored.renewedSince
    tokensKept = restored.tokensKept
    before = restored.before?.path
  }
}

private struct DamageLine: Encodable {
  let table: String
  let place: String
  let message: String
  let suggestion: String
  @OrNull var zone: String?

  init(_ damage: DatabaseCheck.Damage) {
    table = damage.table
    place = damage.place
    message = damage.message
    suggestion = damage.suggestion
    zone = damage.zone
  }
}

private struct VerifyLine: Encodable {
  let zones: Int
  let entries: Int

  init(_ outcome: DatabaseCheck.Outcome) {
    zones = outcome.zones
    entries = outcome.entries
  }
}

/// As people say it.
private func counted(_ zones: Int, _ entries: some BinaryInteger) -> String {
  "\(zones) zone\(zones == 1 ? "" : "s"), \(entries) entr\(entries == 1 ? "y" : "ies")"
}
