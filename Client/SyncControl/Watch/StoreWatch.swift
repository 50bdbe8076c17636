import Foundation
import SyncDaemon

/// Looks at stores again and again, and tells what changed.
struct StoreWatch {
  /// What is watched.
  enum Target {
    case store(URL)
    /// All stores of the daemon that is found first.
    case daemon([DaemonPlace])
  }

  /// What one look at all stores gave.
  struct Round {
    var lines: [WatchLine] = []
    /// What is good to know beside them.
    var notes: [String] = []
  }

  /// A file that is put in a store's place, or locked, is not there for a moment: a failure is told when it was met so often.
  private static let failuresMin = 2

  let target: Target
  private var look = StatusLook()
  private var stores: [URL] = []
  private var told: [URL: WatchLine.Content] = [:]
  /// How often in a row a store could not be looked at.
  private var failures: [URL: Int] = [:]
  private var hasDaemon = true

  init(_ target: Target) {
    self.target = target
    // Who watches does not wait long for a daemon that was stopped.
    look.answerSeconds = 2
    if case .store(let url) = target { stores = [url] }
  }

  /// Whether all stores were in a state when they were looked at last.
  func isEverywhere(_ verdict: StatusVerdict) -> Bool {
    !stores.isEmpty && stores.allSatisfy { failures[$0] == nil && told[$0]?.state == verdict }
  }

  /// In which states the stores are that are not in the one that is waited for, as the end of a sentence.
  func others(than verdict: StatusVerdict) -> String {
    let rest = stores.filter { failures[$0] != nil || told[$0]?.state != verdict }
    guard let first = rest.first else { return "no store is \(verdict.rawValue)" }
    let word = failures[first] == nil ? told[first]?.state?.rawValue : nil
    let more = rest.count > 1 ? ", and \(rest.count - 1) more are not either" : ""
    return "\(first.path) is \(word ?? "unreadable"), and not \(verdict.rawValue)\(more)"
  }

  /// Looks at every store.
  ///
  /// - Throws: at the first look, where there is nothing to watch: what names a store or a daemon is wrong.
  mutating func look() async throws -> Round {
    var round = Round()
    if case .daemon(let places) = target { try await find(at: places, &round) }
    for url in stores where !Interrupt.wasAsked {
      if let content = try await content(of: url), told[url] != content {
        told[url] = content
        round.lines.append(
          WatchLine(
            time: Date(), store: url.path, content: content, isOneOfSeveral: !isOfOneStore))
      }
    }
    return round
  }

  private var isOfOneStore: Bool {
    if case .store = target { return true }
    return false
  }

  /// Asks which stores there are. Without an answer they are those that were there.
  private mutating func find(at places: [DaemonPlace], _ round: inout Round) async throws {
    do throws(Failure) {
      let found = try await FoundDaemon.find(at: places, answerSeconds: look.answerSeconds)
      if !hasDaemon { round.notes.append("the daemon answers again, at \(found.place.socket)") }
      hasDaemon = true
      for url in stores where !found.stores.contains(url) {
        round.notes.append("the daemon keeps \(url.path) no more")
        (told[url], failures[url]) = (nil, nil)
      }
      stores = found.stores
    } catch {
      guard !stores.isEmpty else { throw error }
      if hasDaemon { round.notes.append("its stores are watched on: \(error.message)") }
      hasDaemon = false
    }
  }

  /// What stands of a store now; nil where that is not to be told.
  private mutating func content(of url: URL) async throws -> WatchLine.Content? {
    do {
      let report =
        hasDaemon
        ? try await look.report(of: url) : try await look.report(of: url) { nil }
      let content = WatchLine.Content(report)
      failures[url] = nil
      return content
    } catch {
      let failure = Failure(error)
      if isOfOneStore, told[url] == nil, !failure.isTransient { throw failure }
      failures[url, default: 0] += 1
      return failures[url, default: 0] < Self.failuresMin ? nil : WatchLine.Content(failure)
    }
  }
}
