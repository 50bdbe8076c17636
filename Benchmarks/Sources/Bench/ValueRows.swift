import CLimits
import Crypto
import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation

/// Large values there and back, against `curl` that moves as many bytes by the same requests. The server is of this process: it
/// counts on both sides.
struct ValueRows: Sendable {
  let client: ZoneClient
  /// Of the zone.
  let generation: UUID
  static let zone = "values"
  private static let bytes = 64 << 20
  private static let pieceBytes = 1 << 20
  private static let rounds = 3

  private final class Photo: ManagedObject {
    static let image = Attribute<Photo, Data?>("image")
  }

  private static func model() throws -> ManagedObjectModel {
    let entity = EntityDescription("Photo")
    entity.managedObjectClassName = String(reflecting: Photo.self)
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    entity.properties = [image]
    let model = ManagedObjectModel(entities: [entity])
    try model.freeze()
    return model
  }

  /// Other bytes at each call: a zone has each value once.
  private static func value() -> Data {
    (0..<bytes / 8).map { _ in UInt64.random(in: .min ... .max) }.withUnsafeBytes { Data($0) }
  }

  func run() throws -> [Row] {
    let model = try Self.model()
    let author = try client.container("photos", model)
    let engine = try client.engine(author, in: Self.zone)
    var kept = Data()
    var files = try (0...Self.rounds).map { try upload(Self.value(), number: $0) }
    let sent = try Comparison(
      name: "send a value of \(Self.bytes >> 20) MiB (limit: curl)", rounds: Self.rounds,
      countsChildren: true,
      prepare: {
        kept = Self.value()
        let value = kept
        try author.performAndWait { context in
          for photo in try context.fetch(Photo.self) { context.delete(photo) }
          try context.insert(Photo.self)[Photo.image] = value
          try context.save()
        }
      },
      ours: { try blocking { _ = try await engine.push() } },
      limit: { try curl(files.removeLast()) }
    ).run()
    let download = try download(kept)
    var number = 0
    let fetched = try Comparison(
      name: "fetch a value of \(Self.bytes >> 20) MiB (limit: curl)", rounds: Self.rounds,
      countsChildren: true,
      ours: {
        number += 1
        let reader = try client.container("reader-\(number)", model)
        let engine = try client.engine(reader, in: Self.zone)
        try blocking { _ = try await engine.sync() }
      },
      limit: { try curl(download) }
    ).run()
    return [sent, fetched]
  }

  private func address(of value: Data, _ parameters: String) -> String {
    let digest = SHA256.hash(data: value).map { String(format: "%02x", $0) }.joined()
    return "\(client.address.absoluteString)/v1/zones/\(Self.zone)/values/\(digest)"
      + "?generation=\(generation.uuidString)&" + parameters
  }

  /// A file of `curl`'s with one request a piece.
  private func file(_ name: String, _ requests: (Int) throws -> [String]) throws -> String {
    let lines = try stride(from: 0, to: Self.bytes, by: Self.pieceBytes).map { first in
      (["header = \"Authorization: Bearer \(client.tokens[Self.zone] ?? "")\""]
        + (try requests(first))).joined(separator: "\n")
    }
    let path = client.folder.appendingPathComponent("curl-\(name)").path
    try lines.joined(separator: "\nnext\n").write(
      toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  private func upload(_ value: Data, number: Int) throws -> String {
    let replica = UUID()
    return try file("send-\(number)") { first in
      let piece = client.folder.appendingPathComponent("piece-\(number)-\(first)")
      try value[first..<first + Self.pieceBytes].write(to: piece)
      let url = address(
        of: value, "replica=\(replica.uuidString)&length=\(value.count)&first=\(first)")
      return [
        "header = \"Content-Type: \(WirePath.valueType)\"", "upload-file = \"\(piece.path)\"",
        "url = \"\(url)\"", "output = \"/dev/null\"", "fail",
      ]
    }
  }

  private func download(_ value: Data) throws -> String {
    let target = client.folder.appendingPathComponent("fetched").path
    return try file("fetch") { first in
      [
        "url = \"\(address(of: value, "first=\(first)&count=\(Self.pieceBytes)"))\"",
        "output = \"\(target)-\(first)\"", "fail",
      ]
    }
  }

  private func curl(_ file: String) throws {
    let status = try Program.end(
      of: Program.start(
        URL(fileURLWithPath: "/usr/bin/curl"), ["--silent", "--show-error", "--config", file],
        output: .file("/dev/null"))
    ).status
    guard status == 0 else { throw BenchError(description: "curl ended with \(status)") }
  }
}
