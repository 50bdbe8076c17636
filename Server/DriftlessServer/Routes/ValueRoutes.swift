import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird

/// Large values, which go by themselves, a piece at a time.
struct ValueRoutes: Sendable {
  private let storage: any ZoneStorage
  private let metrics: ServerMetrics
  private let gate: Gate
  private let bodies: AdmittedBodies

  init(storage: any ZoneStorage, metrics: ServerMetrics, bodies: AdmittedBodies) {
    self.storage = storage
    self.metrics = metrics
    gate = bodies.gate
    self.bodies = bodies
  }

  func add(to router: Router<ServerContext>) {
    router.put("v1/zones/:zone/values/:digest") { request, context in
      try await AdmittedBodies.closingRefused(request) { try await put(request, context) }
    }
    router.get("v1/zones/:zone/values/:digest") { request, context in
      try await get(request, context)
    }
    router.get("v1/zones/:zone/values") { request, context in
      try await lost(request, context)
    }
  }

  private func put(_ request: Request, _ context: ServerContext) async throws -> Response {
    let admitted = try await gate.admit(request, context, .write)
    guard storage.keepsValues else { throw ServerError(ProtocolError.takesNoValues) }
    let query = RequestQuery(request)
    try query.checkGeneration(of: admitted.zone)
    guard let replica = try query.uuid("replica") else { throw RequestQuery.malformed("replica") }
    context.notes.note("replica", replica.wireText)
    try await gate.check(replica, mayUse: admitted.token)
    let first = try query.count("first")
    guard let length = try query.number("length"),
      let value = LargeValue(digest: try digest(context), length: length)
    else { throw RequestQuery.malformed("length") }
    return try await bodies.withBody(
      of: request, context, admitted, .write, bytesMax: LargeValue.pieceBytesMax, isPiece: true
    ) { body in
      let piece = ValuePiece(
        value: value, replica: replica, generation: admitted.zone.generation, first: first,
        bytes: body)
      let state = try await storage.keep(piece, of: admitted.zone, token: admitted.token.id)
      return Response(
        status: .ok, headers: [.contentType: "application/json"],
        body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(state))))
    }
  }

  private func get(_ request: Request, _ context: ServerContext) async throws -> Response {
    let zone = try await gate.admit(request, context, .read).zone
    let query = RequestQuery(request)
    try query.checkGeneration(of: zone)
    let count = min(try query.count("count"), LargeValue.pieceBytesMax)
    try context.notes.reserve(answer: count)
    let piece = try await storage.value(
      try digest(context), of: zone, first: try query.count("first"), count: count)
    metrics.countSent(bytes: piece.count)
    return Response(
      status: .ok, headers: [.contentType: WirePath.valueType],
      body: .init(byteBuffer: ByteBuffer(bytes: piece)))
  }

  /// The values that the zone lacks.
  private func lost(_ request: Request, _ context: ServerContext) async throws -> Response {
    let zone = try await gate.admit(request, context, .read).zone
    let query = RequestQuery(request)
    try query.checkGeneration(of: zone)
    let values = try await storage.lostValues(
      of: zone, after: try query.digest("after") ?? Data(), countMax: LostValues.countMax)
    return Response(
      status: .ok, headers: [.contentType: "application/json"],
      body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(LostValues(values)))))
  }

  private func digest(_ context: ServerContext) throws -> Data {
    guard let digest = LargeValue.digest(named: context.parameters.get("digest") ?? "") else {
      throw ServerError(
        .malformed, "a value is named by its SHA-256, 64 hexadecimal digits in small letters",
        suggestion: "Update the client.")
    }
    return digest
  }
}
