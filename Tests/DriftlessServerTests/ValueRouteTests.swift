import DriftlessProtocol
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// Large values over HTTP.
@Suite("Large values over HTTP")
struct ValueRouteTests {
  private struct Way {
    let server: LiveServer
    let token: AccessToken
    let value: LargeValue
    let generation: UUID
    let replica = UUID()

    var path: String { "/v1/zones/shop/values/\(value.name)?generation=\(generation)" }

    func put(
      _ bytes: Data, first: Int = 0, length: UInt64? = nil, token: AccessToken? = nil
    ) async throws -> RawConnection.Response {
      try await server.request(
        "PUT", path + "&replica=\(replica)&length=\(length ?? value.length)&first=\(first)",
        token: (token ?? self.token).text, headers: ["Content-Type: \(WirePath.valueType)"],
        body: bytes)
    }

    func get(
      _ first: Int, _ count: Int, token: AccessToken? = nil
    ) async throws -> RawConnection.Response {
      try await server.request(
        "GET", path + "&first=\(first)&count=\(count)", token: (token ?? self.token).text)
    }
  }

  private var taking: ServerLimits {
    var limits = ServerLimits()
    limits.valueBytesMax = 256 << 20
    return limits
  }

  @Test("A server whose operator did not turn it on says that it takes none")
  func off() async throws {
    try await withServer { server in
      let bytes = Data(repeating: 3, count: 100)
      let way = try await way(server, bytes)
      let info = try await server.request("GET", "/v1/zones/shop", token: way.token.text)
      #expect(try JSONDecoder().decode(ZoneInfo.self, from: info.body).valueBytesMax == nil)
      let refused = try await way.put(bytes)
      #expect(refused.status == 400 && refused.code == "unsupported")
      #expect(try await way.get(0, 10).code == "no-value")
    }
  }

  private func way(_ server: LiveServer, _ bytes: Data) async throws -> Way {
    Way(
      server: server, token: try server.token(), value: try #require(LargeValue(of: bytes)),
      generation: try await server.zone().generation)
  }

  @Test("A zone's bound counts what is to come of values that are on their way")
  func zoneBoundOfBegun() async throws {
    try await withServer(limits: taking) { server in
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      try administration.changeLimits(of: "shop", ["largeValueBytesMax": 150])
      let first = try await way(server, Data(repeating: 3, count: 100))
      let second = try await way(server, Data(repeating: 4, count: 100))
      #expect(try await first.put(Data()).status == 200)
      #expect(try await second.put(Data()).code == "zone-full")
    }
  }

  @Test("A zone's bound of large values refuses the next one, and lets it in when it is raised")
  func zoneBound() async throws {
    try await withServer(limits: taking) { server in
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      try administration.changeLimits(of: "shop", ["largeValueBytesMax": 150])
      let first = try await way(server, Data(repeating: 3, count: 100))
      #expect(try await first.put(Data(repeating: 3, count: 100)).status == 200)
      let second = try await way(server, Data(repeating: 4, count: 51))
      let refused = try await second.put(Data(repeating: 4, count: 51))
      #expect(refused.status == 507 && refused.code == "zone-full")
      let text = String(decoding: refused.body, as: UTF8.self)
      #expect(text.contains("largeValueBytesMax") && text.contains("zone limits shop"), "\(text)")
      try administration.changeLimits(of: "shop", ["largeValueBytesMax": 151])
      #expect(try await second.put(Data(repeating: 4, count: 51)).status == 200)
    }
  }

