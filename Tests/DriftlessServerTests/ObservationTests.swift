import DriftlessProtocol
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// What a server tells its operator's tools: metrics, and whether it is ready.
@Suite("Observation", .serialized)
struct ObservationTests {
  private static func operatorToken(_ server: LiveServer) throws -> AccessToken {
    let administration = try Administration(folder: DataFolder(server.data))
    defer { administration.close() }
    return try administration.createOperator(name: "ada")
  }

  /// The samples of the page: each name with its labels, and its value.
  private static func samples(_ server: LiveServer) async throws -> [String: Double] {
    let response = try await server.request("GET", "/metrics")
    #expect(response.status == 200)
    var samples: [String: Double] = [:]
    for line in String(decoding: response.body, as: UTF8.self).split(separator: "\n")
    where !line.hasPrefix("#") {
      let space = try #require(line.lastIndex(of: " "))
      let name = String(line[..<space])
      #expect(samples[name] == nil, "\(name) twice")
      let value = String(line[line.index(after: space)...])
      #expect(Double(value) != nil, "\(line)")
      samples[name] = Double(value)
    }
    return samples
  }

  @Test("Every family of metrics has its help and type once, before its samples")
  func families() async throws {
    try await withServer { server in
      var maker = FrameMaker(try await server.zone())
      _ = try await server.accepted(try maker.insert(3), token: try server.token())
      let page = String(
        decoding: try await server.request("GET", "/metrics").body, as: UTF8.self)
      #expect(page.hasSuffix("\n"))
      var family = ""
      var families: Set<String> = []
      for line in page.split(separator: "\n") {
        let words = line.split(separator: " ")
        if line.hasPrefix("# HELP ") {
          family = String(words[2])
          #expect(families.insert(family).inserted, "\(family)")
        } else if line.hasPrefix("# TYPE ") {
          #expect(words[2] == family && ["counter", "gauge", "histogram"].contains(words[3]))
        } else {
          #expect(line.hasPrefix(family), "\(line) below \(family)")
        }
      }
      let samples = try await Self.samples(server)
      #expect(samples["driftless_zones"] == 1)
      for name in ["driftless_database_bytes", "driftless_free_bytes"] {
        #expect(samples[name] ?? 0 > 4096, "\(name)")
      }
      #expect(samples["driftless_wal_bytes"] ?? -1 >= 0)
      #expect(samples["driftless_staged_bytes"] == 0)
      #expect(samples["driftless_pending_pushes"] == 0)
      #expect(samples["driftless_commit_duration_seconds_count"] == 1)
      for name in ["resident_memory_bytes", "open_fds", "max_fds", "cpu_seconds_total"] {
        #expect(samples["process_\(name)"] ?? 0 > 0, "\(name)")
      }
    }
  }

  @Test("A histogram counts each span in every bound that it does not pass")
  func histogram() {
    var histogram = Histogram()
    for milliseconds in [0, 1, 2, 70, 100, 1_000, 3_600_000] {
      histogram.count(.milliseconds(milliseconds))
    }
    let samples = Dictionary(
      uniqueKeysWithValues: histogram.samples("route=\"x\"").map { ($0.suffix, $0.value) })
    let expected = [
      "0.001": 2, "0.005": 3, "0.05": 3, "0.1": 5, "0.5": 5, "1.0": 6, "30.0": 6, "+Inf": 7,
    ]
    for (bound, count) in expected {
      #expect(samples["_bucket{route=\"x\",le=\"\(bound)\"}"] == "\(count)", "\(bound)")
    }
    #expect(samples["_count{route=\"x\"}"] == "7")
    #expect(samples["_sum{route=\"x\"}"].flatMap(Double.init) == 3601.173)
    #expect(Histogram().samples().last?.suffix == "_count")
  }

  @Test("What a long poll waits for news is not the server's time")
  func longPoll() async throws {
    try await withServer { server in
      let token = try server.token()
      let generation = try await server.zone().generation
      let start = ContinuousClock.now
      let path = "/v1/zones/shop/changes?generation=\(generation)&after=0&wait_seconds=2"
      #expect(try await server.request("GET", path, token: token.text).status == 200)
      let waited = (ContinuousClock.now - start) / .seconds(1)
      #expect(waited >= 2)
      let samples = try await Self.samples(server)
      let route = "route=\"GET /v1/zones/{zone}/changes\""
      #expect(samples["driftless_request_duration_seconds_count{\(route)}"] == 1)
      let spent = try #require(samples["driftless_request_duration_seconds_sum{\(route)}"])
      #expect(spent <= waited - 1.9, "\(spent) of \(waited)")
    }
  }

