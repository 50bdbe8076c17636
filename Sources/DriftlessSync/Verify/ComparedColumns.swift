import Driftless
import DriftlessProtocol

/// Which columns of a zone's digests a store can be compared by.
struct ComparedColumns {
  /// Each with its place among the zone's; nil for one of which no object of the zone has anything.
  private(set) var columns: [(column: DigestColumn, place: Int?)] = []
  /// What the model here does not have, or has under another name.
  private(set) var leftOut: [String] = []
  /// Encrypted properties of the model here: each cell has a nonce of its own, and the server's digests are of cells.
  private(set) var encrypted: [String] = []
  private var sealed: [String: Set<String>] = [:]
  /// Whether the zone's word that an object is deleted stands by itself.
  let tellsDeletes: Bool
  /// Properties of the model here of which the log says something under another name as well, by entity.
  private var renamed: [String: Set<String>] = [:]
  /// Entities of which the log says something under another name.
  private var renamedEntities: Set<String> = []

  /// - Parameters:
  ///   - digests: the zone's.
  ///   - own: the columns of the store's.
  ///   - otherEnds: from which entries said relationships: that there is none is in no digest.
  init(
    _ digests: ZoneDigests, own: [DigestColumn], otherEnds: Set<String>, _ schema: SyncSchema
  ) {
    tellsDeletes = digests.isPlain
    for entity in schema.entities {
      for property in entity.properties where property.isSealed {
        sealed[entity.name, default: []].insert(property.name)
      }
    }
    for name in otherEnds {
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, let entity = schema.entity(namedNowOrBefore: parts[0]) else {
        continue
      }
      if let end = entity.otherEnds[parts[1]] { leaveOut(end, schema) }
      // It said the fact from its other end before the model changed.
      if let property = entity.property(namedNowOrBefore: parts[1]) {
        renamed[entity.name, default: []].insert(property.name)
      }
    }
    for column in digests.columns {
      if let end = schema.entity(namedNowOrBefore: column.entity)?.otherEnds[column.property] {
        leaveOut(end, schema)
      }
      guard let entity = schema.entity(named: column.entity) else {
        if let entity = schema.entity(namedNowOrBefore: column.entity) {
          renamedEntities.insert(entity.name)
        }
        continue
      }
      let name = column.property
      if !name.isEmpty, entity.property(named: name) == nil,
        let property = entity.property(namedNowOrBefore: name)
      {
        renamed[entity.name, default: []].insert(property.name)
      }
    }
    var seen: Set<DigestColumn> = []
    for (place, column) in digests.columns.enumerated() {
      add(column.column, place, schema, &seen)
    }
    for column in own where !seen.contains(column) { add(column, nil, schema, &seen) }
  }

  /// What some entries say of a fact from its other end is in none of the columns of the end that says it by now.
  private mutating func leaveOut(_ end: OtherEnd, _ schema: SyncSchema) {
    for entity in schema.entities {
      for property in entity.properties where property.isSaid(byOwnerOf: end) {
        renamed[entity.name, default: []].insert(property.name)
      }
    }
  }

  private mutating func add(
    _ column: DigestColumn, _ place: Int?, _ schema: SyncSchema, _ seen: inout Set<DigestColumn>
  ) {
    guard seen.insert(column).inserted else { return }
    let entity = schema.entity(named: column.entity)
    if let ordered = column.orderedProperty {
      guard case .elements(let relationship)? = entity?.property(named: ordered)?.kind,
        relationship.isOrdered, has(column.entity, ordered)
      else { return }
    } else {
      guard let entity, column.property.isEmpty || entity.property(named: column.property) != nil,
        has(column.entity, column.property)
      else {
        guard sealed[column.entity]?.contains(column.property) != true else {
          encrypted.append("\(column.entity).\(column.property)")
          return
        }
        leftOut.append(
          column.property.isEmpty ? column.entity : "\(column.entity).\(column.property)")
        return
      }
    }
    columns.append((column, place))
  }

  /// Whether a property of the model here can be compared.
  func has(_ entity: String, _ property: String) -> Bool {
    !renamedEntities.contains(entity) && sealed[entity]?.contains(property) != true
      && renamed[entity]?.contains(property) != true
  }
}

extension SyncSchema.Property {
  fileprivate func isSaid(byOwnerOf end: OtherEnd) -> Bool {
    switch kind {
    case .attribute: false
    case .toOne(let relationship), .elements(let relationship), .place(let relationship):
      relationship.name == end.owner.name
        && relationship.inverseRelationship?.name == end.relationship.name
    }
  }
}
