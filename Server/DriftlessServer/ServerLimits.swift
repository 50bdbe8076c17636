package import Foundation

/// Every bound, delay and batch size of the server in one place, each with its unit and its reason.
///
/// `"limits"` of the configuration and `driftless-server serve --limits FILE.json` override single
/// values: `{"bodyBytesMax": 33554432, "connectionsMax": 4096}`. An unknown name or a value below 1
/// is refused; `databaseBytesMax` and `valueBytesMax` may be 0.
public struct ServerLimits: Sendable, Equatable {
  /// Bytes of one push as sent (compressed). Larger ones get 413 before they are read. As much as a
  /// client makes of one (`ChangeSetLimits.frameBytesMax`): a smaller bound would leave an import stuck.
  public var bodyBytesMax = 64 << 20
  /// Bytes that the index section of a push may inflate to.
  public var inflatedBytesMax = 32 << 20
  /// Bytes of request bodies held in memory at one time by all requests: pushes, pieces of large values and enrolments share it;
  /// above it, 503. A body counts by its `Content-Length` from its head on, up to 8 MiB, and then by what has come. Of one zone
  /// half of it; of one token three eighths, or less, so that `bodyBytesMax` is left of the zone's part to other tokens; one body
  /// of `bodyBytesMax` in any case. At least four times `bodyBytesMax`: with less, one body that is sent slowly may keep others
  /// out. Small bodies have `smallBodiesInMemoryBytesMax` beside it.
  public var bodiesInMemoryBytesMax = 256 << 20
  /// Bytes beside those in which bodies of `smallBodyBytesMax` and less are held, and no others: a small push gets in however
  /// much its token, or all of them, send slowly. Pieces of large values count as large bodies. Of one zone half of it, of one
  /// token three eighths; where they are full, a small body counts as others do.
  public var smallBodiesInMemoryBytesMax = 32 << 20
  /// Bytes of a body up to which it is a small one.
  public var smallBodyBytesMax = 1 << 20
  /// Bytes that pushes inflate to which are in memory at one time: their values until they are checked, their indexes until they
  /// are answered. Above it, 503; of one zone half of it, of one token three eighths. At least what one change set may have
  /// (`ChangeSetLimits.valuesBytesMax`).
  public var valuesInMemoryBytesMax = 512 << 20
  /// Bytes of answers that are in memory at one time until they are sent; above it, 503; of one zone half of it, of one token three
  /// eighths.
  public var answersInMemoryBytesMax = 512 << 20
  /// Places that a replica may ask after at one time to find where its log and the zone's part.
  public var commonPlacesMax = 10_000
  /// Seconds that a client may take to send one body, beside what its length gives it by `bodyBytesPerSecondMin` and
  /// `longBodyBytesPerSecondMin`: bounds a slow sender.
  public var bodySeconds = 120
  /// Bytes a second for which a body has a second more, up to `longBodyBytes`: a slow line gets on.
  public var bodyBytesPerSecondMin = 4 << 10
  /// Bytes of a body beyond which it has to come faster, since it holds much: as much as a client puts into one part of a push.
  public var longBodyBytes = 4 << 20
  /// Bytes a second for which a body has a second more beyond `longBodyBytes`. Each piece is judged by what the whole may take: a
  /// body of 64 MiB may take 35 minutes, and has to come with 33 KB/s on the average. For slower lines lower it, or set
  /// `valueBytesMax`: what is large goes in pieces of 1 MiB then, each with a time of its own.
  public var longBodyBytesPerSecondMin = 64 << 10
  /// Objects named by one push.
  public var objectsPerPushMax = 1_000_000
  /// Properties of one object that were set after its insert. A table of SQLite's has 2,000 columns at most, unless it is built
  /// otherwise.
  public var propertiesPerObjectMax = 4000
  /// Names of properties that one zone may have.
  public var propertiesPerZoneMax = 20_000
  /// Parts that one push may come in.
  public var partsPerPushMax = 10_000
  /// Bytes of the parts of one replica's pushes that wait for their last one, beside the log. A larger push is refused.
  public var stagedBytesPerReplicaMax = 2 << 30
  /// Bytes of the parts of all replicas' pushes that wait; above it, 503. Of one zone half of it, one replica's in any case.
  public var stagedBytesMax = 8 << 30
  /// Seconds after its last part came for which a push is waited for (7 days).
  public var stagedSeconds = 7 * 24 * 3600
  /// Seconds without a part after which a push that waits makes room for others, where there is none (10 minutes). What of
  /// it is gone is sent once more.
  public var stagedIdleSeconds = 600
  /// Bytes of one large value. A client that has a larger one sets the object aside, with both numbers. 0 means that the server
  /// takes none, and clients send such values within their change sets.
  public var valueBytesMax = 0
  /// Bytes of one zone's large values that nothing names so far, as declared; above it, 507.
  public var unnamedValueBytesPerZoneMax = 8 << 30
  /// Bytes of those that came with one token; above it, 507.
  public var unnamedValueBytesPerTokenMax = 4 << 30
  /// Bytes of all zones' large values that nothing names so far; above it, 507.
  public var unnamedValueBytesMax = 32 << 30
  /// Seconds for which a large value that nothing names is kept after somebody asked for it (7 days).
  public var valueLeaseSeconds = 7 * 24 * 3600
  /// Milliseconds that a transaction's time may lie ahead of this host's clock (24 hours).
  public var clockAheadMillisecondsMax = 24 * 3600 * 1000
  /// Milliseconds that the host's clock may be set ahead and be followed at once (30 days).
  public var clockLeapMillisecondsMax = 30 * 24 * 3600 * 1000
  /// The same in the first `clockLeapSeconds` of a process (400 days): a server may have been off for long, or put back to an
  /// old backup, and its host's clock may be set right only after it was started.
  public var clockLeapAtStartMillisecondsMax = 400 * 24 * 3600 * 1000
  /// Seconds for which a clock must stay further ahead than that before it is followed.
  public var clockLeapSeconds = 3600
  /// Bytes of log in one answer, whatever the client asks; one entry is always sent whole.
  public var pageBytesMax = 4 << 20
  /// Entries in one answer: bounds the work for a log of many small change sets.
  public var pageEntriesMax = 10_000
  /// Seconds that a long poll may wait, whatever the client asks. Below common proxy time-outs
  /// (60).
  public var waitSecondsMax = 50
  /// Long polls that wait for news at one time; further ones are answered after a second or two.
  public var waitersMax = 4096
  /// Open connections that have shown a token which lets them in, and, as far as these leave room, others. Above `waitersMax`: each
  /// long poll has a connection.
  public var connectionsMax = 8192
  /// Open connections beside them that have shown no such token yet; of further ones the oldest is closed.
  public var connectionsReserve = 64
  /// The same of one address: many hosts may be behind one.
  public var connectionsPerAddressMax = 256
  /// Seconds that a connection may take to its first whole head, TLS included.
  public var headSeconds = 10
  /// Seconds after which a connection with no request, or with half of one, is closed.
  public var idleSeconds = 60
  /// Bytes of all header fields of one request.
  public var headerBytesMax = 32 << 10
  /// Header fields of one request.
  public var headerFieldsMax = 100
  /// Pushes that wait for the writer; further ones get 503.
  public var queuedPushesMax = 512
  /// Pushes in one group commit: bounds the time until the first of the group is answered.
  public var groupPushesMax = 64
  /// Cost in one group commit: bytes, and 32 for each property of each object that is looked up.
  public var groupBytesMax = 32 << 20
  /// Milliseconds of writing after which a group commit ends: a push at least. What is left comes after what other zones have
  /// waiting.
  public var groupMillisecondsMax = 20
  /// Pages of write-ahead log (4 KiB each) above which the server checkpoints.
  public var checkpointPages = 4000
  /// Bytes of the database file; above it a push gets 507. 0 means that only the disk bounds it.
  public var databaseBytesMax = 0
  /// Bytes of the data folder's disk that are kept for operators' commands, at most an eighth of it (`DiskReserve`). 0 for none.
  public var reserveBytes = 16 << 20
  /// Replicas that one zone remembers.
  public var replicasPerZoneMax = 100_000
  /// Requests with one token in `rateSeconds`; further ones get 429. Many hosts may share a token, so
  /// this bounds a client that runs in a circle, not work.
  public var requestsPerTokenMax = 5000
  /// Requests with a wrong token from one address in `rateSeconds` that are told so; further ones get
  /// 429. A right token passes all the same: others may be behind that address.
  public var refusalsPerAddressMax = 200
  /// Seconds in which requests are counted.
  public var rateSeconds = 10
  /// Wrong tokens of operators from one address in `rateSeconds` that are told so; further ones get 429.
  public var wrongSignInsPerAddressMax = 20
  /// Times in `rateSeconds` that one operator's token signs in at the status page; further ones get 429. Each is a line of the audit.
  public var signInsPerTokenMax = 20
  /// Operators that are signed in at the status page at one time; of further ones the one who signed in first is signed out.
  public var sessionsMax = 256
  /// Seconds after which an operator has to sign in anew (12 hours).
  public var sessionSeconds = 12 * 3600
  /// Stale answers to one replica within `holdStaleSeconds` after which the zone is held for it.
  public var holdStaleAnswers = 3
  /// Seconds in which `holdStaleAnswers` are counted.
  public var holdStaleSeconds = 300
  /// Milliseconds for which a zone is held at least.
  public var holdMilliseconds = 2000
  /// Milliseconds for which a zone is held at most: twice as long as the longest of those tries took. It is open to all for
  /// three times as long afterwards.
  public var holdMillisecondsMax = 30_000
  /// Seconds that a refused client is asked to wait when the server is busy.
  public var retryAfterSeconds = 1
  /// Bytes that come to a zone's log before it is added up anew (`ZoneFolding`), where that is more than a quarter of what it
  /// came to last. A new replica reads so much of the log at most.
  public var foldLogBytesMin = 4 << 20
  /// Seconds between two looks at what operators' commands have changed: requests that wait end when it concerns them.
  public var watchSeconds = 2
  /// Connections to the database that serve reads.
  public var readers = 4
  /// Connections of one node to PostgreSQL, beside one that listens, one that is kept for `/healthz` and one that adds up logs.
  public var databaseConnectionsMax = 16
  /// Requests that wait for such a connection; further ones get 503.
  public var databaseWaitersMax = 1024
  /// Seconds for which PostgreSQL may take to accept a connection.
  public var databaseConnectSeconds = 5
  /// Seconds for which a statement may take in PostgreSQL, and the way to its answer; then the connection is given up.
  public var databaseSeconds = 30

