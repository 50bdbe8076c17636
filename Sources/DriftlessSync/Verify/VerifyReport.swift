public import Foundation

/// What a comparison of a store with its zone found.
public struct VerifyReport: Hashable, Sendable, Codable {
  /// One thing that the store has otherwise than the zone.
  public struct Difference: Hashable, Sendable, Codable {
    /// What is different.
    public enum Kind: String, Hashable, Sendable, Codable {
      /// The zone has the object, the store has not.
      case missing
      /// The store has the object, in the zone it is deleted.
      case deleted
      /// The store has the object, and the zone never had it, though nothing of it waits to be pushed.
      case unknown
      /// The store has the object as one of another entity.
      case entity
      /// A property has another value.
      case value
      /// A property's column holds what no value of it can be, or refers to an object that is nowhere: `breach` says which.
      case damaged
    }

    /// What is different.
    public var kind: Kind
    /// The name of the object's entity.
    public var entity: String
    /// The object's identity.
    public var object: UUID
    /// Of a value, the property.
    public var property: String?
    /// Of a damaged one, what is wrong with it, as the end of a sentence that begins with the property.
    public var breach: String?
    /// Of a value, what the store had, as JSON text; nil for none. Of a damaged one, what lies in the file.
    public var local: String?
    /// Of a value, what the zone has, as JSON text; nil for none.
    public var zone: String?
    /// Of a value, whether the store has it in a file that is not there, or cannot be read: what it is, nobody knows.
    public var isLost: Bool?
    /// Of a lost one, whether it was never sent: the zone does not have it, and no repair brings it back.
    public var isUnsent: Bool?
    /// Whether the store has what the zone has by now.
    public var isRepaired: Bool

    /// The UUID is in small letters, as in all that is printed.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(kind, forKey: .kind)
      try container.encode(entity, forKey: .entity)
      try container.encode(object.uuidString.lowercased(), forKey: .object)
      try container.encodeIfPresent(property, forKey: .property)
      try container.encodeIfPresent(breach, forKey: .breach)
      try container.encodeIfPresent(local, forKey: .local)
      try container.encodeIfPresent(zone, forKey: .zone)
      if isLost == true { try container.encode(true, forKey: .isLost) }
      if isUnsent == true { try container.encode(true, forKey: .isUnsent) }
      try container.encode(isRepaired, forKey: .isRepaired)
    }
  }

  /// What was not compared, and why.
  public struct LeftOut: Hashable, Sendable, Codable {
    /// Objects and properties that wait to be pushed, or to be settled, of those that were looked at one by one.
    public var pending = 0
    /// Values and objects that are set aside here (`syncctl parked`), of those that were looked at one by one.
    public var setAside = 0
    /// Properties that the model here does not have, or has under another name, and those that the zone's log has under several.
    public var properties: [String] = []
    /// Encrypted properties: the server cannot tell what they have, and two cells of one value differ.
    public var encrypted: [String] = []
  }

  /// The place of the zone's log at which both were compared.
  public var sequence: UInt64 = 0
  /// Objects that the store has of the zone's.
  public var objects = 0
  /// Properties of entities that were compared.
  public var properties = 0
  /// Bytes of digests and objects that came, without what was pulled.
  public var bytes = 0
  /// Requests for them.
  public var requests = 0
  /// How many differences there are, or were before the repair.
  public var differenceCount = 0
  /// How many of them are no more.
  public var repairedCount = 0
  /// The differences, as many as `differencesMax` of them.
  public var differences: [Difference] = []
  /// What was not compared.
  public var leftOut = LeftOut()

  /// The most differences that are listed.
  public static let differencesMax = 1_000

  /// Whether the store has what the zone has, but for what was left out.
  public var isEqual: Bool { differenceCount == repairedCount }

  /// Characters of a value that are told.
  private static let textMax = 1_000

  /// Whether another difference is listed.
  var hasRoom: Bool { differences.count < Self.differencesMax }

  /// Counts a difference that is not listed.
  mutating func count(isRepaired: Bool) {
    differenceCount += 1
    if isRepaired { repairedCount += 1 }
  }

  /// What a damaged value shows is not the zone's either: that is one difference.
  ///
  /// - Parameter place: the damaged one's, among those that are listed.
  mutating func join(_ difference: Difference, to place: Int) {
    differences[place].zone = difference.zone.map(Self.cut)
    if differences[place].isRepaired, !difference.isRepaired {
      differences[place].isRepaired = false
      repairedCount -= 1
    }
  }

  mutating func add(_ difference: Difference) {
    count(isRepaired: difference.isRepaired)
    guard hasRoom else { return }
    var difference = difference
    difference.local = difference.local.map(Self.cut)
    difference.zone = difference.zone.map(Self.cut)
    differences.append(difference)
  }

  private static func cut(_ text: String) -> String {
    text.utf8.count > textMax ? String(text.prefix(textMax)) + "…" : text
  }
}

/// How far a comparison is.
public enum VerifyProgress: Hashable, Sendable {
  /// What came since is pulled first.
  case pulling
  /// The server adds up its log.
  case awaitingServer
  /// The store's own digests are made.
  case reading(objects: UInt64, of: UInt64)
  /// What differs is looked at.
  case comparing(ranges: Int, of: Int)
}
