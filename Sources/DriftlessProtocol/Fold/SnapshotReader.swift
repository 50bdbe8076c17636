package import Foundation

/// Reads what a snapshot says of objects as a replica takes it in: those that live, with all that they have, and which
/// numbers are dead. A part of it is in memory at a time.
package struct SnapshotReader {
  /// Objects of one range of numbers.
  package struct Part {
    /// Numbers that follow each other, and whose objects are dead.
    package struct Dead {
      /// The first number.
      package let first: UInt64
      package let count: Int
      package let entity: String
      /// Of the first; each next adds 1 to the last eight bytes.
      package let identity: UUID
      package let isGiven: Bool
      /// The name of the transaction that made them; 0 where that is not known.
      package let maker: UInt64
      /// The delete's place among the transactions of the first change set.
      package let transaction: Int
    }

    /// The entry of the log that a transaction came with.
    package struct Pushed {
      package let replica: UUID
      package let sequence: UInt64
    }

    private let frames: [Data]
    private let places: SegmentPlaces
    private let decoder = ChangeSetDecoder(limits: .segment)

    fileprivate init(_ segment: SegmentBytes, _ places: SegmentPlaces) {
      frames = segment.frames
      self.places = places
    }

    /// How many change sets it has: the first has the objects, later ones further values of them.
    package var count: Int { frames.count }

    /// What its change sets take inflated, as they say.
    package var inflatedBytes: Int {
      get throws {
        try frames.reduce(0) { sum, frame in
          let header = try decoder.decodeHeader(frame)
          return sum.addingClamped(header.indexSize.raw).addingClamped(header.valuesSize.raw)
        }
      }
    }

    /// The numbers of the new objects of the first change set, in their order.
    package var numbers: [UInt64] {
      places.numbers.flatMap { Array($0.first..<$0.first + $0.count) }
    }

    /// The number of an object that the first change set makes; 0 for none.
    package func number(ofNew place: Int) -> UInt64 {
      var place = UInt64(clamping: place)
      for run in places.numbers {
        if place < run.count { return run.first + place }
        place -= run.count
      }
      return 0
    }

    /// Ascending.
    package var dead: [Dead] {
      places.dead.map { dead in
        Dead(
          first: dead.run.first, count: Int(clamping: dead.run.count),
          entity: places.entities[dead.entity], identity: dead.identity, isGiven: dead.isGiven,
          maker: dead.maker, transaction: dead.transaction)
      }
    }

    /// For each transaction of a change set, the entry that it came with.
    package func pushed(_ number: Int) throws(ProtocolError) -> [Pushed] {
      guard places.pushed.indices.contains(number) else {
        throw .malformed("The places of a segment do not fit its change sets")
      }
      return places.pushed[number].map {
        Pushed(replica: places.replicas[$0.replica], sequence: $0.sequence)
      }
    }

    /// Under which entities, and with which identities, the objects that live came into the zone.
    ///
    /// - Parameter index: of the first change set.
    package func births(_ index: ChangeSetIndex) -> Births { Births(places.numbers, index) }

    /// What a change set says without its values.
    package func index(_ number: Int) throws(ProtocolError) -> ChangeSetIndex {
      try checked(decoder.decodeIndex(frames[number]).index, number)
    }

    /// A change set whole.
    package func changeSet(_ number: Int) throws(ProtocolError) -> ChangeSet {
      let changeSet = try decoder.decode(frames[number])
      _ = try checked(changeSet.index, number)
      return changeSet
    }

    private func checked(
      _ index: ChangeSetIndex, _ number: Int
    ) throws(ProtocolError) -> ChangeSetIndex {
      guard UInt64(index.newObjectCount) == (number == 0 ? places.newCount : 0) else {
        throw .malformed("The places of a segment do not fit its change sets")
      }
      return index
    }
  }

  private let snapshot: Snapshot
  private let notes: [Snapshot.File]
  /// Whether each object is deleted, or brought back, under the entity's name that it came under: for a model to tell where
  /// it is not. Known when all parts were read.
  package private(set) var isPlain: Bool
  private let bytes: (Snapshot.File) throws -> Data

  /// - Parameters:
  ///   - snapshot: As a server tells it; nothing of it is believed.
  ///   - bytes: Gives a file's bytes.
  /// - Throws: `ProtocolError` when the snapshot does not have each number once.
  package init(
    _ snapshot: Snapshot, bytes: @escaping (Snapshot.File) throws -> Data
  ) throws(ProtocolError) {
    self.snapshot = snapshot.objects
    notes = snapshot.files.filter { $0.content == .notes }
    self.bytes = bytes
    isPlain = snapshot.base.isPlain && (snapshot.delta?.isPlain ?? true)
    try LayerCursor.check(snapshot.base, from: 1)
    if let delta = snapshot.delta {
      try LayerCursor.check(delta, from: snapshot.base.nextObject)
    }
  }

  /// Calls `body` with the parts, in the order of their numbers.
  ///
  /// - Throws: `ProtocolError` when a file is not what the snapshot says, and what `body` throws.
  package mutating func forEachPart(_ body: (Part) throws -> Void) throws {
    if snapshot.delta == nil {
      for file in snapshot.base.files where file.content == .objects {
        let segment = try LayerCursor.segment(
          of: bytes(file), file, generation: snapshot.generation)
        try body(Part(segment, try LayerCursor.places(of: segment, firstBorn: 1)))
      }
      return
    }
    let tables = FoldTables()
    let merge = FoldMerge(
      try [snapshot.base, snapshot.delta].compactMap { $0 }.map {
        try LayerCursor($0, of: snapshot, tables: tables, from: nil, bytes: bytes)
      })
    // Put together in memory alone: nobody keeps them.
    let encoder = ChangeSetEncoder(limits: .segment, compressionLevel: 0)
    let header = ChangeSetHeader(
      replica: snapshot.zoneID, pushNumber: 1,
      cursor: Cursor(
        generation: snapshot.generation, sequence: snapshot.place.sequence,
        chain: snapshot.place.chain))
    var draft = SegmentDraft(tables: tables, isDelta: false)
    var first: UInt64 = 1
    func write() throws {
      guard let last = draft.last else { return }
      let data = try draft.encoded(first..<last + 1, header, encoder)
      let segment = try SegmentBytes(data, limits: .segment)
      try body(Part(segment, try LayerCursor.places(of: segment, firstBorn: 1)))
      first = last + 1
      draft = SegmentDraft(tables: tables, isDelta: false)
    }
    while let (key, edit) = try merge.next(), key.part == .object {
      guard edit.object.birth != nil else { throw LayerCursor.missing(key.low) }
      if draft.isFull(Self.partBytes) { try write() }
      draft.append(key.low, edit.object)
    }
    try write()
    isPlain = isPlain && merge.isPlain
    guard first == snapshot.nextObject else { throw LayerCursor.missing(first) }
  }

  /// The time before which names of transactions are told no more.
  package var namesForgotten: UInt64 {
    FoldOptions().namesForgotten(newest: snapshot.newestTime)
  }

  /// Calls `body` with the names of transactions that the snapshot tells beside its objects.
  ///
  /// - Throws: `ProtocolError` when a file is not what the snapshot says, and what `body` throws.
  package func forEachName(_ body: (UInt64) throws -> Void) throws {
    for file in notes {
      let segment = try LayerCursor.segment(of: bytes(file), file, generation: snapshot.generation)
      try NotesDraft.forEachAtom(
        of: segment, tables: FoldTables(), decoder: ChangeSetDecoder(limits: .segment)
      ) { key, note in
        if case .told = note { try body(key.low) }
      }
    }
  }

  /// What a part that is put together here takes. Bytes.
  private static let partBytes = 4 << 20

  /// A part that a server put together (`SnapshotDigests`).
  ///
  /// - Parameters:
  ///   - numbers: which were asked for: it begins with the first, and may end before the last.
  /// - Returns: also the number behind the last that it has.
  /// - Throws: `ProtocolError` when it is no such part.
  package static func part(
    _ data: Data, of generation: UUID, numbers: Range<UInt64>
  ) throws(ProtocolError) -> (part: Part, end: UInt64) {
    let segment = try SegmentBytes(data, limits: .segment)
    guard segment.generation == generation, segment.content == .objects,
      segment.first == numbers.lowerBound, segment.end > segment.first,
      segment.end <= numbers.upperBound
    else { throw .malformed("The objects that came are not those that were asked for") }
    return (Part(segment, try LayerCursor.places(of: segment, firstBorn: 1)), segment.end)
  }
}

extension Snapshot {
  /// What a server counts entries and objects up to.
  private static let numberMax: UInt64 = 1 << 40

  /// The same without what it says of replicas, names and tombstones.
  package var objects: Snapshot {
    var objects = self
    objects.base.files.removeAll { $0.content != .objects }
    objects.delta?.files.removeAll { $0.content != .objects }
    return objects
  }

  /// Whether it can be what a server has: the names of its files are digests, their lengths and numbers can be added.
  ///
  /// - Throws: `ProtocolError`.
  package func check() throws(ProtocolError) {
    let isDigest = { (name: String) in
      name.utf8.count == 64
        && name.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
    for file in files {
      guard isDigest(file.name), (1...ChangeSetLimits.segment.frameBytesMax).contains(file.bytes),
        file.end >= file.first
      else {
        throw .malformed("The snapshot names a file that cannot be: \(file.name.prefix(80))")
      }
    }
    guard nextObject >= base.nextObject, base.nextObject > 0, nextObject <= Self.numberMax,
      base.place.sequence <= place.sequence, place.sequence <= Self.numberMax
    else { throw .malformed("The places of the snapshot are in no order") }
  }
}
