import DriftlessProtocol
import DriftlessServer
import Foundation
import TestSupport
import Testing

/// A server with pushes, a backup in between, and what it needs to go on.
struct BackupWorld {
  let directory: TemporaryDirectory
  let token: AccessToken
  let revoked: AccessToken
  let backup: Backup
  let replica: UUID

  init() async throws {
    let server = try await LiveServer()
    directory = server.directory
    token = try server.token()
    revoked = try server.token()
    backup = Backup(directory.file("copy.sqlite"))
    var maker = FrameMaker(try await server.zone())
    replica = maker.replica
    let folder = try DataFolder(server.data)
    for step in 1...6 as ClosedRange<UInt64> {
      _ = try await server.accepted(try maker.insert(2), token: token)
      maker.cursor = try await server.cursor(at: step)
      if step == 4 {
        let content = try backup.make(of: folder)
        #expect(content.entries == 4)
        #expect(content.zones.map(\.head) == [4])
      }
    }
    try server.revoke(revoked)
    try await server.stop()
  }

  var folder: DataFolder { get throws { try DataFolder(directory.file("data")) } }

  func administering<Value>(_ body: (Administration) throws -> Value) throws -> Value {
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    return try body(administration)
  }
}
