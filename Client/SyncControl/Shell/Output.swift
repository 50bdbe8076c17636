import ArgumentParser
import Foundation
import SyncDaemon

/// The option of every command that chooses between text for people and JSON for scripts.
struct OutputOptions: ParsableArguments {
  @Flag(name: .long, help: "Print JSON instead of text.")
  var json = false

  /// Prints a result: `value` as one JSON object on one line, or `text`.
  func put(_ value: some Encodable, text: @autoclosure () -> String) throws {
    if json {
      Self.write(try Self.encoder.encode(value) + [0x0A], to: .standardOutput)
    } else {
      let text = text()
      if !text.isEmpty { Self.write(Data((text + "\n").utf8), to: .standardOutput) }
    }
  }

  /// Prints an error and what to try, on standard error.
  func put(_ failure: Failure) {
    if json, let data = try? Self.encoder.encode(["error": failure]) {
      Self.write(data + [0x0A], to: .standardError)
    } else {
      Self.write(
        Data("syncctl: \(failure.message)\nTry: \(failure.suggestion)\n".utf8),
        to: .standardError)
    }
  }

  /// Prints what is good to know beside the result, on standard error.
  func note(_ text: String) { Self.note(text, json: json) }

  static func note(_ text: String, json: Bool) {
    if json, let data = try? encoder.encode(["note": text]) {
      write(data + [0x0A], to: .standardError)
    } else {
      write(Data("syncctl: \(text)\n".utf8), to: .standardError)
    }
  }

  static func write(_ data: Data, to handle: FileHandle) {
    // A reader that went away (head) is no failure of the command.
    try? handle.write(contentsOf: data)
  }

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(Moment.text(date))
    }
    return encoder
  }
}

/// Dates as they are printed.
enum Moment {
  /// ISO 8601 in UTC with milliseconds.
  static func text(_ date: Date) -> String {
    date.formatted(
      Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}
