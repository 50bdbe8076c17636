import Foundation
import SwiftProtobuf

/// Takes a change set apart, column by column: only one column is in memory with its bytes.
struct FrameAtoms {
  /// What the bytes of a change set do not say.
  struct Place {
    /// The zone's number of an object of the object table.
    var number: (Int) -> UInt64
    /// Which replica pushed a transaction, and in which entry.
    var pushed: (_ transaction: Int) -> (replica: UUID, sequence: UInt64)
    /// What stands in place of a maker that nobody knows; nil in a log.
    var noMaker: UInt64?
  }

  private let frame: Data
  private let header: ChangeSetHeader
  let index: ChangeSetIndex
  private let place: Place
  private let tables: FoldTables
  private let decoder: ChangeSetDecoder
  let transactions: [FoldTransaction]
  private let entities: [(name: UInt32, properties: [UInt32])]

  /// - Parameter place: Made with the change set's index, which tells how many objects are new.
  /// - Throws: `ProtocolError` when the frame cannot be read.
  init(
    _ frame: Data, tables: FoldTables, decoder: ChangeSetDecoder,
    place: (ChangeSetHeader, ChangeSetIndex) throws(ProtocolError) -> Place
  ) throws(ProtocolError) {
    self.frame = frame
    self.tables = tables
    self.decoder = decoder
    let (header, index) = try decoder.decodeIndex(frame)
    self.header = header
    self.index = index
    let given = try place(header, index)
    self.place = given
    transactions = index.transactions.enumerated().map { number, transaction in
      let (replica, sequence) = given.pushed(number)
      let source = FoldSource(
        replica: replica, author: transaction.author.map { tables.text($0) },
        contextName: transaction.contextName.map { tables.text($0) }, origin: transaction.origin)
      return FoldTransaction(
        sequence: sequence, name: transaction.name, hybridTime: transaction.hybridTime,
        source: tables.source(source))
    }
    entities = index.entities.map { (tables.text($0.name), $0.properties.map { tables.text($0) }) }
  }

  /// The newest time of its transactions.
  var newestTime: UInt64 { index.transactions.lazy.map(\.hybridTime).max() ?? 0 }

  /// Calls `body` with what the change set says of objects: first which come, go and come back, then values. What it says
  /// of keys comes behind all values: who sets one lets go of its keys.
  func forEachChange(_ body: (FoldKey, FoldAtom) throws -> Void) throws {
    for group in index.groups { try life(group, body) }
    var group = 0
    var column = 0
    var failure: (any Error)?
    try decoder.forEachColumn(of: frame, header, index) { values in
      while column == index.groups[group].properties.count {
        group += 1
        column = 0
      }
      defer { column += 1 }
      guard failure == nil else { return }
      do {
        try cells(values, index.groups[group], property: column, body)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  /// Calls `body` with the keys that objects hold from now on.
  func forEachClaim(_ body: (FoldKey, FoldAtom) throws -> Void) throws {
    for claims in index.claims {
      let entity = entities[claims.entity]
      let constraint = FoldConstraint(
        entity: entity.name, properties: claims.properties.map { entity.properties[$0] })
      for (object, hash) in zip(claims.objects, claims.hashes) {
        try body(
          .object(place.number(object)),
          .claim(constraint, FoldClaim(keyID: claims.keyID, hash: hash)))
      }
    }
  }

  private func life(
    _ group: ChangeSetIndex.Group, _ body: (FoldKey, FoldAtom) throws -> Void
  ) throws {
    guard group.kind != .update else { return }
    let entity = entities[group.entity].name
    var transactions = RowTransactions(group)
    var run = 0
    var start = 0
    for object in group.objects {
      let transaction = self.transactions[transactions.next()]
      let key = FoldKey.object(place.number(object))
      switch group.kind {
      case .delete: try body(key, .deleted(entity: entity, transaction))
      case .revive: try body(key, .revived(entity: entity, transaction))
      case .insert, .update:
        while object >= start + index.newObjects[run].count {
          start += index.newObjects[run].count
          run += 1
        }
        let objects = index.newObjects[run]
        let told = objects.makers.isEmpty ? 0 : objects.makers[object - start]
        let maker = told == 0 ? transaction.name : told == place.noMaker ? 0 : told
        try body(
          key,
          .born(
            FoldBirth(
              entity: entities[objects.entity].name, identity: objects.identities[object - start],
              isGiven: objects.isGiven, maker: maker),
            transaction))
      }
    }
  }

  private func cells(
    _ column: Column, _ group: ChangeSetIndex.Group, property: Int,
    _ body: (FoldKey, FoldAtom) throws -> Void
  ) throws {
    let entity = entities[group.entity]
    let property = entity.properties[group.properties[property]]
    var transactions = RowTransactions(group)
    if case .elements(let rows) = column.values {
      for (row, object) in group.objects.enumerated() {
        let elements = FoldElements(
          entity: entity.name, transaction: self.transactions[transactions.next()],
          added: rows.added(at: row).map { place.number(Int($0)) },
          removed: rows.removed(at: row).map { place.number(Int($0)) })
        try body(
          .object(place.number(object)), .elements(property: property, elements))
      }
      return
    }
    let reader = try CellReader(column, name: tables.text(at: property)) { place.number($0) }
    for (row, object) in group.objects.enumerated() {
      let (isNull, bytes) = reader.cell(row)
      let isLarge = column.large?.contains(row) ?? false
      let value = FoldValue(
        entity: entity.name, transaction: self.transactions[transactions.next()],
        kind: reader.kind, isNull: isNull, isLarge: isLarge, bytes: bytes)
      try body(.object(place.number(object)), .value(property: property, value))
    }
  }
}

/// The transaction of each row of a group, row by row.
private struct RowTransactions {
  private let runs: [ChangeSetIndex.Group.TransactionRun]
  private var run = 0
  private var row = 0

  init(_ group: ChangeSetIndex.Group) { runs = group.transactionRuns }

  mutating func next() -> Int {
    if row == runs[run].count {
      run += 1
      row = 0
    }
    row += 1
    return runs[run].transaction
  }
}
