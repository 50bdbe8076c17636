import Logging

extension Logger {
  /// Warns of what keeps the engine from something, and is said again with each sync for as long as that is so. Metadata say so
  /// (`lasts`): a log may leave out what it says already. An event is told by `warning`, and is another one each time.
  func warnOfLasting(_ message: Logger.Message) {
    warning(message, metadata: ["lasts": "true"])
  }
}
