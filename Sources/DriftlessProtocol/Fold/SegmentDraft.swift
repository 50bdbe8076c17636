import Foundation

/// The objects of a segment, as pieces, until there are enough for a file.
struct SegmentDraft {
  private let tables: FoldTables
  private let isDelta: Bool
  private var bytes = FoldBytes()
  private var objects: [(number: UInt64, start: Int)] = []
  private var mentions = 0
  /// About what they take. Bytes.
  private var size = 0

  /// What makes a segment full, beside its bytes: how often it may name transactions and other objects, which are tables of
  /// its own.
  private static let mentionsMax = 150_000
  private static let objectSize = 24
  private static let cellSize = 8

  init(tables: FoldTables, isDelta: Bool) {
    self.tables = tables
    self.isDelta = isDelta
  }

  var isEmpty: Bool { objects.isEmpty }
  var last: UInt64? { objects.last?.number }

  /// Whether it is, as a function of what it says, however that came about: equal logs give equal files.
  func isFull(_ bytesMax: Int) -> Bool { size >= bytesMax || mentions >= Self.mentionsMax }

  /// - Parameter number: Greater than all before.
  mutating func append(_ number: UInt64, _ object: ObjectEdit) {
    assert(last.map { $0 < number } ?? true, "objects come in the order of their numbers")
    objects.append((number, bytes.bytes.count))
    var last: FoldTransaction?
    size += Self.objectSize
    object.forEachAtom(in: tables) { atom in
      if let transaction = atom.transaction, transaction != last { mentions += 1 }
      switch atom {
      case .elements(_, let elements):
        mentions += elements.added.count + elements.removed.count
        size += Self.cellSize + 4 * (elements.added.count + elements.removed.count)
      case .value(_, let value): size += Self.cellSize + value.wholeCount
      default: size += Self.cellSize
      }
      atom.write(to: &bytes, last: &last)
    }
  }

  /// The segment's bytes. The pieces are let go of on the way: the draft has none any more.
  ///
  /// - Parameters:
  ///   - range: The numbers that the segment answers for.
  ///   - header: Of its change sets.
  mutating func encoded(
    _ range: Range<UInt64>, _ header: ChangeSetHeader, _ encoder: ChangeSetEncoder
  ) throws -> Data {
    assert(
      objects.allSatisfy { range.contains($0.number) }, "a segment answers for what is in its range"
    )
    var places = SegmentPlaces()
    var new: [UInt64] = []
    var known: [UInt64] = []
    var layerMax = 0
    try forEach { number, object in
      layerMax = max(layerMax, cells(of: object).map { layer(of: $0, object) }.max() ?? 0)
      switch (object.birth, object.life) {
      case (.some, .alive):
        new.append(number)
        places.numbers.append(number: number)
      case (.some, _): break
      case (nil, _): known.append(number)
      }
      for cell in cells(of: object) { try Self.forEachTarget(of: cell) { known.append($0) } }
    }
    var frames: [Data] = []
    var replicas: [UUID: Int] = [:]
    for layer in 0...layerMax {
      let all = layer == 0 ? known : known + new
      var frame = SegmentFrame(
        tables: tables, newNumbers: layer == 0 ? new : [],
        knownNumbers: Self.ascending(all, but: layer == 0 ? new : []))
      try fill(&frame, layer: layer, &places)
      if layer == layerMax { (bytes, objects) = (FoldBytes(), []) }
      places.pushed.append(
        try frame.transactions.map { transaction in
          let replica = try tables.source(at: transaction.source).replica
          if replicas[replica] == nil {
            replicas[replica] = places.replicas.count
            places.replicas.append(replica)
          }
          return .init(replica: replicas[replica] ?? 0, sequence: transaction.sequence)
        })
      frames.append(try frame.encoded(header, encoder))
    }
    return try SegmentBytes(
      content: .objects, isDelta: isDelta, first: range.lowerBound, end: range.upperBound,
      generation: header.cursor.generation, places: places.encoded(first: range.lowerBound),
      frames: frames
    ).encoded(encoder)
  }

  private func forEach(_ body: (UInt64, ObjectEdit) throws -> Void) throws {
    for (place, object) in objects.enumerated() {
      let end = place + 1 < objects.count ? objects[place + 1].start : bytes.bytes.count
      var scan = FoldScanner(bytes.bytes, object.start..<end)
      var last: FoldTransaction?
      var edit = ObjectEdit()
      while !scan.isAtEnd { edit.apply(try FoldAtom(&scan, last: &last)) }
      try body(object.number, edit)
    }
  }

