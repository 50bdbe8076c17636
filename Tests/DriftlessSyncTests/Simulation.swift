import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Replicas that edit, sync, lose their network and restart as a seed says.
struct Simulation {
  let seed: UInt64
  private(set) var world: World
  private var generator: SeededGenerator
  private var transports: [FaultyTransport] = []
  private var meddlers: [MeddlingTransport] = []
  /// Each replica's server, which refuses some pushes for good.
  private var servers: [PickyTransport] = []
  private var objects: [(entity: String, id: UUID)] = []
  /// What happened, for the report of a failure.
  private(set) var trace: [String] = []

  /// - Parameter refused: a text that the server refuses, if any.
  init(
    seed: UInt64, replicas: Int, faults: FaultyTransport.Faults, refused: String? = nil
  ) async throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    var world = try await World(0)
    for index in 0..<replicas {
      let server = PickyTransport(world.zone, .init(word: refused))
      servers.append(server)
      let transport = FaultyTransport(server, seed: seed &* 31 &+ UInt64(index), faults: faults)
      transports.append(transport)
      var options = SyncOptions()
      // Small pages and pushes, so that their edges are met.
      options.pullBytesMax = 1000
      options.pushObjectsMax = 3
      options.staleRetriesMax = 1000
      let meddler = MeddlingTransport(transport, seed: seed &* 7 &+ UInt64(index))
      let replica = try await TestReplica(
        "r\(index)", zone: world.zone, clock: world.clock, transport: meddler, options: options)
      meddler.replica = replica
      meddlers.append(meddler)
      world.replicas.append(replica)
    }
    self.world = world
  }

  mutating func run(steps: Int) async throws {
    for _ in 0..<steps { try await step() }
    for meddler in meddlers { meddler.replica = nil }
    for transport in transports {
      transport.setCut(false)
      transport.setFaults(.none)
    }
    for server in servers { server.set(.init()) }
    for replica in world.replicas { try SyncEngine.retryQuarantined(of: replica.store) }
  }

  private mutating func step() async throws {
    let index = Int.random(in: 0..<world.replicas.count, using: &generator)
    let replica = world.replicas[index]
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<15: try insert(on: replica)
    case 15..<50: try edit(on: replica)
    case 50..<58: try delete(on: replica)
    case 58..<66: try relate(on: replica)
    case 66..<74: try arrange(on: replica)
    case 74..<90: await sync(replica)
    case 90..<95:
      trace.append("\(replica.name) restarts")
      await replica.restart()
    default:
      let isCut = Bool.random(using: &generator)
      trace.append("\(replica.name) \(isCut ? "offline" : "online")")
      transports[index].setCut(isCut)
    }
  }

  private mutating func insert(on replica: TestReplica) throws {
    let entity =
      ["Item", "Item", "Item", "Shelf", "Label", "Row"].randomElement(using: &generator) ?? ""
    // Some objects have a key from outside, which several replicas import.
    let identity =
      generator.chance(50)
      ? UUID(
        uuidString: "00000000-0000-5000-8000-00000000000\(Int.random(in: 0..<4, using: &generator))"
      )
      : nil
    if let identity {
      if try replica.exists(identity) { return }
      if objects.contains(where: { $0.id == identity && $0.entity != entity }) { return }
    }
    let values: [String: PropertyValue] =
      entity == "Item" ? ["title": text(), "stock": .integer(10)] : ["name": text()]
    let id = try replica.insertOrRemake(entity, values, identity: identity)
    trace.append("\(replica.name) inserts \(entity) \(id) \(values)")
    if !objects.contains(where: { $0.id == id }) { objects.append((entity, id)) }
  }

  private mutating func edit(on replica: TestReplica) throws {
    guard let object = try pick(on: replica) else { return }
    guard object.entity == "Item" else {
      let name = text()
      trace.append("\(replica.name) sets \(object.id).name \(name)")
      return try replica.set(object.id, ["name": name])
    }
    let names = [
      "title", "note", "tag", "high", "low", "stock", "text", "pick", "held", "weight",
      "words",
    ]
    let name = names.randomElement(using: &generator) ?? "title"
    let value: PropertyValue
    switch name {
    case "high", "low": value = .integer(Int64.random(in: -5..<5, using: &generator))
    case "stock":
      guard case .integer(let now)? = try replica.value(object.id, "stock") else { return }
      value = .integer(now + Int64.random(in: -3...3, using: &generator))
    case "words":
      let all = (0..<3).map { _ in "\"w\(Int.random(in: 0..<6, using: &generator))\"" }
      value = .string("[\(Array(Set(all)).sorted().joined(separator: ","))]")
    case "weight": value = generator.chance(20) ? .null : .double(-0.0)
    default: value = generator.chance(10) ? .null : text()
    }
    trace.append("\(replica.name) sets \(object.id).\(name) \(value)")
    try replica.set(object.id, [name: value])
  }

  private mutating func delete(on replica: TestReplica) throws {
    guard let object = try pick(on: replica) else { return }
    trace.append("\(replica.name) deletes \(object.entity) \(object.id)")
    try replica.delete(object.id)
  }

  private mutating func relate(on replica: TestReplica) throws {
    guard let item = try pick(on: replica, "Item") else { return }
    if Bool.random(using: &generator) {
      let shelf = generator.chance(20) ? nil : try pick(on: replica, "Shelf")?.id
      trace.append("\(replica.name) puts \(item.id) on \(shelf.map { "\($0)" } ?? "none")")
      try replica.save { context in
        let object = try #require(try context.object(withIdentity: item.id))
        try object.setValue(
          try shelf.flatMap { try context.object(withIdentity: $0) }, forKey: "shelf")
      }
    } else {
      let all = try (0..<3).compactMap { _ in try pick(on: replica, "Label")?.id }
      let labels = Array(Set(all)).sorted { $0.uuidString < $1.uuidString }
      trace.append("\(replica.name) labels \(item.id) \(labels)")
      try replica.save { context in
        let object = try #require(try context.object(withIdentity: item.id))
        let objects = try labels.compactMap { try context.object(withIdentity: $0) }
        try object.setValue(objects, forKey: "labels")
      }
    }
  }

  /// Puts rows on a shelf and in another order.
  private mutating func arrange(on replica: TestReplica) throws {
    guard let shelf = try pick(on: replica, "Shelf")?.id else { return }
    var rows = try replica.rows(of: shelf)
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      rows.shuffle(using: &generator)
    case 1 where !rows.isEmpty:
      rows.remove(at: Int.random(in: 0..<rows.count, using: &generator))
    default:
      guard let row = try pick(on: replica, "Row")?.id else { return }
      rows.removeAll { $0 == row }
      rows.insert(row, at: Int.random(in: 0...rows.count, using: &generator))
    }
    trace.append("\(replica.name) arranges \(shelf) \(rows)")
    try replica.arrange(shelf, rows)
  }

  private mutating func sync(_ replica: TestReplica) async {
    do {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: try await replica.push()
      case 1: try await replica.pull()
      default: try await replica.sync()
      }
      trace.append("\(replica.name) syncs")
    } catch is FaultyTransport.Lost {
      trace.append("\(replica.name) syncs and loses the network")
    } catch {
      trace.append("\(replica.name) FAILS: \(error)")
      Issue.record("seed \(seed): \(replica.name): \(error)\n\(trace.joined(separator: "\n"))")
    }
  }

  private mutating func pick(
    on replica: TestReplica, _ entity: String? = nil
  ) throws -> (entity: String, id: UUID)? {
    let all = objects.filter { entity == nil || $0.entity == entity }
    for _ in 0..<4 {
      guard let object = all.randomElement(using: &generator) else { return nil }
      if try replica.exists(object.id) { return object }
    }
    return nil
  }

  private mutating func text() -> PropertyValue {
    .string("t\(Int.random(in: 0..<6, using: &generator))")
  }
}
