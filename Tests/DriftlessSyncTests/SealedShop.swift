import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The shop, with every attribute of an item encrypted.
func sealedShop(_ isSealed: Bool = true, serial: Bool = false) -> ManagedObjectModel {
  let model = shopModel()
  let item = model.entitiesByName["Item"]
  if serial, let item {
    item.properties += [AttributeDescription("serial", .string)]
    item.uniquenessConstraints = [["serial"]]
  }
  for case let attribute as AttributeDescription in item?.ownProperties ?? [] where isSealed {
    attribute.userInfo[AttributeDescription.encryptedKey] = "yes"
  }
  return model
}

/// Replicas of one zone, each with its key ring or none.
struct SealedWorld {
  var world: World
  var zone: MemoryZone { world.zone }

  init() async throws { world = try await World(0) }

  subscript(index: Int) -> TestReplica { world.replicas[index] }

  @discardableResult
  mutating func add(
    _ keys: KeyRing?, model: ManagedObjectModel = sealedShop(),
    transport: (any SyncTransport)? = nil, file: URL? = nil
  ) async throws -> TestReplica {
    var options = SyncOptions()
    options.keys = keys
    let replica = try await TestReplica(
      "r\(world.replicas.count)", zone: zone, clock: world.clock, model: model,
      transport: transport, options: options, file: file)
    world.replicas.append(replica)
    return replica
  }

  /// The bytes of all frames of the log, with their sections inflated.
  var wire: Data {
    get throws {
      let log = zone.log
      let page = try log.page(
        PullRequest(
          cursor: Cursor(
            generation: log.generation, sequence: 0,
            chain: LogChain.start(generation: log.generation)),
          maxBytes: 1 << 30, waitSeconds: 0, replica: UUID(), ownThrough: 0), nowMilliseconds: 0)
      return try page.entries.reduce(into: Data()) { $0 += try inflated($1.frame) }
    }
  }

  func inflated(_ frame: Data) throws -> Data {
    try ChangeSetEncoder(compressionLevel: 0).encode(ChangeSetDecoder().decode(frame))
  }
}

extension TestReplica {
  /// Another engine on the store, with another key ring.
  func giving(_ keys: KeyRing?) async throws -> SyncEngine {
    var options = SyncOptions()
    options.keys = keys
    return try await engine(through: zone, options: options)
  }
}
