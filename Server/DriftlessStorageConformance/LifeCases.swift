import DriftlessProtocol
import DriftlessServer
import Foundation

/// What happens to a storage in its life: generations, other openings of it, many at one time.
enum LifeCases {
  static let all = [
    StorageCase("A renewed zone has an empty log, its parent's place, and the intent", renewed),
    StorageCase("A token is what it was made as, until it is revoked", tokens),
    StorageCase(
      "What is handed out is a token by then, and is none where nobody takes it", handedOut),
    StorageCase("A token that is to be bound is one replica's, the first that uses it", bound),
    StorageCase("Zones and tokens are refused by what is wrong with their names", names),
    StorageCase("Two openings of one storage give one dense log", twoOpenings),
    StorageCase("Many zones at one time do not wait for each other for good", manyZones),
    StorageCase("A push in many pieces at one time with others is as large as it is", large),
    StorageCase("A name with a null character is a name", oddNames),
    StorageCase("The server's time does not go back", time),
  ]

  private static func renewed(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var zone = try await test.zone()
    var replica = TestReplica()
    let identities = Push.IdentityRun(first: UUID(), count: 3)
    for intent in [ZoneIntent.offer, .replace] {
      replica.cursor = zone.beginning
      _ = try await test.storage.append(
        replica.push(zone.generation, inserts: [identities]), to: zone)
      let before = try await test.zone()
      try kind.administer { _ = try $0.renewZone(test.name, intent: intent) }
      let after = try await test.zone()
      try expect(after.zoneID == before.zoneID && after.generation != before.generation)
      try expect(after.head == 0 && after.nextObject == 1 && after.chain == after.beginning.chain)
      try expect(
        after.parent
          == ZoneParent(generation: before.generation, sequence: 1, chain: before.chain))
      try expect(after.intent == intent)
      try expect(after.replacements == (intent == .replace ? [after.generation] : []))
      try expect(after.newestMilliseconds == before.newestMilliseconds)
      // What is waiting for the old log is told.
      let old = try await test.refusal(replica.push(before.generation), of: before)
      try expect(old == .generationChanged)
      do {
        _ = try await test.storage.page(
          of: before, PageRequest(after: before.beginning, bytesMax: 1 << 20, entriesMax: 10))
        throw ConformanceFailure("a page of a log that is no more")
      } catch let error as ServerError { try expect(error.code == .generationChanged) }
      try expect(await test.storage.generations().contains(after.generation))
      try expect(await !test.storage.generations().contains(before.generation))
      // Replicas, numbers and identities begin anew.
      replica = TestReplica()
      zone = after
    }
  }

  private struct Away: Error {}

  private static func handedOut(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    func valid() throws -> [String] {
      var valid: [String] = []
      try kind.administer { administration in
        valid += try administration.tokens().filter { $0.revokedMilliseconds == nil }.map(\.id)
        valid += try administration.operators().filter { $0.revokedMilliseconds == nil }.map(\.id)
      }
      return valid
    }
    try kind.administer { administration in
      let name = test.name
      let old = try administration.createToken(
        zone: name, verbs: .read, label: nil, expiresMilliseconds: nil
      ) { try expect(try valid().contains($0.id)) }
      for (what, make) in [
        (
          "rotated",
          {
            try administration.rotateToken(
              id: old.id, grace: 0, expiresMilliseconds: nil, handOut: $0)
          }
        ),
        (
          "operator",
          {
            try administration.createOperator(
              name: name, expiresMilliseconds: nil, handOut: $0)
          }
        ),
      ] as [(String, ((AccessToken) throws -> Void) throws -> AccessToken)] {
        var offered = ""
        do {
          _ = try make {
            offered = $0.id
            try expect(try valid().contains($0.id), "\(what): it is printed, and no token")
            throw Away()
          }
          throw ConformanceFailure("\(what): nobody took it")
        } catch is Away {}
        try expect(try !valid().contains(offered), "\(what): nobody has it")
        try expect(try valid().contains(old.id), what)
      }
    }
  }

