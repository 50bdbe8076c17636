import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird

/// What a replica compares itself with: digests of what a zone's log comes to, and the objects that they are of.
struct DigestRoutes: Sendable {
  let storage: any ZoneStorage
  let metrics: ServerMetrics
  let gate: Gate

  func add(to router: Router<ServerContext>) {
    router.get("v1/zones/:zone/digests") { request, context in
      let (zone, place) = try await admit(request, context)
      let digests = try await storage.digests(of: zone, at: place)
      let body = ByteBuffer(bytes: try JSONEncoder().encode(digests))
      return Response(
        status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: body))
    }
    router.get("v1/zones/:zone/digests/ranges") { request, context in
      let first = try number("first", request)
      let count = try number("count", request)
      guard count <= DigestPart.countMax else { throw Self.malformed("count") }
      return try await answer(
        .ranges(first..<first + count, columns: try columns(request)), request, context)
    }
    router.get("v1/zones/:zone/digests/blocks") { request, context in
      try await answer(
        .blocks(range: try number("first", request), columns: try columns(request)), request,
        context)
    }
    router.get("v1/zones/:zone/digests/objects") { request, context in
      let first = UInt64(try number("first", request))
      let count = UInt64(try number("count", request))
      return try await answer(.objects(first..<first + count), request, context)
    }
  }

  private func answer(
    _ part: DigestPart, _ request: Request, _ context: ServerContext
  ) async throws -> Response {
    let (zone, place) = try await admit(request, context)
    let data = try await storage.digests(part, of: zone, at: place)
    metrics.countSent(bytes: data.count)
    let type = part.digestCount == nil ? WirePath.segmentType : WirePath.digestsType
    return Response(
      status: .ok, headers: [.contentType: type],
      body: .init(byteBuffer: ByteBuffer(bytes: data)))
  }

  private func admit(
    _ request: Request, _ context: ServerContext
  ) async throws -> (zone: ZoneRecord, place: LogMark) {
    let zone = try await gate.admit(
      request.headers, from: context.address, zone: context.parameters.get("zone"), verb: .read
    ).zone
    guard let text = request.uri.queryParameters["generation"],
      let generation = UUID(uuidString: String(text))
    else { throw Self.malformed("generation") }
    guard generation == zone.generation else {
      throw ServerError.generationChanged(zone: zone.name)
    }
    guard
      let chain = request.uri.queryParameters["chain"].flatMap({
        LogChain(hexadecimal: String($0))
      })
    else { throw Self.malformed("chain") }
    return (zone, LogMark(sequence: UInt64(try number("sequence", request)), chain: chain))
  }

  /// What a number of a query has at most: as much as a log may have.
  private static let numberMax = 1 << 40

  private func number(_ name: String, _ request: Request) throws -> Int {
    guard let text = request.uri.queryParameters[Substring(name)], let number = Int(text),
      (0...Self.numberMax).contains(number)
    else { throw Self.malformed(name) }
    return number
  }

  private func columns(_ request: Request) throws -> [Int] {
    guard let text = request.uri.queryParameters["columns"] else {
      throw Self.malformed("columns")
    }
    let columns = text.split(separator: ",").map { Int($0) }
    guard columns.count <= DigestPart.countMax, columns.allSatisfy({ $0 != nil }) else {
      throw Self.malformed("columns")
    }
    return columns.compactMap { $0 }
  }

  private static func malformed(_ name: String) -> ServerError {
    ServerError(
      .malformed, "the query parameter \(name) is missing or is not what it must be",
      suggestion: "Update the client.")
  }
}
