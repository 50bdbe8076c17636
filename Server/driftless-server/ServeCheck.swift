import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

#if canImport(Glibc)
  import Glibc
#endif

/// `serve --check`: all that is wrong with what a server is told, without serving and without a change to anything.
struct ServeCheck {
  let input: ServeInput
  let report: ReportOptions

  private struct Found: Encodable {
    /// With these the server does not start.
    var complaints: [String] = []
    /// With these it does.
    var notes: [String] = []
    var settings: [Setting] = []

    struct Setting: Encodable {
      let name: String
      let value: String
      let at: String
    }
  }

  func run() throws {
    try report.reporting(check: "what the server is told") {
      let found = look()
      if report.json {
        try report.printJSON(found)
      } else {
        for setting in found.settings {
          try report.printLine("\(setting.name)\t\(setting.value)\t\(setting.at)")
        }
        for note in found.notes {
          try ProgramOutput.write(TerminalText.data(["note: \(note)"]), to: STDERR_FILENO)
        }
        for complaint in found.complaints {
          try ProgramOutput.write(TerminalText.data([complaint]), to: STDERR_FILENO)
        }
        if found.complaints.isEmpty { try report.printLine("the server would start") }
      }
      if !found.complaints.isEmpty { throw ExitCode(65) }
    }
  }

  private func look() -> Found {
    let read = input.read()
    var found = Found(complaints: read.complaints)
    found.notes = ServerSettings.unknownVariables(input.environment)
    found.settings = read.settings.told.map { .init(name: $0.0, value: $0.1, at: $0.2) }
    func tell(_ error: any Error, _ place: String?) {
      let text =
        (error as? ServerError).map { "\(FailureText.sentence($0.message)) \($0.suggestion)" }
        ?? "\(error)"
      found.complaints.append(place.map { "\($0): \(text)" } ?? text)
    }
    let settings = read.settings
    do {
      let options = try settings.options()
      for fault in options.faults {
        tell(fault, settings.tlsCertificate?.at ?? settings.listen?.at)
      }
      if let end = try? options.certificateEnd() {
        found.settings.append(
          .init(
            name: "tlsCertificateEnds",
            value: JSONText.time(Int64(end.timeIntervalSince1970 * 1000)),
            at: options.tlsCertificate?.path ?? ""))
        found.notes += Self.notes(ofEnd: end)
      }
      found.notes += Self.notes(of: options.limits)
    } catch  where read.complaints.isEmpty {
      tell(error, settings.listen?.at)
    } catch {
      // It was told already, with its place.
    }
    // Where that is may be what could not be read.
    guard read.complaints.isEmpty || settings.data != nil || settings.postgres != nil else {
      return found
    }
    do {
      found.notes += try lookAtZones(settings)
    } catch {
      tell(error, settings.data?.at ?? settings.postgres?.at)
    }
    return found
  }

  /// Where zones are.
  private func lookAtZones(_ settings: ServerSettings) throws -> [String] {
    guard let data = settings.data else {
      guard let postgres = settings.postgres else { throw ServerSettings.noZones }
      #if PostgreSQL
        return try PostgresAdministration.look(at: postgres.value)
      #else
        throw ServerError.builtWithoutPostgres(postgres.value)
      #endif
    }
    return try DataFolder.look(at: data.value)
  }

  private static func notes(ofEnd end: Date) -> [String] {
    let days = end.timeIntervalSinceNow / 86_400
    if days <= 0 { return ["the certificate has ended: clients refuse it"] }
    return days < 30 ? ["the certificate ends in \(Int(days)) days"] : []
  }

  private static func notes(of limits: ServerLimits) -> [String] {
    var notes = limits.contradictions
    var files = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0,
      files.rlim_cur < UInt(limits.files)
    {
      notes.append(
        "the system lets a process of this user open \(files.rlim_cur) files here, and "
          + "connectionsMax is \(limits.connectionsMax): it would be "
          + "\(limits.fitted(toFiles: Int(clamping: files.rlim_cur)).connectionsMax). "
          + "To have all, raise LimitNOFILE (ulimit -n) to \(limits.files)")
    }
    return notes
  }
}

extension ServerSettings {
  /// Name, value and place of all that is said; what is not said is as it is by default.
  fileprivate var told: [(String, String, String)] {
    var lines: [(String, String, String)] = []
    func add<Value>(_ name: String, _ said: Said<Value>?, _ text: (Value) -> String) {
      if let said { lines.append((name, text(said.value), said.at)) }
    }
    add("data", data) { $0.path }
    add("postgres", postgres) { ConnectionText($0).shown }
    add("listen", listen) { $0 }
    if listen == nil { lines.append(("listen", "127.0.0.1:8080", "default")) }
    add("tlsCertificate", tlsCertificate) { $0.path }
    add("tlsKey", tlsKey) { $0.path }
    add("tlsClientCA", tlsClientCA) { $0.path }
    add("allowPlaintext", allowPlaintext) { "\($0)" }
    add("logLevel", logLevel) { $0 }
    for (name, limit) in limits.sorted(by: { $0.key < $1.key }) {
      add("limits.\(name)", limit) { "\($0)" }
    }
    return lines
  }
}
