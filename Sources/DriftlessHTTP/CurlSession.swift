import Foundation
import Synchronization

/// Owns a loop: `send` makes a request and waits for its answer; the last reference stops the
/// thread.
final class CurlSession: Sendable {
  private let loop: CurlLoop

  init?() {
    guard let loop = CurlLoop() else { return nil }
    self.loop = loop
  }

  deinit { loop.stop() }

  /// Makes one request. Cancelling the task ends it at once.
  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    let handle = Mutex(Handle.waiting)
    let result: Result<HTTPResponse, TransportError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let number = loop.start(request) { continuation.resume(returning: $0) }
        let wasCancelled = handle.withLock { state in
          defer { state = .started(number) }
          return state == .cancelled
        }
        if wasCancelled { loop.cancel(number) }
      }
    } onCancel: {
      let number = handle.withLock { state in
        defer { if state == .waiting { state = .cancelled } }
        if case .started(let number) = state { return number }
        return 0
      }
      loop.cancel(number)
    }
    return try result.get()
  }

  /// Closes every connection; requests under way end as cancelled.
  func close() { loop.stop() }

  /// A cancellation may arrive before the request has its number.
  private enum Handle: Equatable {
    case waiting
    case started(UInt64)
    case cancelled
  }
}
