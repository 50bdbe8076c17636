import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Since when what is pending was saved is known over restarts: saves that later ones went over are named.
struct UnsentSinceTests {
  @Test("A set's earlier save is named though another program sent what lies between")
  func restarted() async throws {
    var options = SyncOptions()
    options.pushObjectsMax = 1
    let world = try await World(1, options: options)
    let replica = world[0]
    let labels = try (0..<2).map { try replica.insert("Label", ["name": .string("\($0)")]) }
    let item = try replica.insert("Item")
    let other = try replica.insert("Item")
    try await world.settle()
    func set(_ labels: [UUID]) throws {
      try replica.save { context in
        let object = try #require(try context.object(withIdentity: item))
        try object.setValue(
          try labels.map { try #require(try context.object(withIdentity: $0)) }, forKey: "labels")
      }
    }
    try set([labels[0]])
    try replica.set(other, ["title": .string("between")])
    try set(labels)
    // The second change set is refused, whatever it holds.
    let first = HookedTransport(world.zone)
    var count = 0
    first.rewritten = { frame in
      count += 1
      guard count == 1 else { throw ProtocolError(.unsupported, "No", suggestion: "None.") }
      return frame
    }
    let engine = try await replica.engine(through: first, options: options)
    await #expect(throws: (any Error).self) { try await engine.push() }
    await engine.close()
    let second = HookedTransport(world.zone)
    let again = try await replica.engine(through: second, options: options)
    _ = try await again.push()
    await again.close()
    func named(_ frame: Data?) throws -> Int {
      let frame = try #require(frame)
      return try ChangeSetDecoder().decodeIndex(frame).index.covered.count
    }
    #expect(try named(first.pushed.last) > 0)
    #expect(try named(second.pushed.last) == named(first.pushed.last))
    await replica.restart()
    try await world.settle()
  }
}
