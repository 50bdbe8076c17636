import Foundation

/// The table of a hierarchy of entities.
package struct EntityTable: Sendable {
  package struct Column: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      case attribute(AttributeType)
      /// The primary key of a to-one relationship's destination.
      case reference
      /// The number of the destination's concrete entity.
      case referenceEntity
      /// The place among the objects of an ordered relationship's source.
      case order
    }
    package let name: String
    package let kind: Kind

    /// The declared type. Its group orders the columns, as Core Data's do.
    var declaration: (group: Int, type: String) {
      switch kind {
      case .attribute(let type):
        switch type {
        case .integer16, .integer32, .integer64, .boolean, .objectID: (0, "INTEGER")
        case .double, .float: (2, "FLOAT")
        case .date: (3, "TIMESTAMP")
        case .decimal: (4, "DECIMAL")
        case .string, .uri: (5, "VARCHAR")
        case .binaryData, .uuid, .transformable, .undefined, .composite: (6, "BLOB")
        }
      case .reference, .referenceEntity, .order: (1, "INTEGER")
      }
    }
  }

  /// Which columns a property of an entity has.
  package struct SlotBinding: Hashable, Sendable {
    package let slot: Int
    package let column: Int
    package let entityColumn: Int?
    package let orderColumn: Int?
  }

  package let name: String
  package let rootEntity: EntityDescription
  /// The entities of the hierarchy that the store has, the topmost first.
  let entities: [EntityDescription]
  /// Every column after `Z_PK`, `Z_ENT` and `Z_OPT`.
  package let columns: [Column]
  private let bindings: [String: [SlotBinding]]

  /// - Parameter held: The columns of to-many relationships that have no inverse.
  init(
    root: EntityDescription, numbers: [String: Int32], present: PresentTables? = nil,
    held: [HeldColumns] = []
  ) {
    rootEntity = root
    let members = root.selfAndDescendants.filter { numbers[$0.name] != nil }
    entities = members
    let name = "Z" + root.name.uppercased()
    self.name = name
    var used: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
    func unique(_ base: String) -> String {
      var name = base
      var suffix = 1
      while !used.insert(name).inserted {
        name = "\(base)\(suffix)"
        suffix += 1
      }
      return name
    }
    // Names are given entity by entity from the root, so that they do not depend on the grouping.
    var planned: [(owner: String, property: String, role: Int, column: Column)] = []
    for entity in members {
      let inherited = entity.superentity?.layout.slots.count ?? 0
      for slot in entity.layout.slots.dropFirst(inherited) where !slot.isTransient {
        let upper = slot.name.uppercased().replacingOccurrences(of: ".", with: "_")
        func plan(_ role: Int, _ base: String, _ kind: Column.Kind) {
          planned.append((entity.name, slot.name, role, Column(name: unique(base), kind: kind)))
        }
        switch slot.kind {
        case .attribute(_, let type): plan(0, "Z" + upper, .attribute(type))
        case .toMany: continue
        case .toOne(let relationship):
          plan(0, "Z" + upper, .reference)
          if let destination = relationship.destinationEntity, !destination.subentities.isEmpty {
            let byRoot = "Z\(numbers[destination.rootEntity.name] ?? 0)_" + upper
            let bySelf = "Z\(numbers[destination.name] ?? 0)_" + upper
            plan(1, present?.column(byRoot, bySelf, in: name) ?? byRoot, .referenceEntity)
          }
          if relationship.inverseRelationship?.isOrdered == true {
            plan(2, "Z_FOK_" + upper, .order)
          }
        }
      }
    }
    for column in held.flatMap(\.columns) {
      planned.append(("", column.name, 0, Column(name: unique(column.name), kind: column.kind)))
    }
    let columns = planned.map(\.column).sorted {
      ($0.declaration.group, $0.name) < ($1.declaration.group, $1.name)
    }
    self.columns = columns
    var indexes: [String: Int] = [:]
    for (owner, property, role, column) in planned {
      indexes["\(owner).\(property).\(role)"] = columns.firstIndex { $0.name == column.name }
    }
    var bindings: [String: [SlotBinding]] = [:]
    for entity in members {
      bindings[entity.name] = entity.layout.slots.compactMap { slot in
        var owner = entity
        while let parent = owner.superentity, slot.index < parent.layout.slots.count {
          owner = parent
        }
        func index(_ role: Int) -> Int? { indexes["\(owner.name).\(slot.name).\(role)"] }
        return index(0).map {
          SlotBinding(slot: slot.index, column: $0, entityColumn: index(1), orderColumn: index(2))
        }
      }
    }
    self.bindings = bindings
  }

  /// The columns of an entity's properties.
  package func slotBindings(for entity: EntityDescription) -> [SlotBinding] {
    bindings[entity.name] ?? []
  }
}
