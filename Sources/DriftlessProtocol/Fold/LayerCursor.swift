import Foundation

/// A layer of a snapshot, file by file: one of them is in memory at a time.
final class LayerCursor: FoldCursor {
  private let bytes: (Snapshot.File) throws -> Data
  private let generation: UUID
  private let tables: FoldTables
  /// Objects from this number on came with the layer: each is alive or dead in it.
  private let firstBorn: UInt64
  private var files: ArraySlice<Snapshot.File>
  private var arena: ArenaCursor?
  private let decoder = ChangeSetDecoder(limits: .segment)

  /// - Parameters:
  ///   - bytes: Gives a file's bytes.
  ///   - start: What comes before it is passed over.
  init(
    _ layer: Snapshot.Layer, of snapshot: Snapshot, tables: FoldTables, from start: FoldKey?,
    bytes: @escaping (Snapshot.File) throws -> Data
  ) throws {
    self.bytes = bytes
    self.tables = tables
    generation = snapshot.generation
    firstBorn = layer == snapshot.base ? 1 : snapshot.base.nextObject
    try Self.check(layer, from: firstBorn)
    files = layer.files[...]
    while let file = files.first, let start, file.content == .objects,
      start.part != .object || file.end <= start.low
    {
      files.removeFirst()
    }
    try advance()
    while let start, let key, key < start {
      var passed = FoldEdit()
      try take(into: &passed)
    }
  }

  /// The ranges of the files follow each other up to the next number.
  static func check(_ layer: Snapshot.Layer, from first: UInt64) throws(ProtocolError) {
    var next: UInt64 = 1
    for file in layer.files where file.content == .objects {
      guard file.first == next, file.end > next else { throw missing(min(file.first, next)) }
      next = file.end
    }
    guard next == layer.nextObject || next == 1 && layer.nextObject == first else {
      throw missing(next)
    }
  }

  static func missing(_ number: UInt64) -> ProtocolError {
    ProtocolError(
      .damaged, "The snapshot says of object \(number) neither that it lives nor that it is dead",
      suggestion: "Delete the snapshot's folder and fold the zone anew.")
  }

  var key: FoldKey? { arena?.key }

  func take(into edit: inout FoldEdit) throws {
    try arena?.take(into: &edit)
    try advance()
  }

  private func advance() throws {
    while arena?.key == nil {
      arena = nil
      guard let file = files.popFirst() else { return }
      arena = ArenaCursor(try read(file))
    }
  }

  private func read(_ file: Snapshot.File) throws -> FoldArena {
    let segment = try Self.segment(of: try bytes(file), file, generation: generation)
    var arena = FoldArena()
    switch segment.content {
    case .notes:
      try NotesDraft.forEachAtom(of: segment, tables: tables, decoder: decoder) {
        arena.append($0, $1)
      }
    case .objects: try read(segment, into: &arena)
    }
    arena.sort()
    return arena
  }

  /// A file's segment, when its bytes are those that the snapshot names.
  static func segment(
    of data: Data, _ file: Snapshot.File, generation: UUID
  ) throws(ProtocolError) -> SegmentBytes {
    guard SegmentBytes.name(of: data) == file.name else {
      throw ProtocolError(
        .damaged, "The file \(file.name).segment of the snapshot is not as it was written",
        suggestion: "Delete the snapshot's folder and fold the zone anew.")
    }
    let segment = try SegmentBytes(data, limits: .segment)
    guard segment.generation == generation,
      (segment.content == .objects) == (file.content == .objects),
      segment.content == .notes || (segment.first, segment.end) == (file.first, file.end)
    else { throw .damagedFold }
    return segment
  }

  /// The places of a segment of objects: each number that came with the layer is alive or dead.
  static func places(
    of segment: SegmentBytes, firstBorn: UInt64
  ) throws(ProtocolError) -> SegmentPlaces {
    let places = try SegmentPlaces(
      segment.places, first: segment.first, frames: segment.frames.count)
    // A few bytes can say that a run has any number of objects.
    let objectsMax = UInt64(ChangeSetLimits.segment.objectsMax)
    var count: UInt64 = 0
    for run in places.numbers + places.dead.map(\.run) {
      guard run.count <= objectsMax - count else {
        throw .tooLarge("The segment has more than \(objectsMax) objects")
      }
      count += run.count
    }
    try check(places, segment, firstBorn: firstBorn)
    return places
  }

  private func read(_ segment: SegmentBytes, into arena: inout FoldArena) throws {
    let places = try Self.places(of: segment, firstBorn: firstBorn)
    let new = places.numbers.flatMap { Array($0.first..<$0.first + $0.count) }
    var claims: [FrameAtoms] = []
    for (layer, frame) in segment.frames.enumerated() {
      let own = layer == 0 ? new : []
      let atoms = try FrameAtoms(
        frame, tables: tables, decoder: decoder
      ) { _, index throws(ProtocolError) in
        guard index.newObjectCount == own.count,
          places.pushed[layer].count == index.transactions.count
        else { throw .malformed("The places of a segment do not fit its change sets") }
        return .init(
          number: { $0 < own.count ? own[$0] : index.knownNumbers[$0 - own.count] },
          pushed: { transaction in
            let pushed = places.pushed[layer][transaction]
            return (places.replicas[pushed.replica], pushed.sequence)
          }, noMaker: SegmentPlaces.noMaker)
      }
      if layer == 0 { bury(places, atoms, into: &arena) }
      try atoms.forEachChange { arena.append($0, $1) }
      claims.append(atoms)
    }
    for atoms in claims { try atoms.forEachClaim { arena.append($0, $1) } }
  }

  private func bury(_ places: SegmentPlaces, _ atoms: FrameAtoms, into arena: inout FoldArena) {
    for dead in places.dead {
      let entity = tables.text(places.entities[dead.entity])
      for offset in 0..<dead.run.count {
        let birth = FoldBirth(
          entity: entity, identity: dead.identity.advanced(by: offset), isGiven: dead.isGiven,
          maker: dead.maker)
        arena.append(
          .object(dead.run.first + offset), .grave(birth, atoms.transactions[dead.transaction]))
      }
    }
  }

  /// Absence is never a delete: each number that came with the layer is alive or dead.
  private static func check(
    _ places: SegmentPlaces, _ segment: SegmentBytes, firstBorn: UInt64
  ) throws(ProtocolError) {
    let runs = (places.numbers + places.dead.map(\.run)).sorted { $0.first < $1.first }
    var next = max(segment.first, firstBorn)
    for run in runs {
      guard run.first == next else { throw missing(min(run.first, next)) }
      next = run.first + run.count
    }
    guard next == max(segment.end, firstBorn) else { throw missing(next) }
  }
}
