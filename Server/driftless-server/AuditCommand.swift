import ArgumentParser
import DriftlessServer
import Foundation

struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Show who did what: commands of operators, sign-ins, and refused tokens.",
    discussion: """
      One line each, oldest first: time, who, what, zone, what it was done to, and how. What was refused is counted by
      address and told within a minute. Lines are kept for 400 days, 100,000 of them.

      Example: driftless-server audit --since 7d --data DIR
      """)

  @Option(
    help: "Of the last 7d, 12h or 30m, or since a time as 2027-01-31T00:00:00Z. All, if not given.")
  var since: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    try common.administeringZones { administration in
      let now = try administration.serverMilliseconds()
      for event in try administration.audit(since: Self.start(since, now: now)) {
        let line = AuditLine(event)
        if common.json {
          try common.printJSON(line)
        } else {
          let fields = [
            line.time, line.who, line.act + (line.count > 1 ? " × \(line.count)" : ""),
            line.zone ?? "-", line.subject ?? "-", line.detail ?? "-",
          ]
          try common.printLine(fields.joined(separator: "\t"))
        }
      }
    }
  }

  /// - Throws: `ServerError` (`.badName`).
  private static func start(_ text: String?, now: Int64) throws -> Int64 {
    guard let text else { return 0 }
    if let date = try? Date(text, strategy: .iso8601) {
      return Int64(date.timeIntervalSince1970 * 1000)
    }
    return now - (try TokenEnd.span(text))
  }
}

private struct AuditLine: Encodable {
  let time: String
  let who: String
  let act: String
  let count: Int
  @OrNull var zone: String?
  @OrNull var subject: String?
  @OrNull var detail: String?

  init(_ event: AuditEvent) {
    time = JSONText.time(event.timeMilliseconds)
    who = event.actor
    act = event.act.rawValue
    count = event.count
    zone = event.zone
    subject = event.subject
    detail = event.detail
  }
}
