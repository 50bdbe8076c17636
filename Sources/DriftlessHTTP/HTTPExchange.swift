import DriftlessProtocol
import Foundation
import Synchronization

/// One request, ready to send.
struct HTTPRequest: Sendable {
  enum Method: Sendable {
    case get
    case post(Data, contentType: String)
    case put(Data, contentType: String)

    var name: String {
      switch self {
      case .get: "GET"
      case .post: "POST"
      case .put: "PUT"
      }
    }

    /// What is sent with it; nil for a request without a body.
    var body: (data: Data, contentType: String)? {
      switch self {
      case .get: nil
      case .post(let data, let contentType), .put(let data, let contentType): (data, contentType)
      }
    }
  }

  /// A request under this address, with the digest of its body.
  init(
    base: String, path: String, method: Method, token: String?, bodyBytesMax: Int, waitSeconds: Int,
    options: TransportOptions, phase: PhaseBox?, part: AnswerPart? = nil
  ) {
    url = base + path
    self.method = method
    authorization = token.map { "Bearer \($0)" } ?? ""
    replicaName = options.replicaName?.fieldValue ?? ""
    if let body = method.body?.data { contentDigest = AnswerCheck.contentDigest(of: body) }
    self.bodyBytesMax = bodyBytesMax
    connectTimeoutMilliseconds = options.connectTimeoutMilliseconds
    stallTimeoutSeconds = options.stallTimeoutSeconds &+ waitSeconds
    requestTimeoutSeconds = options.requestTimeoutSeconds
    certificateAuthorityFile = options.certificateAuthorityFile
    clientCertificateFile = options.clientCertificateFile
    clientKeyFile = options.clientKeyFile ?? options.clientCertificateFile
    self.phase = phase
    self.part = part
  }

  var url: String
  var method: Method
  /// Empty where nothing is shown.
  var authorization: String
  /// Empty where none is told.
  var replicaName: String
  /// Of the body; empty when there is none.
  var contentDigest = ""
  /// The most bytes that the answer's body may have.
  var bodyBytesMax: Int
  var connectTimeoutMilliseconds: Int
  var stallTimeoutSeconds: Int
  var requestTimeoutSeconds: Int
  var certificateAuthorityFile: String?
  var clientCertificateFile: String?
  var clientKeyFile: String?
  /// Is told how far the request is.
  var phase: PhaseBox?
  /// Gets what came of an answer that did not come whole.
  var part: AnswerPart?

  /// What an answer's check covers of it.
  var checked: AnswerCheck.Request {
    AnswerCheck.Request(
      method: method.name, target: url, authorization: authorization, contentDigest: contentDigest)
  }
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

  /// The check that the answer to `request` would carry if it came like this from the server.
  func check(for request: HTTPRequest) -> String {
    body.withUnsafeBytes { body in
      AnswerCheck.value(
        for: request.checked, status: status, field: { fields[$0.lowercased()] }, body: body)
    }
  }

  /// The media type without parameters, in lower case.
  var mediaType: String { AnswerCheck.mediaType(fields["content-type"]) }
}

/// What came of an answer that did not come whole; nothing of it is checked.
final class AnswerPart: Sendable {
  private let state = Mutex<HTTPResponse?>(nil)

  var response: HTTPResponse? { state.withLock { $0 } }

  func set(_ response: HTTPResponse?) { state.withLock { $0 = response } }

  /// An error, with what came of a piece of a large value before it.
  func ofValue(_ range: Range<Int>, _ error: TransportError) -> any Error {
    guard let came = response, came.status == 200, came.mediaType == WirePath.valueType,
      !came.body.isEmpty, came.body.count <= range.count
    else { return error }
    return PartOfValue(bytes: came.body, reason: error)
  }
}
