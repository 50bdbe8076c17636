import Foundation

/// The message `Column` of `ChangeSet.proto` on its way out: its large fields are written from where they lie.
struct ColumnMessage {
  enum Content {
    case bytes([UInt8])
    case data(Data)

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
      switch self {
      case .bytes(let bytes): bytes.withUnsafeBytes(body)
      case .data(let data): data.withUnsafeBytes(body)
      }
    }

    var count: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .data(let data): data.count
      }
    }
  }

  var kind: UInt32 = 0
  var packing: UInt32 = 0
  var nulls: [UInt8] = []
  var numbers = Data()
  var content = Content.bytes([])
  var large: [UInt8] = []
  /// A message of a kind that this version does not know, in place of the fields.
  var whole: [UInt8]?

  /// The small fields, and the starts of the large ones, each before its bytes. A field that has its default is left out.
  private var parts: [(start: ProtobufBytes, content: Content)] {
    if let whole { return [(ProtobufBytes(), .bytes(whole))] }
    var parts: [(start: ProtobufBytes, content: Content)] = []
    var start = ProtobufBytes()
    if kind != 0 { start.append(field: 1, number: UInt64(kind)) }
    if packing != 0 { start.append(field: 2, number: UInt64(packing)) }
    let fields: [(Int, Content)] = [
      (3, .bytes(nulls)), (4, .data(numbers)), (5, content), (6, .bytes(large)),
    ]
    for (field, content) in fields {
      guard content.count > 0 else { continue }
      start.append(field: field, lengthOf: content.count)
      parts.append((start, content))
      start = ProtobufBytes()
    }
    parts.append((start, .bytes([])))
    return parts
  }

  var size: Int { parts.reduce(0) { $0 + $1.start.bytes.count + $1.content.count } }

  func write(to writer: inout SectionWriter) {
    for (start, content) in parts {
      start.bytes.withUnsafeBytes { writer.append($0) }
      content.withUnsafeBytes { writer.append($0) }
    }
  }
}

/// Starts of fields of a protobuf message.
struct ProtobufBytes {
  private(set) var bytes: [UInt8] = []

  mutating func append(field: Int, number: UInt64) {
    append(UInt64(field) << 3)
    append(number)
  }

  /// The start of a field whose bytes follow.
  mutating func append(field: Int, lengthOf count: Int) {
    append(UInt64(field) << 3 | 2)
    append(UInt64(count))
  }

  private mutating func append(_ number: UInt64) {
    var rest = number
    while rest > 127 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
