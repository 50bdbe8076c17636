import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Where objects keep their properties, and which of them changed.
struct LayoutTests {
  @Test("Inherited slots come first and keep their place; attributes come before relationships")
  func order() throws {
    let parent = EntityDescription("Parent")
    parent.properties = [
      RelationshipDescription("aunt", to: "Parent", inverse: nil),
      AttributeDescription("z", .string, defaultValue: .string("d")),
    ]
    let child = EntityDescription("Child")
    child.superentityName = "Parent"
    let place = CompositeAttributeDescription()
    place.name = "m"
    place.elements = [AttributeDescription("y", .double), AttributeDescription("x", .double)]
    child.properties = [
      place, AttributeDescription("a", .string),
      RelationshipDescription("b", to: "Child", inverse: nil, toMany: true),
    ]
    try ManagedObjectModel(entities: [child, parent]).freeze()
    #expect(child.layout.slots.map(\.name) == ["z", "aunt", "a", "m.y", "m.x", "b"])
    #expect(child.layout.slots.map(\.index) == Array(0..<6))
    #expect(child.layout.index(named: "m.x") == 4)
    #expect(child.layout.index(of: PropertyName("b")) == 5)
    #expect(child.layout.index(of: PropertyName("never \(UUID())")) == -1)
    #expect(child.layout.index(of: PropertyName("m")) == -1)
    #expect(child.layout.slots[0].defaultValue == .string("d"))
    #expect(child.layout.slots.map(\.isToMany) == [false, false, false, false, false, true])
    #expect(parent.layout.slots.count == 2)
  }

  @Test("An inherited property without a policy follows the entity of the object")
  func policies() throws {
    let parent = EntityDescription("Parent")
    parent.properties = [
      AttributeDescription("free", .integer64),
      AttributeDescription("fixed", .integer64, conflictPolicy: .counter),
    ]
    let child = EntityDescription("Child")
    child.superentityName = "Parent"
    child.conflictPolicy = .min
    try ManagedObjectModel(entities: [parent, child]).freeze()
    #expect(parent.layout.slots.map(\.policy) == [.counter, .lastWriterWins])
    #expect(child.layout.slots.map(\.policy) == [.counter, .min])
    for slot in child.layout.slots {
      #expect(child.effectiveConflictPolicy(for: slot.property) == slot.policy)
    }
  }

  @Test("A mask is a set", arguments: 0..<20)
  func maskIsASet(seed: Int) {
    var numbers = SeededNumbers(seed: UInt64(seed))
    var (mask, set) = (PropertyMask(), Set<Int>())
    for _ in 0..<400 {
      let index = Int.random(in: 0..<200, using: &numbers)
      let other = (0..<3).map { _ in Int.random(in: 0..<200, using: &numbers) }
      switch Int.random(in: 0..<12, using: &numbers) {
      case 0: (_, _) = (mask.formUnion(PropertyMask(other)), set.formUnion(other))
      case 1: (_, _) = (mask.subtract(PropertyMask(other)), set.subtract(other))
      case 2...6: (_, _) = (mask.remove(index), set.remove(index))
      default: (_, _) = (mask.insert(index), set.insert(index))
      }
      #expect(mask.indexes == set.sorted())
      #expect(mask.count == set.count && mask.isEmpty == set.isEmpty)
      #expect(mask.contains(index) == set.contains(index))
      #expect(mask == PropertyMask(set.shuffled(using: &numbers)))
    }
    mask.formIntersection(PropertyMask(0..<70))
    #expect(mask.indexes == set.filter { $0 < 70 }.sorted())
    #expect(PropertyMask(all: 130).count == 130)
  }

  @Test("A name has one number in the process, whichever thread asks")
  func internedNames() async {
    let name = "name \(UUID())"
    let ids = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { PropertyName(name).id } }
      return await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(ids.count == 1)
    #expect(PropertyName(name) == PropertyName(name))
    #expect(PropertyName(name) != PropertyName(name + "x"))
  }
}
