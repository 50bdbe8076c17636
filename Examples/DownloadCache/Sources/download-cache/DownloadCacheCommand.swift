import ArgumentParser
import DownloadCache
import Foundation

/// Files from the net, kept on the disk.
@main struct DownloadCacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "download-cache", abstract: "Keeps files from the net on the disk.",
    subcommands: [Put.self, Get.self, List.self, Evict.self, Stat.self, Clear.self])
}

/// Which cache, and how large it may be.
struct CacheOptions: ParsableArguments {
  @Option(help: "The cache's file.")
  var cache = FileManager.default.homeDirectoryForCurrentUser
    .appendingPathComponent(".cache/Downloads.cache").path

  @Option(help: "What all files together may take up, in bytes.")
  var budget = CacheLimits().byteCount

  @Option(help: "How many seconds a file is fresh when its server says nothing.")
  var lifetime = CacheLimits().lifetime

  func open() throws -> DownloadCache {
    let location = URL(fileURLWithPath: cache)
    try FileManager.default.createDirectory(
      at: location.deletingLastPathComponent(), withIntermediateDirectories: true)
    return try DownloadCache(
      at: location, limits: CacheLimits(byteCount: budget, lifetime: lifetime))
  }
}

/// A URL as somebody typed it; the cache checks it.
struct Address: ExpressibleByArgument {
  let url: URL

  init?(argument: String) {
    guard let url = URL(string: argument) else { return nil }
    self.url = url
  }
}
