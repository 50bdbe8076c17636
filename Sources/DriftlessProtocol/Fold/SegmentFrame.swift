import Foundation

/// A change set of a segment while it is put together, object by object, those that are new first.
struct SegmentFrame {
  /// A property of a group, with the kind of its column.
  struct Property: Hashable {
    var name: UInt32
    var kind: UInt32
  }

  private struct Shape: Hashable {
    var kind: ChangeSetIndex.Group.Kind
    var entity: UInt32
    var properties: [Property]
  }

  private struct Draft {
    var group: ChangeSetIndex.Group
    var objects: [Int32] = []
    var columns: [CellWriter]
  }

  private struct ClaimShape: Hashable {
    var constraint: FoldConstraint
    var keyID: UInt32
  }

  private let tables: FoldTables
  /// Ascending.
  private let newNumbers: [UInt64]
  /// Ascending.
  private let knownNumbers: [UInt64]
  private var index = ChangeSetIndex()
  private var entityPlaces: [UInt32: Int] = [:]
  private var propertyPlaces: [[UInt32]: Int] = [:]
  private var drafts: [Draft] = []
  private var draftPlaces: [Shape: Int] = [:]
  private var claims: [(objects: [Int32], claims: ChangeSetIndex.KeyClaims)] = []
  private var claimPlaces: [ClaimShape: Int] = [:]
  private(set) var transactions: [FoldTransaction] = []
  private var transactionPlaces: [FoldTransaction: Int] = [:]
  /// How many sets of properties inserts and revivals may differ by: further ones say their values one property at a time.
  private static let wholeShapesMax = 200

  init(tables: FoldTables, newNumbers: [UInt64], knownNumbers: [UInt64]) {
    self.tables = tables
    self.newNumbers = newNumbers
    self.knownNumbers = knownNumbers
    index.knownNumbers = knownNumbers
  }

  // MARK: - Names

  mutating func transaction(_ transaction: FoldTransaction) -> Int {
    if let place = transactionPlaces[transaction] { return place }
    transactions.append(transaction)
    transactionPlaces[transaction] = transactions.count - 1
    return transactions.count - 1
  }

  private mutating func entity(_ name: UInt32) throws(ProtocolError) -> Int {
    if let place = entityPlaces[name] { return place }
    index.entities.append(.init(name: try tables.text(at: name), properties: []))
    entityPlaces[name] = index.entities.count - 1
    return index.entities.count - 1
  }

  private mutating func property(
    _ name: UInt32, of entity: UInt32
  ) throws(ProtocolError) -> Int {
    if let place = propertyPlaces[[entity, name]] { return place }
    let owner = try self.entity(entity)
    index.entities[owner].properties.append(try tables.text(at: name))
    let place = index.entities[owner].properties.count - 1
    propertyPlaces[[entity, name]] = place
    return place
  }

  /// The place of an object in the table.
  func place(of number: UInt64) throws(ProtocolError) -> Int32 {
    if let place = Self.place(of: number, in: newNumbers) { return Int32(place) }
    guard let place = Self.place(of: number, in: knownNumbers) else {
      throw .malformed("Object \(number) is not in the segment's table")
    }
    return Int32(newNumbers.count + place)
  }

  private static func place(of number: UInt64, in numbers: [UInt64]) -> Int? {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < numbers.count && numbers[low] == number ? low : nil
  }

  // MARK: - Objects

  /// Adds a new object to the table.
  mutating func add(_ birth: FoldBirth, row: FoldTransaction) throws(ProtocolError) {
    let entity = try entity(birth.entity)
    let known = birth.maker == 0 ? SegmentPlaces.noMaker : birth.maker
    let maker = birth.maker == row.name ? 0 : known
    var objects =
      index.newObjects.popLast()
      ?? .init(entity: entity, identities: .listed([]), isGiven: birth.isGiven)
    defer { index.newObjects.append(objects) }
    if objects.count > 0,
      objects.entity != entity || objects.isGiven != birth.isGiven
        || objects.makers.isEmpty != (maker == 0)
    {
      index.newObjects.append(objects)
      objects = .init(entity: entity, identities: .listed([]), isGiven: birth.isGiven)
    }
    if maker != 0 { objects.makers.append(maker) }
    switch objects.identities {
    case .range(let first, let count) where first.follows(by: count, birth.identity):
      objects.identities = .range(first: first, count: count + 1)
    case .listed(let list) where list.isEmpty:
      objects.identities = .range(first: birth.identity, count: 1)
    case .listed(var list):
      // Moved out, so that it is not copied for each.
      objects.identities = .listed([])
      list.append(birth.identity)
      objects.identities = .listed(list)
    case .range(let first, let count):
      guard count < 4 else {
        if maker != 0 { objects.makers.removeLast() }
        index.newObjects.append(objects)
        objects = .init(
          entity: entity, identities: .range(first: birth.identity, count: 1),
          isGiven: birth.isGiven, makers: maker == 0 ? [] : [maker])
        return
      }
      objects.identities = .listed(
        (0..<count).map { first.advanced(by: UInt64($0)) } + [birth.identity])
    }
  }

  /// A row: what happens to an object as a whole, with those of its values that came with it.
  ///
  /// - Returns: Whether the values were taken; they are said one by one otherwise.
  mutating func whole(
    _ kind: ChangeSetIndex.Group.Kind, _ entity: UInt32, _ number: UInt64,
    _ transaction: FoldTransaction, _ cells: [FoldCell]
  ) throws(ProtocolError) -> Bool {
    let full = Shape(kind: kind, entity: entity, properties: cells.map(\.property))
    let isTaken = draftPlaces[full] != nil || draftPlaces.count < Self.wholeShapesMax
    let shape = isTaken ? full : Shape(kind: kind, entity: entity, properties: [])
    try append(shape, number, transaction, isTaken ? cells : [])
    return isTaken
  }

