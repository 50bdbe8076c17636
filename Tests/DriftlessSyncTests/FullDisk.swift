import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization
import Testing

/// What the file system of a replica says that it has free.
final class FullDisk: Sendable {
  private let free = Mutex(Int.max)
  private let filling = Mutex<(bytes: Int, isDue: @Sendable () -> Bool)?>(nil)
  static let reserve = 1 << 20

  func leave(_ bytes: Int) { free.withLock { $0 = bytes < .max ? bytes + Self.reserve : bytes } }

  /// So much is left as soon as something is so.
  func fill(to bytes: Int, when isDue: @escaping @Sendable () -> Bool) {
    filling.withLock { $0 = (bytes + Self.reserve, isDue) }
  }

  private var bytes: Int {
    if let filling = filling.withLock({ $0 }), filling.isDue() { return filling.bytes }
    return free.withLock { $0 }
  }

  var options: SyncOptions {
    var options = SyncOptions()
    options.diskRoom = { _ in
      DiskRoom(free: self.bytes, reserve: Self.reserve)
    }
    return options
  }

  static func world() async throws -> (world: World, disk: FullDisk, way: PurgedZone) {
    var world = try await World(1)
    let disk = FullDisk()
    let way = try PurgedZone(world.zone)
    world.replicas.append(
      try await TestReplica(
        "small", zone: world.zone, clock: world.clock, transport: way, options: disk.options))
    return (world, disk, way)
  }

  /// A small change, then one that does not fit, then another small one.
  static func pushLarge(_ replica: TestReplica, _ item: UUID, last: UUID) async throws {
    try replica.set(item, ["title": .string("zone's")])
    try await replica.sync()
    var random = SystemRandomNumberGenerator()
    let text = Data((0..<900 << 10).map { _ in UInt8.random(in: 0...255, using: &random) })
      .base64EncodedString()
    try replica.insert("Item", ["title": .string(text)])
    try await replica.sync()
    try replica.set(last, ["title": .string("zone's")])
    try await replica.sync()
  }
}
