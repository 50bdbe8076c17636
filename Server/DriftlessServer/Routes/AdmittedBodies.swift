import Foundation
import Hummingbird

/// Bodies of requests of those who were let in. Whatever a route does with one, it does it for somebody who is let in still.
struct AdmittedBodies: Sendable {
  let gate: Gate
  let reader: RequestBodyReader
  let metrics: ServerMetrics

  /// Reads the body of a request that was let in, and hands it to `use`; its bytes count as held until that returns.
  ///
  /// - Parameters:
  ///   - verb: as what it was let in, and is looked at again where its body was long in coming.
  ///   - bytesMax, isPiece: as of `RequestBodyReader`.
  /// - Throws: as `RequestBodyReader.withBody` and `Gate.admit`.
  func withBody<Result>(
    of request: Request, _ context: ServerContext, _ admitted: Gate.Admission, _ verb: Verbs,
    bytesMax: Int = .max, isPiece: Bool = false, _ use: (Data) async throws -> Result
  ) async throws -> Result {
    try await reader.withBody(
      of: request, for: admitted.holder, bytesMax: bytesMax, isPiece: isPiece
    ) { body in
      if verb == .write { metrics.countReceived(bytes: body.count) }
      try await gate.check(admitted, request, context, verb)
      return try await use(body)
    }
  }

  /// For what is read in place of a body: it counts as bodies do, and holds nothing yet.
  func charge(for admitted: Gate.Admission) -> MemoryBudget.Charge {
    reader.charge(for: admitted.holder)
  }

  /// Who may not send a body does not get it read, however long it is: the connection ends with the refusal.
  static func closingRefused(
    _ request: Request, _ body: () async throws -> Response
  ) async throws -> Response {
    do {
      return try await body()
    } catch let error as ServerError where error.code.status == 401 || error.code.status == 403 {
      throw request.headers[.contentLength] == "0" ? error : error.closing()
    }
  }
}
