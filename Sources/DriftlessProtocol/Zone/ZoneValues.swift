public import Foundation

/// The large values of a zone in memory, as a server keeps them.
public struct ZoneValues: Sendable {
  private struct Upload: Hashable {
    var digest: Data
    var replica: UUID
  }

  private var whole: [Data: Data] = [:]
  private var uploads: [Upload: Data] = [:]
  /// Those that the log names.
  private var named: Set<LargeValue> = []
  /// The largest value that is taken. Bytes; nil: none is, and clients send them within their change sets.
  public var bytesMax: Int? = 256 << 20

  init() {}

  /// How many values are there, whole.
  public var count: Int { whole.count }
  /// Their bytes.
  public var bytes: Int { whole.values.reduce(0) { $0 + $1.count } }

  /// Takes a piece of a value, where it is the next one.
  ///
  /// - Throws: `ProtocolError`: `.unsupported` where none is taken, `.tooLarge`, `.malformed`, and `.damaged` for the last piece of
  ///   one that is not what its digest says: then all of its pieces are gone.
  public mutating func put(_ piece: ValuePiece) throws(ProtocolError) -> ValueState {
    guard let bytesMax else { throw .takesNoValues }
    try piece.check(bytesMax: bytesMax)
    if let value = whole[piece.value.digest] {
      return ValueState(held: value.count, isWhole: true)
    }
    let upload = Upload(digest: piece.value.digest, replica: piece.replica)
    var held = uploads[upload] ?? Data()
    if piece.first == held.count { held.append(piece.bytes) }
    guard held.count == Int(clamping: piece.value.length) else {
      uploads[upload] = held
      return ValueState(held: held.count, isWhole: false)
    }
    uploads[upload] = nil
    guard LargeValue(of: held) == piece.value else { throw .damagedValue(piece.value) }
    whole[piece.value.digest] = held
    return ValueState(held: held.count, isWhole: true)
  }

  /// A piece of a value.
  ///
  /// - Throws: `ProtocolError` (`.noValue`).
  public func piece(of digest: Data, range: Range<Int>) throws(ProtocolError) -> Data {
    guard let value = whole[digest] else { throw .noValue(digest) }
    return Data(value.dropFirst(range.lowerBound).prefix(range.count))
  }

  /// Those that are not there.
  func missing(_ values: [LargeValue]) -> [LargeValue] {
    values.filter { whole[$0.digest] == nil }
  }

  /// An entry of the log names them.
  mutating func use(_ values: [LargeValue]) { named.formUnion(values) }

  /// As they are to a log that names none of them so far.
  var unnamed: ZoneValues {
    var values = self
    values.named = []
    return values
  }

  /// Those that the log names and that are not there, in the order of their digests, after one.
  public func lost(after digest: Data? = nil) -> LostValues {
    let lost = missing(named.sorted()).drop { value in
      digest.map { !$0.lexicographicallyPrecedes(value.digest) } ?? false
    }
    return LostValues(Array(lost.prefix(LostValues.countMax)))
  }

  /// What changes with them; nil where none is lost.
  var lostMark: String? {
    let lost = missing(named.sorted())
    guard !lost.isEmpty else { return nil }
    return LargeValue(of: Data(lost.flatMap(\.bytes)) + [0])?.name ?? "\(lost.count)"
  }

  /// Loses a value, as a disk may.
  public mutating func lose(_ digest: Data) { whole[digest] = nil }

  /// The digests of the values that are there.
  public var digests: Set<Data> { Set(whole.keys) }
}
