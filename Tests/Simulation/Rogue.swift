import DriftlessProtocol
import DriftlessTesting
import Foundation

/// A program that knows the form and keeps no rule: it makes other change sets of those it saw.
struct Rogue {
  private var generator: SeededGenerator
  private let replica: UUID
  private let pushNumber: UInt64

  init(dice: UInt64, pushNumber: UInt64) {
    generator = SeededGenerator(seed: dice &+ 991)
    replica = UUID(uuid: (9, 9, 9, 9, 9, 9, 0x40, 9, 0x80, 9, 9, 9, 9, 9, 9, 9))
    self.pushNumber = pushNumber
  }

  /// A frame that was never sent, of one that was; nil where nothing can be made of it.
  mutating func frame(from frame: Data, cursor: Cursor) -> (frame: Data, told: String)? {
    guard var changes = try? ChangeSetDecoder().decode(frame) else { return nil }
    changes.header = ChangeSetHeader(replica: replica, pushNumber: pushNumber, cursor: cursor)
    renewIdentities(&changes)
    var told: [String] = []
    for _ in 0..<(1 + Int(generator.next() % 2)) { told.append(change(&changes)) }
    guard let bytes = try? ChangeSetEncoder().encode(changes) else { return nil }
    return (bytes, told.joined(separator: ", "))
  }

  /// A frame as a later version of the program makes it.
  mutating func newer(_ frame: Data) -> (frame: Data, told: String) {
    var frame = Data(frame)
    let told: String
    switch generator.next() % 4 {
    case 0:
      frame[13] |= 1 << UInt8(generator.next() % 8)
      told = "with a flag that may be skipped"
    case 1:
      frame[10] |= 1 << UInt8(generator.next() % 8)
      told = "with a flag that must be known"
    case 2:
      frame[128] &+= 1
      told = "of a higher format level"
    default:
      for place in 140..<156 { frame[place] = UInt8(truncatingIfNeeded: generator.next()) }
      told = "with bytes where this version has none"
    }
    frame.replaceSubrange(176..<192, with: ChangeSetHeader.digest(of: frame))
    return (frame, told)
  }

  /// What it inserts was not there.
  private mutating func renewIdentities(_ changes: inout ChangeSet) {
    for index in changes.index.newObjects.indices {
      let count = changes.index.newObjects[index].count
      let identities = (0..<count).map { _ in identity() }
      changes.index.newObjects[index].identities = .listed(identities)
    }
  }

  private mutating func identity() -> UUID {
    var bytes = UUID().uuid
    withUnsafeMutableBytes(of: &bytes) { raw in
      for index in raw.indices { raw[index] = UInt8(truncatingIfNeeded: generator.next()) }
    }
    return UUID(uuid: bytes)
  }

  private mutating func change(_ changes: inout ChangeSet) -> String {
    switch generator.next() % 6 {
    case 0:
      guard let entity = changes.index.entities.indices.randomElement(using: &generator),
        let property = changes.index.entities[entity].properties.indices.randomElement(
          using: &generator)
      else { return "nothing" }
      changes.index.entities[entity].properties[property] += "Later"
      return "a property that nobody knows"
    case 1:
      guard let entity = changes.index.entities.indices.randomElement(using: &generator) else {
        return "nothing"
      }
      changes.index.entities[entity].name += "Later"
      return "an entity that nobody knows"
    case 2:
      guard let column = changes.columns.indices.randomElement(using: &generator) else {
        return "nothing"
      }
      changes.columns[column] = Column(
        .unknown(
          UnknownColumn(count: changes.columns[column].count, kind: 99, message: Data([8, 1]))))
      return "a kind of column that nobody knows"
    case 3: return spoil(&changes)
    case 4:
      guard changes.index.entities.count > 1,
        let index = changes.index.newObjects.indices.randomElement(using: &generator)
      else { return "nothing" }
      let other = Int(generator.next() % UInt64(changes.index.entities.count))
      let old = changes.index.newObjects[index].entity
      changes.index.newObjects[index].entity = other
      for group in changes.index.groups.indices
      where changes.index.groups[group].entity == old && changes.index.groups[group].kind == .insert
      { changes.index.groups[group].entity = other }
      return "objects of another entity"
    default:
      guard let group = changes.index.groups.indices.randomElement(using: &generator) else {
        return "nothing"
      }
      changes.index.groups[group].properties.reverse()
      return "values under each other's names"
    }
  }

  /// Values that no model here can hold.
  private mutating func spoil(_ changes: inout ChangeSet) -> String {
    guard let index = changes.columns.indices.randomElement(using: &generator) else {
      return "nothing"
    }
    switch changes.columns[index].values {
    case .integers(let values):
      changes.columns[index].values = .integers(values.map { _ in 500_000_000_000 })
      return "numbers beyond every bound"
    case .references(let values):
      changes.columns[index].values = .references(values.map { _ in 0 })
      return "references to another object"
    case .strings(let rows):
      changes.columns[index].values = .integers((0..<rows.count).map { Int64($0) })
      return "numbers where texts belong"
    default: return "nothing"
    }
  }
}

extension Simulation {
  func rogue(_ step: Step) async throws {
    guard
      let frame = server.frames.isEmpty
        ? nil : server.frames[Int(step.dice % UInt64(server.frames.count))]
    else { return }
    let info = try await server.zoneInfo()
    let cursor = Cursor(generation: info.generation, sequence: info.head, chain: info.chain)
    rogueNumber += 1
    var rogue = Rogue(dice: step.dice, pushNumber: rogueNumber)
    guard var (bytes, told) = rogue.frame(from: frame, cursor: cursor) else { return }
    if scenario.hasNewerPrograms {
      let newer = rogue.newer(bytes)
      (bytes, told) = (newer.frame, "\(told), \(newer.told)")
    }
    do {
      _ = try await server.push(bytes)
      tell("a rogue pushes \(told)")
      hasRogue = true
    } catch {
      tell("a rogue is refused \(told): \(brief(error))")
    }
  }
}
