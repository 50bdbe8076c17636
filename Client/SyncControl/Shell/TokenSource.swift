import Driftless
import DriftlessProtocol
import Foundation
import SyncDaemon

/// Where `enroll` takes the token from: a file, standard input, the environment, what lies beside the store, or the person at
/// the terminal, who may type a code in its place.
struct TokenSource {
  static let variable = "SYNCCTL_TOKEN"

  /// A token has far fewer.
  private static let bytesMax = 8_192

  var file: String?
  /// The store, which may have a token of before.
  var store: URL?
  /// A token beside the store that is another server's, as far as addresses tell, and is not sent to this one.
  var withheld: (token: URL, server: URL)?

  /// What there is to enrol by.
  enum Given {
    case token(String)
    case code(String)

    var text: String {
      switch self {
      case .token(let text), .code(let text): text
      }
    }
  }

  func given() throws(Failure) -> Given {
    if let token = try named() { return .token(token) }
    return try typed()
  }

  private func named() throws(Failure) -> String? {
    if file == "-" {
      let bytes = try? FileHandle.standardInput.read(upToCount: Self.bytesMax)
      return try TokenFile.token(
        in: String(decoding: bytes ?? Data(), as: UTF8.self), from: "Standard input")
    }
    if let file { return try TokenFile.read(URL(fileURLWithPath: file)) }
    if let text = ProcessInfo.processInfo.environment[Self.variable], !text.isEmpty {
      return try TokenFile.token(in: text, from: Self.variable)
    }
    return nil
  }

  private func typed() throws(Failure) -> Given {
    let kept = store.map { TokenFile.url(forStore: $0) }
    let isKept = kept.map { FileManager.default.fileExists(atPath: $0.path) } ?? false
    let question =
      isKept
      ? "Token or code (Enter for the token beside the store): "
      : "Token or code: "
    let typed = TokenPrompt.answer(to: question)
    if isKept, let kept, typed?.allSatisfy(\.isNewline) ?? true {
      return .token(try TokenFile.read(kept))
    }
    if typed == nil, let withheld,
      FileManager.default.fileExists(atPath: withheld.token.path)
    {
      throw Failure(
        .usage, code: "no-token",
        "The token beside the store is for \(withheld.server.absoluteString), and is not sent to another address.",
        suggestion: "where that is the same server: syncctl enroll … --token-file "
          + withheld.token.path.shellWord + "; else name this server's token")
    }
    guard let typed else {
      throw Failure(
        .usage, code: "no-token", "There is no token, and no terminal to ask for it.",
        suggestion: "syncctl enroll … --token-file FILE, or set \(Self.variable)")
    }
    if let code = EnrolmentCode.read(typed) { return .code(code) }
    return .token(try TokenFile.token(in: typed, from: "The answer"))
  }
}
