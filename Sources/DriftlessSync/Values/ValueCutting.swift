import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Glibc

/// What a server takes of large values.
struct ValueBounds: Sendable {
  /// The largest value that the server takes; nil: it takes none, and all go within change sets.
  var bytesMax: Int?
  private let asked = ContinuousClock.now

  init(bytesMax: Int?) { self.bytesMax = bytesMax }

  /// A server that took none may take them by now. One that takes some says so by itself when it takes others.
  var areOld: Bool {
    bytesMax == nil && asked.duration(to: .now) > .seconds(SyncTuning.valueBoundsSeconds)
  }
}

/// The server was not asked yet whether it takes large values.
struct UnknownValueBounds: Error {}

/// A value that is larger than the server takes.
struct ValueTooLarge: Error {
  var name: String
  var bytes: Int
  var bytesMax: Int

  var reason: SyncError {
    SyncError(
      .tooLarge,
      "The value of \(name) has \(bytes) bytes, and the server takes \(bytesMax) (valueBytesMax).",
      suggestion: "Make it smaller: it is sent again when it changes. Or have the operator raise "
        + "the limit, then run: syncctl quarantine retry")
  }
}

/// Takes the large values out of the columns of a push that is built. Their bytes wait in a file without a name until the push
/// is saved: they are more than is held in memory.
final class ValueCutting {
  /// The values are more than one push brings.
  struct PushIsFull: Error {}

  private let bytesMin: Int
  /// Nil: the server was not asked.
  private let bounds: ValueBounds?
  private let pushBytesMax: Int
  private let store: URL?
  /// Fails where the disk has no room for so many bytes more.
  private let checkRoom: (Int) throws -> Void
  /// Of the change set that is built, each row counted.
  private var rowBytes = 0
  private var file: FileHandle?
  private var places: [(value: LargeValue, offset: Int)] = []
  private var known: Set<LargeValue> = []
  private var end = 0

  /// - Parameters:
  ///   - pushBytesMax: of all values of the push; one is not bounded by it.
  ///   - store: Where the bytes wait: what lies in a folder for temporary files may lie in memory.
  ///   - checkRoom: Fails where the disk has no room for so many bytes more.
  init(
    bytesMin: Int, _ bounds: ValueBounds?, pushBytesMax: Int, beside store: URL? = nil,
    checkRoom: @escaping (Int) throws -> Void = { _ in }
  ) {
    self.store = store
    self.checkRoom = checkRoom
    self.bytesMin = max(LargeValue.bytesMin, bytesMin)
    self.pushBytesMax = pushBytesMax
    self.bounds = bounds
  }

  /// The push is built from its beginning once more.
  func beginAnew() {
    rowBytes = 0
    (places, known, end) = ([], [], 0)
  }

  /// The next part of the push is built.
  func beginPart() { rowBytes = 0 }

  /// - Parameter name: the property's, for the error.
  /// - Throws: `UnknownValueBounds` when the server has to be asked first, `ValueTooLarge` for a value that is larger than it takes,
  ///   `PushIsFull` for more of them than one push brings, `ProtocolError` (`.tooLarge`) for more than one change set names.
  func cut(_ column: Column, name: String) throws -> Column {
    switch column.values {
    case .bytes(let rows):
      guard let (rows, large) = try cut(rows, name) else { return column }
      return Column(.bytes(rows), nulls: column.nulls, large: large)
    case .sealed(let rows):
      guard let (rows, large) = try cut(rows, name) else { return column }
      return Column(.sealed(rows), nulls: column.nulls, large: large)
    default: return column
    }
  }

