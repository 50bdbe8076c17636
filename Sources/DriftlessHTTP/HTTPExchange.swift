import Foundation

/// One request, ready to send.
struct HTTPRequest: Sendable {
  enum Method: Sendable {
    case get
    case post(Data, contentType: String)
  }

  var url: String
  var method: Method
  var token: String
  /// The most bytes that the answer's body may have.
  var bodyBytesMax: Int
  var connectTimeoutMilliseconds: Int
  var stallTimeoutSeconds: Int
  var requestTimeoutSeconds: Int
  var certificateAuthorityFile: String?
  /// Is told how far the request is.
  var phase: PhaseBox?
}

/// One answer, whole.
struct HTTPResponse: Sendable {
  var status: Int
  /// Header fields with lower-case names; of a repeated field, the last.
  var fields: [String: String]
  var body: Data
  /// Where a redirect points to. It was not followed: the token goes to the enrolled server only.
  var redirect: String?
  /// New connections that the exchange needed: 0 when one was reused.
  var connectionsMade: Int

  /// The media type without parameters, in lower case.
  var mediaType: String {
    let field = fields["content-type"] ?? ""
    return String(field.prefix { $0 != ";" }).trimmingSpaces().lowercased()
  }
}
