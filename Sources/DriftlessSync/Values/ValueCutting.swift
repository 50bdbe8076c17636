import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What a server takes of large values.
struct ValueBounds: Hashable, Sendable {
  /// The largest value that the server takes; nil: it takes none, and all go within change sets.
  var bytesMax: Int?
}

/// The server was not asked yet whether it takes large values.
struct UnknownValueBounds: Error {}

/// Takes the large values out of the columns of a push that is built. Their bytes wait in a file without a name until the push
/// is saved: they are more than is held in memory.
final class ValueCutting {
  private let bytesMin: Int
  /// Nil: the server was not asked.
  private let bounds: ValueBounds?
  private let pushBytesMax: Int
  private var rowBytes = 0
  private var file: FileHandle?
  private var places: [(value: LargeValue, offset: Int)] = []
  private var known: Set<LargeValue> = []
  private var end = 0

  /// - Parameter pushBytesMax: of all rows that name one; a single row is not bounded by it.
  init(bytesMin: Int, _ bounds: ValueBounds?, pushBytesMax: Int) {
    self.bytesMin = max(LargeValue.bytesMin, bytesMin)
    self.pushBytesMax = pushBytesMax
    self.bounds = bounds
  }

  /// The push is built from its beginning once more.
  func countAnew() { rowBytes = 0 }

  /// - Parameter name: the property's, for the error.
  /// - Throws: `UnknownValueBounds` when the server has to be asked first, `ProtocolError` (`.tooLarge`) for a value that is larger
  ///   than it takes, and for more of them than one push brings.
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
    let isLarge = (0..<rows.count).contains { rows.withBytes(at: $0, \.count) >= bytesMin }
    guard isLarge else { return nil }
    guard let bounds else { throw UnknownValueBounds() }
    guard let bytesMax = bounds.bytesMax else { return nil }
    var named = ByteRows()
    var large = RowBitmap()
    for row in 0..<rows.count {
      let bytes = rows.data(at: row)
      guard bytes.count >= bytesMin, let value = LargeValue(of: bytes) else {
        named.append(bytes)
        continue
      }
      guard bytes.count <= bytesMax else {
        throw ProtocolError(
          .tooLarge,
          "The value of \(name) has \(bytes.count) bytes, and the server takes \(bytesMax) (valueBytesMax)",
          suggestion: "Make it smaller, or have the operator raise valueBytesMax.")
      }
      let before = rowBytes
      rowBytes = rowBytes.addingClamped(bytes.count)
      guard before == 0 || rowBytes <= pushBytesMax else {
        throw ProtocolError(
          .tooLarge, "Its large values have more than \(pushBytesMax) bytes (\(name))",
          suggestion: "Save fewer of them in one object.")
      }
      try keep(bytes, of: value)
      named.append(Data(value.bytes))
      large.insert(row)
    }
    return (named, large)
  }

  private func keep(_ bytes: Data, of value: LargeValue) throws {
    guard known.insert(value).inserted else { return }
    let file = try self.file ?? TemporaryBytes.open()
    self.file = file
    try file.seek(toOffset: UInt64(end))
    try file.write(contentsOf: bytes)
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
  /// - Throws: `SyncError` where no file can be made.
  static func open() throws -> FileHandle {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("driftless-push-\(UUID().uuidString)")
    guard
      FileManager.default.createFile(
        atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw SyncError(
        .damagedState, "Cannot write \(url.path).",
        suggestion: "Make room in the folder for temporary files, or name another by TMPDIR.")
    }
    let handle = try FileHandle(forUpdating: url)
    try FileManager.default.removeItem(at: url)
    return handle
  }
}
