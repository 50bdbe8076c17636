import Foundation
import Glibc

/// A pause between two attempts to sync a store, and what ends it before its time: a token that was replaced, or a save.
///
/// Nobody tells of either while the store is not open, so the files are looked at.
struct StorePause: Sendable {
  enum Reason: String, Sendable {
    /// The token, the authorities or the keys are others.
    case access = "what lies beside the store was changed"
    case saved = "something was saved"
  }

  /// A file as it was when it was looked at; nil where there was none.
  private struct Look: Equatable {
    let numbers: [Int]?

    init(_ url: URL) {
      var status = stat()
      guard stat(url.path, &status) == 0 else {
        numbers = nil
        return
      }
      numbers = [
        Int(status.st_dev), Int(status.st_ino), Int(status.st_size), Int(status.st_mode),
        status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
      ]
    }
  }

  private let access: [URL]
  private let accessLooks: [Look]
  /// In which each save leaves a mark.
  private let saves: URL
  private let savesLook: Look
  private let earliest: ContinuousClock.Instant

  /// - Parameter seconds: how long the pause lasts at least where something is saved.
  init(of entry: DaemonConfiguration.Store, secondsAfterSave seconds: Double) {
    access = [
      entry.tokenFile ?? TokenFile.url(forStore: entry.path),
      entry.authorityFile ?? AuthorityFile.url(forStore: entry.path),
      entry.keyFile ?? KeyFile.url(forStore: entry.path),
    ]
    accessLooks = access.map { Look($0) }
    saves = URL(fileURLWithPath: entry.path.path + "-driftless-lock")
    savesLook = Look(saves)
    earliest = .now + .seconds(seconds)
  }

  /// Why the pause is over by now, if it is.
  func endsEarly() -> Reason? {
    if access.map({ Look($0) }) != accessLooks { return .access }
    return .now >= earliest && Look(saves) != savesLook ? .saved : nil
  }
}