  @Test("A value goes up in pieces and comes down, and the zone says that it takes such")
  func upAndDown() async throws {
    try await withServer(limits: taking) { server in
      let size = LargeValue.pieceBytesMax
      let bytes = Data((0..<size + 9).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      let way = try await way(server, bytes)
      let info = try await server.request("GET", "/v1/zones/shop", token: way.token.text)
      #expect(try JSONDecoder().decode(ZoneInfo.self, from: info.body).valueBytesMax == 256 << 20)
      #expect(try await way.get(0, 10).code == "no-value")
      func state(_ response: RawConnection.Response) throws -> ValueState {
        try #require(response.status == 200)
        return try JSONDecoder().decode(ValueState.self, from: response.body)
      }
      #expect(try state(await way.put(Data())) == ValueState(held: 0, isWhole: false))
      #expect(try state(await way.put(bytes.prefix(size))).held == size)
      #expect(try state(await way.put(bytes.dropFirst(size), first: size)).isWhole)
      #expect(try await way.get(0, size).body == bytes.prefix(size))
      #expect(try await way.get(size, size).body == bytes.dropFirst(size))
      #expect(try await way.get(7, 5).body == bytes.dropFirst(7).prefix(5))
      let behind = try await way.get(bytes.count, 5)
      #expect(behind.status == 200 && behind.body.isEmpty)
    }
  }

  @Test("Who may only read sends none, and who may only write gets none")
  func rights() async throws {
    try await withServer(limits: taking) { server in
      let bytes = Data(repeating: 3, count: 100)
      let way = try await way(server, bytes)
      let reader = try server.token(verbs: .read)
      let writer = try server.token(verbs: .write)
      #expect(try await way.put(bytes, token: reader).status == 403)
      #expect(try await way.put(bytes, token: writer).status == 200)
      #expect(try await way.get(0, 100, token: writer).status == 403)
      #expect(try await way.get(0, 100, token: reader).body == bytes)
    }
  }

  @Test("What the zone lacks is told to who may read, and a page says that there is something")
  func lost() async throws {
    try await withServer(limits: taking) { server in
      let way = try await way(server, Data(repeating: 3, count: 100))
      let chain = Cursor.start(generation: way.generation).chain
      func mark() async throws -> String? {
        try await server.request(
          "GET", "/v1/zones/shop/changes?generation=\(way.generation)&after=0&chain=\(chain)",
          token: way.token.text
        ).headers["driftless-lost"]
      }
      func lost(_ more: String = "", _ token: AccessToken? = nil) async throws
        -> RawConnection.Response
      {
        try await server.request(
          "GET", "/v1/zones/shop/values?generation=\(way.generation)\(more)",
          token: (token ?? way.token).text)
      }
      #expect(try await mark() == nil)
      #expect(try JSONDecoder().decode(LostValues.self, from: await lost().body) == LostValues([]))
      let database = try SQLiteConnection(
        path: DataFolder(server.data).database.path, mode: .readWrite)
      defer { database.close() }
      try database.execute(
        "INSERT INTO value_lost(zone, digest, length) VALUES(1, x'\(way.value.name)', 100)")
      #expect(try await mark() != nil)
      let told = try JSONDecoder().decode(LostValues.self, from: await lost().body)
      #expect(told.sorted == [way.value])
      let rest = try await lost("&after=\(way.value.name)")
      #expect(try JSONDecoder().decode(LostValues.self, from: rest.body).values.isEmpty)
      #expect(try await lost("&after=x").code == "malformed")
      #expect(try await lost("", server.token(verbs: .write)).status == 403)
      #expect(try await lost("", server.token(verbs: .read)).status == 200)
    }
  }

  @Test("Pieces that are no pieces are refused, each with its reason")
  func refused() async throws {
    try await withServer(limits: taking) { server in
      let bytes = Data(repeating: 3, count: 100)
      let way = try await way(server, bytes)
      #expect(try await way.put(bytes, length: 40).code == "malformed", "no value is so short")
      #expect(try await way.put(bytes, length: 99).code == "malformed")
      #expect(try await way.put(bytes, first: 1).code == "malformed")
      #expect(try await way.put(Data(), length: 1 << 40).code == "too-large")
      let none = try await way.put(Data(), length: 1 << 60)
      #expect(none.code == "malformed", "no value is so long")
      let long = try await way.put(Data(count: LargeValue.pieceBytesMax + 1))
      #expect(long.status == 413 && long.code == "too-large")
      #expect(try await way.put(Data(repeating: 4, count: 100)).code == "damaged")
      for name in ["x", way.value.name.uppercased(), String(repeating: "g", count: 64)] {
        let response = try await server.request(
          "GET", "/v1/zones/shop/values/\(name)?generation=\(way.generation)&first=0&count=1",
          token: way.token.text)
        #expect(response.code == "malformed", "\(name)")
      }
      let other = try await server.request(
        "GET", "/v1/zones/shop/values/\(way.value.name)?generation=\(UUID())&first=0&count=1",
        token: way.token.text)
      #expect(other.code == "generation-changed")
    }
  }

  @Test("A push that names what is not there is refused with its name, and passes when it is")
  func push() async throws {
    try await withServer(limits: taking) { server in
      let bytes = Data(repeating: 5, count: 3000)
      let way = try await way(server, bytes)
      var index = ChangeSetIndex()
      index.entities = [.init(name: "Box", properties: ["photo"])]
      index.newObjects = [.init(entity: 0, identities: .range(first: UUID(), count: 1))]
      index.transactions = [.init(hybridTime: UInt64(Date().timeIntervalSince1970 * 1000) << 16)]
      index.groups = [
        .init(
          kind: .insert, entity: 0, properties: [0], objects: ObjectIndexes(0..<1),
          transactionRuns: [.init(transaction: 0, count: 1)])
      ]
      var rows = ByteRows()
      rows.append(Data(way.value.bytes))
      let zone = try await server.zone()
      let frame = try ChangeSetEncoder().encode(
        ChangeSet(
          header: ChangeSetHeader(
            replica: way.replica, pushNumber: 1,
            cursor: Cursor(generation: zone.generation, sequence: 0, chain: zone.chain)),
          index: index, columns: [Column(.bytes(rows), large: RowBitmap([0]))]))
      let refused = try await server.push(frame, token: way.token)
      #expect(refused.status == 409 && refused.code == "values-missing")
      let error = try JSONDecoder().decode(WireError.self, from: refused.body)
      #expect(error.values == [way.value.name])
      #expect(try await way.put(bytes).status == 200)
      #expect(try await server.accepted(frame, token: way.token).sequence == 1)
    }
  }
}