  /// The values and sets of an object in the order of their properties' names.
  private func cells(of object: ObjectEdit) -> [FoldCell] {
    var cells: [FoldCell] = object.values.map { .value(property: $0.property, $0.value) }
    cells += object.sets.map { .elements(property: $0.property, $0.elements) }
    return cells.sorted {
      ($0.property.name == $1.property.name)
        ? $0.property.kind < $1.property.kind
        : tables.isOrdered($0.property.name, $1.property.name)
    }
  }

  /// In which change set of the segment a cell stands: in the first, unless a change set cannot have it there.
  private func layer(of cell: FoldCell, _ object: ObjectEdit) -> Int {
    if case .elements(let property, _) = cell,
      object.values.contains(where: { $0.property == property })
    {
      return 2  // Two models have one name for an attribute and for a relationship.
    }
    // A property of a renamed entity was set under the one or the other name.
    guard let birth = object.birth else { return 0 }
    return cell.entity == birth.entity ? 0 : 1
  }

  private func fill(
    _ frame: inout SegmentFrame, layer: Int, _ places: inout SegmentPlaces
  ) throws {
    if layer == 0 {
      try forEach { number, object in
        guard let birth = object.birth, let row = object.transaction else { return }
        if object.life == .alive {
          try frame.add(birth, row: row)
        } else {
          try bury(number, birth, row, in: &frame, &places)
        }
      }
    }
    // Objects stand in the order of the table: the new ones come first.
    for isNew in layer == 0 ? [true, false] : [false] {
      try forEach { number, object in
        guard layer > 0 || isNew == (object.birth != nil),
          object.life != .dead || object.birth == nil
        else { return }
        var cells = cells(of: object).filter { self.layer(of: $0, object) == layer }
        if layer == 0 {
          cells = try addWhole(number, object, cells, to: &frame)
          for (constraint, claim) in object.claims {
            try frame.claim(constraint, claim, of: number)
          }
        }
        for cell in cells { try frame.cell(cell, of: number) }
      }
    }
  }

  /// Says what became of an object as a whole.
  ///
  /// - Returns: The cells that are still to be said.
  private func addWhole(
    _ number: UInt64, _ object: ObjectEdit, _ cells: [FoldCell], to frame: inout SegmentFrame
  ) throws -> [FoldCell] {
    guard let row = object.transaction else { return cells }
    switch object.life {
    case .unchanged: return cells
    case .dead:
      _ = try frame.whole(.delete, object.entity, number, row, [])
      return []
    case .alive:
      let entity = object.birth?.entity ?? object.entity
      let own = cells.filter { $0.transaction == row && $0.entity == entity }
      let isTaken = try frame.whole(
        object.birth == nil ? .revive : .insert, entity, number, row, own)
      return isTaken ? cells.filter { $0.transaction != row || $0.entity != entity } : cells
    }
  }

  private func bury(
    _ number: UInt64, _ birth: FoldBirth, _ row: FoldTransaction, in frame: inout SegmentFrame,
    _ places: inout SegmentPlaces
  ) throws {
    let transaction = frame.transaction(row)
    let name = try tables.text(at: birth.entity)
    let entity: Int
    if let last = places.dead.last, places.entities[last.entity].utf8.elementsEqual(name.utf8) {
      entity = last.entity
    } else if let known = places.entities.firstIndex(where: { $0.utf8.elementsEqual(name.utf8) }) {
      entity = known
    } else {
      entity = places.entities.count
      places.entities.append(name)
    }
    if let last = places.dead.last, last.run.first + last.run.count == number,
      last.entity == entity, last.isGiven == birth.isGiven, last.maker == birth.maker,
      last.transaction == transaction,
      last.identity.follows(by: Int(last.run.count), birth.identity)
    {
      places.dead[places.dead.count - 1].run.count += 1
      return
    }
    places.dead.append(
      .init(
        run: .init(first: number, count: 1), entity: entity, isGiven: birth.isGiven,
        identity: birth.identity, maker: birth.maker, transaction: transaction))
  }

  private static func forEachTarget(
    of cell: FoldCell, _ body: (UInt64) throws -> Void
  ) throws {
    switch cell {
    case .elements(_, let elements):
      for number in elements.added { try body(number) }
      for number in elements.removed { try body(number) }
    case .value(_, let value):
      if let target = try value.target { try body(target) }
    }
  }

  private static func ascending(_ numbers: [UInt64], but new: [UInt64]) -> [UInt64] {
    var ascending: [UInt64] = []
    var place = 0
    for number in numbers.sorted() where number != ascending.last {
      while place < new.count, new[place] < number { place += 1 }
      if place == new.count || new[place] != number { ascending.append(number) }
    }
    return ascending
  }
}
