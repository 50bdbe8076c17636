import DriftlessProtocol
import Foundation
import HTTPTypes
import Hummingbird

/// What a zone's log comes to: which files, and the files a piece at a time.
struct SnapshotRoutes: Sendable {
  let storage: any ZoneStorage
  let metrics: ServerMetrics
  let limits: LiveLimits
  let gate: Gate

  func add(to router: Router<ServerContext>) {
    router.get("v1/zones/:zone/snapshot") { request, context in
      let zone = try await admit(request, context)
      let isOfPurged = try RequestQuery(request).isGiven("kept")
      let found =
        try await isOfPurged ? storage.keptSnapshot(of: zone) : storage.snapshot(of: zone)
      guard let snapshot = found else { throw Self.none }
      let body = ByteBuffer(bytes: try JSONEncoder().encode(snapshot))
      return Response(
        status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: body))
    }
    router.get("v1/zones/:zone/snapshot/:name") { request, context in
      let zone = try await admit(request, context)
      let query = RequestQuery(request)
      let first = try query.count("first")
      let count = min(try query.count("count"), limits.pageBytesMax)
      try context.notes.reserve(answer: count)
      guard
        let piece = try await storage.segment(
          context.parameters.get("name") ?? "", of: zone, first: first, count: count)
      else { throw Self.none }
      metrics.countSent(bytes: piece.count)
      return Response(
        status: .ok, headers: [.contentType: WirePath.segmentType],
        body: .init(byteBuffer: ByteBuffer(bytes: piece)))
    }
  }

  private static var none: ServerError {
    ServerError(
      .noSnapshot, "the zone has no such snapshot",
      suggestion: "Pull its log from the beginning.")
  }

  private func admit(
    _ request: Request, _ context: ServerContext
  ) async throws -> ZoneRecord {
    let zone = try await gate.admit(request, context, .read).zone
    try RequestQuery(request).checkGeneration(of: zone)
    return zone
  }
}
