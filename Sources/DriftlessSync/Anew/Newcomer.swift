import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A store beside a replica's, which joins the zone as one that never was there: it has what the log comes to with the model
/// of now. It sends nothing, and goes when it was read.
struct Newcomer {
  let store: PersistentStore
  let engine: SyncEngine
  private let folder: URL

  /// - Parameter state: the replica's, whose name it reads the zone under.
  init(
    beside replica: PersistentStore, _ state: ReplicaState, info: ZoneInfo,
    by transport: any SyncTransport, _ options: SyncOptions
  ) throws {
    let place = replica.url?.deletingLastPathComponent() ?? FileManager.default.temporaryDirectory
    let name = replica.url?.lastPathComponent ?? UUID().uuidString
    folder = place.appending(path: ".\(name).newcomer", directoryHint: .isDirectory)
    // What an earlier one left that was killed.
    try? FileManager.default.removeItem(at: folder)
    let folder = folder
    try StoreError.writing(folder) {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    store = try PersistentStore.open(
      url: folder.appending(path: "store.sqlite"), model: replica.model,
      options: StoreOptions(durability: .normal))
    try SyncEngine.enroll(
      store: store, server: URL(fileURLWithPath: "/"), zone: state.zone, info: info)
    var options = options
    // The replica has its large values, or fetches them in its turns, as many of them as it wants.
    options.values = .firstUse
    engine = SyncEngine(
      store: store, transport: ReadingTransport(next: transport), options: options)
    _ = try store.write(TransactionInfo(author: SyncEngine.importAuthor, kind: .imported)) {
      guard var own = try ReplicaState.load(from: $0.connection) else { return }
      // The zone knows of no other replica.
      own.replica = state.replica
      own.pushNumber = state.pushNumber
      try own.save(in: $0)
    }
  }

  func remove() async {
    await engine.close()
    store.close()
    try? FileManager.default.removeItem(at: folder)
  }
}

/// A way to a zone that lets nothing through but questions.
private struct ReadingTransport: SyncTransport {
  let next: any SyncTransport

  func zoneInfo() async throws -> ZoneInfo { try await next.zoneInfo() }
  func pull(_ request: PullRequest) async throws -> PullPage { try await next.pull(request) }
  func snapshot(of generation: UUID) async throws -> Snapshot? {
    try await next.snapshot(of: generation)
  }
  func keptSnapshot(of generation: UUID) async throws -> Snapshot? {
    try await next.keptSnapshot(of: generation)
  }
  func segment(_ name: String, of generation: UUID, range: Range<Int>) async throws -> Data {
    try await next.segment(name, of: generation, range: range)
  }
  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    try await next.value(digest, of: generation, range: range)
  }
  func push(_ frame: Data) async throws -> PushReply { throw Self.refusal }
  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply { throw Self.refusal }
  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? { nil }
  func digests(at cursor: Cursor) async throws -> ZoneDigests { throw Self.refusal }
  func digests(_ part: DigestPart, at cursor: Cursor) async throws -> Data { throw Self.refusal }

  private static var refusal: ProtocolError {
    ProtocolError(.unsupported, "It only reads", suggestion: "Report it.")
  }
}
