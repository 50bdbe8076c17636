import DriftlessProtocol
import DriftlessServer
import DriftlessStorageConformance
import Foundation

/// A replica that makes real frames: boxes with a title.
struct FrameMaker: Sendable {
  let replica = UUID()
  var number: UInt64 = 0
  var cursor: Cursor
  /// Milliseconds since 1970 of each change.
  var milliseconds = UInt64(Date().timeIntervalSince1970 * 1000)

  init(_ zone: ZoneRecord) {
    cursor = Cursor(generation: zone.generation, sequence: zone.head, chain: zone.chain)
  }

  /// A push that inserts so many boxes.
  mutating func insert(_ count: Int, first: UUID = UUID(), title: String = "box") throws -> Data {
    var index = ChangeSetIndex()
    index.newObjects = [.init(entity: 0, identities: .range(first: first, count: count))]
    return try frame(&index, kind: .insert, objects: count, title: title)
  }

  /// A push that gives boxes a title, or a value of another property.
  mutating func update(
    _ numbers: [UInt64], property: String = "title", title: String = "new title"
  ) throws -> Data {
    var index = ChangeSetIndex()
    index.knownNumbers = numbers
    return try frame(
      &index, kind: .update, objects: numbers.count, title: title, property: property)
  }

  /// A push that deletes boxes, or brings them back.
  mutating func touch(_ kind: ChangeSetIndex.Group.Kind, _ numbers: [UInt64]) throws -> Data {
    var index = ChangeSetIndex()
    index.knownNumbers = numbers
    return try frame(
      &index, kind: kind, objects: numbers.count, title: "back",
      property: kind == .delete ? nil : "title")
  }

  private mutating func frame(
    _ index: inout ChangeSetIndex, kind: ChangeSetIndex.Group.Kind, objects: Int, title: String,
    property: String? = "title"
  ) throws -> Data {
    number += 1
    let properties = property.map { [$0] } ?? []
    index.entities = [.init(name: "Box", properties: properties)]
    index.transactions = [.init(hybridTime: milliseconds << 16)]
    index.groups = [
      .init(
        kind: kind, entity: 0, properties: Array(properties.indices),
        objects: ObjectIndexes(0..<objects),
        transactionRuns: [.init(transaction: 0, count: objects)])
    ]
    let titles = (0..<objects).map { "\(title) \($0)" }
    return try ChangeSetEncoder().encode(
      ChangeSet(
        header: ChangeSetHeader(replica: replica, pushNumber: number, cursor: cursor),
        index: index, columns: properties.map { _ in Column(.strings(ByteRows(titles))) }))
  }
}

extension LiveServer {
  func push(_ frame: Data, token: AccessToken) async throws -> RawConnection.Response {
    try await request(
      "POST", "/v1/zones/shop/changes", token: token.text,
      headers: ["Content-Type: \(WirePath.changeSetType)"], body: frame)
  }

  /// Pushes, and reads the reply of a push that was accepted.
  func accepted(_ frame: Data, token: AccessToken) async throws -> PushReply {
    let response = try await push(frame, token: token)
    guard response.status == 200 else {
      throw Refused(status: response.status, code: response.code)
    }
    return try JSONDecoder().decode(PushReply.self, from: response.body)
  }

  struct Refused: Error, Equatable {
    let status: Int
    let code: String?
  }

  /// Pulls a page, with more of the query where a test wants it.
  func pull(after: UInt64, _ more: String = "", token: AccessToken) async throws -> PullPage {
    let generation = try await zone().generation
    let chain = try await cursor(at: after).chain
    let path =
      "/v1/zones/shop/changes?generation=\(generation)&after=\(after)&chain=\(chain)\(more)"
    let response = try await request("GET", path, token: token.text)
    guard response.status == 200,
      let head = response.headers["driftless-head"].flatMap({ UInt64($0) }),
      let time = response.headers["driftless-time"].flatMap({ UInt64($0) }),
      let said = response.headers["driftless-generation"].flatMap({ UUID(uuidString: $0) })
    else { throw Refused(status: response.status, code: response.code) }
    return try PullPage(
      body: response.body, generation: said, head: head, serverTimeMilliseconds: time)
  }

  /// A place of the zone's log.
  func cursor(at sequence: UInt64) async throws -> Cursor {
    let zone = try await zone()
    let place = try await server.storage.place(at: sequence, of: zone)
    return Cursor(generation: zone.generation, sequence: sequence, chain: place.chain)
  }
}
