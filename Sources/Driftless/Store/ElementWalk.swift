import DriftlessSQLite

/// Reads what a many-to-many relationship holds, object by object. Objects that come in ascending order are read in one
/// walk along the relationship's table.
package struct ElementWalk {
  private let transaction: ReadTransaction
  private let relationship: RelationshipDescription
  private let statement: SQLiteStatement?
  /// Whether the rows of the walk have places.
  private let hasPlaces: Bool
  /// The object whose element the walk stands on; nil at the end.
  private var source: Int64?
  /// The last object that was asked for; nil before the first.
  private var last: Int64?

  package init(
    _ transaction: ReadTransaction, _ relationship: RelationshipDescription
  ) throws {
    self.transaction = transaction
    self.relationship = relationship
    guard let destination = relationship.destinationEntity,
      let join = transaction.schema.joinTable(for: relationship)
    else {
      statement = nil
      hasPlaces = false
      return
    }
    let table = transaction.schema.table(for: destination)
    let place = join.destinationOrderColumn.map { "j.\"\($0)\"" }
    hasPlaces = place != nil
    // The relationship's table leads the join, so that its objects come in their order.
    statement = try transaction.connection.prepareUncached(
      """
      SELECT j."\(join.sourceColumn)", t.Z_PK, t.Z_ENT\(place.map { ", \($0)" } ?? "")
      FROM "\(join.name)" j CROSS JOIN "\(table.name)" t ON t.Z_PK = j."\(join.destinationColumn)"
      WHERE j."\(join.sourceColumn)" >= ?
      ORDER BY j."\(join.sourceColumn)", \(place.map { "\($0), " } ?? "")t.Z_PK
      """)
  }

  /// The objects that the relationship of an object holds, in their order if it is ordered.
  package mutating func elements(of key: ObjectKey) throws -> [ObjectKey] {
    guard let statement else { return try transaction.toManyKeys(of: key, relationship) }
    // Where the walk stands beyond the object, it has none.
    if last.map({ $0 >= key.key }) ?? true || source.map({ $0 < key.key }) ?? false {
      statement.reset()
      statement.bind(key.key, at: 1)
      try advance()
    }
    last = key.key
    var elements: [ObjectKey] = []
    var order = PlaceOrder()
    while source == key.key {
      let element = statement.objectKey(2, 1)
      if hasPlaces {
        order.append(element, placeIn: statement, 3)
      } else {
        elements.append(element)
      }
      try advance()
    }
    return hasPlaces ? try order.keys(transaction) : elements
  }

  /// Ends the walk: a statement that is left open would hold on to its snapshot.
  package func finish() { statement?.reset() }

  private mutating func advance() throws {
    guard let statement, try statement.step() else {
      source = nil
      return
    }
    source = statement.int64(0)
  }
}
