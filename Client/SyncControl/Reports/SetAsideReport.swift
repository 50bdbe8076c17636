import DriftlessSync
import Foundation

// What is set aside, as `--json` prints it: the names are an interface, and stay. Identities are in lower case as everywhere,
// and what is unknown is null.

/// An object that the server refuses.
struct QuarantineReport: Encodable {
  let entry: QuarantineEntry

  private enum Key: String, CodingKey {
    case object, entity, code, reason, suggestion, bytes, time
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(entry.object.uuidString.lowercased(), forKey: .object)
    try container.encode(entry.entity, forKey: .entity)
    try container.encode(entry.code, forKey: .code)
    try container.encode(entry.reason, forKey: .reason)
    try container.encode(entry.suggestion, forKey: .suggestion)
    try container.encode(entry.bytes, forKey: .bytes)
    try container.encode(entry.time, forKey: .time)
  }
}

/// What waits with such objects.
struct HeldReport: Encodable {
  let object: String
  let entity: String
  let properties: [String]

  init(_ held: HeldObject) {
    object = held.object.uuidString.lowercased()
    entity = held.entity
    properties = held.properties
  }
}

/// A delete of the zone's that waits for a person's word.
struct DeleteReport: Encodable {
  let delete: DeleteSetAside

  private enum Key: String, CodingKey {
    case sequence, sender, entity, object, time
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(delete.sequence, forKey: .sequence)
    try container.encode(delete.sender.uuidString.lowercased(), forKey: .sender)
    try container.encode(delete.entity, forKey: .entity)
    try container.encode(delete.object.uuidString.lowercased(), forKey: .object)
    try container.encode(delete.time, forKey: .time)
  }
}

/// All that is set aside of the zone's log.
struct ParkedListReport: Encodable {
  let parked: [ParkedReport]
  let deletes: [DeleteReport]

  init(_ entries: [ParkedEntry], _ deletes: [DeleteSetAside]) {
    parked = entries.map { ParkedReport(entry: $0) }
    self.deletes = deletes.map { DeleteReport(delete: $0) }
  }
}

/// What could not be taken in from the zone.
struct ParkedReport: Encodable {
  let entry: ParkedEntry

  private enum Key: String, CodingKey {
    case sequence, part, sender, code, reason, names, object, entity, property, since, bytes
    case accepted
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(entry.sequence, forKey: .sequence)
    try container.encode(entry.part, forKey: .part)
    try container.encode(entry.sender?.uuidString.lowercased(), forKey: .sender)
    try container.encode(entry.code, forKey: .code)
    try container.encode(entry.reason, forKey: .reason)
    try container.encode(entry.names, forKey: .names)
    try container.encode(entry.object?.uuidString.lowercased(), forKey: .object)
    try container.encode(entry.entity, forKey: .entity)
    try container.encode(entry.property, forKey: .property)
    try container.encode(entry.since, forKey: .since)
    try container.encode(entry.bytes, forKey: .bytes)
    try container.encode(entry.isAccepted, forKey: .accepted)
  }
}
