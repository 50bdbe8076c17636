import DriftlessSQLite
import Foundation

/// The server's time beside its host's clock, for an operator.
public struct ClockReport: Sendable {
  /// What a server that goes on from the last time given makes of its host's clock.
  public enum State: String, Sendable {
    /// It follows it.
    case right
    /// The clock is behind what was given: the server counts on, a tenth slower, until the clock has come to it.
    case behind
    /// The clock is so far ahead that the server waits for an hour before it follows.
    case ahead
  }

  /// By the host's clock. Milliseconds since 1970, as all times here.
  public let hostMilliseconds: Int64
  /// The last time that is known to have been given; nil for none.
  public let givenMilliseconds: Int64?
  /// How the two stand.
  public let state: State
  /// The process that serves the folder. It may have given up to a minute more than is kept.
  public let server: Int32?
  /// How many processes serve: of a folder one at most.
  public let nodes: Int
  /// Zones with changes that lie ahead of the host's clock, and the time of the newest.
  public let zonesAhead: [(zone: String, newestMilliseconds: UInt64)]

  /// All that there is to say of one.
  public init(
    hostMilliseconds: Int64, givenMilliseconds: Int64?, state: State, server: Int32?, nodes: Int,
    zonesAhead: [(zone: String, newestMilliseconds: UInt64)]
  ) {
    self.hostMilliseconds = hostMilliseconds
    self.givenMilliseconds = givenMilliseconds
    self.state = state
    self.server = server
    self.nodes = nodes
    self.zonesAhead = zonesAhead
  }

  /// By how much the last time given is ahead of the host's clock.
  public var aheadMilliseconds: Int64? { givenMilliseconds.map { $0 - hostMilliseconds } }

  /// - Parameter given: the last time that is known to have been given; 0 for none.
  init(
    host: Int64, given: Int64, server: Int32?, nodes: Int, zones: [ZoneRecord],
    limits: ServerLimits
  ) {
    let leapMax =
      nodes == 0
      ? max(limits.clockLeapMillisecondsMax, limits.clockLeapAtStartMillisecondsMax)
      : limits.clockLeapMillisecondsMax
    hostMilliseconds = host
    givenMilliseconds = given > 0 ? given : nil
    state =
      if given > host { .behind } else if given > 0, host - given > leapMax { .ahead } else {
        .right
      }
    self.server = server
    self.nodes = nodes
    zonesAhead = zones.filter { $0.newestMilliseconds > UInt64(clamping: host) }
      .map { ($0.name, $0.newestMilliseconds) }
  }

  /// What the record of who did what says of it.
  var setBackDetail: String { "by \(aheadMilliseconds ?? 0) ms" }

  /// - Throws: `ServerError` (`.nothingToSetBack`) where the server has nothing to go back to.
  func checkIsToSetBack() throws {
    guard let ahead = aheadMilliseconds, ahead > 0 else {
      throw ServerError(
        .nothingToSetBack, "the server gave no time that is ahead of this host's clock",
        suggestion: "See both: driftless-server clock show")
    }
    guard Double(hostMilliseconds) >= ServerClock.earliest else {
      throw ServerError(
        .nothingToSetBack, "this host's clock is not set: it says a time before 2025",
        suggestion: "Set the host's clock right first.")
    }
  }
}

extension Administration {
  /// The host's time of day. Milliseconds since 1970.
  package static var hostMilliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// How the server's time stands beside its host's clock.
  package func clock(
    at host: Int64 = Administration.hostMilliseconds, limits: ServerLimits = .init()
  ) throws -> ClockReport {
    let server = folder.servingProcess
    return ClockReport(
      host: host, given: try GivenTimes.last(connection), server: server,
      nodes: server == nil ? 0 : 1, zones: try zones(), limits: limits)
  }

  /// Makes the server go on from its host's clock where it gave later times: after a leap ahead that it believed.
  ///
  /// Changes keep their times. A zone that has later ones takes as late ones still (`LogAppend`), and what is saved by who
  /// has pulled them comes after them.
  ///
  /// - Returns: how it stood before.
  /// - Throws: `ServerError`: `.locked` while a server has the folder, since that has its time in memory, and
  ///   `.nothingToSetBack`.
  package func setClockBack(to host: Int64 = Administration.hostMilliseconds) throws -> ClockReport
  {
    let lock = try folder.lockForServing(
      suggestion: "It has its time in memory: stop it, say the command again, and start it.")
    defer { lock.release() }
    let report = try clock(at: host)
    try report.checkIsToSetBack()
    try write {
      try EnrolmentCodes.endAhead(of: host, given: report.givenMilliseconds ?? host, on: connection)
      try GivenTimes.setBack(to: host, on: connection)
      try note(.clockSetBack, zone: nil, nil, report.setBackDetail)
    }
    return report
  }
}
