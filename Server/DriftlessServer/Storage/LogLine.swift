public import Foundation

/// What the server knows of an entry of a log without reading it.
public struct LogLine: Sendable, Hashable {
  /// The sequence number.
  public let sequence: UInt64
  /// nil where the database does not know its number.
  public let replica: UUID?
  /// The replica's number of the push.
  public let pushNumber: UInt64
  /// When it came, by the server's time. Milliseconds since 1970.
  public let receivedMilliseconds: Int64
  /// The number of the first object that is new with it, and how many there are.
  public let firstObject: UInt64
  /// How many objects are new with it.
  public let newObjects: UInt64
  /// Bytes of its frame.
  public let bytes: Int64

  /// All that there is to say of one.
  public init(
    sequence: UInt64, replica: UUID?, pushNumber: UInt64, receivedMilliseconds: Int64,
    firstObject: UInt64, newObjects: UInt64, bytes: Int64
  ) {
    self.sequence = sequence
    self.replica = replica
    self.pushNumber = pushNumber
    self.receivedMilliseconds = receivedMilliseconds
    self.firstObject = firstObject
    self.newObjects = newObjects
    self.bytes = bytes
  }
}
