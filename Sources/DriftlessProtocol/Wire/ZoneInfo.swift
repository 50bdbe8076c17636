public import Foundation

/// Where a zone's log stands: the answer to `GET /v1/zones/{zone}`, as JSON.
public struct ZoneInfo: Hashable, Sendable, Codable {
  /// The zone's name.
  public var zone: String
  /// The zone's own identity, kept over generations.
  public var zoneID: UUID
  /// The present life of the zone's log.
  public var generation: UUID
  /// The place that this generation began after; nil for a zone's first one.
  public var parent: ZoneParent?
  /// What a replica does with what it holds of the generation before.
  public var intent: ZoneIntent
  /// The generations that began with `ZoneIntent.replace`, newest last: at most ``replacementsMax``. A replica that does
  /// not know the newest one has slept through it.
  public var replacements: [UUID]
  /// The last sequence number of the log; 0 when it is empty.
  public var head: UInt64
  /// The log's chain at `head`.
  public var chain: LogChain
  /// The highest format level of change sets that the zone takes.
  public var formatLevel: UInt16
  /// The server's clock, in milliseconds since 1970.
  public var serverTimeMilliseconds: UInt64
  /// Whether who asked may push; a server that does not say lets it be tried.
  public var mayWrite: Bool
  /// The last entry of the log whose change set may be gone: the zone's snapshot stands for it. Nil where there is none.
  public var floor: UInt64?
  /// The largest value that the server takes by itself. Bytes; nil: it takes none, and values go within change sets.
  public var valueBytesMax: Int?

  /// The most replacements that a zone and a replica remember.
  public static let replacementsMax = 64

  /// What a server says of a zone.
  public init(
    zone: String, zoneID: UUID, generation: UUID, parent: ZoneParent? = nil,
    intent: ZoneIntent = .offer, replacements: [UUID] = [], head: UInt64, chain: LogChain,
    formatLevel: UInt16 = ChangeSetHeader.formatLevel, serverTimeMilliseconds: UInt64,
    mayWrite: Bool = true, floor: UInt64? = nil, valueBytesMax: Int? = nil
  ) {
    self.floor = floor
    self.zone = zone
    self.zoneID = zoneID
    self.generation = generation
    self.parent = parent
    self.intent = intent
    self.replacements = replacements
    self.head = head
    self.chain = chain
    self.formatLevel = formatLevel
    self.serverTimeMilliseconds = serverTimeMilliseconds
    self.mayWrite = mayWrite
    self.valueBytesMax = valueBytesMax
  }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    zone = try values.decode(String.self, forKey: .zone)
    zoneID = try values.decode(UUID.self, forKey: .zoneID)
    generation = try values.decode(UUID.self, forKey: .generation)
    parent = try values.decodeIfPresent(ZoneParent.self, forKey: .parent)
    intent = try values.decode(ZoneIntent.self, forKey: .intent)
    replacements = try values.decodeIfPresent([UUID].self, forKey: .replacements) ?? []
    head = try values.decode(UInt64.self, forKey: .head)
    chain = try values.decode(LogChain.self, forKey: .chain)
    formatLevel = try values.decode(UInt16.self, forKey: .formatLevel)
    serverTimeMilliseconds = try values.decode(UInt64.self, forKey: .serverTimeMilliseconds)
    mayWrite = try values.decodeIfPresent(Bool.self, forKey: .mayWrite) ?? true
    floor = try values.decodeIfPresent(UInt64.self, forKey: .floor)
    valueBytesMax = try values.decodeIfPresent(Int.self, forKey: .valueBytesMax)
  }
}

/// The last place of the generation before.
public struct ZoneParent: Hashable, Sendable, Codable {
  /// The life of the log.
  public var generation: UUID
  /// Its last sequence number.
  public var sequence: UInt64
  /// Its chain there.
  public var chain: LogChain

  /// - Parameters:
  ///   - generation: The life of the log.
  ///   - sequence: Its last sequence number.
  ///   - chain: Its chain there.
  public init(generation: UUID, sequence: UInt64, chain: LogChain) {
    self.generation = generation
    self.sequence = sequence
    self.chain = chain
  }
}

/// Why a zone's log began anew.
public enum ZoneIntent: String, Hashable, Sendable, Codable {
  /// After a loss: what replicas hold of the generation before is wanted.
  case offer
  /// On purpose: replicas keep an export of what they hold aside and take the zone's state.
  case replace
}
