import DriftlessProtocol
import Foundation
import Hummingbird

/// Reads the bodies of requests within bounds: of each, of all together, of each zone's and each token's, and of time. A body holds
/// up to 8 MiB of the length that it says from its head on, and what has come of it. One for the process: its bounds are of all.
final class RequestBodyReader: Sendable {
  private let limits: LiveLimits
  private let memory: MemoryBudget
  /// Room that small bodies alone have, beside that of all.
  private let smallMemory: MemoryBudget
  private let trim: MemoryTrim?
  /// As much as a part of a push mostly takes.
  private static let reservedBytesMax = 8 << 20

  /// - Parameter trim: told of each body that came, whatever became of it.
  init(limits: LiveLimits, trim: MemoryTrim? = nil) {
    self.limits = limits
    self.trim = trim
    memory = MemoryBudget(
      "bodies", most: limits.bodiesInMemoryBytesMax, least: limits.bodyBytesMax)
    smallMemory = MemoryBudget(
      "bodies", most: limits.smallBodiesInMemoryBytesMax, least: limits.smallBodyBytesMax)
  }

  /// Reads a request's body and hands it to `use`; its bytes count as held until that returns.
  ///
  /// - Parameters:
  ///   - holder: for whom it is held.
  ///   - bytesMax: the most bytes that it may have, where that is less than the limit.
  ///   - isPiece: whether it is a piece of a large value, which takes none of the room of small bodies: many come, one after the other,
  ///     and would leave none to small pushes.
  /// - Throws: `ServerError`: `.tooLarge`, `.busy` (also where it is too slow), `.damaged` (cut off), which end the
  ///   connection, because what is left of the body is not worth reading; `.damaged` for a body that was changed on its
  ///   way.
  func withBody<Result>(
    of request: Request, for holder: MemoryBudget.Holder, bytesMax: Int = .max,
    isPiece: Bool = false, _ use: (Data) async throws -> Result
  ) async throws -> Result {
    let most = min(bytesMax, limits.bodyBytesMax)
    let room = BodyRoom(
      small: smallMemory.charge(for: holder), any: memory.charge(for: holder),
      smallBytesMax: isPiece ? 0 : limits.smallBodyBytesMax)
    defer { room.leave() }
    var body = Data()
    defer { trim?.note(bytes: body.count) }
    var length = 0
    if let text = request.headers[.contentLength] {
      guard let said = Int(text), (0...most).contains(said) else { throw tooLarge(most) }
      length = said
      // Who finds no room is told so before anything comes. No more than a step is held ahead: who sends a long body slowly would keep
      // others out with what has not come.
      try room.hold(min(length, Self.reservedBytesMax))
      // One that grows is copied as it does. What never comes of it takes addresses, and no memory.
      if length > 0 { body.reserveCapacity(min(length, Self.reservedBytesMax)) }
    }
    let start = ContinuousClock.now
    var chunks = request.body.makeAsyncIterator()
    while let chunk = try await Self.next(&chunks) {
      guard body.count + chunk.readableBytes <= most else { throw tooLarge(most) }
      let seconds = limits.current.seconds(for: body.count, ofBody: max(length, body.count))
      guard ContinuousClock.now < start + .seconds(seconds) else {
        // Over a better line the same body is taken: nothing is wrong with what is in it.
        throw tooSlow(seconds).closing()
      }
      try room.hold(body.count + chunk.readableBytes)
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

  /// Room among bodies that holds nothing yet.
  func charge(for holder: MemoryBudget.Holder) -> MemoryBudget.Charge { memory.charge(for: holder) }

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

  private func tooSlow(_ seconds: Int) -> ServerError {
    ServerError(
      .busy, "the body took more than \(seconds) seconds to arrive",
      suggestion: "Send the same request again, over a better line. Where there is none, the "
        + "server's operator can lower longBodyBytesPerSecondMin, which gives long bodies more "
        + "time, or set valueBytesMax, with which large values go by themselves, in pieces.")
  }

  private func tooLarge(_ most: Int) -> ServerError {
    ServerError(
      .tooLarge, "the body is larger than \(most) bytes",
      suggestion: "Push fewer changes at a time."
    ).closing()
  }
}

/// What one body holds: of the room that small ones have to themselves, where it is small and there is some, else of everybody's.
private struct BodyRoom {
  let small: MemoryBudget.Charge
  let any: MemoryBudget.Charge
  let smallBytesMax: Int

  /// Has so many bytes held, if they are not already.
  ///
  /// - Throws: `ServerError` (`.busy`), which ends the connection.
  func hold(_ bytes: Int) throws {
    do {
      if any.held == 0, bytes <= smallBytesMax, (try? small.grow(by: bytes - small.held)) != nil {
        return
      }
      try any.grow(by: bytes - any.held)
      // One that did not say how long it is was taken for a small one.
      small.shrink(to: 0)
    } catch let error as ServerError {
      throw error.closing()
    }
  }

  func leave() {
    small.shrink(to: 0)
    any.shrink(to: 0)
  }
}
