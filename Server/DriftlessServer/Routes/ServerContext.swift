import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A request's context: the parameters of its path, its logger, and its connection.
struct ServerContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel
  /// What an operator finds the request's lines in the log by, and the answer names.
  let requestID: String
  /// Who asks for what, for the line that the log gets of the request.
  let notes = RequestNotes()

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
    // A log of an application's own keeps no metadata where it does not want any.
    requestID =
      source.logger[metadataKey: "hb.request.id"].map(\.description) ?? UUID().wireText
    // By the name that the answer's field has too, and once a line.
    logger[metadataKey: "hb.request.id"] = nil
    logger[metadataKey: "request"] = "\(requestID)"
  }

  /// Where the request comes from, as text.
  var address: String { channel.remoteAddress?.ipAddress ?? "" }

  /// Whether it comes by the loopback interface.
  var isOfThisHost: Bool {
    address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
  }
}

/// What became known of a request while it was answered.
final class RequestNotes: Sendable {
  private let fields = Mutex(Logger.Metadata())
  private let waits = Mutex(Duration.zero)
  private let admitted = Mutex<MemoryBudget.Holder?>(nil)
  private let answers = Mutex<MemoryBudget?>(nil)
  private let charge = Mutex<MemoryBudget.Charge?>(nil)

  func note(_ name: String, _ value: String) { fields.withLock { $0[name] = "\(value)" } }

  func note(_ holder: MemoryBudget.Holder) { admitted.withLock { $0 = holder } }

  /// What the answer's bytes count against.
  func note(_ answers: MemoryBudget) { self.answers.withLock { $0 = answers } }

  /// An answer of no more bytes is not counted.
  static let smallAnswerBytes = 256 << 10

  /// Counts an answer of so many bytes as in memory: before it is read, where that can be told, and until it is sent, since its
  /// client may not read it. Nothing is counted of who showed no token.
  ///
  /// - Throws: `ServerError` (`.busy`).
  func reserve(answer bytes: Int) throws {
    guard bytes > Self.smallAnswerBytes, let holder = admitted.withLock({ $0 }),
      let answers = answers.withLock({ $0 })
    else { return }
    try charge.withLock { charge in
      let known = charge ?? answers.charge(for: holder)
      charge = known
      try known.grow(by: bytes - known.held)
    }
  }

  /// What the answer holds in memory, to be let go by who takes it; nil where it is not counted.
  func takeCharge() -> MemoryBudget.Charge? {
    charge.withLock { charge in
      defer { charge = nil }
      return charge
    }
  }

  var metadata: Logger.Metadata { fields.withLock { $0 } }

  /// How long the request waited for news.
  var waited: Duration { waits.withLock { $0 } }

  /// Has the time that `body` takes counted as waiting.
  func waiting<Result>(_ body: () async -> Result) async -> Result {
    let start = ContinuousClock.now
    defer { waits.withLock { $0 += ContinuousClock.now - start } }
    return await body()
  }
}

extension UUID {
  /// As the operator's commands write it.
  var wireText: String { uuidString.lowercased() }
}
