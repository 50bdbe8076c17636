import Foundation
import SyncDaemon

/// Where `enroll` takes the token from: a file, standard input, the environment, what lies beside the store, or the person at
/// the terminal.
struct TokenSource {
  static let variable = "SYNCCTL_TOKEN"

  /// A token has far fewer.
  private static let bytesMax = 8_192

  var file: String?
  /// The store, which may have a token of before.
  var store: URL?

  func token() throws(Failure) -> String {
    if file == "-" {
      let bytes = try? FileHandle.standardInput.read(upToCount: Self.bytesMax)
      return try TokenFile.token(
        in: String(decoding: bytes ?? Data(), as: UTF8.self), from: "Standard input")
    }
    if let file { return try TokenFile.read(URL(fileURLWithPath: file)) }
    if let text = ProcessInfo.processInfo.environment[Self.variable], !text.isEmpty {
      return try TokenFile.token(in: text, from: Self.variable)
    }
    let kept = store.map { TokenFile.url(forStore: $0) }
    let isKept = kept.map { FileManager.default.fileExists(atPath: $0.path) } ?? false
    let question = isKept ? "Token (Enter for the one beside the store): " : "Token: "
    let typed = TokenPrompt.answer(to: question)
    if isKept, let kept, typed?.allSatisfy(\.isNewline) ?? true { return try TokenFile.read(kept) }
    guard let typed else {
      throw Failure(
        .usage, code: "no-token", "There is no token, and no terminal to ask for it.",
        suggestion: "syncctl enroll … --token-file FILE, or set \(Self.variable)")
    }
    return try TokenFile.token(in: typed, from: "The answer")
  }
}
