import ArgumentParser
import DownloadCache
import Foundation

struct List: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the files, the most recently used first.",
    discussion: "Size, state, content type, entity tag and URL, tabs between them.")

  @OptionGroup var options: CacheOptions

  func run() async throws {
    for entry in try await options.open().entries() {
      let state = entry.isExpired ? "stale" : "fresh"
      Output.line(
        "\(entry.byteCount)\t\(state)\t\(entry.contentType ?? "-")\t\(entry.entityTag ?? "-")"
          + "\t\(entry.url.absoluteString)")
    }
  }
}

struct Evict: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Removes stale files, then the least recently used ones down to a size.")

  @OptionGroup var options: CacheOptions
  @Option(help: "What may be left, in bytes; the budget when not given.")
  var to: Int?

  func run() async throws {
    Output.line("removed \(try await options.open().evict(to: to)) files")
  }
}

struct Stat: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Tells what the cache takes up.")

  @OptionGroup var options: CacheOptions

  func run() async throws {
    let statistics = try await options.open().statistics()
    Output.line("files\t\(statistics.fileCount)")
    Output.line("stale\t\(statistics.expiredCount)")
    Output.line("bytes\t\(statistics.byteCount)")
    Output.line("budget\t\(statistics.budget)")
    if let oldest = statistics.leastRecentAccess {
      Output.line("least recent access\t\(oldest.ISO8601Format())")
    }
  }
}

struct Clear: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Removes all files.")

  @OptionGroup var options: CacheOptions

  func run() async throws { try await options.open().clear() }
}

/// Standard output, written at once: who reads a line may rely on it.
enum Output {
  static func line(_ text: String) { bytes(Data((text + "\n").utf8)) }

  static func bytes(_ data: Data) { FileHandle.standardOutput.write(data) }
}
