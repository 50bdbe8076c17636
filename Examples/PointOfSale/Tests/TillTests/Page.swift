import Foundation

/// What a till tells its pages.
struct View: Decodable {
  struct Product: Decodable, Equatable {
    var id: UUID
    var name: String
    var price: String
    var stock: Int64
  }
  struct Sale: Decodable, Equatable {
    var number: String
    var till: String
    var lines: [String]
    var total: String
  }
  struct Decision: Decodable {
    var number: Int64
    var product: String
    var here: String
    var there: String
  }
  struct State: Decodable {
    var kind: String
    var message: String
  }

  var till: String
  var state: State
  var waiting: Int?
  var products: [Product]
  var sales: [Sale]
  var decisions: [Decision]

  /// Nothing is left to do, here or at the server.
  var isInStep: Bool { state.kind == "inStep" && waiting == 0 }
  func product(_ name: String) -> Product? { products.first { $0.name == name } }
}

struct Answer: Equatable {
  var status: Int
  var line: String
}

/// A till's program, as a browser meets it: over HTTP, by `curl`.
final class Till {
  let name: String
  let program: Program
  private let events: Events

  init(name: String, program: Program) throws {
    self.name = name
    self.program = program
    events = try Events(program.address + "/events")
  }

  /// Reads on in the till's stream until it shows what is waited for.
  @discardableResult
  func wait(_ what: String, _ condition: (View) -> Bool) throws -> View {
    while let view = try events.next() {
      if condition(view) { return view }
    }
    throw HarnessError("\(name) never showed: \(what). It last showed \(events.last)")
  }

  func post(_ path: String, _ body: String, type: String = "application/json") throws -> Answer {
    try Curl.answer([
      "--header", "Content-Type: \(type)", "--data-binary", body, program.address + path,
    ])
  }

  func get(_ path: String) throws -> Answer { try Curl.answer([program.address + path]) }

  func add(_ name: String, price: String, stock: Int) throws -> Answer {
    try post("/products", #"{"name":"\#(name)","price":"\#(price)","stock":\#(stock)}"#)
  }

  func sell(_ quantity: Int, of product: UUID, number: String = UUID().uuidString) throws -> Answer
  {
    try post(
      "/sales",
      #"{"number":"\#(number)","lines":[{"product":"\#(product)","quantity":\#(quantity)}]}"#)
  }

  func setPrice(of product: UUID, to price: String) throws -> Answer {
    try post("/products/\(product)/price", #"{"price":"\#(price)"}"#)
  }
}

enum Curl {
  static let program = URL(fileURLWithPath: "/usr/bin/env")

  static func answer(_ arguments: [String]) throws -> Answer {
    let text = try Program.run(
      program,
      ["curl", "--silent", "--max-time", "60", "--write-out", "%{http_code}"] + arguments)
    return Answer(
      status: Int(text.suffix(3)) ?? 0,
      line: text.dropLast(3).trimmingCharacters(in: .whitespacesAndNewlines))
  }
}

/// A stream of server-sent events over a connection of its own. It ends after nine minutes, whatever comes.
final class Events {
  private let process = Process()
  private let output = Pipe()
  private var buffer = Data()
  private(set) var last = ""

  init(_ address: String) throws {
    process.executableURL = Curl.program
    process.arguments = ["curl", "--silent", "--no-buffer", "--max-time", "540", address]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
  }

  deinit {
    // A child of a thread of Swift's has most signals blocked.
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// The next event; nil when the stream has ended.
  func next() throws -> View? {
    while true {
      if let end = buffer.range(of: Data("\n\n".utf8)) {
        let event = buffer[..<end.lowerBound].dropFirst("data: ".utf8.count)
        buffer.removeSubrange(..<end.upperBound)
        last = String(decoding: event, as: UTF8.self)
        return try JSONDecoder().decode(View.self, from: Data(event))
      }
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { return nil }
      buffer.append(data)
    }
  }
}