  /// A value that has a transaction of its own.
  mutating func cell(_ cell: FoldCell, of number: UInt64) throws(ProtocolError) {
    try append(
      Shape(kind: .update, entity: cell.entity, properties: [cell.property]), number,
      cell.transaction, [cell])
  }

  private mutating func append(
    _ shape: Shape, _ number: UInt64, _ transaction: FoldTransaction, _ cells: [FoldCell]
  ) throws(ProtocolError) {
    let draft: Int
    if let place = draftPlaces[shape] {
      draft = place
    } else {
      var properties: [Int] = []
      for property in shape.properties {
        properties.append(try self.property(property.name, of: shape.entity))
      }
      draft = drafts.count
      draftPlaces[shape] = draft
      drafts.append(
        Draft(
          group: .init(
            kind: shape.kind, entity: try entity(shape.entity), properties: properties,
            objects: ObjectIndexes([]), transactionRuns: []),
          columns: shape.properties.map { CellWriter(kind: $0.kind) }))
    }
    let object = try self.place(of: number)
    drafts[draft].objects.append(object)
    let place = self.transaction(transaction)
    let runs = drafts[draft].group.transactionRuns.count
    if runs > 0, drafts[draft].group.transactionRuns[runs - 1].transaction == place {
      drafts[draft].group.transactionRuns[runs - 1].count += 1
    } else {
      drafts[draft].group.transactionRuns.append(.init(transaction: place, count: 1))
    }
    for (column, cell) in cells.enumerated() {
      switch cell {
      case .value(_, let value):
        let target = try value.target.map { number throws(ProtocolError) in
          try self.place(of: number)
        }
        try drafts[draft].columns[column].append(value, target: target)
      case .elements(_, let elements):
        var added: [Int32] = []
        var removed: [Int32] = []
        for number in elements.added { added.append(try self.place(of: number)) }
        for number in elements.removed { removed.append(try self.place(of: number)) }
        drafts[draft].columns[column].append(added: added, removed: removed)
      }
    }
  }

  mutating func claim(
    _ constraint: FoldConstraint, _ claim: FoldClaim, of number: UInt64
  ) throws(ProtocolError) {
    let shape = ClaimShape(constraint: constraint, keyID: claim.keyID)
    let place: Int
    if let known = claimPlaces[shape] {
      place = known
    } else {
      var properties: [Int] = []
      for property in constraint.properties {
        properties.append(try self.property(property, of: constraint.entity))
      }
      place = claims.count
      claimPlaces[shape] = place
      claims.append(
        (
          [],
          .init(
            entity: try entity(constraint.entity), properties: properties, keyID: claim.keyID,
            objects: ObjectIndexes([]), hashes: [])
        ))
    }
    let object = try self.place(of: number)
    claims[place].objects.append(object)
    claims[place].claims.hashes.append(claim.hash)
  }

  // MARK: - Bytes

  /// The change set's bytes.
  mutating func encoded(
    _ header: ChangeSetHeader, _ encoder: ChangeSetEncoder
  ) throws(ProtocolError) -> Data {
    index.transactions = try transactions.map { transaction throws(ProtocolError) in
      let source = try tables.source(at: transaction.source)
      return .init(
        name: transaction.name, hybridTime: transaction.hybridTime,
        author: try source.author.map { place throws(ProtocolError) in
          try tables.text(at: place)
        },
        contextName: try source.contextName.map { place throws(ProtocolError) in
          try tables.text(at: place)
        }, origin: source.origin)
    }
    let order: [ChangeSetIndex.Group.Kind] = [.insert, .revive, .update, .delete]
    var columns: [Column] = []
    for kind in order {
      for place in drafts.indices where drafts[place].group.kind == kind {
        var group = drafts[place].group
        group.objects = ObjectIndexes(drafts[place].objects)
        index.groups.append(group)
        for column in drafts[place].columns { columns.append(try column.column()) }
        drafts[place].columns = []
      }
    }
    drafts = []
    index.claims = claims.map { objects, claims in
      var claims = claims
      claims.objects = ObjectIndexes(objects)
      return claims
    }
    return try encoder.encode(header, index, &columns)
  }
}

/// A value or a set of an object, with the property that it is of.
enum FoldCell {
  case value(property: UInt32, FoldValue)
  case elements(property: UInt32, FoldElements)

  var property: SegmentFrame.Property {
    switch self {
    case .value(let name, let value): .init(name: name, kind: value.kind)
    case .elements(let name, _): .init(name: name, kind: ColumnCodec.Kind.elements.rawValue)
    }
  }

  var entity: UInt32 {
    switch self {
    case .value(_, let value): value.entity
    case .elements(_, let elements): elements.entity
    }
  }

  var transaction: FoldTransaction {
    switch self {
    case .value(_, let value): value.transaction
    case .elements(_, let elements): elements.transaction
    }
  }
}

extension UUID {
  /// Whether another one is this one with a number added to its last eight bytes, without a carry.
  func follows(by count: Int, _ other: UUID) -> Bool {
    let (_, overflow) = lowBytes.addingReportingOverflow(UInt64(count))
    return !overflow && advanced(by: UInt64(count)) == other
  }
}