  /// The defaults.
  public init() {}

  /// The largest value that there is room for before something names it. Bytes.
  package var largestValue: Int {
    min(
      valueBytesMax, unnamedValueBytesPerZoneMax, unnamedValueBytesPerTokenMax,
      unnamedValueBytesMax)
  }

  /// Seconds within which the first bytes of a body have to have come. A long one over a slow line is none that hangs; but what holds
  /// much must not hold it for long, so that a second brings it further the longer the whole is.
  ///
  /// - Parameters:
  ///   - count: bytes that have come.
  ///   - length: bytes of the whole body, as far as they are known: `count` at least.
  package func seconds(for count: Int, ofBody length: Int) -> Int {
    guard count > 0 else { return bodySeconds }
    let long = Double(max(0, length - longBodyBytes))
    let whole =
      (Double(length) - long) / Double(bodyBytesPerSecondMin)
      + long / Double(longBodyBytesPerSecondMin)
    return bodySeconds + Int(whole * (Double(count) / Double(length)))
  }

  private static let fields: [(String, any WritableKeyPath<ServerLimits, Int> & Sendable)] = [
    ("bodyBytesMax", \.bodyBytesMax), ("inflatedBytesMax", \.inflatedBytesMax),
    ("bodiesInMemoryBytesMax", \.bodiesInMemoryBytesMax), ("bodySeconds", \.bodySeconds),
    ("objectsPerPushMax", \.objectsPerPushMax),
    ("propertiesPerObjectMax", \.propertiesPerObjectMax),
    ("propertiesPerZoneMax", \.propertiesPerZoneMax),
    ("clockAheadMillisecondsMax", \.clockAheadMillisecondsMax),
    ("valueBytesMax", \.valueBytesMax), ("valueLeaseSeconds", \.valueLeaseSeconds),
    ("unnamedValueBytesPerZoneMax", \.unnamedValueBytesPerZoneMax),
    ("unnamedValueBytesPerTokenMax", \.unnamedValueBytesPerTokenMax),
    ("unnamedValueBytesMax", \.unnamedValueBytesMax),
    ("partsPerPushMax", \.partsPerPushMax), ("stagedBytesMax", \.stagedBytesMax),
    ("stagedBytesPerReplicaMax", \.stagedBytesPerReplicaMax), ("stagedSeconds", \.stagedSeconds),
    ("stagedIdleSeconds", \.stagedIdleSeconds),
    ("bodyBytesPerSecondMin", \.bodyBytesPerSecondMin),
    ("smallBodiesInMemoryBytesMax", \.smallBodiesInMemoryBytesMax),
    ("smallBodyBytesMax", \.smallBodyBytesMax), ("longBodyBytes", \.longBodyBytes),
    ("longBodyBytesPerSecondMin", \.longBodyBytesPerSecondMin),
    ("clockLeapMillisecondsMax", \.clockLeapMillisecondsMax),
    ("clockLeapAtStartMillisecondsMax", \.clockLeapAtStartMillisecondsMax),
    ("clockLeapSeconds", \.clockLeapSeconds),
    ("pageBytesMax", \.pageBytesMax), ("pageEntriesMax", \.pageEntriesMax),
    ("waitSecondsMax", \.waitSecondsMax), ("waitersMax", \.waitersMax),
    ("connectionsReserve", \.connectionsReserve), ("headSeconds", \.headSeconds),
    ("connectionsPerAddressMax", \.connectionsPerAddressMax),
    ("groupMillisecondsMax", \.groupMillisecondsMax),
    ("connectionsMax", \.connectionsMax), ("idleSeconds", \.idleSeconds),
    ("headerBytesMax", \.headerBytesMax), ("headerFieldsMax", \.headerFieldsMax),
    ("queuedPushesMax", \.queuedPushesMax), ("groupPushesMax", \.groupPushesMax),
    ("groupBytesMax", \.groupBytesMax), ("checkpointPages", \.checkpointPages),
    ("databaseBytesMax", \.databaseBytesMax), ("reserveBytes", \.reserveBytes),
    ("replicasPerZoneMax", \.replicasPerZoneMax),
    ("retryAfterSeconds", \.retryAfterSeconds), ("readers", \.readers),
    ("answersInMemoryBytesMax", \.answersInMemoryBytesMax),
    ("valuesInMemoryBytesMax", \.valuesInMemoryBytesMax), ("commonPlacesMax", \.commonPlacesMax),
    ("holdStaleAnswers", \.holdStaleAnswers), ("holdStaleSeconds", \.holdStaleSeconds),
    ("holdMilliseconds", \.holdMilliseconds), ("holdMillisecondsMax", \.holdMillisecondsMax),
    ("foldLogBytesMin", \.foldLogBytesMin),
    ("requestsPerTokenMax", \.requestsPerTokenMax),
    ("refusalsPerAddressMax", \.refusalsPerAddressMax), ("rateSeconds", \.rateSeconds),
    ("wrongSignInsPerAddressMax", \.wrongSignInsPerAddressMax),
    ("signInsPerTokenMax", \.signInsPerTokenMax),
    ("sessionsMax", \.sessionsMax), ("sessionSeconds", \.sessionSeconds),
    ("watchSeconds", \.watchSeconds), ("databaseConnectionsMax", \.databaseConnectionsMax),
    ("databaseWaitersMax", \.databaseWaitersMax),
    ("databaseConnectSeconds", \.databaseConnectSeconds), ("databaseSeconds", \.databaseSeconds),
  ]