  private static func tokens(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let token = Made()
    try kind.administer {
      token.value = try $0.createToken(
        zone: test.name, verbs: [.read], label: "till 3", expiresMilliseconds: 5
      ) { _ in }
    }
    guard let made = token.value else { throw ConformanceFailure("no token") }
    guard let found = try await test.storage.token(id: made.id) else {
      throw ConformanceFailure("the token is not there")
    }
    try expect(made.matches(found.hash) && found.verbs == [.read] && found.name == "till 3")
    try expect(found.expiresMilliseconds == 5 && found.revokedMilliseconds == nil)
    try expect(found.zoneName == test.name)
    try kind.administer { try $0.revokeToken(id: made.id) }
    try expect(await test.storage.token(id: made.id)?.revokedMilliseconds != nil)
    try expect(await test.storage.token(id: "0123456789abcdef") == nil)
    try kind.administer { try expect($0.tokens().map(\.id).contains(made.id)) }
    // One that could not be handed out is none.
    struct Refused: Error {}
    do {
      try kind.administer {
        _ = try $0.createToken(
          zone: test.name, verbs: [.read], label: nil, expiresMilliseconds: nil
        ) { _ in throw Refused() }
      }
      throw ConformanceFailure("a token that nobody has")
    } catch is Refused {}
    try kind.administer { try expect($0.tokens().filter { $0.zoneName == test.name }.count == 1) }
  }

  private static func bound(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let (free, made, next) = (Made(), Made(), Made())
    try kind.administer {
      free.value = try $0.createToken(
        zone: test.name, verbs: [.read], label: nil, expiresMilliseconds: nil
      ) { _ in }
      made.value = try $0.createToken(
        zone: test.name, verbs: [.read], label: "till 3", expiresMilliseconds: nil, binds: true
      ) { _ in }
    }
    func token(_ made: Made) async throws -> TokenRecord {
      guard let token = try await test.storage.token(id: made.value?.id ?? "") else {
        throw ConformanceFailure("no token")
      }
      return token
    }
    let replicas = (0..<8).map { _ in UUID() }
    try expect(await token(free).binding == .none)
    try expect(await test.storage.bind(token(free), to: replicas[0]) == .none)
    try expect(await token(free).binding == .none)
    let open = try await token(made)
    try expect(open.binding == .first)
    // However many come at one time, one has it.
    let bound = try await withThrowingTaskGroup(of: TokenBinding.self) { group in
      for replica in replicas {
        group.addTask { try await test.storage.bind(open, to: replica) }
      }
      return try await group.reduce(into: Set<TokenBinding>()) { $0.insert($1) }
    }
    guard bound.count == 1, let replica = bound.first?.replica, replicas.contains(replica) else {
      throw ConformanceFailure("bound to \(bound)")
    }
    try expect(await token(made).binding == .to(replica))
    try expect(await test.storage.bind(token(made), to: UUID()) == .to(replica))
    // Who gets another token in its place is not known yet.
    try kind.administer { administration in
      next.value = try administration.rotateToken(
        id: open.id, grace: 60_000, expiresMilliseconds: nil
      ) { _ in }
      let lines = try administration.audit(since: 0).filter { $0.act == .tokenBound }
      try expect(lines.map(\.subject).contains(open.id))
      try expect(administration.verify().damage == [])
    }
    try expect(await token(next).binding == .first)
    try expect(await token(made).binding == .to(replica), "until it ends")
    // In a new generation replicas take other IDs.
    try kind.administer { _ = try $0.renewZone(test.name, intent: .offer) }
    try expect(await token(made).binding == .first)
    try kind.administer { administration in
      try administration.deleteZone(test.name)
      try expect(administration.verify().damage == [])
    }
  }

  /// Carries a token out of a closure.
  private final class Made { var value: AccessToken? }

  private static func names(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    func code(_ work: (any ZoneAdministration) throws -> Void) throws -> ServerError.Code? {
      do {
        try kind.administer(work)
        return nil
      } catch let error as ServerError {
        return error.code
      }
    }
    try expect(code { _ = try $0.createZone(test.name) } == .exists)
    for name in ["", "a b", "-a", "ä", "a/b", "a\0b", String(repeating: "a", count: 101)] {
      try expect(code { _ = try $0.createZone(name) } == .badName, name)
      try expect(await test.storage.zone(named: name) == nil, name)
    }
    try expect(code { _ = try $0.renewZone("none", intent: .offer) } == .noZone)
    try expect(code { try $0.revokeToken(id: "none") } == .notFound)
    try expect(
      code {
        _ = try $0.createToken(
          zone: "none", verbs: [.read], label: nil, expiresMilliseconds: nil
        ) { _ in }
      } == .noZone)
    try expect(
      code {
        _ = try $0.createToken(
          zone: test.name, verbs: [.read], label: "two\nlines", expiresMilliseconds: nil
        ) { _ in }
      } == .badName)
    try kind.administer { try expect($0.zones().map(\.name).contains(test.name)) }
  }

