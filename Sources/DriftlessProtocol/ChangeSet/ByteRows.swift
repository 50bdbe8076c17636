public import Foundation

/// Texts or binary values, row by row, in one piece of memory: no allocation a value.
public struct ByteRows: Hashable, Sendable {
  /// All rows one after the other.
  private(set) var content: [UInt8]
  /// Where each row ends in `content`.
  private(set) var ends: [Int32]

  /// No rows.
  public init() {
    content = []
    ends = []
  }

  /// A row for each text.
  public init(_ texts: some Sequence<String>) {
    self.init()
    for text in texts { append(text) }
  }

  /// - Parameter ends: Ascending; the last is `content.count`.
  init(content: [UInt8], ends: [Int32]) {
    self.content = content
    self.ends = ends
  }

  /// How many rows there are.
  public var count: Int { ends.count }

  /// Makes room for so many rows, and bytes in all of them.
  public mutating func reserveCapacity(rows: Int, bytes: Int) {
    content.reserveCapacity(bytes)
    ends.reserveCapacity(rows)
  }

  /// Adds a row of UTF-8.
  public mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  /// Adds a row of bytes.
  public mutating func append(_ data: Data) {
    data.withUnsafeBytes { append($0.bindMemory(to: UInt8.self)) }
  }

  /// Adds a row of bytes.
  public mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    content.append(contentsOf: bytes)
    // Beyond 2 GiB the rows no longer add up, and the encoder refuses them.
    ends.append(Int32(clamping: content.count))
  }

  /// Adds a row for null.
  public mutating func appendEmpty() {
    ends.append(Int32(clamping: content.count))
  }

  /// Calls `body` with a row's bytes, in place.
  public func withBytes<Result>(
    at row: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result {
    let range = range(of: row)
    return try content.withUnsafeBufferPointer {
      try body(UnsafeBufferPointer(rebasing: $0[range]))
    }
  }

  /// A row of a column of texts. (The decoder has checked that it is UTF-8.)
  public func string(at row: Int) -> String {
    withBytes(at: row) { String(decoding: $0, as: UTF8.self) }
  }

  /// A row of a column of bytes, copied.
  public func data(at row: Int) -> Data { withBytes(at: row) { Data($0) } }

  private func range(of row: Int) -> Range<Int> {
    (row == 0 ? 0 : Int(ends[row - 1]))..<Int(ends[row])
  }
}
