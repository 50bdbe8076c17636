import DownloadCache
import Driftless
import Foundation
import Testing

@Suite("Several processes and one cache", .serialized)
struct ProcessTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  private func urls(_ name: String, _ count: Int) -> [String] {
    (0..<count).map { "https://example.com/\(name)/\($0)" }
  }

  private func put(_ urls: [String], size: Int, budget: Int) throws -> Command {
    let file = folder.file("bytes-\(size)")
    try Data(repeating: 7, count: size).write(to: file)
    return try Command(
      [
        "put", "--cache", folder.cache.path, "--budget", "\(budget)", "--file", file.path,
        "--etag", "\"v1\"",
      ] + urls, in: folder.url)
  }

  @Test(
    "After a kill -9 in the midst of putting, every file that was told of is there and whole",
    arguments: [2_000, 200_000])
  func killed(size: Int) async throws {
    for round in 0..<4 {
      let command = try put(urls("\(round)", 500), size: size, budget: 1 << 30)
      var output = Data()
      while output.split(separator: 10).count <= 3 + round {
        let more = command.read()
        try #require(!more.isEmpty, "the program ended early: \(command.errorText)")
        output += more
      }
      command.kill()
      let cache = try DownloadCache(at: folder.cache)
      // A line that was cut off tells of a file as well, but not of which.
      let told = String(decoding: output, as: UTF8.self).split(separator: "\n")
      #expect(told.count > 3)
      for line in told {
        let url = try #require(URL(string: String(line)))
        #expect(try await cache.data(for: url) == Data(repeating: 7, count: size))
        #expect(try await cache.entry(for: url)?.entityTag == "\"v1\"")
      }
    }
    let cache = try DownloadCache(at: folder.cache)
    let statistics = try await cache.statistics()
    #expect(statistics.byteCount == statistics.fileCount * size)
    // The totals say the same as the files: the budget is kept by them.
    try await cache.evict(to: statistics.byteCount)
    #expect(try await cache.statistics().fileCount == statistics.fileCount)
    try await cache.evict(to: statistics.byteCount - 1)
    #expect(try await cache.statistics().fileCount == statistics.fileCount - 1)
  }

  @Test("Two processes and a reader use one cache, and no state of it is above the budget")
  func budget() async throws {
    let budget = 1_000_000
    let size = 150_000
    let commands = [
      try put(urls("a", 60), size: size, budget: budget),
      try put(urls("b", 60), size: size, budget: budget),
    ]
    let cache = try DownloadCache(at: folder.cache, limits: CacheLimits(byteCount: budget))
    let reading = Task {
      var most = 0
      while !Task.isCancelled {
        most = max(most, try await cache.statistics().byteCount)
        for entry in try await cache.entries() {
          guard let data = try await cache.data(for: entry.url) else { continue }
          #expect(data == Data(repeating: 7, count: size))
        }
      }
      return most
    }
    let outcomes = commands.map { $0.finish() }
    reading.cancel()
    for (outcome, command) in zip(outcomes, commands) {
      #expect(outcome.status == 0, "\(command.errorText)")
      #expect(outcome.output.split(separator: "\n").count == 60)
    }
    let most = try await reading.value
    #expect(most > 0 && most <= budget)
    let statistics = try await cache.statistics()
    #expect(statistics.byteCount == statistics.fileCount * size)
    #expect(statistics.fileCount == budget / size)
    #expect(try await cache.evict(to: size) == budget / size - 1)
  }

  @Test("Two processes that put the same files leave each of them once")
  func sameFiles() async throws {
    let names = urls("same", 30)
    let first = try put(names, size: 100, budget: 1 << 20)
    let second = try put(names, size: 100, budget: 1 << 20)
    #expect(first.finish().status == 0, "\(first.errorText)")
    #expect(second.finish().status == 0, "\(second.errorText)")
    let statistics = try await DownloadCache(at: folder.cache).statistics()
    #expect(statistics.fileCount == 30 && statistics.byteCount == 3000)
  }

  @Test("Processes that find a damaged file at once all get a cache")
  func damagedAtOnce() async throws {
    for round in 0..<3 {
      let location = folder.file("\(round).cache")
      try Data("no database, but a text of some length".utf8).write(to: location)
      let commands = try (0..<3).map { number in
        try Command(
          [
            "put", "--cache", location.path, "--file", "/etc/hostname",
            "https://example.com/\(number)",
          ], in: folder.url)
      }
      for command in commands { #expect(command.finish().status == 0, "\(command.errorText)") }
      #expect(try await DownloadCache(at: location).statistics().fileCount == 3)
    }
  }

  @Test("The commands put, get, list, evict, stat and clear, and say what is wrong")
  func commands() throws {
    func run(_ name: String, _ arguments: [String]) throws -> (Int32, String, String) {
      let command = try Command([name, "--cache", folder.cache.path] + arguments, in: folder.url)
      let outcome = command.finish()
      return (outcome.status, outcome.output, command.errorText)
    }
    let file = folder.file("a.txt")
    try Data("hello".utf8).write(to: file)
    let url = "https://example.com/a.txt"
    let put = try run(
      "put", ["--file", file.path, "--content-type", "text/plain", "--etag", "\"v1\"", url])
    #expect(put == (0, url + "\n", ""))
    #expect(try run("get", ["--offline", url]) == (0, "hello", ""))
    #expect(try run("list", []) == (0, "5\tfresh\ttext/plain\t\"v1\"\t\(url)\n", ""))
    #expect(try run("stat", []).1.hasPrefix("files\t1\nstale\t0\nbytes\t5\n"))
    #expect(try run("evict", ["--to", "4"]) == (0, "removed 1 files\n", ""))
    #expect(try run("clear", []).0 == 0)
    #expect(try run("list", []) == (0, "", ""))

    for (name, arguments, message) in [
      ("get", ["--offline", url], "is not in the cache"),
      ("put", ["--file", file.path, "a.txt"], "is not an absolute URL"),
      ("put", ["--file", file.path, "--budget", "4", url], "the cache takes 4"),
      ("stat", ["--budget", "0"], "keeps nothing"),
      ("evict", ["--to=-1"], "cannot shrink"),
    ] {
      let outcome = try run(name, arguments)
      #expect(outcome.0 != 0 && outcome.2.contains(message), "\(name): \(outcome)")
    }
  }
}
