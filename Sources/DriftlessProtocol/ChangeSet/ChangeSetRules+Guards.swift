import Foundation

extension ChangeSetRules {
  /// The laws of what a change set says beside its changes.
  func checkGuards(_ index: ChangeSetIndex) throws(ProtocolError) {
    try checkCovered(index.covered)
    for reliance in index.relied {
      try check(reliance.entity, reliance.properties, reliance.objects, index, "A reliance")
    }
    try checkClaims(index)
    try checkLimits(index.relied.map { ($0.objects.count, $0.properties.count) })
    try checkLimits(index.claims.map { ($0.objects.count, $0.properties.count) })
    try checkTombstones(index)
  }

  /// What was checked to lie within the object table adds up without overflow.
  private func checkLimits(_ sizes: [(rows: Int, columns: Int)]) throws(ProtocolError) {
    guard sizes.count <= limits.groupsMax else {
      throw .tooLarge("The change set relies on, or claims, too much (groupsMax)")
    }
    guard sizes.reduce(0, { $0 + $1.columns }) <= limits.columnsMax else {
      throw .tooLarge("The change set relies on, or claims, too many properties (columnsMax)")
    }
    guard sizes.reduce(0, { $0 + $1.rows }) <= limits.rowsMax else {
      throw .tooLarge("The change set relies on, or claims, too many objects (rowsMax)")
    }
    guard sizes.reduce(0, { $0 + $1.rows * $1.columns }) <= limits.cellsMax else {
      throw .tooLarge("The change set relies on, or claims, too many values (cellsMax)")
    }
  }

  private func checkCovered(
    _ covered: [ChangeSetIndex.CoveredTransaction]
  ) throws(ProtocolError) {
    guard covered.count <= limits.transactionsMax else {
      throw .tooLarge("The change set covers too many transactions (transactionsMax)")
    }
    guard !covered.contains(where: { $0.name == 0 }) else {
      throw .malformed("A covered transaction has no name")
    }
    guard Set(covered.map(\.name)).count == covered.count else {
      throw .malformed("A transaction is covered twice")
    }
  }

  private func checkClaims(_ index: ChangeSetIndex) throws(ProtocolError) {
    // Within one message each object stands once; a constraint may have several.
    var constraints: [[Int]: Set<Int>] = [:]
    let repeated = Dictionary(grouping: index.claims) { [$0.entity] + $0.properties }
      .filter { $0.value.count > 1 }
    var hashes: Set<KeyHash> = []
    for claims in index.claims {
      try check(claims.entity, claims.properties, claims.objects, index, "A claim")
      guard Set(claims.properties).count == claims.properties.count else {
        throw .malformed("A claim names a property twice")
      }
      guard claims.hashes.count == claims.objects.count else {
        throw .malformed("Claims and their hashes differ in number")
      }
      for hash in claims.hashes where !hashes.insert(hash).inserted {
        throw .malformed("One key is claimed for two objects")
      }
      let constraint = [claims.entity] + claims.properties
      guard repeated[constraint] != nil else { continue }
      for object in claims.objects {
        guard constraints[constraint, default: []].insert(object).inserted
        else { throw .malformed("Two keys of one constraint are claimed for one object") }
      }
    }
  }

  private func checkTombstones(_ index: ChangeSetIndex) throws(ProtocolError) {
    guard !index.tombstones.isEmpty else { return }
    guard index.tombstones.count <= limits.objectsMax else {
      throw .tooLarge("The change set has too many tombstones (objectsMax)")
    }
    var identities: Set<UUID> = []
    for tombstone in index.tombstones {
      guard index.entities.indices.contains(tombstone.entity) else {
        throw .malformed("A tombstone is of an entity that is not named")
      }
      guard identities.insert(tombstone.identity).inserted else {
        throw .malformed("An identity has two tombstones")
      }
    }
    for run in index.newObjects {
      for place in 0..<run.count where identities.contains(run.identities[place]) {
        throw .malformed("A new object has a tombstone")
      }
    }
  }

  private func check(
    _ entity: Int, _ properties: [Int], _ objects: ObjectIndexes, _ index: ChangeSetIndex,
    _ what: String
  ) throws(ProtocolError) {
    guard index.entities.indices.contains(entity) else {
      throw .malformed("\(what) is of an entity that is not named")
    }
    let names = index.entities[entity].properties
    guard !properties.isEmpty, properties.allSatisfy({ names.indices.contains($0) }) else {
      throw .malformed("\(what) is of no property, or of one that is not named")
    }
    guard !objects.isEmpty, objects.isValid(below: index.objectCount) else {
      throw .malformed("\(what) names no objects, or objects out of order or out of the table")
    }
  }
}
