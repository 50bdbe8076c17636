import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct ValuesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "values",
    abstract:
      "Look at large values that the zone has and the store has not, fetch them, or let them go.",
    discussion: """
      A store may fetch large values when somebody asks for them (syncctl enroll --values, \
      driftless.fetch in the model). Until then their objects say that the zone has them, and \
      everything else is as ever.
      """,
    subcommands: [
      ValuesListCommand.self, ValuesDownloadCommand.self, ValuesTakeBackCommand.self,
      ValuesLetGoCommand.self,
    ],
    defaultSubcommand: ValuesListCommand.self)
}

struct ValuesListCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the large values that are not here.",
    discussion: "Example: syncctl values list --store shop.sqlite")

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let values = try SyncEngine.awaitedValues(of: store)
    try output.put(
      Report(values: values),
      lines: values.isEmpty ? ["all large values are here"] : values.map(Self.line))
  }

  private static func line(_ value: AwaitedValue) -> String {
    let state =
      if let since = value.missingSince {
        "missing since \(Moment.text(since))" + Self.why(value.reason)
      } else if value.reason == "room" {
        "in the zone, and the disk had no room for it"
      } else {
        value.isWanted ? "asked for" : "in the zone"
      }
    return "\(value.entity) \(value.object.uuidString.lowercased())  \(value.property)  "
      + "\(value.bytes) bytes  \(state)"
  }

  private static func why(_ reason: String?) -> String {
    switch reason {
    case "damaged": " (damaged, or changed on its way)"
    case "refused": " (the server does not give it)"
    case "left": " (in a zone that the store has left)"
    case "absent": " (the zone was put back, or made anew, without it)"
    default: ""
    }
  }

  private struct Report: Encodable {
    var values: [AwaitedValue]
  }
}

