public import DriftlessProtocol
public import Foundation

/// A zone as it was at one moment.
public struct ZoneRecord: Sendable, Hashable {
  /// The storage's own number of it.
  public let id: Int64
  /// What operators and replicas call it.
  public let name: String
  /// The identity of the zone, which outlives its name and its generations.
  public let zoneID: UUID
  /// The life that its log is in.
  public let generation: UUID
  /// The generation before this one, and where that ended; nil for the first.
  public let parent: ZoneParent?
  /// What replicas do with what they hold of the generation before.
  public let intent: ZoneIntent
  /// The generations that began with `ZoneIntent.replace`, newest last.
  public let replacements: [UUID]
  /// The highest format level of change sets that it takes.
  public let formatLevel: UInt16
  /// The last sequence number of the zone's log.
  public let head: UInt64
  /// The log's chain at its head.
  public let chain: LogChain
  /// The number that the next new object gets.
  public let nextObject: UInt64
  /// The newest time of a transaction in the log. Milliseconds since 1970.
  public let newestMilliseconds: UInt64
  /// Bounds of this zone alone.
  public var limits = ZoneLimits()
  /// The log was put back to an older copy, and none but refills came since: what replicas bring back of it is taken whatever the
  /// bounds and the clock say. A storage sets it where it knows that it was put back, and where an operator says so
  /// (``ZoneAdministration/markPutBack(_:)``); the first push that is no refill, and a new generation, end it.
  public var isPutBack = false

  /// All that there is to say of one.
  public init(
    id: Int64, name: String, zoneID: UUID, generation: UUID, parent: ZoneParent?,
    intent: ZoneIntent, replacements: [UUID], formatLevel: UInt16, head: UInt64, chain: LogChain,
    nextObject: UInt64, newestMilliseconds: UInt64, limits: ZoneLimits = ZoneLimits(),
    isPutBack: Bool = false
  ) {
    self.id = id
    self.name = name
    self.zoneID = zoneID
    self.generation = generation
    self.parent = parent
    self.intent = intent
    self.replacements = replacements
    self.formatLevel = formatLevel
    self.head = head
    self.chain = chain
    self.nextObject = nextObject
    self.newestMilliseconds = newestMilliseconds
    self.limits = limits
    self.isPutBack = isPutBack
  }
}