  @Test("From elsewhere, and by a proxy, metrics want an operator's token")
  func access() async throws {
    var limits = ServerLimits()
    (limits.rateSeconds, limits.wrongSignInsPerAddressMax) = (3600, 6)
    try await withServer(limits: limits) { server in
      let token = try Self.operatorToken(server)
      let zoneToken = try server.token()
      func status(_ headers: [String]) async throws -> Int {
        try await server.request("GET", "/metrics", headers: headers).status
      }
      #expect(try await status([]) == 200)
      for field in ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "Via: 1.1 proxy"] {
        #expect(try await status([field]) == 401, "\(field)")
        #expect(try await status([field, "Authorization: Bearer \(token.text)"]) == 200)
      }
      let proxy = "X-Forwarded-For: 192.0.2.1"
      for text in [zoneToken.text, "", "x", "dl_\(token.id)_" + String(repeating: "0", count: 64)] {
        #expect(try await status([proxy, "Authorization: Bearer \(text)"]) == 401, "\(text)")
      }
      let administration = try Administration(folder: DataFolder(server.data))
      try administration.revokeOperator(id: token.id)
      administration.close()
      var last = 0
      for _ in 0..<8 { last = try await status([proxy, "Authorization: Bearer \(token.text)"]) }
      #expect(last == 429)
      // Health and readiness are anybody's.
      for path in ["/healthz", "/readyz"] {
        #expect(try await server.request("GET", path, headers: [proxy]).status == 200)
      }
    }
  }

  @Test("A server is ready when the largest push would find room, and its database is there")
  func readiness() async throws {
    var limits = ServerLimits()
    limits.bodyBytesMax = 1 << 20
    limits.databaseBytesMax = 16 << 20
    let server = try await LiveServer(limits: limits)
    var maker = FrameMaker(try await server.zone())
    _ = try await server.accepted(try maker.insert(3), token: try server.token())
    let ready = try await server.request("GET", "/readyz")
    #expect(ready.status == 200)
    #expect(String(decoding: ready.body, as: UTF8.self) == "{\"status\":\"ready\"}\n")
    try await server.stop()

    limits.databaseBytesMax = 1 << 20
    let full = try await LiveServer(limits: limits, directory: server.directory)
    let refused = try await full.request("GET", "/readyz")
    #expect(refused.status == 507)
    #expect(String(decoding: refused.body, as: UTF8.self).contains(#""code":"disk-full""#))
    #expect(try await full.request("GET", "/healthz").status == 200)
    try await full.stop()

    let moved = try await LiveServer(directory: server.directory)
    #expect(try await moved.request("GET", "/readyz").status == 200)
    let database = try DataFolder(moved.data).database
    try FileManager.default.moveItem(at: database, to: database.appendingPathExtension("away"))
    // What was found a second ago is told for a second.
    var status = 200
    while status == 200 { status = try await moved.request("GET", "/readyz").status }
    #expect(status == 500)
    try await moved.stop()
  }

  @Test("A server whose database said that it is damaged is ready no more")
  func damage() async throws {
    let server = try await LiveServer()
    let token = try server.token()
    var maker = FrameMaker(try await server.zone())
    for _ in 0..<20 {
      _ = try await server.accepted(try maker.insert(200), token: token)
      maker.cursor = try await server.cursor(at: maker.number)
    }
    let generation = try await server.zone().generation
    try await server.stop()
    try Self.damageFirstEntry(try DataFolder(server.data).database)

    let damaged = try await LiveServer(directory: server.directory)
    #expect(try await damaged.request("GET", "/readyz").status == 200)
    let pull = "/v1/zones/shop/changes?generation=\(generation)"
    #expect(try await damaged.request("GET", pull, token: token.text).status == 500)
    let response = try await damaged.request("GET", "/readyz")
    #expect(response.status == 500)
    #expect(String(decoding: response.body, as: UTF8.self).contains("driftless-server verify"))
    #expect(try await Self.samples(damaged)["driftless_damaged_reads_total"] ?? 0 >= 1)
    try await damaged.stop()
  }

  /// Overwrites the page of the log's first entries: the first child of the table's root.
  private static func damageFirstEntry(_ database: URL) throws {
    let connection = try SQLiteConnection(path: database.path, mode: .readWrite)
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let root = try #require(
      try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'log'"))
    connection.close()
    let file = try FileHandle(forUpdating: database)
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(root - 1) * 4096)
    let page = [UInt8](try #require(try file.read(upToCount: 4096)))
    try #require(page[0] == 5, "the table has more than one page")
    let cell = Int(page[12]) << 8 | Int(page[13])
    let child = page[cell..<cell + 4].reduce(0) { $0 << 8 | UInt64($1) }
    try file.seek(toOffset: (child - 1) * 4096)
    try file.write(contentsOf: Data(repeating: 0xEE, count: 4096))
  }

  @Test("Monitors may ask with HEAD: they get the answer of GET without its body")
  func head() async throws {
    try await withServer { server in
      let port = server.port
      for path in ["/", "/healthz", "/readyz", "/metrics", "/nowhere"] {
        let text = try await blocking {
          let connection = try RawConnection(port: port)
          connection.send(LiveServer.head("HEAD", path, headers: ["Connection: close"]))
          return connection.rest()
        }
        let got = try await server.request("GET", path)
        #expect((got.status == 404) == (path == "/nowhere"))
        #expect(text.hasPrefix("HTTP/1.1 \(got.status) ") && text.hasSuffix("\r\n\r\n"), "\(text)")
        let type = try #require(got.headers["content-type"] ?? got.headers["location"])
        #expect(text.contains(type), "\(text)")
      }
    }
  }
}
