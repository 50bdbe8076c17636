import Crypto
public import Foundation

/// The digest that every answer of a server carries, refusals too: over all that a replica believes of the answer, and
/// over the request as it arrived at the server.
///
/// TLS hands on what was sent, or nothing. Over plain HTTP, and behind whatever takes messages apart and puts them together
/// again, one other digit would be believed: another number for a new object, a log that is said to be another one. So a
/// replica takes an answer only when it comes to the same digest, and asks again otherwise. As the request is part of it, an
/// answer to another question, or to this one with a bit flipped, is none.
///
/// As HTTP: the field `Driftless-Check`, 32 hexadecimal digits, the first 16 bytes of the SHA-256 of these parts, each
/// preceded by its length (64 bits, little-endian); what is absent counts as empty.
///
/// | part | |
/// |---|---|
/// | name | `driftless answer` |
/// | request | method; target from `/v1/zones` on; the fields `Authorization` and `Content-Digest` |
/// | status | decimal |
/// | fields | `Content-Type` without parameters and in lower case, `Retry-After`, and those of `PullPage` in the order in which it declares them |
/// | body | its bytes. Of a page of the log its length, in decimal: each entry has a checksum, and each frame a digest |
///
/// A request with a body says its digest in `Content-Digest` (RFC 9530): the server refuses another body as *damaged*.
public enum AnswerCheck {
  /// The header field of an answer.
  public static let field = "Driftless-Check"
  /// The header field of a request with a body.
  public static let requestField = "Content-Digest"

  /// A request, as far as its answer's check covers it.
  public struct Request: Hashable, Sendable {
    /// The HTTP method.
    public var method: String
    /// Path and query; a proxy may have put a prefix before `/v1/zones`, or taken one away.
    public var target: String
    /// The field `Authorization`.
    public var authorization: String
    /// The field `Content-Digest`.
    public var contentDigest: String

    /// What a request is known by.
    public init(method: String, target: String, authorization: String, contentDigest: String) {
      self.method = method
      self.target = target
      self.authorization = authorization
      self.contentDigest = contentDigest
    }
  }

  private static let fields = [
    "Retry-After", PullPage.generationField, PullPage.headField, PullPage.timeField,
  ]

  /// The check of an answer.
  ///
  /// - Parameters:
  ///   - request: The request as the server got it.
  ///   - status: The HTTP status of the answer.
  ///   - field: The value of the header field of a name, whose case does not count.
  ///   - body: The answer's body.
  public static func value(
    for request: Request, status: Int, field: (String) -> String?, body: UnsafeRawBufferPointer
  ) -> String {
    let isPage = mediaType(field("Content-Type")) == WirePath.logType
    let length = Array("\(body.count)".utf8)
    return length.withUnsafeBytes { length in
      value(for: request, status: status, field: field, covered: isPage ? length : body)
    }
  }

  /// The check of a page of the log, of whose body it covers the length: who sends one need not have it at hand.
  ///
  /// - Parameters:
  ///   - request: The request as the server got it.
  ///   - status: The HTTP status of the answer.
  ///   - field: The value of the header field of a name; `Content-Type` is that of a page.
  ///   - pageBytes: The length of the body. Bytes.
  public static func value(
    for request: Request, status: Int, field: (String) -> String?, pageBytes: Int
  ) -> String {
    Array("\(pageBytes)".utf8).withUnsafeBytes {
      value(for: request, status: status, field: field, covered: $0)
    }
  }

  private static func value(
    for request: Request, status: Int, field: (String) -> String?, covered: UnsafeRawBufferPointer
  ) -> String {
    var hash = SHA256()
    func add(_ bytes: UnsafeRawBufferPointer) {
      withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.update(bufferPointer: $0) }
      hash.update(bufferPointer: bytes)
    }
    func add(_ text: String) { Array(text.utf8).withUnsafeBytes { add($0) } }
    let target = request.target
    let path = target.range(of: WirePath.zones, options: .backwards)
    let mediaType = Self.mediaType(field("Content-Type"))
    add("driftless answer")
    add(request.method)
    add(String(target[(path?.lowerBound ?? target.startIndex)...]))
    add(request.authorization)
    add(request.contentDigest)
    add("\(status)")
    add(mediaType)
    for name in fields { add(field(name) ?? "") }
    add(covered)
    return SixteenBytes(prefixOf: hash.finalize()).hexadecimal
  }

  /// What `Content-Digest` says of a body.
  public static func contentDigest(of body: Data) -> String {
    "sha-256=:\(Data(SHA256.hash(data: body)).base64EncodedString()):"
  }

  /// A media type without its parameters, in lower case.
  public static func mediaType(_ contentType: String?) -> String {
    (contentType ?? "").prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
  }
}
