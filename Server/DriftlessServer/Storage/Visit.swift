public import DriftlessProtocol
public import Foundation

/// That a replica was there.
public struct Visit: Sendable {
  /// The replica.
  public let replica: UUID
  /// The one of whose log it spoke.
  public let generation: UUID
  /// Up to where it has applied the zone's log.
  public let place: UInt64
  /// Up to where a pull gave it entries after that: it has them, unless it asks for them again. Nil for a push.
  public let given: UInt64?
  /// The ID of the token that it came with.
  public let token: String
  /// The name that it told; nil for none.
  public let name: ReplicaName?
  /// Where its connection comes from, as text; nil where that is not known.
  public let address: String?
  /// The highest format level that it reads; nil where it told none.
  public let format: UInt16?

  /// All that there is to say of one.
  public init(
    replica: UUID, generation: UUID, place: UInt64, given: UInt64?, token: String,
    name: ReplicaName?, address: String?, format: UInt16?
  ) {
    self.replica = replica
    self.generation = generation
    self.place = place
    self.given = given
    self.token = token
    self.name = name
    self.address = address
    self.format = format
  }
}

extension ZoneStorage {
  /// As `noteSeen(_:in:)`.
  public func noteSeen(
    _ replica: UUID, in zone: ZoneRecord, generation: UUID, at place: UInt64, given: UInt64?,
    token: String, name: ReplicaName? = nil, address: String? = nil, format: UInt16? = nil
  ) async {
    await noteSeen(
      Visit(
        replica: replica, generation: generation, place: place, given: given, token: token,
        name: name, address: address, format: format), in: zone)
  }
}
