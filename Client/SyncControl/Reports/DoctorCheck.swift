import ProgramStart
import SyncDaemon

/// One thing that `doctor` looked at.
struct DoctorCheck: Encodable, Hashable {
  enum Verdict: String, Encodable {
    case good, note, bad

    var colour: TerminalColour {
      switch self {
      case .good: .green
      case .note: .yellow
      case .bad: .red
      }
    }
  }

  var name: String
  var verdict: Verdict
  var detail: String

  init(_ name: String, _ verdict: Verdict, _ detail: String) {
    self.name = name
    self.verdict = verdict
    self.detail = detail
  }

  /// What failed, and what to do about it.
  init(_ name: String, _ verdict: Verdict, _ failure: Failure) {
    self.init(name, verdict, "\(failure)")
  }

  var text: String { "\(name):".padded(to: 14) + " \(verdict.rawValue) ".padded(to: 7) + detail }

  var line: ColouredLine { ColouredLine(text, " \(verdict.rawValue) ", verdict.colour) }

  /// Whether an SQLite of this version has the WAL-reset defect: 3.7.0 up to 3.51.2, without the
  /// back-ports.
  static func mayCorruptInCheckpoint(_ version: String) -> Bool {
    let parts = version.split(separator: ".").map { Int($0) ?? 0 }
    guard parts.count >= 3, parts[0] == 3 else { return false }
    switch parts[1] {
    case 44: return parts[2] < 6
    case 50: return parts[2] < 7
    case 51: return parts[2] < 3
    default: return (7..<51).contains(parts[1])
    }
  }
}