  /// The names that a file of limits may have.
  package static var names: [String] { fields.map(\.0).sorted() }

  /// The value of a limit; nil where there is none of that name.
  package subscript(_ name: String) -> Int? {
    Self.fields.first { $0.0 == name }.map { self[keyPath: $0.1] }
  }

  /// The defaults, with the values that a JSON object names put in their place.
  ///
  /// - Throws: `ServerError` (`.badLimits`) that names the field.
  package init(json: Data) throws {
    guard let values = try? JSONDecoder().decode([String: Int].self, from: json) else {
      throw ServerError.badLimits("the limits file is not a JSON object of whole numbers")
    }
    for (name, value) in values { try set(name, to: value) }
  }

  /// The values that a limit may have.
  package static func range(of name: String) -> ClosedRange<Int> {
    (mayBeZero.contains(name) ? 0 : 1)...(1 << 40)
  }

  /// Where 0 has a meaning of its own.
  private static let mayBeZero: Set<String> = ["databaseBytesMax", "reserveBytes", "valueBytesMax"]

  /// Sets one limit.
  ///
  /// - Throws: `ServerError` (`.badLimits`) that names it.
  package mutating func set(_ name: String, to value: Int) throws {
    guard let path = Self.fields.first(where: { $0.0 == name })?.1 else {
      throw ServerError.badLimits("the limits file names an unknown limit, \(name)")
    }
    let range = Self.range(of: name)
    guard range.contains(value) else {
      throw ServerError.badLimits(
        "the limit \(name) is \(value); it must be \(range.lowerBound) or more")
    }
    self[keyPath: path] = value
  }

