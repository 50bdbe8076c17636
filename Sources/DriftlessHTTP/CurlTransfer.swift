internal import CCurl
import DriftlessProtocol
import Foundation

/// One request on one easy handle, from start to finish. Confined to the thread of the loop that
/// runs it.
final class CurlTransfer {
  let easy: UnsafeMutableRawPointer
  let request: HTTPRequest
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var fields: [String: String] = [:]
  private var body = Data()
  private var isTooLarge = false
  /// As much as a page of the log mostly takes.
  private static let reservedBytesMax = 8 << 20
  /// Where libcurl writes what went wrong, in more words than the code has.
  private let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// Prepares `easy` for `request`. The handle keeps its connections and its TLS sessions from
  /// earlier transfers.
  init(easy: UnsafeMutableRawPointer, request: HTTPRequest) {
    self.easy = easy
    self.request = request
    reason.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    curl_easy_reset(easy)
    driftless_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, reason)
    setAddress()
    setBounds()
    setHeaders()
    setSinks()
    request.phase?.set(.connecting)
  }

  deinit {
    curl_easy_reset(easy)
    curl_slist_free_all(headers)
    reason.deallocate()
  }

  private func setAddress() {
    setString(CURLOPT_URL, request.url)
    // file:, gopher: and the like have no place here, whatever a configuration says.
    setString(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    setClientCertificate()
    if let file = request.certificateAuthorityFile { _ = driftless_curl_trust_file(easy, file) }
  }

  private func setClientCertificate() {
    guard let file = request.clientCertificateFile else { return }
    setString(CURLOPT_SSLCERT, file)
    setString(CURLOPT_SSLKEY, request.clientKeyFile ?? file)
    // Nobody is asked for the passphrase of a key that has one.
    setString(CURLOPT_KEYPASSWD, "")
  }

  private func setBounds() {
    set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeoutMilliseconds)
    set(CURLOPT_LOW_SPEED_LIMIT, 1)
    set(CURLOPT_LOW_SPEED_TIME, request.stallTimeoutSeconds)
    set(CURLOPT_TIMEOUT, request.requestTimeoutSeconds)
    // Refuses by Content-Length before the first byte; the sink below refuses whatever the length
    // says.
    driftless_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.bodyBytesMax))
  }

  private func setHeaders() {
    if !request.authorization.isEmpty { append("Authorization: \(request.authorization)") }
    if !request.replicaName.isEmpty { append("\(ReplicaName.field): \(request.replicaName)") }
    append("\(FormatLevel.field): \(ChangeSetHeader.formatLevel)")
    append("User-Agent: driftless")
    append("Accept: application/json, application/vnd.driftless.log")
    if let (data, contentType) = request.method.body {
      append("Content-Type: \(contentType)")
      append("\(AnswerCheck.requestField): \(request.contentDigest)")
      // Without this, libcurl waits up to a second for "100 Continue" before it sends a large body.
      append("Expect:")
      driftless_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(data.count))
      // The bytes are copied, so they live as long as the handle needs them.
      if data.isEmpty {
        setString(CURLOPT_COPYPOSTFIELDS, "")
      } else {
        data.withUnsafeBytes { bytes in
          _ = driftless_curl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress)
        }
      }
      if request.method.name != "POST" { setString(CURLOPT_CUSTOMREQUEST, request.method.name) }
    } else {
      set(CURLOPT_HTTPGET, 1)
    }
    driftless_curl_set_pointer(easy, CURLOPT_HTTPHEADER, headers)
  }

  private func setSinks() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    driftless_curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
    driftless_curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
    driftless_curl_set_sink(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      return transfer.receive(UnsafeRawBufferPointer(start: bytes, count: size &* count))
    }
    driftless_curl_set_sink(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      return transfer.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size &* count))
    }
    driftless_curl_set_connected(
      easy,
      { context, _, _, _, _ in
        if let context {
          let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
          transfer.request.phase?.set(.waiting)
        }
        return CURL_PREREQFUNC_OK
      }, context)
  }

  /// Takes bytes of the body; taking fewer than offered makes libcurl fail the transfer.
  private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count <= request.bodyBytesMax - body.count else {
      isTooLarge = true
      return 0
    }
    let length = body.isEmpty ? fields["content-length"].flatMap { Int($0) } : nil
    if let length, length > bytes.count {
      // One that grows is copied as it does. What never comes of it takes addresses, and no memory.
      body.reserveCapacity(min(length, Self.reservedBytesMax))
    }
    body.append(contentsOf: bytes)
    request.phase?.set(.receiving)
    return bytes.count
  }

  /// Takes one header line. A status line starts anew: what came before belonged to a 1xx or to a
  /// proxy.
  private func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
    let line = String(decoding: bytes, as: UTF8.self)
    if line.hasPrefix("HTTP/") {
      fields.removeAll()
    } else if let colon = line.firstIndex(of: ":"), fields.count < 256 {
      let value = line[line.index(after: colon)...].filter { !$0.isNewline }
      fields[line[..<colon].lowercased()] = String(value).trimmingSpaces()
    }
    return bytes.count
  }

  /// What became of the request when libcurl is done with it.
  func outcome(_ code: CURLcode) -> Result<HTTPResponse, TransportError> {
    request.phase?.set(.idle)
    return code == CURLE_OK ? .success(response) : .failure(error(code))
  }

  /// What has come so far.
  var response: HTTPResponse {
    HTTPResponse(
      status: driftless_curl_status(easy), fields: fields, body: body,
      redirect: driftless_curl_redirect(easy).map { String(cString: $0) },
      connectionsMade: driftless_curl_connects(easy))
  }

  private func error(_ code: CURLcode) -> TransportError {
    let address = request.url.prefix { $0 != "?" }
    let detail = String(cString: reason)
    let reason = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    let client = request.clientCertificateFile
    // With TLS 1.3 the server says it when the connection is made already: to whoever reads from it.
    if let refusal = TransportError.refusedClient(String(address), reason, certificate: client) {
      return refusal
    }
    switch code {
    case CURLE_WRITE_ERROR where isTooLarge, CURLE_FILESIZE_EXCEEDED:
      return .tooLarge(String(address), bytesMax: request.bodyBytesMax)
    case CURLE_OPERATION_TIMEDOUT:
      return TransportError(
        .timedOut, "\(address) did not answer in time.",
        suggestion: "Check the network; nothing was lost, and it is tried again.")
    case CURLE_SSL_CACERT_BADFILE where Self.isOutOfFiles:
      return TransportError(
        .unreachable,
        "\(address) cannot be reached: the file of authorities cannot be opened, for this process has as many files open as the system lets it.",
        suggestion: "Let the process open more files; it is tried again.")
    case CURLE_SSL_CACERT_BADFILE:
      return .badAuthorityFile(request.certificateAuthorityFile ?? "of the system", reason)
    case CURLE_SSL_CERTPROBLEM where client != nil:
      return .badClientCertificate(client ?? "", reason)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_ISSUER_ERROR:
      return .refusedConnection(
        String(address), reason, verification: driftless_curl_verification(easy))
    case CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return .damagedBody(String(address), reason)
    case CURLE_GOT_NOTHING where address.hasPrefix("http://"):
      return TransportError(
        .unreachable, "\(address) closed the connection without an answer.",
        suggestion: "Where the server speaks TLS, enroll with https:// instead. "
          + "Changes stay queued here."
      )
    case CURLE_URL_MALFORMAT:
      return TransportError(
        .badConfiguration, "\(address) is no address that can be used: \(reason).",
        suggestion: "Give the server as http://HOST:PORT or https://HOST.")
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      return TransportError(
        .notDriftless, "What answers at \(address) does not speak HTTP.",
        suggestion: "Check host and port of the server.")
    default:
      return TransportError(
        .unreachable, "\(address) cannot be reached\(Self.throughProxy(address)): \(reason).",
        suggestion: "Check that the server runs and the network is up; changes stay queued here.")
    }
  }

  /// Whether a connection and a file beside it can be opened no more: libcurl says of a file only that it cannot be used.
  private static var isOutOfFiles: Bool {
    var opened: [Int32] = []
    defer { for file in opened { close(file) } }
    while opened.count < 2 {
      let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return errno == EMFILE || errno == ENFILE }
      opened.append(file)
    }
    return false
  }

  /// The variable that names a proxy, where one may be in the way: what is said of the connection is said of the proxy's then.
  private static func throughProxy(_ address: Substring) -> String {
    let environment = ProcessInfo.processInfo.environment
    // Of HTTP_PROXY a web server's client could set the value, so libcurl does not read that.
    let names =
      address.hasPrefix("https:")
      ? ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
      : ["http_proxy", "all_proxy", "ALL_PROXY"]
    guard let name = names.first(where: { environment[$0]?.isEmpty == false }) else { return "" }
    return " (the variable \(name) names a proxy; NO_PROXY excludes hosts)"
  }

  private func set(_ option: CURLoption, _ value: Int) {
    driftless_curl_set_long(easy, option, value)
  }

  private func setString(_ option: CURLoption, _ value: String) {
    driftless_curl_set_string(easy, option, value)
  }

  private func append(_ header: String) {
    headers = curl_slist_append(headers, header) ?? headers
  }
}
