import Foundation

/// Writes what a merge gives as the files of a layer, each whole and on the disk before the next begins.
struct LayerWriter {
  let zone: UUID
  let place: LogMark
  let generation: UUID
  let isBase: Bool
  /// Objects from this number on came with the layer.
  let firstBorn: UInt64
  /// Objects below this number are there.
  let nextObject: UInt64
  /// The time from which on names of transactions are told.
  let namesFrom: UInt64
  let tables: FoldTables
  let options: FoldOptions
  let files: any SnapshotFiles

  private var encoder: ChangeSetEncoder {
    ChangeSetEncoder(limits: .segment, compressionLevel: options.compressionLevel)
  }

  private var header: ChangeSetHeader {
    ChangeSetHeader(
      replica: zone, pushNumber: 1,
      cursor: Cursor(generation: generation, sequence: place.sequence, chain: place.chain))
  }

  /// - Parameters:
  ///   - start: What comes before it is written already.
  ///   - output: As it is known to be on the disk.
  ///   - written: Gets what is on the disk from now on.
  func write(
    _ merge: FoldMerge, from start: FoldKey, _ output: FoldCheckpoint.Output,
    written: (FoldCheckpoint.Output) throws -> Void
  ) throws {
    var output = output
    var objects = SegmentDraft(tables: tables, isDelta: !isBase)
    var notes = NotesDraft(tables: tables)
    var nextBorn = max(firstBorn, output.first)
    var hasObjects = start.part == .object

    func writeObjects(below end: UInt64) throws {
      let range = output.first..<end
      try write(try objects.encoded(range, header, encoder), .objects, range, &output)
      output.first = end
      output.go(to: .object(end))
      objects = SegmentDraft(tables: tables, isDelta: !isBase)
      try written(output)
    }
    func endObjects() throws {
      guard hasObjects else { return }
      hasObjects = false
      guard nextBorn == nextObject else { throw LayerCursor.missing(nextBorn) }
      if !objects.isEmpty { try writeObjects(below: nextObject) }
    }
    func writeNotes() throws {
      guard !notes.isEmpty else { return }
      try write(
        try notes.encoded(isDelta: !isBase, header, encoder), .notes, 0..<0, &output)
      notes = NotesDraft(tables: tables)
    }

    while let (key, edit) = try merge.next() {
      // What a run has of what is written already.
      if key < start { continue }
      if key.part == .object {
        if objects.isFull(options.segmentBytes), let last = objects.last {
          try writeObjects(below: last + 1)
        }
        if edit.object.birth != nil {
          guard key.low == nextBorn else { throw LayerCursor.missing(min(key.low, nextBorn)) }
          nextBorn += 1
        } else if isBase || key.low >= firstBorn {
          throw LayerCursor.missing(key.low)
        }
        output.isPlain = output.isPlain && merge.isPlain
        objects.append(key.low, edit.object)
        continue
      }
      try endObjects()
      guard let note = edit.note else { continue }
      if case .told(let time, _) = note, time < namesFrom { continue }
      if notes.isFull {
        try writeNotes()
        output.go(to: key)
        try written(output)
      }
      notes.append(key, note)
    }
    try endObjects()
    try writeNotes()
    output.isWhole = true
    try written(output)
  }

  private func write(
    _ data: Data, _ content: Snapshot.File.Content, _ range: Range<UInt64>,
    _ output: inout FoldCheckpoint.Output
  ) throws {
    let name = SegmentBytes.name(of: data)
    try files.keep(data, as: name)
    output.files.append(
      .init(
        name: name, content: content, first: range.lowerBound, end: range.upperBound,
        bytes: data.count))
  }
}