struct ValuesDownloadCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "download", abstract: "Fetch large values that are not here: all, or some.",
    discussion: """
      A daemon that keeps the store does it, when one runs. What breaks off goes on with the next \
      sync, where it was.

      Example: syncctl values download --store shop.sqlite --entity Photo
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @OptionGroup var meant: MeantValues
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    let store = try target.openToNote()
    try SyncEngine.wantValues(
      of: store, object: meant.identity(in: store), entity: meant.entity, key: meant.property)
    let runner = SyncRunner(url: target.url, output: output, keys: keys.source)
    var awaited = try meant.awaited(in: store)
    // By the place where they belong: the zone may have another one there by now.
    var asked: [MeantValues.Place: AwaitedValue] = [:]
    // A sync brings a bounded number of bytes. One that brings none is the last.
    var before: Distance?
    while !awaited.isEmpty {
      let distance = Distance(awaited, bytes: try SyncEngine.valueBytesUnderWay(of: store))
      guard distance.isLess(than: before) else { break }
      before = distance
      for value in awaited { asked[MeantValues.Place(value)] = value }
      if awaited.contains(where: { !$0.isWanted && $0.missingSince == nil }) {
        try SyncEngine.wantValues(
          of: store, object: meant.identity(in: store), entity: meant.entity, key: meant.property)
      }
      _ = try await runner.run(.sync)
      awaited = try meant.awaited(in: store)
    }
    let came = try SyncEngine.arrived(Array(asked.values), in: store)
    let bytes = came.reduce(into: [String: Int64]()) { $0[$1.digest] = $1.bytes }
    let left = try meant.awaited(in: store)
    let missing = left.filter { $0.missingSince != nil }
    let report = Report(
      values: bytes.count, bytes: bytes.values.reduce(0, +),
      missing: Set(missing.map(\.digest)).count,
      waiting: Set(left.filter { $0.missingSince == nil }.map(\.digest)).count)
    try output.put(report, line: report.text)
    if report.waiting > 0 { throw try waiting(report.waiting, missing: report.missing, store) }
    if !missing.isEmpty { throw Self.missing(missing, target.url) }
  }

  /// What is left to fetch.
  struct Distance {
    private let left: Set<String>
    private let bytes: Int

    /// - Parameter bytes: of values that have come in part.
    init(_ awaited: [AwaitedValue], bytes: Int) {
      left = Set(awaited.filter { $0.missingSince == nil }.map(\.digest))
      self.bytes = bytes
    }

    /// Whether another sync may bring more: of none before it is not known.
    func isLess(than before: Distance?) -> Bool {
      guard let before else { return true }
      return !left.isEmpty && (!left.isSuperset(of: before.left) || bytes > before.bytes)
    }
  }

  private static func missing(_ values: [AwaitedValue], _ url: URL) -> Failure {
    let count = Set(values.map(\.digest)).count
    let isDamaged = values.contains { $0.reason == "damaged" }
    let isRefused = values.contains { $0.reason == "refused" }
    return Failure(
      .tryAgain, code: "values-missing",
      "\(count) large value\(count == 1 ? " was" : "s were") not to be had: "
        + (isDamaged
          ? "what comes is not what its name says, so it is changed on the way, or damaged at the server."
          : isRefused
            ? "the server does not give \(count == 1 ? "it" : "them"), and its log says why."
            : "the zone does not have \(count == 1 ? "it" : "them")."),
      suggestion: "syncctl values list --store \(url.path.shellWord) says which"
        + (isDamaged
          ? "; run it again, and where that does not help: driftless-server verify"
          : "; a missing one comes once a replica that has it syncs"))
  }

  private func waiting(
    _ count: Int, missing: Int, _ store: PersistentStore
  ) throws -> Failure {
    let what =
      "\(count) large value\(count == 1 ? " has" : "s have") not come yet"
      + (missing == 0 ? "" : ", and \(missing) \(missing == 1 ? "is" : "are") not to be had")
    guard let failure = try SyncEngine.wantedFailure(of: store) else {
      return Failure(
        .tryAgain, code: "values-missing", "\(what).",
        suggestion:
          "syncctl values list --store \(target.url.path.shellWord) says which; run it again")
    }
    return Failure(
      .tryAgain, code: failure.code, "\(what): \(failure.message)", suggestion: failure.suggestion)
  }

  private struct Report: Encodable {
    var values: Int
    var bytes: Int64
    var missing: Int
    var waiting: Int

    var text: String {
      values == 0 && missing == 0 && waiting == 0
        ? "nothing was to be fetched"
        : "fetched \(values) large value\(values == 1 ? "" : "s") of \(bytes) bytes"
    }
  }
}

struct ValuesTakeBackCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "take-back",
    abstract: "Take back that large values were asked for: all, or some.",
    discussion: """
      What was asked for and has not come is fetched by the next syncs, until it is here. This ends \
      it: the values stay in the zone until somebody asks again.

      Example: syncctl values take-back --store shop.sqlite
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var meant: MeantValues
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.openToNote()
    let left = try SyncEngine.takeBackWanted(
      of: store, object: meant.identity(in: store), entity: meant.entity, key: meant.property)
    try output.put(
      Report(wanted: left),
      line: left == 0
        ? "no large value is asked for any more"
        : "\(left) other large value\(left == 1 ? " is" : "s are") asked for still")
  }

  private struct Report: Encodable {
    var wanted: Int
  }
}

extension StoreArguments {
  /// For what somebody asks for: a disk without any room left keeps a store from being opened so.
  fileprivate func openToNote() throws -> PersistentStore {
    do { return try open() } catch let error as StoreError where error.code == .diskFull {
      throw StoreError(
        error.code, error.message,
        suggestion:
          "Free \(DiskRoom.lacking(beside: url)) bytes there, and run it again: letting go of large values makes its own room from "
          + "then on. Nothing was changed.")
    }
  }
}

/// Which large values a command is about.
struct MeantValues: ParsableArguments {
  @Option(
    name: .long,
    help: "Those of one object: its identity, or ENTITY/ID with the ID as in an import file.")
  var object: String?
  @Option(name: .long, help: "Those of the objects of one entity.")
  var entity: String?
  @Option(name: .long, help: "Those of one property.")
  var property: String?

  /// The object that is meant; nil for all.
  func identity(in store: PersistentStore) throws -> UUID? {
    try object.flatMap(NamedObject.init)?.identity(in: store)
  }

