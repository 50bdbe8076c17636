import DriftlessProtocol
import DriftlessServer
import Foundation
import Synchronization

/// What a storage owes of codes for one use.
enum CodeCases {
  static let all = [
    StorageCase("A code makes one token, and comes to that one again", makes),
    StorageCase("A code that has ended, was revoked or is of another zone makes none", refuses),
    StorageCase("Of many who show one code at one time one gets a token", atOnce),
    StorageCase("A code that nobody was given is none", notHandedOut),
    StorageCase("A code is told its token again, whatever its zone is called by then", renamed),
    StorageCase("A code whose token would have ended makes none", endedToken),
  ]

  private static func makes(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let code = try test.newCode(
      CodeRequest(
        zone: test.name, verbs: .read, name: "till 3", expiresMilliseconds: .max,
        tokenExpiresMilliseconds: 1 << 50))
    try expect(EnrolmentCode.read(code.text.lowercased()) == EnrolmentCode.read(code.text))
    let token = ReplicaToken.make()
    let use = try test.use(code.text, token)
    guard case .made(let made) = try await test.storage.use(use) else {
      throw ConformanceFailure("no token was made")
    }
    let record = try await test.storage.token(id: token.id)
    try expect(AccessToken(text: token.text).map { $0.matches(record?.hash ?? Data()) } ?? false)
    try expect(record?.verbs == .read && record?.name == "till 3")
    try expect(record?.expiresMilliseconds == 1 << 50 && record?.zoneName == test.name)
    for _ in 0..<2 {
      guard case .repeated(let again) = try await test.storage.use(use) else {
        throw ConformanceFailure("the answer was lost, and the token is not told")
      }
      try expect(again.id == made.id)
      let other = try await test.storage.use(test.use(code.text, .make()))
      guard case .used = other else { throw ConformanceFailure("a code made two tokens") }
    }
    // One ID with another secret is another token.
    let forged = try CodeUse(
      codeHash: use.codeHash, zone: use.zone, tokenID: use.tokenID,
      tokenHash: test.use(code.text, .make()).tokenHash, address: use.address)
    guard case .used = try await test.storage.use(forged) else {
      throw ConformanceFailure("a secret was changed")
    }
    try kind.administer { administration in
      let listed = try administration.codes().filter { $0.zoneName == test.name }
      try expect(listed.map(\.tokenID) == [token.id] && listed[0].state(at: 0) == "used")
      try expect((try? administration.revokeCode(id: listed[0].id)) == nil, "it is too late")
      try administration.revokeToken(id: token.id)
    }
    guard case .refused = try await test.storage.use(use) else {
      throw ConformanceFailure("a token that was revoked is told as one")
    }
  }

  private static func refuses(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let other = "other-\(test.name)"
    try kind.administer { _ = try $0.createZone(other) }
    func isRefused(_ use: CodeUse, _ what: String) async throws {
      guard case .refused = try await test.storage.use(use) else { throw ConformanceFailure(what) }
      let made = try await test.storage.token(id: use.tokenID)
      try expect(made?.hash != use.tokenHash, what)
    }
    let request = CodeRequest(zone: test.name, verbs: .read, expiresMilliseconds: .max)
    try await isRefused(test.use(EnrolmentCode.printed(EnrolmentCode.make()), .make()), "unknown")
    var ended = request
    ended.expiresMilliseconds = Int64(await test.storage.time())
    try await isRefused(test.use(test.newCode(ended).text, .make()), "ended")
    let revoked = try test.newCode(request)
    try kind.administer {
      try $0.revokeCode(id: revoked.record.id)
      try $0.revokeCode(id: revoked.record.id)
    }
    try await isRefused(test.use(revoked.text, .make()), "revoked")
    let code = try test.newCode(request)
    try await isRefused(test.use(code.text, .make(), zone: other), "of another zone")
    // The ID of a token that is there is not taken over.
    let token = Held()
    try kind.administer {
      token.value = try $0.createToken(
        zone: other, verbs: .read, label: nil, expiresMilliseconds: nil
      ) { _ in }
    }
    let old = try test.use(code.text, .make())
    try await isRefused(
      CodeUse(
        codeHash: old.codeHash, zone: old.zone, tokenID: token.value?.id ?? "",
        tokenHash: old.tokenHash, address: "here"), "taken over")
    try kind.administer { try $0.deleteZone(test.name) }
    try await isRefused(test.use(code.text, .make()), "of a zone that is no more")
    try kind.administer { administration in
      try expect(try administration.codes().allSatisfy { $0.zoneName != test.name })
    }
  }

  private static func renamed(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let code = try test.newCode(
      CodeRequest(zone: test.name, verbs: .read, expiresMilliseconds: .max))
    let use = try test.use(code.text, .make())
    guard case .made = try await test.storage.use(use) else {
      throw ConformanceFailure("no token was made")
    }
    try kind.administer { _ = try $0.renameZone(test.name, to: "new-\(test.name)") }
    guard case .repeated(let again) = try await test.storage.use(use) else {
      throw ConformanceFailure("who asks by the former name is not told")
    }
    try expect(again.zoneName == "new-\(test.name)")
  }

  private static func endedToken(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let now = Int64(await test.storage.time())
    let code = try test.newCode(
      CodeRequest(
        zone: test.name, verbs: .read, expiresMilliseconds: .max, tokenExpiresMilliseconds: now))
    guard case .refused = try await test.storage.use(test.use(code.text, .make())) else {
      throw ConformanceFailure("a code was used up for nothing")
    }
  }

  private static func atOnce(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let second = try await kind.open(.init())
    defer { second.close() }
    let code = try test.newCode(
      CodeRequest(zone: test.name, verbs: .read, expiresMilliseconds: .max))
    let made = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<12 {
        group.addTask {
          let storage = number % 2 == 0 ? test.storage : second
          let outcome = try await storage.use(test.use(code.text, .make()))
          if case .refused = outcome { throw ConformanceFailure("refused") }
          if case .made = outcome { return true }
          return false
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    try expect(made == 1, "\(made) tokens")
  }

  private struct Away: Error {}

  private static func notHandedOut(kind: StorageUnderTest) async throws {
    let test = try await StorageWorld(kind)
    let printed = Mutex("")
    try kind.administer { administration in
      do {
        try administration.createCode(
          CodeRequest(zone: test.name, verbs: .read, expiresMilliseconds: .max)
        ) { _, text in
          printed.withLock { $0 = text }
          throw Away()
        }
        throw ConformanceFailure("it was handed out")
      } catch is Away {}
    }
    let text = printed.withLock { $0 }
    guard case .refused = try await test.storage.use(test.use(text, .make())) else {
      throw ConformanceFailure("it can be used")
    }
  }

  private final class Held { var value: AccessToken? }
}

extension StorageWorld {
  /// A new code.
  func newCode(_ request: CodeRequest) throws -> (record: CodeRecord, text: String) {
    var printed = ""
    var record: CodeRecord?
    try kind.administer { record = try $0.createCode(request) { printed = $1 } }
    guard let record else { throw ConformanceFailure("there is no code") }
    return (record, printed)
  }

  /// Somebody who shows a code.
  func use(_ text: String, _ token: ReplicaToken, zone: String? = nil) throws -> CodeUse {
    guard let code = EnrolmentCode.read(text), let own = AccessToken(text: token.text) else {
      throw ConformanceFailure("\(text) is no code")
    }
    return CodeUse(
      codeHash: EnrolmentCode.hash(code), zone: zone ?? name, tokenID: token.id,
      tokenHash: own.hash, address: "127.0.0.1")
  }
}
