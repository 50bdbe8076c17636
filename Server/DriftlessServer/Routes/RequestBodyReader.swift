import DriftlessProtocol
import Foundation
import Hummingbird

/// Reads the bodies of pushes within bounds: of each, of all together, of each zone's and each token's, and of time. A body holds
/// up to 8 MiB of the length that it says from its head on, and what has come of it.
final class RequestBodyReader: Sendable {
  private let limits: LiveLimits
  private let memory: MemoryBudget
  private let trim: MemoryTrim?
  /// As much as a part of a push mostly takes.
  private static let reservedBytesMax = 8 << 20

  /// - Parameter trim: told of each body that came, whatever became of it.
  init(limits: LiveLimits, trim: MemoryTrim? = nil) {
    self.limits = limits
    self.trim = trim
    memory = MemoryBudget(
      "bodies", most: limits.bodiesInMemoryBytesMax, least: limits.bodyBytesMax)
  }

  /// Reads a request's body and hands it to `use`; its bytes count as held until that returns.
  ///
  /// - Parameters:
  ///   - holder: for whom it is held.
  ///   - bytesMax: the most bytes that it may have, where that is less than the limit.
  /// - Throws: `ServerError`: `.tooLarge`, `.busy` (also where it is too slow), `.damaged` (cut off), which end the
  ///   connection, because what is left of the body is not worth reading; `.damaged` for a body that was changed on its
  ///   way.
  func withBody<Result>(
    of request: Request, for holder: MemoryBudget.Holder, bytesMax: Int = .max,
    _ use: (Data) async throws -> Result
  ) async throws -> Result {
    let most = min(bytesMax, limits.bodyBytesMax)
    let charge = memory.charge(for: holder)
    defer { charge.shrink(to: 0) }
    var body = Data()
    defer { trim?.note(bytes: body.count) }
    if let text = request.headers[.contentLength] {
      guard let length = Int(text), (0...most).contains(length) else { throw tooLarge(most) }
      // Who finds no room is told so before anything comes. No more than a step is held ahead: who sends a long body slowly would keep
      // others out with what has not come.
      try Self.hold(min(length, Self.reservedBytesMax), by: charge)
      // One that grows is copied as it does. What never comes of it takes addresses, and no memory.
      if length > 0 { body.reserveCapacity(min(length, Self.reservedBytesMax)) }
    }
    let start = ContinuousClock.now
    var chunks = request.body.makeAsyncIterator()
    while let chunk = try await Self.next(&chunks) {
      guard body.count + chunk.readableBytes <= most else { throw tooLarge(most) }
      // By what has come so far: a long body over a slow line is none that hangs.
      let seconds = limits.bodySeconds + body.count / max(1, limits.bodyBytesPerSecondMin)
      guard ContinuousClock.now < start + .seconds(seconds) else {
        // Over a better line the same body is taken: nothing is wrong with what is in it.
        throw ServerError.busy("the body took more than \(seconds) seconds to arrive").closing()
      }
      try Self.hold(body.count + chunk.readableBytes, by: charge)
      body.append(contentsOf: chunk.readableBytesView)
    }
    if let digest = request.contentDigest, digest != AnswerCheck.contentDigest(of: body) {
      throw ServerError(
        ProtocolError(
          .damaged, "the body is not the one that its \(AnswerCheck.requestField) names",
          suggestion: "Send it again."))
    }
    return try await use(body)
  }

  /// Has a charge hold so many bytes, if it does not hold them already.
  private static func hold(_ bytes: Int, by charge: MemoryBudget.Charge) throws {
    do { try charge.grow(by: bytes - charge.held) } catch let error as ServerError {
      throw error.closing()
    }
  }

  /// The next piece of a body. That a client hangs up within it, or breaks the rules of HTTP, is no failure of the server.
  private static func next(
    _ chunks: inout RequestBody.AsyncIterator
  ) async throws -> ByteBuffer? {
    do {
      return try await chunks.next()
    } catch let error as CancellationError {
      throw error
    } catch {
      throw ServerError(
        ProtocolError(
          .damaged, "the body ended before its end, or breaks the rules of HTTP",
          suggestion: "Send it again.")
      ).closing()
    }
  }

  private func tooLarge(_ most: Int) -> ServerError {
    ServerError(
      .tooLarge, "the body is larger than \(most) bytes",
      suggestion: "Push fewer changes at a time."
    ).closing()
  }
}
