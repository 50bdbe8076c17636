import Foundation

@testable import DriftlessProtocol

/// What a snapshot says, in the words of `LogReplay`.
enum SnapshotText {
  static func lines(of snapshot: Snapshot, in folder: URL) throws -> [String] {
    let tables = FoldTables()
    let layers = [snapshot.base, snapshot.delta].compactMap { $0 }
    let merge = FoldMerge(
      try layers.map {
        try LayerCursor($0, of: snapshot, tables: tables, from: nil) {
          try Snapshot.bytes(of: $0, in: folder)
        }
      })
    var things: [String] = []
    var notes: [String] = []
    var names: [String] = []
    while let (key, edit) = try merge.next() {
      switch (key.part, edit.note) {
      case (.object, _): things.append(try text(key.low, edit.object, tables))
      case (_, .pushed(let number, let mark)?):
        notes.append("replica \(key.identity) \(number) \(mark)")
      case (_, .told(let time, let isPartial)?):
        names.append("name \(key.low) \((time: time, isPartial: isPartial))")
      case (_, .buried(let entity, let time)?):
        notes.append("tombstone \(key.identity) \(try tables.text(at: entity)) \(time)")
      default: break
      }
    }
    return things + notes.sorted() + names.sorted()
  }

  private static func text(
    _ number: UInt64, _ object: ObjectEdit, _ tables: FoldTables
  ) throws -> String {
    guard let birth = object.birth, let row = object.transaction else { return "\(number) ?" }
    let isAlive = object.life == .alive
    let entity = try tables.text(at: birth.entity)
    var parts = [
      "\(number) \(entity) \(birth.identity) \(birth.isGiven) made by \(birth.maker)",
      "\(isAlive ? "alive" : "dead") since \(try text(row, tables))",
    ]
    parts += try object.values.map { property, value in
      let by = "\(try tables.text(at: value.entity)) \(try text(value.transaction, tables))"
      return "\(try tables.text(at: property))=\(try text(value)) by \(by)"
    }.sorted()
    parts += try object.sets.map { property, set in
      let by = "\(try tables.text(at: set.entity)) \(try text(set.transaction, tables))"
      return "\(try tables.text(at: property)) has \(set.added) by \(by)"
    }.sorted()
    parts += try object.claims.map { constraint, claim in
      let properties = try constraint.properties.map { try tables.text(at: $0) }
      return "\(try tables.text(at: constraint.entity)) \(properties) claims "
        + "\(claim.keyID) \(claim.hash.bytes.base64EncodedString())"
    }.sorted()
    return parts.joined(separator: "\n  ")
  }

  private static func text(_ save: FoldTransaction, _ tables: FoldTables) throws -> String {
    let source = try tables.source(at: save.source)
    return LogReplay.text(
      .init(
        name: save.name, hybridTime: save.hybridTime,
        author: try source.author.map { try tables.text(at: $0) },
        contextName: try source.contextName.map { try tables.text(at: $0) },
        origin: source.origin), of: source.replica, in: save.sequence)
  }

  private static func text(_ value: FoldValue) throws -> String {
    var scan = FoldScanner(value.bytes)
    let kind = ColumnCodec.Kind(rawValue: value.kind)
    if kind == .references { return "to \(try scan.nextVarint())" }
    if value.isNull { return "\(value.kind):null" }
    switch kind {
    case .integers: return "1:\(Packing.unzigzag(try scan.nextVarint()))"
    case .doubles, .dates: return "\(value.kind):\(try scan.nextNumber())"
    case .booleans: return "4:\(try scan.nextByte())"
    case .uuids: return "9:\(try scan.nextUUID())"
    default: return "\(value.kind):\(Data(value.bytes).base64EncodedString())"
    }
  }
}
