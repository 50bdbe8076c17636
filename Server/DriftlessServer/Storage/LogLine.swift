package import Foundation

/// What the server knows of an entry of a log without reading it.
package struct LogLine: Sendable, Hashable {
  package let sequence: UInt64
  /// nil where the database does not know its number.
  package let replica: UUID?
  /// The replica's number of the push.
  package let pushNumber: UInt64
  package let receivedMilliseconds: Int64
  /// The number of the first object that is new with it, and how many there are.
  package let firstObject: UInt64
  package let newObjects: UInt64
  package let bytes: Int64
}
