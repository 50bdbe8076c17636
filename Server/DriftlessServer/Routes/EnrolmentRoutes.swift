import DriftlessProtocol
import Foundation
import Hummingbird

/// Binds the token of a replica to a code for one use. The code is all that lets one in.
struct EnrolmentRoutes: Sendable {
  private let storage: any ZoneStorage
  private let gate: Gate
  private let bodies: RequestBodyReader

  /// A request has fewer bytes.
  private static let bytesMax = 4_096

  init(storage: any ZoneStorage, gate: Gate, bodies: RequestBodyReader) {
    self.storage = storage
    self.gate = gate
    self.bodies = bodies
  }

  func add(to router: Router<ServerContext>) {
    router.post("v1/zones/:zone/enroll") { request, context in
      let asker = MemoryBudget.Holder(zone: "", token: context.address)
      return try await bodies.withBody(of: request, for: asker, bytesMax: Self.bytesMax) {
        try await enroll($0, context)
      }
    }
  }

  private func enroll(_ body: Data, _ context: ServerContext) async throws -> Response {
    try gate.countCode(from: context.address)
    try JSONNames.check(body)
    guard let asked = try? JSONDecoder().decode(EnrolmentRequest.self, from: body),
      let tokenHash = Self.bytes(asked.hash, count: 32), Self.bytes(asked.token, count: 8) != nil,
      asked.code.utf8.count <= 100
    else {
      throw ServerError(
        ProtocolError.malformed("The body is no code with a token's ID and the hash of its secret"))
    }
    guard let code = EnrolmentCode.read(asked.code), let zone = context.parameters.get("zone"),
      ZoneName.isValid(zone)
    else { throw gate.refuseCode(from: context.address) }
    let use = CodeUse(
      codeHash: EnrolmentCode.hash(code), zone: zone, tokenID: asked.token, tokenHash: tokenHash,
      address: context.address)
    let outcome = try await storage.use(use)
    if case .repeated(let record) = outcome { try gate.countAgain(record) }
    switch outcome {
    case .made(let record), .repeated(let record):
      context.notes.note("zone", zone)
      context.notes.note("token", asked.token)
      context.notes.note("code", record.id)
      let reply = EnrolmentReply(
        zone: record.zoneName, token: asked.token,
        expiresMilliseconds: record.tokenExpiresMilliseconds)
      return Response(
        status: .ok, headers: [.contentType: "application/json"],
        body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(reply))))
    case .used: throw gate.refuseCode(from: context.address, isUsed: true)
    case .refused: throw gate.refuseCode(from: context.address)
    }
  }

  /// The bytes of hexadecimal digits, in small letters; nil for anything else.
  private static func bytes(_ text: String, count: Int) -> Data? {
    let digits = text.utf8.compactMap { byte -> UInt8? in
      switch byte {
      case 48...57: byte - 48
      case 97...102: byte - 87
      default: nil
      }
    }
    guard digits.count == count * 2, text.utf8.count == digits.count else { return nil }
    return Data(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
  }
}
