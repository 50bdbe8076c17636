#if PostgreSQL
  import Foundation

  /// A value of a statement, in PostgreSQL's binary form.
  enum PostgresValue: Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob(Data)
    case uuid(UUID)
    case integers([Int64])
    case uuids([UUID])
    case blobs([Data])
    case texts([String])

    /// Nil stands for null.
    var bytes: Data? {
      switch self {
      case .null: nil
      case .integer(let value): value.bigEndianBytes
      case .text(let value): Data(value.utf8)
      case .blob(let value): value
      case .uuid(let value): value.bytes
      case .integers(let values): Self.array(of: 20, values) { $0.bigEndianBytes }
      case .uuids(let values): Self.array(of: 2950, values) { $0.bytes }
      case .blobs(let values): Self.array(of: 17, values) { $0 }
      case .texts(let values): Self.array(of: 25, values) { Data($0.utf8) }
      }
    }

    /// One dimension, no nulls, from 1 on. The types are those of bigint, uuid and bytea in every database of PostgreSQL.
    private static func array<Element>(
      of type: Int32, _ values: [Element], _ bytes: (Element) -> Data
    ) -> Data {
      var whole = Data()
      for word in values.isEmpty ? [0, 0, type] : [1, 0, type, Int32(clamping: values.count), 1] {
        whole.append(word.bigEndianBytes)
      }
      for value in values {
        let value = bytes(value)
        whole.append(Int32(clamping: value.count).bigEndianBytes)
        whole.append(value)
      }
      return whole
    }
  }

  extension FixedWidthInteger {
    fileprivate var bigEndianBytes: Data { withUnsafeBytes(of: bigEndian) { Data($0) } }
  }
#endif