  /// Where a value belongs.
  struct Place: Hashable {
    let object: UUID
    let property: String

    init(_ value: AwaitedValue) { (object, property) = (value.object, value.property) }
  }

  /// Those of them that objects wait for.
  func awaited(in store: PersistentStore) throws -> [AwaitedValue] {
    let identity = try identity(in: store)
    return try SyncEngine.awaitedValues(of: store).filter {
      identity ?? $0.object == $0.object && entity ?? $0.entity == $0.entity
        && property ?? $0.property == $0.property
    }
  }

  func validate() throws {
    if let object, NamedObject(object) == nil {
      throw ValidationError(
        "--object is an identity, as syncctl values list --store STORE shows it, or ENTITY/ID as in an import file."
      )
    }
  }
}

struct ValuesLetGoCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "let-go",
    abstract: "Let go of large values that the zone has, so that they take no room here.",
    discussion: """
      It is about values that the store fetches on first use (syncctl enroll --values, driftless.fetch in \
      the model). The zone is asked for each; what it has not, what waits to be sent, and what was \
      encrypted stays. Their objects say then that the zone has them, and syncctl values download fetches \
      them again. A daemon that keeps the store does it, when one runs.

      Files beside the store go with its next checkpoint; the store's own file gets smaller with syncctl \
      store vacuum.

      Example: syncctl values let-go --store shop.sqlite --keep-bytes 1000000000
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var keys: KeyArguments
  @OptionGroup var meant: MeantValues
  @Option(
    name: .long,
    help: "So many bytes of what is meant stay, those of the objects that were made last here.")
  var keepBytes: Int64 = 0
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard keepBytes >= 0 else { throw ValidationError("--keep-bytes is no less than 0.") }
  }

  func perform() async throws {
    let store = try target.openToNote()
    try SyncEngine.askToLetGo(
      of: store, object: meant.identity(in: store), entity: meant.entity, key: meant.property,
      keeping: keepBytes)
    var failure: (any Error)?
    do {
      _ = try await SyncRunner(url: target.url, output: output, keys: keys.source).run(.sync)
    } catch {
      failure = error
    }
    guard let report = try SyncEngine.letGoReport(of: store) else {
      if let soFar = try SyncEngine.letGoSoFar(of: store), soFar.values > 0 {
        output.note("\(text(soFar)) so far; the next sync goes on")
      }
      throw failure
        ?? Failure(
          .tryAgain, code: "values-kept", "The large values could not be let go of: all are here.",
          suggestion:
            "Run it again: the zone has to answer, and the names have to be those of the model")
    }
    try output.put(report, line: text(report))
    if report.keepsAll == true {
      throw Failure(
        .failed, code: "values-eager",
        "The store fetches these values with the changes that name them (eager), and keeps them: none is let go of.",
        suggestion:
          "have it fetch them on first use: syncctl enroll --values first-use --store \(target.store.shellWord) (values in the file "
          + "of a daemon that keeps it, driftless.fetch in the model), and run it again")
    }
    if let refusal = report.refusal {
      throw Failure(
        .usage, code: "unknown-element", refusal, suggestion: "syncctl model show tells the names")
    }
    // What was let go of went all the same.
    if let failure { throw failure }
  }

  private func text(_ report: LetGoReport) -> String {
    AdvisedCommand.naming(store: target.store, in: Self.text(report))
  }

  private static func text(_ report: LetGoReport) -> String {
    func values(_ count: Int) -> String { "\(count) large value\(count == 1 ? "" : "s")" }
    let gone =
      report.values == 0
      ? "nothing was let go of"
      : "let go of \(values(report.values)) of \(report.bytes) bytes"
    guard report.kept > 0 else { return gone }
    let stay =
      "\(gone); \(values(report.kept)) of \(report.bytesKept) bytes stay: the zone does not have "
      + "\(report.kept == 1 ? "it by itself" : "them by themselves"), or not yet (what waits to be sent goes with syncctl sync), "
      + "or what is here is not what it has (syncctl verify)"
    guard let unknown = report.unknown else { return stay }
    return
      "\(stay); of \(unknown) of them it has not said so far whether it does: run it again"
  }
}
