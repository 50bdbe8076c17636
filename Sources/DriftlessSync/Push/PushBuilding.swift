import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A push that was built: its last part, and the others in a file, since they are more than is held in memory.
struct BuiltPush {
  var last: Outbox
  fileprivate var earlier: PartFile?
  fileprivate var standing = OutboxPart.Standing.here
  /// The large values that it names.
  fileprivate var values: ValueCutting?

  /// Of all parts.
  var bytes: Int { (earlier?.bytes ?? 0) + last.frame.count }

  func save(on connection: SQLiteConnection) throws {
    try values?.save(on: connection)
    guard let earlier else { return try last.save(on: connection) }
    var last = last
    let parts = UInt16(earlier.parts.count + 1)
    // Rounded up.
    let mebibytes = UInt16(clamping: (bytes + 1 << 20 - 1) >> 20)
    try OutboxPart.removeAll(on: connection)
    var before: Data?
    for (place, part) in earlier.parts.enumerated() {
      var frame = try earlier.frame(part)
      ChangeSetEncoder.number(
        &frame, part: UInt16(place + 1), of: parts, mebibytes: place == 0 ? mebibytes : 0,
        after: before)
      // What the next one says of it stands in its header.
      before = Data(frame.prefix(ChangeSetHeader.size))
      try OutboxPart(
        number: UInt16(place + 1), standing: standing, runs: part.runs, frame: frame
      ).save(on: connection)
    }
    ChangeSetEncoder.number(&last.frame, part: parts, of: parts, mebibytes: 0, after: before)
    try last.save(on: connection)
  }
}

/// Makes the change set of a selection, or the change sets of its parts where it is more than one holds.
struct PushBuilding {
  private let transaction: ReadTransaction
  private let schema: SyncSchema
  private let zone: UUID
  private let since: Int64
  private let knownEdits: EditHistory
  private let header: ChangeSetHeader
  private let standing: OutboxPart.Standing
  private let values: ValueCutting
  private let times: TakenTimes
  private let trimsMemory: @Sendable () -> Void

  /// - Parameters:
  ///   - since: the last transaction that the zone had acknowledged when the sending of what is pending began.
  ///   - standing: how parts stand to what the server may have of former ones.
  ///   - values: takes the large values out.
  ///   - trimsMemory: called after each part.
  init(
    _ transaction: ReadTransaction, schema: SyncSchema, zone: UUID, since: Int64,
    knownEdits: EditHistory, header: ChangeSetHeader, standing: OutboxPart.Standing,
    values: ValueCutting, times: TakenTimes, trimsMemory: @escaping @Sendable () -> Void
  ) {
    self.values = values
    self.times = times
    self.trimsMemory = trimsMemory
    self.since = since
    self.transaction = transaction
    self.schema = schema
    self.zone = zone
    self.knownEdits = knownEdits
    self.header = header
    self.standing = standing
  }

  /// Nil when the selection holds nothing that the zone needs to hear.
  func build(
    _ selection: inout PushSelection, within bounds: PartBounds
  ) throws -> BuiltPush? {
    do {
      var builder = builder(after: NewPlaces())
      let built = try builder.build(selection, header: header, within: bounds)
      selection.omit(builder.unsent)
      return built.map { BuiltPush(last: outbox($0, selection), values: values) }
    } catch is PartBounds.Passed {
      values.beginAnew()
      return try buildParts(&selection, within: bounds)
    }
  }

  private func builder(after made: NewPlaces) -> ChangeSetBuilder {
    ChangeSetBuilder(
      transaction, schema: schema, zone: zone, since: since, knownEdits: knownEdits, after: made,
      values: values, times: times)
  }

  private func outbox(_ built: ChangeSetBuilder.Built, _ selection: PushSelection) -> Outbox {
    Outbox(
      pushNumber: header.pushNumber, throughTransaction: selection.through, objects: built.objects,
      properties: built.properties, runs: built.runs, frame: built.frame)
  }

  private func buildParts(
    _ selection: inout PushSelection, within bounds: PartBounds
  ) throws -> BuiltPush? {
    var window = try WindowParts(selection.window, transaction, schema: schema)
    let file = try PartFile(beside: transaction.connection.path)
    var made = NewPlaces()
    var unsent: [ObjectKey: PropertyMask] = [:]
    var total = (objects: 0, properties: 0)
    while !window.isAtEnd {
      values.beginPart()
      var builder = builder(after: made)
      let built = try builder.build(&window, of: selection, header: header, within: bounds)
      unsent.merge(builder.unsent) { $0.union($1) }
      guard let built else { continue }
      made = builder.newPlaces
      window.add(builder.later)
      try file.append(built)
      trimsMemory()
      total.objects += built.objects
      total.properties += built.properties
    }
    selection.omit(unsent)
    guard let part = try file.takeLast() else { return nil }
    let last = outbox(
      ChangeSetBuilder.Built(
        frame: part.frame, runs: part.runs, objects: min(total.objects, selection.window.count),
        properties: total.properties), selection)
    guard !file.parts.isEmpty else { return BuiltPush(last: last, values: values) }
    guard file.parts.count < Int(UInt16.max) else {
      throw ProtocolError(
        .tooLarge, "The push would come in \(file.parts.count + 1) parts",
        suggestion: "Save fewer changes at a time.")
    }
    return BuiltPush(last: last, earlier: file, standing: standing, values: values)
  }
}

/// Frames of parts in a file without a name, which ends with it.
private final class PartFile {
  struct Part {
    var runs: [KeyRun]
    var offset: Int
    var count: Int
  }

  private(set) var parts: [Part] = []
  private(set) var bytes = 0
  private let handle: FileHandle
  private let place: URL

  /// - Parameter store: the path of the store, or what SQLite calls one in memory.
  init(beside store: String) throws {
    let isFile = store.hasPrefix("/") && FileManager.default.fileExists(atPath: store)
    let file = isFile ? URL(fileURLWithPath: store) : nil
    handle = try TemporaryBytes.open(beside: file)
    place = file ?? FileManager.default.temporaryDirectory
  }

  func append(_ built: ChangeSetBuilder.Built) throws {
    try StoreError.writing(place) { try handle.write(contentsOf: built.frame) }
    parts.append(Part(runs: built.runs, offset: bytes, count: built.frame.count))
    bytes += built.frame.count
  }

  /// The part that came last, which is in the file no more; nil where there is none.
  func takeLast() throws -> (runs: [KeyRun], frame: Data)? {
    guard let part = parts.popLast() else { return nil }
    bytes -= part.count
    return (part.runs, try frame(part))
  }

  func frame(_ part: Part) throws -> Data {
    try handle.seek(toOffset: UInt64(part.offset))
    var frame = Data(capacity: part.count)
    while frame.count < part.count,
      let piece = try handle.read(upToCount: part.count - frame.count), !piece.isEmpty
    {
      frame += piece
    }
    guard frame.count == part.count else { throw SyncError.damaged("a part of a push") }
    return frame
  }
}
