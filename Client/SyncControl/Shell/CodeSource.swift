import DriftlessProtocol
import Foundation
import SyncDaemon

/// Where `enroll` takes a code from: an argument, a file, standard input or the environment. Nil where none names one.
struct CodeSource {
  static let variable = "SYNCCTL_CODE"

  private static let bytesMax = 1_024

  var code: String?
  var file: String?

  func read() throws(Failure) -> String? {
    if let code { return try Self.read(code, from: "--code") }
    if file == "-" {
      let bytes = try? FileHandle.standardInput.read(upToCount: Self.bytesMax)
      return try Self.read(String(decoding: bytes ?? Data(), as: UTF8.self), from: "Standard input")
    }
    if let file { return try Self.read(TokenFile.text(of: URL(fileURLWithPath: file)), from: file) }
    if let text = ProcessInfo.processInfo.environment[Self.variable], !text.isEmpty {
      guard ProcessInfo.processInfo.environment[TokenSource.variable] ?? "" == "" else {
        throw Failure(
          .usage, code: "usage", "\(Self.variable) and \(TokenSource.variable) are both set.",
          suggestion: "unset one of them")
      }
      return try Self.read(text, from: Self.variable)
    }
    return nil
  }

  private static func read(_ text: String, from source: String) throws(Failure) -> String {
    guard let code = EnrolmentCode.read(text) else {
      throw Failure(
        .usage, code: "no-code", "\(source) holds no code: one has 20 letters and digits.",
        suggestion: "ask the server's operator: driftless-server code create ZONE")
    }
    return code
  }
}
