import Driftless
import DriftlessTesting
import Foundation
import TestSupport

/// Objects of the shop that edits pick from.
struct RandomLife {
  private var items: [UUID] = []
  private var shelves: [UUID] = []
  private var labels: [UUID] = []

  mutating func begin(
    _ replica: TestReplica, _ numbers: inout SeededGenerator
  ) throws {
    for number in 0..<3 {
      shelves.append(try replica.insert("Shelf", ["name": .string("shelf \(number)")]))
      labels.append(try replica.insert("Label", ["name": .string("label \(number)")]))
    }
    for _ in 0..<8 { try insert(replica, &numbers) }
  }

  private mutating func insert(
    _ replica: TestReplica, _ numbers: inout SeededGenerator
  ) throws {
    let item = try replica.insert(
      "Item",
      [
        "title": .string("item \(numbers.next() % 100)"), "stock": .integer(10),
        "text": .string("one two three"),
      ])
    items.append(item)
  }

  mutating func step(_ replica: TestReplica, _ numbers: inout SeededGenerator) throws {
    let number = Int64(numbers.next() % 50)
    let living = try items.filter { try replica.exists($0) }
    guard let item = living.randomElement(using: &numbers) else {
      return try insert(replica, &numbers)
    }
    let label = labels[Int(numbers.next() % 3)]
    let shelf = shelves[Int(numbers.next() % 3)]
    switch numbers.next() % 10 {
    case 0: try insert(replica, &numbers)
    case 1: try replica.delete(item)
    case 2, 3:
      let name = ["title", "note", "tag", "pick"].randomElement(using: &numbers) ?? "title"
      try replica.set(item, [name: .string("\(replica.name) \(number)")])
    case 4: try replica.set(item, ["high": .integer(number), "low": .integer(number)])
    case 5:
      guard case .integer(let stock)? = try replica.value(item, "stock") else { return }
      try replica.set(item, ["stock": .integer(stock + number)])
    case 6: try replica.set(item, ["text": .string("one \(number) three")])
    case 7, 8:
      try replica.save { context in
        let chosen = labels.filter { ($0 == label) != (number % 2 == 0) }
        let objects = try chosen.compactMap { try context.object(withIdentity: $0) }
        try context.object(withIdentity: item)?.setValue(objects, forKey: "labels")
      }
    default:
      try replica.save { context in
        let shelf = try context.object(withIdentity: shelf)
        try context.object(withIdentity: item)?.setValue(shelf, forKey: "shelf")
      }
    }
  }
}
