import Foundation

/// The name by which a person knows a replica, say that of its host: told with each request, shown by the server's lists, and
/// nothing that anybody is let in by.
public struct ReplicaName: Hashable, Sendable {
  /// The name as text: one line, not empty, at most ``bytesMax`` bytes.
  public let text: String

  /// Bytes of UTF-8.
  public static let bytesMax = 100
  /// The header field that has it, percent-encoded.
  package static let field = "Driftless-Replica-Name"

  /// - Parameter text: Nil for what is empty, too long, or has control characters.
  public init?(_ text: String) {
    let trimmed = text.trimmingCharacters(in: .whitespaces)
    guard !trimmed.isEmpty, trimmed.utf8.count <= Self.bytesMax,
      trimmed.unicodeScalars.allSatisfy({
        $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
          && !$0.properties.isWhitespace || $0 == " "
      })
    else { return nil }
    self.text = trimmed
  }

  /// This host's name; nil where it has none that can be told.
  public static var ofHost: ReplicaName? { ReplicaName(ProcessInfo.processInfo.hostName) }

  /// As a header field has it.
  package init?(field value: String) {
    guard value.utf8.count <= 3 * Self.bytesMax, let text = value.removingPercentEncoding else {
      return nil
    }
    self.init(text)
  }

  /// As a header field has it.
  package var fieldValue: String {
    text.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? ""
  }

  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")
}
