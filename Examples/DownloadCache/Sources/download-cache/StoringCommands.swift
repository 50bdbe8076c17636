import ArgumentParser
import DownloadCache
import Foundation

struct Put: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Puts files in: downloads them, or takes the bytes of a local file.",
    discussion: "Prints each URL once its file is safely in the cache.")

  @OptionGroup var options: CacheOptions
  @Option(help: "A local file with the bytes, in place of a download.")
  var file: String?
  @Option(help: "The content type of --file.")
  var contentType: String?
  @Option(help: "The entity tag of --file.")
  var etag: String?
  @Argument(help: "Absolute URLs.")
  var urls: [Address]

  func run() async throws {
    let cache = try options.open()
    for address in urls {
      if let file {
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        try await cache.store(url: address.url, data: data, contentType: contentType, etag: etag)
        Output.line(address.url.absoluteString)
      } else {
        let (_, source) = try await Downloader(cache: cache).data(for: address.url)
        Output.line("\(address.url.absoluteString)\t\(source.rawValue)")
      }
    }
  }
}

struct Get: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes a file's bytes to standard output, downloading it when need be.")

  @OptionGroup var options: CacheOptions
  @Flag(help: "Do not download: a file that is not here is an error, a stale one will do.")
  var offline = false
  @Argument(help: "An absolute URL.")
  var url: Address

  func run() async throws {
    let cache = try options.open()
    if offline {
      guard let data = try await cache.data(for: url.url, allowsExpired: true) else {
        throw CacheError(
          .notDownloaded, "\(url.url.absoluteString) is not in the cache",
          suggestion: "Leave --offline out to download it.")
      }
      Output.bytes(data)
    } else {
      Output.bytes(try await Downloader(cache: cache).data(for: url.url).data)
    }
  }
}
