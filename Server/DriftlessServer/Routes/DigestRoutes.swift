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
      try await answer(request, context) { query in
        let first = try query.count("first")
        let count = try query.count("count", max: DigestPart.countMax)
        return .ranges(first..<first + count, columns: try columns(query))
      }
    }
    router.get("v1/zones/:zone/digests/blocks") { request, context in
      try await answer(request, context) { query in
        .blocks(range: try query.count("first"), columns: try columns(query))
      }
    }
    router.get("v1/zones/:zone/digests/cells") { request, context in
      try await answer(request, context) { query in
        let first = try query.count("first")
        let count = try query.count("count", max: StateDigest.rangeBlocks)
        return .cells(blocks: first..<first + count, columns: try columns(query))
      }
    }
    router.get("v1/zones/:zone/digests/objects") { request, context in
      try await answer(request, context) { query in
        let first = UInt64(try query.count("first"))
        return .objects(first..<first + UInt64(try query.count("count")))
      }
    }
  }

  /// - Parameter part: what is asked for, read of who was let in alone.
  private func answer(
    _ request: Request, _ context: ServerContext, _ part: (RequestQuery) throws -> DigestPart
  ) async throws -> Response {
    let (zone, place) = try await admit(request, context)
    let part = try part(RequestQuery(request))
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
    let zone = try await gate.admit(request, context, .read).zone
    let query = RequestQuery(request)
    try query.checkGeneration(of: zone)
    guard let chain = try query.chain("chain") else { throw RequestQuery.malformed("chain") }
    return (zone, LogMark(sequence: UInt64(try query.count("sequence")), chain: chain))
  }

  private func columns(_ query: RequestQuery) throws -> [Int] {
    try query.counts("columns", countMax: DigestPart.countMax)
  }
}
