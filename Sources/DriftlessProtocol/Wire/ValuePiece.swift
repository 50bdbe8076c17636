public import Foundation

/// A piece of a large value on its way to the zone: `PUT /v1/zones/{zone}/values/{digest}`.
///
/// Pieces come in order. One without bytes asks how much of the value the zone has, and keeps that for a while.
public struct ValuePiece: Hashable, Sendable {
  /// The value that it is of.
  public var value: LargeValue
  /// Who sends it: each replica's pieces stand by themselves until the value is whole.
  public var replica: UUID
  /// The life of the zone's log that is to name the value.
  public var generation: UUID
  /// Where in the value it begins. Bytes.
  public var first: Int
  /// At most ``LargeValue/pieceBytesMax``.
  public var bytes: Data

  /// - Parameters:
  ///   - value: The value that it is of.
  ///   - replica: Who sends it.
  ///   - generation: The life of the zone's log that is to name the value.
  ///   - first: Where in the value it begins. Bytes.
  ///   - bytes: At most ``LargeValue/pieceBytesMax``; none to ask how much the zone has.
  public init(value: LargeValue, replica: UUID, generation: UUID, first: Int, bytes: Data) {
    self.value = value
    self.replica = replica
    self.generation = generation
    self.first = first
    self.bytes = bytes
  }

  /// - Throws: `ProtocolError` (`.malformed`) for a piece that no value has, `.tooLarge` for one of a value that is too large.
  package func check(bytesMax: Int) throws(ProtocolError) {
    guard value.length <= UInt64(clamping: bytesMax) else {
      throw .valueTooLarge(length: value.length, bytesMax: bytesMax)
    }
    let end = first.addingReportingOverflow(bytes.count)
    guard first >= 0, !end.overflow, end.partialValue <= Int(clamping: value.length),
      bytes.count <= LargeValue.pieceBytesMax
    else { throw .malformed("The piece does not lie within the value, or is too long") }
    guard
      bytes.isEmpty || bytes.count == LargeValue.pieceBytesMax
        || end.partialValue == Int(clamping: value.length)
    else {
      throw .malformed("A piece before the last one has \(LargeValue.pieceBytesMax) bytes")
    }
  }
}

/// How much of a large value a zone has: the answer to a piece of it, as JSON.
public struct ValueState: Hashable, Sendable, Codable {
  /// Bytes from the beginning on that need not be sent again.
  public var held: Int
  /// Whether the zone has the value: its bytes were all there, and are what the digest says.
  public var isWhole: Bool

  /// - Parameters:
  ///   - held: Bytes from the beginning on that need not be sent again.
  ///   - isWhole: Whether the zone has the value.
  public init(held: Int, isWhole: Bool) {
    self.held = held
    self.isWhole = isWhole
  }
}

/// Large values that a zone's log names and the zone lacks: the answer to `GET /v1/zones/{zone}/values`, as JSON. Whoever has one
/// sends it.
public struct LostValues: Hashable, Sendable, Codable {
  /// So many are listed at once.
  public static let countMax = 500

  /// The length of each in bytes, by its name (``LargeValue/name``).
  public var values: [String: UInt64]

  /// - Parameter values: At most ``countMax``.
  public init(_ values: [LargeValue]) {
    self.values = Dictionary(
      values.map { ($0.name, $0.length) }, uniquingKeysWith: { first, _ in first })
  }

  /// In the order of their digests. What names no value is none.
  public var sorted: [LargeValue] {
    values.compactMap { name, length in
      LargeValue.digest(named: name).flatMap { LargeValue(digest: $0, length: length) }
    }.sorted()
  }
}

extension ProtocolError {
  /// The zone's server takes no large values: a client sends them within its change sets.
  public static let takesNoValues = ProtocolError(
    .unsupported, "The server takes no large values by themselves",
    suggestion: "Send them within the change set. Its operator can update the server.")

  /// The zone does not have a value, or not whole.
  public static func noValue(_ digest: Data) -> ProtocolError {
    let name = Hexadecimal.text(digest)
    return ProtocolError(
      .noValue, "The zone does not have the value \(name)",
      suggestion: "A replica that has it can send it again.", values: [name])
  }

  /// A push names values that the zone does not have.
  package static func valuesMissing(_ missing: [LargeValue], head: UInt64? = nil) -> ProtocolError {
    ProtocolError(
      .valuesMissing,
      "The change set names \(missing.count) large value\(missing.count == 1 ? "" : "s") that the zone does not have",
      suggestion: "Send the values, then the change set again.", head: head,
      values: missing.map(\.name))
  }

  /// A value that came in pieces is not the one that its digest says.
  package static func damagedValue(_ value: LargeValue) -> ProtocolError {
    ProtocolError(
      .damaged, "The pieces of the value \(value.name) are not what its digest says",
      suggestion: "Send it again from its beginning.")
  }

  package static func valueTooLarge(length: UInt64, bytesMax: Int) -> ProtocolError {
    ProtocolError(
      .tooLarge, "The value has \(length) bytes, and the server takes \(bytesMax) (valueBytesMax)",
      suggestion: "Make it smaller, or have the operator raise valueBytesMax.")
  }
}
