import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSync
import Foundation

// A program that keeps a store as an application does, to be killed and run beside others by tests:
//
//   storekeeper sync STORE SERVER ZONE TOKEN          keeps it in step; prints the states
//   storekeeper sync-and-die STORE SERVER ZONE TOKEN  the same, killed before its first pull
//   storekeeper count STORE TIMES                     adds one to the counter so many times
//   storekeeper begin STORE SERVER ZONE TOKEN         adds one, and ends when the zone has it;
//                                                     with 73 where the disk is full

/// The way to the zone, on which the process ends.
final class DeadlyTransport: ZoneTransport {
  private let base: CurlTransport

  init(_ base: CurlTransport) { self.base = base }

  var server: URL { base.server }
  var zone: String { base.zone }

  func zoneInfo() async throws -> ZoneInfo { try await base.zoneInfo() }
  func push(_ frame: Data) async throws -> PushReply { try await base.push(frame) }

  func pull(_ request: PullRequest) async throws -> PullPage {
    kill(getpid(), SIGKILL)
    return try await base.pull(request)
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await base.refill(entries)
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await base.commonPlace(of: marks, generation: generation)
  }
}

func counterModel() -> ManagedObjectModel {
  let counter = EntityDescription("Counter")
  counter.properties = [AttributeDescription("value", .integer64)]
  return ManagedObjectModel(entities: [counter])
}

/// Adds one, as often as it takes until it is saved.
func addOne(to library: LocalStore) async throws {
  while true {
    do {
      return try await library.write { context in
        let request = FetchRequest<ManagedObject>(entityName: "Counter")
        let counter =
          try context.fetch(request).first ?? context.insert(entityNamed: "Counter")
        counter["value"] = (counter["value"] as? Int64 ?? 0) + 1
      }
    } catch is SaveConflictError { continue }
  }
}

/// Iterates until the zone has all of it, or there is no room to go on.
func sync(_ library: LocalStore, through transport: any ZoneTransport, endless: Bool) async throws {
  for await state in try await library.sync(through: transport) {
    print(state)
    fflush(nil)
    if endless { continue }
    if case .offline(let pause) = state, pause.failure.waitsForRoom { exit(73) }
    if case .inStep = state, try SyncEngine.status(of: library.store).pending.objects == 0 {
      return
    }
  }
}

let words = Array(CommandLine.arguments.dropFirst())
do {
  let library = try await LocalStore.open(
    model: counterModel(), at: URL(fileURLWithPath: words[1]))
  if words[0] == "count" {
    for _ in 0..<(Int(words[2]) ?? 0) { try await addOne(to: library) }
  } else {
    guard let server = URL(string: words[2]) else { exit(64) }
    let transport = try CurlTransport(server: server, zone: words[3], token: words[4])
    if words[0] == "begin" { try await addOne(to: library) }
    try await sync(
      library, through: words[0] == "sync-and-die" ? DeadlyTransport(transport) : transport,
      endless: words[0] != "begin")
  }
} catch let error as StoreError where error.code == .diskFull {
  print(error)
  exit(73)
}
