import DriftlessProtocol
import Foundation
import Logging

/// Values that are named and not here, and that nobody was told of: a hand, or a disk, took the row. From when they are noted as
/// lost, whoever has one hears that the zone lacks it, and sends it.
///
/// They are looked up where nobody who writes waits for it, and noted some at a time.
extension ValueKeeping {
  /// Digests that are looked up at one time, and such that no entry tells more of: the files of a purge are read once for so many.
  private static var digestsMax: Int { 1_000 }
  private static var untoldMax: Int { 10_000 }
  /// Values that are noted in one transaction: so long pushes wait.
  private static var notedMax: Int { 100 }

  /// All of some zones. What cannot be read is left out, and told to the operator.
  func noteGone(ofAll zones: () async throws -> [ZoneRecord]) async {
    await trying("which zones there are") {
      for zone in try await zones() where !Task.isCancelled {
        await trying("whether values are gone", zone) { try await noteGone(in: zone) }
      }
    }
  }

  private func trying(
    _ what: String, _ zone: ZoneRecord? = nil, _ body: () async throws -> Void
  ) async {
    do {
      try await body()
    } catch is CancellationError {
    } catch {
      logger.warning(
        "\(what) is not known", metadata: ["zone": "\(zone?.name ?? "")", "error": "\(error)"])
    }
  }

  private func noteGone(in zone: ZoneRecord) async throws {
    var first = Data()
    var untold: Set<Data> = []
    while true {
      try Task.checkCancellation()
      let digests = try await source.readValues(of: zone) { [first] in
        try $0.gone(from: first, through: nil, countMax: Self.digestsMax)
      }
      let told = try await toldByEntries(digests, in: zone)
      try await note(told, in: zone)
      untold.formUnion(Set(digests).subtracting(told.map(\.digest)))
      if digests.isEmpty || untold.count >= Self.untoldMax {
        await trying("which values are gone of those that a snapshot names", zone) {
          try await note(toldBySnapshot(untold, in: zone), in: zone)
        }
        untold = []
      }
      guard let last = digests.last else { return }
      first = last + [0]
    }
  }

  /// One that was asked for.
  func noteGone(_ digest: Data, in zone: ZoneRecord) async throws {
    let gone = try await source.readValues(of: zone) {
      try $0.gone(from: digest, through: digest, countMax: 1)
    }
    guard !gone.isEmpty else { return }
    var told = try await toldByEntries(gone, in: zone)
    if told.isEmpty { told = try await toldBySnapshot(Set(gone), in: zone) }
    try await note(told, in: zone)
  }

  /// Those of some values that entries of the log name, with their lengths.
  private func toldByEntries(
    _ digests: [Data], in zone: ZoneRecord
  ) async throws -> [LargeValue] {
    var left = Set(digests)
    var told: [LargeValue] = []
    for digest in digests {
      var place: UInt64 = 0
      while left.contains(digest),
        let entry = try await source.readValues(
          of: zone, { [place] in try $0.entry(naming: digest, after: place) })
      {
        place = entry.sequence
        do {
          for value in try entry.values(limits.current)
          where left.remove(value.digest) != nil {
            told.append(value)
          }
        } catch {
          // Another may name it as well.
          logger.error(
            "an entry that names a large value cannot be read",
            metadata: ["zone": "\(zone.name)", "entry": "\(place)", "error": "\(error)"])
        }
      }
    }
    return told
  }

  /// Those of some values that the snapshot names which stands for purged entries.
  private func toldBySnapshot(
    _ digests: Set<Data>, in zone: ZoneRecord
  ) async throws -> [LargeValue] {
    guard !digests.isEmpty else { return [] }
    let told = try await source.readValues(of: zone) { tables -> [LargeValue] in
      guard let kept = try tables.kept() else { return [] }
      return try PurgeCheck.values(of: kept.snapshot, kept.bytes)
        .filter { digests.contains($0.digest) }
    }
    if told.count < digests.count {
      logger.error(
        "large values are gone, and nothing that can be read tells their lengths",
        metadata: ["zone": "\(zone.name)", "values": "\(digests.count - told.count)"])
    }
    return told
  }

  private func note(_ values: [LargeValue], in zone: ZoneRecord) async throws {
    var rest = values[...]
    while !rest.isEmpty {
      let some = Array(rest.prefix(Self.notedMax))
      rest = rest.dropFirst(some.count)
      for value in try await write(zone, { try $0.noteGone(some) }) {
        logger.error(
          "a large value is gone, and is missing until a replica sends it again",
          metadata: ["zone": "\(zone.name)", "value": "\(Hexadecimal.text(value.digest))"])
      }
    }
  }
}

/// An entry of a log that names large values.
struct NamingEntry: Sendable {
  let sequence: UInt64
  let frame: Data

  /// What it names. It was taken in once, whatever the limits are by now.
  ///
  /// - Throws: what is wrong with its bytes.
  func values(_ limits: ServerLimits) throws -> [LargeValue] {
    var limits = limits
    limits.bodyBytesMax = max(limits.bodyBytesMax, frame.count)
    return try PushReader(limits: limits).read(frame, firstNumber: 1, madeBefore: nil)
      .contents.values
  }
}
