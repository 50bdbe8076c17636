package import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension SyncFailure {
  /// What heals it.
  var kind: SyncStatus.Failure.Kind {
    needsPerson ? .waiting : isTransient ? .offline : .refused
  }
}

extension SyncFailure {
  /// What is kept of a failure, as it was.
  init(_ kept: SyncStatus.Failure) {
    self.init(
      code: kept.code, message: kept.message, suggestion: kept.suggestion,
      isTransient: kept.kind == .offline, needsPerson: kept.kind == .waiting,
      waitsForRoom: [StoreError.Code.diskFull, .tooManyFiles].map(\.dashed).contains(kept.code))
  }
}

extension SyncStatus.Failure {
  /// Whether an answer of the zone to a token heals it.
  var isAboutContact: Bool {
    let codes = [ProtocolError.Code.unauthorized, .forbidden, .tokenBound].map(\.rawValue)
    return kind == .offline || isAboutTLS
      || (codes + ["no-token", "token-readable", "bad-authority", "client-key-readable"])
        .contains(code)
  }

  /// Codes of `TransportError` that name what is wrong with TLS between this host and the server.
  private var isAboutTLS: Bool { SyncFailure.tlsCodes.contains(code) }
}

extension SyncFailure {
  fileprivate static let tlsCodes = [
    "untrusted", "wrong-host-name", "certificate-expired", "no-tls", "bad-authority-file",
    "client-certificate-required", "client-certificate-expired", "client-certificate-refused",
    "bad-client-certificate",
  ]

  /// Whether TLS between this host and the server is not as it has to be: what a person changes in files, or at the server.
  public var isAboutTLS: Bool { Self.tlsCodes.contains(code) }
}

extension SyncEngine {
  /// Of the last sync that failed, as JSON. It counts while the replica's row has an error.
  static let failureSetting = "sync.failure"

  /// Keeps how a sync failed; the time is that of the first of its kind in a row.
  static func note(
    _ failure: SyncFailure, _ before: ReplicaState, now: Date, _ transaction: WriteTransaction
  ) throws {
    let last = before.lastError == nil ? nil : try storedFailure(transaction)
    let since = last?.kind == failure.kind ? last?.since : nil
    let fresh = SyncStatus.Failure(
      kind: failure.kind, code: failure.code, message: failure.message,
      suggestion: failure.suggestion, since: since ?? now)
    guard fresh != last else { return }
    let text = String(decoding: try JSONEncoder().encode(fresh), as: UTF8.self)
    try transaction.setSetting(failureSetting, .text(text))
  }

  /// How the last sync failed; nil when it did not.
  static func lastFailure(
    _ transaction: ReadTransaction, _ state: ReplicaState, now: Date
  ) throws -> SyncStatus.Failure? {
    guard let error = state.lastError else { return nil }
    // A file of an earlier version has the words alone, until the next attempt.
    return try storedFailure(transaction)
      ?? SyncStatus.Failure(
        kind: .offline, code: "failed", message: error, suggestion: "It is tried again.",
        since: state.lastSync ?? now)
  }

  /// Keeps that a sync could not begin, for want of something that a person has to bring.
  package static func noteUnbegun(
    _ store: PersistentStore, code: String, message: String, suggestion: String
  ) throws {
    let failure = SyncFailure(
      code: code, message: message, suggestion: suggestion, isTransient: false, needsPerson: true)
    _ = try store.write(
      TransactionInfo(author: importAuthor, contextName: nil, kind: .imported, hybridTime: nil)
    ) { transaction in
      guard var state = try ReplicaState.load(from: transaction.connection) else { return }
      let before = state
      state.lastError =
        "\(message.hasSuffix(".") ? message.dropLast() : message[...]) (\(code)). \(suggestion)"
      try note(failure, before, now: store.now, transaction)
      if state != before { try state.save(on: transaction.connection) }
    }
  }

  static func decodeFailure(_ text: String) -> SyncStatus.Failure? {
    let failure = try? JSONDecoder().decode(SyncStatus.Failure.self, from: Data(text.utf8))
    // A time that no calendar has is no time.
    guard let failure, abs(failure.since.timeIntervalSince1970) < 1e11 else { return nil }
    return failure
  }

  private static func storedFailure(_ transaction: ReadTransaction) throws -> SyncStatus.Failure? {
    guard case .text(let text)? = try transaction.setting(failureSetting) else { return nil }
    return decodeFailure(text)
  }
}
