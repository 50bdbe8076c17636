import CLimits
import DriftlessServer
import Foundation
import Logging

/// The server's answers to pulls, from its database through its socket, against the same bytes from memory through one.
struct ServeRow {
  /// A data folder whose zone `bench` has a log.
  let folder: URL

  func run() async throws -> Row {
    let administration = try Administration(folder: DataFolder(folder))
    let token = try administration.createToken(zone: "bench", verbs: .read)
    administration.close()
    var options = ServeOptions()
    options.port = 0
    let server = try ReferenceServer(
      data: folder, options: options,
      logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    let (started, starting) = AsyncStream<ReferenceServer.Listening>.makeStream()
    let running = Task { try await server.run(handlesSignals: false) { starting.yield($0) } }
    var iterator = started.makeAsyncIterator()
    guard let listening = await iterator.next(),
      let port = listening.url.split(separator: ":").last.flatMap({ UInt16($0) }),
      let zone = try await server.storage.zone(named: "bench")
    else { throw BenchError(description: "the server did not start") }
    let row = try compare(port: port, zone: zone, token: token.text)
    await listening.stop()
    try await running.value
    return row
  }

  private func compare(port: UInt16, zone: ZoneRecord, token: String) throws -> Row {
    let request =
      "GET /v1/zones/bench/changes?generation=\(zone.generation.uuidString)&after=0 HTTP/1.1\r\n"
      + "Host: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
    var one = 0
    try check(receive_answers(port, request, 1, &one), "pull")
    let bytes = [UInt8](repeating: 7, count: one)
    let times = 100
    return try Comparison(
      name: "server: answer \(times) pulls of \(one / 1000) kB (limit: send)", aim: 2,
      ours: {
        var count = 0
        try check(receive_answers(port, request, Int32(times), &count), "pull")
        guard count == one * times else { throw BenchError(description: "\(count) bytes came") }
      },
      limit: { try check(limit_send(bytes, one, Int32(times)), "send") }
    ).run()
  }
}
