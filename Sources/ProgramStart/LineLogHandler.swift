import Foundation
package import Logging
import Synchronization

/// Writes one line a message: `time=… level=info msg="…" key=value`. Values are quoted and escaped,
/// so that nothing that a client or a server sends can start a line of its own.
package struct LineLogHandler: LogHandler {
  package var metadata: Logger.Metadata = [:]
  package var logLevel: Logger.Level {
    get { live?.current ?? own }
    set {
      own = newValue
      live = nil
    }
  }
  private var own = Logger.Level.info
  private var live: LiveLogLevel?
  private let label: String
  private let repeated: RepeatedLines?
  private let write: @Sendable (String) -> Void

  /// - Parameters:
  ///   - level: one that may change while the program runs; by default it is `info`.
  ///   - repeated: leaves out lines that say again what lasts; nil where each is written.
  ///   - write: takes each finished line, with its line feed. By default, standard error.
  package init(
    label: String, level: LiveLogLevel? = nil, repeated: RepeatedLines? = nil,
    write: (@Sendable (String) -> Void)? = nil
  ) {
    self.label = label
    self.repeated = repeated
    live = level
    self.write =
      write ?? { line in
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
      }
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var all = metadata.merging(event.metadata ?? [:]) { _, new in new }
    if let error = event.error { all["error"] = "\(error)" }
    let lasts = RepeatedLines.unmark(&all)
    if let repeated, lasts {
      let others = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let line = "\(event.level) \(label) \(event.message) \(others.joined(separator: " "))"
      guard let count = repeated.say(line) else { return }
      if count > 0 { all["repeated"] = "\(count)" }
    }
    var text = "time=\(Date().formatted(.iso8601)) level=\(event.level) log=\(label) "
    text += "msg=\(Self.quoted("\(event.message)"))"
    for (key, value) in all.sorted(by: { $0.key < $1.key }) {
      text += " \(key)=\(Self.quoted("\(value)"))"
    }
    write(text + "\n")
  }

  /// The text as it is when it holds only harmless characters; else in quotes, controls escaped.
  static func quoted(_ text: String) -> String {
    let plain = text.utf8.allSatisfy {
      $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=")
        && $0 != UInt8(ascii: "\\")
    }
    if plain, !text.isEmpty { return text }
    var result = "\""
    for scalar in text.unicodeScalars.prefix(2000) {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      default: result += TerminalText.line(String(scalar))
      }
    }
    return result + "\""
  }
}

/// The least level to log, for all loggers of a program at once.
package final class LiveLogLevel: Sendable {
  private let level: Mutex<Logger.Level>

  package init(_ level: Logger.Level) { self.level = Mutex(level) }

  package var current: Logger.Level {
    get { level.withLock { $0 } }
    set { level.withLock { $0 = newValue } }
  }
}