  /// As two nodes of one database do, or a server that is started before the one before it has ended.
  private static func twoOpenings(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    let other = try await kind.open(ServerLimits())
    defer { other.close() }
    let storages = [test.storage, other]
    let places = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for worker in 0..<8 {
        group.addTask {
          var replica = TestReplica()
          var given: [UInt64] = []
          for step in 0..<12 {
            let run = Push.IdentityRun(first: UUID(), count: 2)
            let push = replica.push(zone.generation, inserts: [run])
            let first = try await storages[(worker + step) % 2].append(push, to: zone)
            given.append(first.sequence)
            // The same push to the other one, as after an answer that was lost.
            let again = try await storages[(worker + step + 1) % 2].append(push, to: zone)
            try expect(again.isRepeat && again.sequence == first.sequence)
          }
          return given
        }
      }
      return try await group.reduce(into: [UInt64]()) { $0 += $1 }
    }
    try expect(places.sorted() == Array(1...96))
    let page = try await other.page(
      of: zone, PageRequest(after: zone.beginning, bytesMax: 1 << 30, entriesMax: 1000))
    try expect(page.entries.map(\.sequence) == Array(1...96))
    try expect(page.entries.map(\.firstObjectNumber) == Array(0..<96).map { 2 * $0 + 1 })
    var chain = zone.beginning.chain
    for entry in page.entries {
      chain = chain.next(
        digest: Data(
          "7-300-\(entry.bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })".utf8),
        sequence: entry.sequence, firstObjectNumber: entry.firstObjectNumber)
      try expect(entry.chain == chain, "entry \(entry.sequence)")
    }
  }

  private static func manyZones(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let names = (0..<6).map { "\(test.name)-\($0)" }
    try kind.administer { administration in
      for name in names { _ = try administration.createZone(name) }
    }
    let storage = test.storage
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in names {
        for _ in 0..<3 {
          group.addTask {
            guard let zone = try await storage.zone(named: name) else { return }
            var replica = TestReplica()
            for _ in 0..<5 {
              let run = Push.IdentityRun(first: UUID(), count: 1)
              _ = try await storage.append(replica.push(zone.generation, inserts: [run]), to: zone)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    for name in names {
      try expect(await storage.zone(named: name)?.head == 15, name)
    }
  }

  private static func large(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    // Each identity a run of its own, as an import of external keys makes them.
    let runs = (0..<5000).map { _ in Push.IdentityRun(first: UUID(), count: 1) }
    let push = replica.push(zone.generation, inserts: runs, size: 3_000_000)
    _ = try await test.storage.append(push, to: zone)
    replica.cursor = try await test.place(at: 1)
    let touched = replica.push(zone.generation, .update(["a", "b"], of: Array(1...5000)))
    _ = try await test.storage.append(touched, to: zone)
    var other = TestReplica()
    other.cursor = replica.cursor
    let stale = try await test.refusal(
      other.push(zone.generation, .update(["b"], of: [4711])), of: zone)
    try expect(stale == .stale)
    let again = try await test.refusal(
      other.push(zone.generation, inserts: [runs[4321]]), of: zone)
    try expect(again == .stale)
    let page = try await test.storage.page(
      of: zone, PageRequest(after: zone.beginning, bytesMax: 1, entriesMax: 10))
    try expect(page.entries.map(\.bytes) == [push.frame])
  }

  private static func oddNames(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let zone = try await test.zone()
    var replica = TestReplica()
    _ = try await test.storage.append(
      replica.push(zone.generation, inserts: [.init(first: UUID(), count: 2)]), to: zone)
    var other = TestReplica()
    replica.cursor = try await test.place(at: 1)
    other.cursor = replica.cursor
    for name in ["a\0b", "", "[\"x\"]", String(repeating: "ü", count: 3000)] {
      let push = replica.push(zone.generation, .update([name], of: [1]))
      _ = try await test.storage.append(push, to: zone)
      try expect(
        await test.refusal(other.push(zone.generation, .update([name], of: [1])), of: zone)
          == .stale, name)
      try expect(
        await test.refusal(other.push(zone.generation, .update([name], of: [2])), of: zone) == nil,
        name)
      replica.cursor = try await test.place(at: test.zone().head)
      other.cursor = replica.cursor
    }
  }

  private static func time(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    var last: UInt64 = 0
    for _ in 0..<100 {
      let now = await test.storage.time()
      try expect(now >= last)
      last = now
    }
    try expect(last > 1_735_689_600_000)
  }
}
