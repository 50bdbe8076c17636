import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSync
import Foundation
import TestSupport
import Testing

/// The front door of the library with real servers and processes.
@Suite(.serialized) struct LocalStoreProcessTests {
  private static func model() -> ManagedObjectModel {
    let counter = EntityDescription("Counter")
    counter.properties = [AttributeDescription("value", .integer64)]
    return ManagedObjectModel(entities: [counter])
  }

  private let delays = SyncSchedule.Delays(settle: 0, retryFirst: 0.01, retryMax: 0.02)

  /// Attempts are the schedule's own.
  private var transport: TransportOptions {
    var options = TransportOptions()
    options.retry.attemptsMax = 1
    return options
  }

  private typealias States = AsyncStream<SyncState>.Iterator

  private func settle(_ states: inout States, _ library: LocalStore) async throws {
    while let state = await states.next(isolation: nil) {
      guard case .inStep = state else { continue }
      if try SyncEngine.status(of: library.store).pending.objects == 0 { return }
    }
    Issue.record("the states ended")
  }

  private func add(_ value: Int64, to library: LocalStore) async throws {
    try await library.write { try $0.insert(entityNamed: "Counter")["value"] = value }
  }

  @Test("A program that starts before its server goes on offline, and is in step once that is up")
  func serverComesUp() async throws {
    let directory = try TemporaryDirectory()
    let server = try ServerProcess(data: directory.file("server"), zone: "shop")
    let token = try server.token(zone: "shop")
    let address = try #require(URL(string: server.address))
    server.kill()
    let library = try await LocalStore.open(
      model: Self.model(), at: directory.file("app/till.sqlite"))
    var states = try await library.sync(
      with: address, zone: "shop", token: token, transport: transport, delays: delays
    ).makeAsyncIterator()
    while let state = await states.next(isolation: nil) {
      guard case .offline(let pause) = state else { continue }
      #expect(pause.failure.code == TransportError.Code.unreachable.rawValue)
      break
    }
    try await add(1, to: library)
    try server.start()
    try await settle(&states, library)
    // Another call of this process, with a transport of its own, hears of the same store.
    var others = try await library.sync(
      with: address, zone: "shop", token: token, transport: transport, delays: delays
    ).makeAsyncIterator()
    try await settle(&others, library)
    let other = try await LocalStore.open(model: Self.model(), at: directory.file("other.sqlite"))
    _ = try await SyncEngine(
      store: other.store,
      enrollingThrough: CurlTransport(server: address, zone: "shop", token: token)
    ).sync()
    #expect(try ReplicaExport.text(of: other.store) == ReplicaExport.text(of: library.store))
    #expect(try ReplicaExport.text(of: other.store).contains(#""value":1"#))
  }

