import Foundation

/// What a snapshot says beside its objects, until there is enough for a file.
///
/// The names of transactions stand as the transactions of a change set without groups, each with its time; those of which
/// something was left out in a second one, which says that it is partial. Identities that were deleted before the zone heard
/// of them are the first one's tombstones. The places of the file are the replicas: how many; of each its UUID (16 bytes),
/// the number of its last push and that one's entry (varints), and the log's chain there (16 bytes).
struct NotesDraft {
  private let tables: FoldTables
  private var replicas = FoldBytes()
  private var replicaCount: UInt64 = 0
  private var whole: [ChangeSetIndex.Transaction] = []
  private var partial: [ChangeSetIndex.Transaction] = []
  private var tombstones: [(identity: UUID, entity: UInt32, hybridTime: UInt64)] = []
  private static let rowsMax = 100_000

  init(tables: FoldTables) { self.tables = tables }

  private var rows: Int {
    Int(replicaCount) + whole.count + partial.count + tombstones.count
  }

  var isEmpty: Bool { rows == 0 }
  var isFull: Bool { rows >= Self.rowsMax }

  mutating func append(_ key: FoldKey, _ note: FoldAtom) {
    switch note {
    case .pushed(let number, let mark):
      replicaCount += 1
      replicas.append(key.identity)
      replicas.append(varint: number)
      replicas.append(varint: mark.sequence)
      replicas.bytes.append(contentsOf: mark.chain.bytes)
    case .told(let time, let isPartial):
      let transaction = ChangeSetIndex.Transaction(name: key.low, hybridTime: time)
      if isPartial { partial.append(transaction) } else { whole.append(transaction) }
    case .buried(let entity, let time):
      tombstones.append((key.identity, entity, time))
    default: break
    }
  }

  func encoded(
    isDelta: Bool, _ header: ChangeSetHeader, _ encoder: ChangeSetEncoder
  ) throws(ProtocolError) -> Data {
    var places = FoldBytes()
    places.append(varint: replicaCount)
    places.bytes.append(contentsOf: replicas.bytes)
    var index = ChangeSetIndex(transactions: whole)
    var entities: [UInt32: Int] = [:]
    for (identity, entity, time) in tombstones {
      if entities[entity] == nil {
        entities[entity] = index.entities.count
        index.entities.append(.init(name: try tables.text(at: entity), properties: []))
      }
      index.tombstones.append(
        .init(identity: identity, entity: entities[entity] ?? 0, hybridTime: time))
    }
    var indexes = [index]
    if !partial.isEmpty {
      var rest = ChangeSetIndex(transactions: partial)
      rest.isPartial = true
      indexes.append(rest)
    }
    let frames = try indexes.map { index throws(ProtocolError) in
      try encoder.encode(ChangeSet(header: header, index: index, columns: []))
    }
    return try SegmentBytes(
      content: .notes, isDelta: isDelta, first: 0, end: 0, generation: header.cursor.generation,
      places: places.bytes, frames: frames
    ).encoded(encoder)
  }

  /// Takes a segment of notes apart.
  static func forEachAtom(
    of segment: SegmentBytes, tables: FoldTables, decoder: ChangeSetDecoder,
    _ body: (FoldKey, FoldAtom) throws -> Void
  ) throws {
    var scan = FoldScanner(segment.places)
    for _ in 0..<(try scan.nextCount()) {
      let replica = try scan.nextUUID()
      let number = try scan.nextVarint()
      let sequence = try scan.nextVarint()
      guard let chain = LogChain(bytes: try scan.next(LogChain.size)) else {
        throw ProtocolError.damagedFold
      }
      try body(
        .replica(replica), .pushed(number: number, LogMark(sequence: sequence, chain: chain)))
    }
    for frame in segment.frames {
      let index = try decoder.decodeIndex(frame).index
      for transaction in index.transactions {
        try body(
          .name(transaction.name),
          .told(hybridTime: transaction.hybridTime, isPartial: index.isPartial))
      }
      for tombstone in index.tombstones {
        let entity = tables.text(index.entities[tombstone.entity].name)
        try body(
          .tombstone(tombstone.identity),
          .buried(entity: entity, hybridTime: tombstone.hybridTime))
      }
    }
  }
}
