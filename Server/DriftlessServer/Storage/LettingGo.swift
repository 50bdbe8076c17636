import Logging

/// What a storage lets go of by itself, some at a time, so that others wait for no more.
struct LettingGo {
  let logger: Logger

  /// Lets go of what there is. Where it fails the rest stays until the next time, and the log says so: what else there is to let go
  /// of does not wait for it.
  ///
  /// - Parameters:
  ///   - what: what goes, for the log.
  ///   - some: lets go of some, and says whether there may be more.
  func run(_ what: String, _ some: () async throws -> Bool) async {
    do {
      while try await some() {}
    } catch  where Task.isCancelled {
      // The server ends; the next one goes on.
    } catch {
      logger.warning(
        "what is forgotten was not let go of", metadata: ["what": "\(what)", "error": "\(error)"])
    }
  }
}