  @Test("An unknown token waits for a person; what cannot be a token is refused at once")
  func tokens() async throws {
    let directory = try TemporaryDirectory()
    let server = try ServerProcess(data: directory.file("server"), zone: "shop")
    let address = try #require(URL(string: server.address))
    let library = try await LocalStore.open(model: Self.model(), at: directory.file("till.sqlite"))
    let error = await #expect(throws: TransportError.self) {
      _ = try await library.sync(with: address, zone: "shop", token: "")
    }
    #expect(error?.code == .badConfiguration)
    var states = try await library.sync(
      with: address, zone: "shop", token: "unknown", transport: transport, delays: delays
    ).makeAsyncIterator()
    while let state = await states.next(isolation: nil) {
      guard case .waitingForPerson(let pause) = state else { continue }
      #expect(pause.failure.isAboutTheToken)
      break
    }
    try await add(1, to: library)
    var others = try await library.sync(
      with: address, zone: "shop", token: try server.token(zone: "shop"), transport: transport,
      delays: delays
    ).makeAsyncIterator()
    try await settle(&others, library)
    try await settle(&states, library)
  }

  @Test("Killed between its enrolment and its first pull, a program is the same replica after it")
  func killedBeforeFirstPull() async throws {
    let directory = try TemporaryDirectory()
    let server = try ServerProcess(data: directory.file("server"), zone: "shop")
    let token = try server.token(zone: "shop")
    let file = directory.file("till.sqlite")
    #expect(try Programs.run("storekeeper", ["count", file.path, "3"]).status == 0)
    let killed = try Programs.run(
      "storekeeper", ["sync-and-die", file.path, server.address, "shop", token])
    #expect(killed.status == SIGKILL, "\(killed)")
    let library = try await LocalStore.open(model: Self.model(), at: file)
    let status = try SyncEngine.status(of: library.store)
    #expect(status.zone == "shop" && status.lastSync == nil && status.pending.objects == 1)
    var states = try await library.sync(
      with: try #require(URL(string: server.address)), zone: "shop", token: token,
      transport: transport, delays: delays
    ).makeAsyncIterator()
    try await settle(&states, library)
    #expect(try SyncEngine.status(of: library.store).replica == status.replica)
  }

  @Test("Two processes and this one that write at once lose no step")
  func processesWrite() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("till.sqlite")
    #expect(try Programs.run("storekeeper", ["count", file.path, "1"]).status == 0)
    let processes = try (0..<2).map { _ in
      let process = Process()
      process.executableURL = Programs.url("storekeeper")
      process.arguments = ["count", file.path, "50"]
      try process.run()
      return process
    }
    let library = try await LocalStore.open(model: Self.model(), at: file)
    for _ in 0..<50 {
      while true {
        do {
          try await library.write { context in
            let counter = try context.fetch(FetchRequest<ManagedObject>(entityName: "Counter"))[0]
            counter["value"] = (counter["value"] as? Int64 ?? 0) + 1
          }
          break
        } catch is SaveConflictError { continue }
      }
    }
    for process in processes {
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
    }
    let values = try await library.read { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Counter"))
        .map { $0["value"] as? Int64 }
    }
    #expect(values == [151])
  }

  @Test(
    "Killed, without power or room at any write of its first start, a program begins again",
    arguments: [FileFault.Kind.kill, .mangled, .full])
  func faultsAtFirstStart(kind: FileFault.Kind) throws {
    let directory = try TemporaryDirectory()
    let server = try ServerProcess(data: directory.file("server"), zone: "shop")
    let token = try server.token(zone: "shop")
    func begin(_ store: URL, _ environment: [String: String] = [:]) throws -> Outcome {
      try Programs.run(
        "storekeeper", ["begin", store.path, server.address, "shop", token],
        environment: environment)
    }
    let other = directory.file("other.sqlite")
    #expect(try begin(other).status == 0)
    // The same zone again: that keeps the token beside the store.
    let enrolled = try Programs.run(
      "syncctl",
      ["enroll", "--store", other.path, "--server", server.address, "--zone", "shop"],
      environment: ["SYNCCTL_TOKEN": token])
    #expect(enrolled.status == 0, "\(enrolled)")
    try FileFault.atEachChange(every: 29) { number, _ in
      let folder = try directory.folder("\(kind)\(number)")
      let store = folder.appendingPathComponent("of/its/own/till.sqlite")
      let first = try begin(store, FileFault(kind, at: number, below: folder).environment())
      if kind == .full, first.status != 0 {
        #expect(first.status == 73, "\(number): \(first)")
      } else {
        #expect(first.status == 0 || first.wasKilled, "\(number): \(first)")
      }
      let next = try begin(store)
      #expect(next.status == 0, "\(kind) \(number): \(next)")
      #expect(try Programs.run("syncctl", ["store", "check", store.path]).status == 0)
      let pulled = try Programs.run("syncctl", ["sync", "--store", other.path])
      #expect(pulled.status == 0, "\(pulled)")
      let exports = try [store, other].map {
        try Programs.run("syncctl", ["export", "--store", $0.path]).output
      }
      #expect(exports[0] == exports[1] && exports[0].contains("Counter"), "\(kind) \(number)")
      return first.status == 0
    }
  }
}
