import ArgumentParser
import Driftless
import Foundation
import ProgramStart
import SyncDaemon

/// The option of every command that chooses between text for people and JSON for scripts.
struct OutputOptions: ParsableArguments {
  @Flag(name: .long, help: "Print JSON instead of text.")
  var json = false

  /// Prints a result: `value` as one JSON object on one line, or `lines`, each of which stays one.
  func put(_ value: some Encodable, lines: @autoclosure () -> [String]) throws {
    try put(value, coloured: lines().map { ColouredLine($0) })
  }

  /// Prints a result whose lines have words that are coloured on a terminal.
  func put(_ value: some Encodable, coloured lines: @autoclosure () -> [ColouredLine]) throws {
    let data =
      try json ? Self.encoder.encode(value) + [0x0A] : TerminalText.data(lines())
    try ProgramOutput.write(data)
  }

  /// Prints a result: `value` as one JSON object on one line, or one line of text.
  func put(_ value: some Encodable, line: @autoclosure () -> String) throws {
    try put(value, lines: [line()])
  }

  /// Prints an error and what to try, on standard error.
  func put(_ failure: Failure) { Self.put(failure, json: json) }

  static func put(_ failure: Failure, json: Bool) {
    if json, let data = try? encoder.encode(["error": failure]) {
      complain(data + [0x0A])
    } else {
      complain(
        TerminalText.failure(of: "syncctl", failure.message, try: failure.suggestion))
    }
  }

  /// Prints what is good to know beside the result, on standard error.
  func note(_ text: String) { Self.note(text, json: json) }

  static func note(_ text: String, json: Bool) {
    if json, let data = try? encoder.encode(["note": text]) {
      complain(data + [0x0A])
    } else {
      complain(TerminalText.data(["syncctl: \(text)"]))
    }
  }

  /// Says what a model's file has and is not read.
  func note(wordsOf model: ManagedObjectModel, _ path: String) {
    for word in model.unknownWords { note("\(path): \(word.message) (it is not read)") }
  }

  /// Where standard error cannot be written, the exit code says enough.
  private static func complain(_ data: Data) {
    try? ProgramOutput.write(data, to: STDERR_FILENO)
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