  private func cut(_ rows: ByteRows, _ name: String) throws -> (ByteRows, RowBitmap)? {
    let isLarge = (0..<rows.count).contains { row in
      rows.withBytes(at: row) { $0.count >= bytesMin || LargeCell.value(ofRow: $0) != nil }
    }
    guard isLarge else { return nil }
    var named = ByteRows()
    var large = RowBitmap()
    for row in 0..<rows.count {
      let bytes = rows.data(at: row)
      guard let value = try value(bytes, name) else {
        named.append(bytes)
        continue
      }
      let before = rowBytes
      rowBytes = rowBytes.addingClamped(Int(clamping: value.length))
      guard before == 0 || rowBytes <= ChangeSetLimits().valueRowBytesMax else {
        throw ProtocolError(
          .tooLarge,
          "Its large values have more than \(ChangeSetLimits().valueRowBytesMax) bytes (\(name))",
          suggestion: "Save fewer of them in one object.")
      }
      named.append(Data(value.bytes))
      large.insert(row)
    }
    return large.isEmpty ? nil : (named, large)
  }

  /// The value that a row goes as; nil where it goes as it is.
  private func value(_ bytes: Data, _ name: String) throws -> LargeValue? {
    // Its bytes are not here: the zone has it, or whoever pushes hears that it has not.
    if let missing = LargeCell.value(ofRow: bytes) { return missing }
    guard bytes.count >= bytesMin else { return nil }
    guard let bounds else { throw UnknownValueBounds() }
    guard let bytesMax = bounds.bytesMax, let value = LargeValue(of: bytes) else { return nil }
    guard bytes.count <= bytesMax else {
      throw ValueTooLarge(name: name, bytes: bytes.count, bytesMax: bytesMax)
    }
    try keep(bytes, of: value)
    return value
  }

  private func keep(_ bytes: Data, of value: LargeValue) throws {
    guard known.insert(value).inserted else { return }
    guard end == 0 || end.addingClamped(bytes.count) <= pushBytesMax else { throw PushIsFull() }
    do {
      // It goes from the file without a name into the store, as what is there does.
      try checkRoom(
        end.addingClamped(bytes.count).multipliedClamped(by: SyncTuning.valueShare) - end)
    } catch {
      // Those before it may fit by themselves. Without a bound all of one object go, and nothing less.
      if end > 0, pushBytesMax < .max { throw PushIsFull() }
      throw NoRoomForValues(error: error)
    }
    do {
      let file = try self.file ?? TemporaryBytes.open(beside: store)
      self.file = file
      try StoreError.writing(store ?? FileManager.default.temporaryDirectory) {
        try file.seek(toOffset: UInt64(end))
        try file.write(contentsOf: bytes)
      }
    } catch let error as StoreError where error.code == .diskFull {
      throw NoRoomForValues(
        error: StoreError(
          .diskFull,
          "There is no room for the \(bytes.count) bytes of a large value on its way out: \(error.message)",
          suggestion: "Make room on the file system of the store. What it holds is sent then."))
    }
    places.append((value, end))
    end += bytes.count
  }

  /// Puts those into the store that are not there.
  func save(on connection: SQLiteConnection) throws {
    for (value, offset) in places {
      guard try !ValuePieces.isGood(value, on: connection) else { continue }
      try ValuePieces.drop(value, on: connection)
      let length = Int(clamping: value.length)
      var first = 0
      try file?.seek(toOffset: UInt64(offset))
      while first < length {
        let count = min(LargeValue.pieceBytesMax, length - first)
        guard let piece = try file?.read(upToCount: count), piece.count == count else {
          throw SyncError.damaged("a large value of the change set")
        }
        try ValuePieces.add(piece, at: first, of: value, on: connection)
        first += count
      }
    }
  }
}

/// A file without a name, which ends with its handle.
enum TemporaryBytes {
  /// - Parameter store: The file that it lies beside; nil for the folder of temporary files.
  /// - Throws: `StoreError` where no file can be made.
  static func open(beside store: URL?) throws -> FileHandle {
    let folder = store?.deletingLastPathComponent() ?? FileManager.default.temporaryDirectory
    let url = folder.appendingPathComponent(".driftless-push-\(UUID().uuidString)")
    let descriptor = Glibc.open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError.unwritten(url, errno) }
    unlink(url.path)
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }
}