  /// What a process that serves goes by until it ends: connections that it has made, and its clock.
  private static let fixed: Set<String> = [
    "clockLeapMillisecondsMax", "clockLeapAtStartMillisecondsMax", "clockLeapSeconds", "readers",
    "databaseConnectionsMax", "databaseWaitersMax", "databaseConnectSeconds", "databaseSeconds",
  ]

  /// Those that are otherwise here, each with its value there and here.
  func changes(from other: ServerLimits) -> [String] {
    Self.fields.filter { self[keyPath: $0.1] != other[keyPath: $0.1] }
      .map { "\($0.0) \(other[keyPath: $0.1]) → \(self[keyPath: $0.1])" }.sorted()
  }

  /// The names of those that are otherwise here.
  package func names(otherwiseThan other: ServerLimits) -> [String] {
    Self.fields.filter { self[keyPath: $0.1] != other[keyPath: $0.1] }.map(\.0).sorted()
  }

  /// What a server has open beside its connections: the database's files, and some of each event loop.
  private static let otherFiles = 64

  /// How many files these limits want a process to have open.
  package var files: Int { connectionsMax + 2 * connectionsReserve + Self.otherFiles }

  /// These limits with no more connections than a process may have open that may open so many files.
  package func fitted(toFiles count: Int) -> ServerLimits {
    guard files > count else { return self }
    var limits = self
    let room = max(4, count - Self.otherFiles)
    limits.connectionsReserve = min(connectionsReserve, room / 4)
    limits.connectionsMax = room - 2 * limits.connectionsReserve
    return limits
  }

  /// These limits as far as a process that serves by `other` can take them, and the names of those that it cannot.
  func taken(over other: ServerLimits) -> (limits: ServerLimits, left: [String]) {
    var limits = self
    let left = names(otherwiseThan: other).filter(Self.fixed.contains)
    for (name, path) in Self.fields where left.contains(name) {
      limits[keyPath: path] = other[keyPath: path]
    }
    return (limits, left)
  }

  /// Limits of which one makes another worthless, for who checks them.
  package var contradictions: [String] {
    var found: [String] = []
    if bodyBytesMax > bodiesInMemoryBytesMax {
      found.append(
        "bodyBytesMax is above bodiesInMemoryBytesMax: no push of more than "
          + "\(bodiesInMemoryBytesMax) bytes ever passes")
    } else if bodyBytesMax > bodiesInMemoryBytesMax / 4 {
      found.append(
        "bodiesInMemoryBytesMax is below four times bodyBytesMax: one body of \(bodyBytesMax) bytes "
          + "that is sent slowly keeps those of other tokens, or of all zones, out")
    }
    if waitersMax >= connectionsMax {
      found.append(
        "waitersMax is not below connectionsMax: where \(connectionsMax) wait for news, nobody "
          + "else is let in for long")
    }
    return found
  }
}
