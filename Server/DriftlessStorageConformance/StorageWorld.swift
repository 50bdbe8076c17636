package import DriftlessProtocol
public import DriftlessServer
import Foundation

/// How a storage that is to be tested is made, and what an operator does to it.
public struct StorageUnderTest: Sendable {
  /// Opens it, also when it is open already or was closed.
  public let open: @Sendable (ServerLimits) async throws -> any ZoneStorage
  /// What an operator does to it, from beside it.
  public let administer: @Sendable (_ work: (any ZoneAdministration) throws -> Void) throws -> Void

  /// A storage that nothing else uses.
  ///
  /// - Parameters:
  ///   - open: opens it by those limits, also when it is open already: then as another node, or another process, would.
  ///   - administer: hands `work` what an operator's command works with, and closes that afterwards.
  public init(
    open: @escaping @Sendable (ServerLimits) async throws -> any ZoneStorage,
    administer: @escaping @Sendable (_ work: (any ZoneAdministration) throws -> Void) throws -> Void
  ) {
    self.open = open
    self.administer = administer
  }
}

/// What a storage did that it must not.
public struct ConformanceFailure: Error, CustomStringConvertible {
  /// The place in the suite's sources, and what does not hold.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// A storage with a zone in it, for one case.
package struct StorageWorld: Sendable {
  let kind: StorageUnderTest
  let storage: any ZoneStorage
  /// The zone's, which no other case has.
  let name: String

  init(_ kind: StorageUnderTest, limits: ServerLimits = .init()) async throws {
    self.kind = kind
    let name = "shop-\(UUID().uuidString)"
    self.name = name
    try kind.administer { _ = try $0.createZone(name) }
    storage = try await kind.open(limits)
  }

  func zone(_ other: String? = nil) async throws -> ZoneRecord {
    guard let zone = try await storage.zone(named: other ?? name) else {
      throw ConformanceFailure("there is no zone \(other ?? name)")
    }
    return zone
  }

  /// A place of the zone's log.
  func place(at sequence: UInt64) async throws -> LogMark {
    try await storage.place(at: sequence, of: zone())
  }

  /// The code of the refusal of a push; nil when it was taken.
  func refusal(_ push: Push, of zone: ZoneRecord) async throws -> ServerError.Code? {
    try await code { _ = try await storage.append(push, to: zone) }
  }
}

/// The code of the refusal that `body` throws; nil when it throws none.
func code(_ body: () async throws -> Void) async throws -> ServerError.Code? {
  do {
    try await body()
    return nil
  } catch let error as ServerError {
    return error.code
  }
}

/// - Throws: `ConformanceFailure` where something does not hold.
func expect(
  _ holds: Bool, _ what: String = "", file: String = #fileID, line: Int = #line
) throws {
  guard !holds else { return }
  throw ConformanceFailure("\(file):\(line): \(what)")
}

extension ZoneStorage {
  /// A place of a zone's log.
  package func place(at sequence: UInt64, of zone: ZoneRecord) async throws -> LogMark {
    if sequence == zone.head { return LogMark(sequence: sequence, chain: zone.chain) }
    guard sequence > 0 else { return zone.beginning }
    let page = try await page(
      of: zone,
      PageRequest(after: zone.beginning, bytesMax: 1 << 30, entriesMax: Int(sequence)))
    guard let entry = page.entries.last, entry.sequence == sequence else {
      throw ConformanceFailure("there is no entry \(sequence)")
    }
    return LogMark(sequence: sequence, chain: entry.chain)
  }
}

extension ZoneRecord {
  /// The place before the first entry.
  package var beginning: LogMark { Cursor.start(generation: generation).mark }
}
