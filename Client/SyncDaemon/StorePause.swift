import DriftlessSync
import Foundation
import Glibc

/// What lies beside a store as it was when an attempt to sync it began: what is changed from then on may have come too late
/// for the attempt.
///
/// Nobody tells of it while the store is not open, so the files are looked at.
struct StoreLooks: Sendable {
  /// A file as it was when it was looked at; nil where there was none.
  private struct Look: Equatable {
    let numbers: [Int]?
    var isThere: Bool { numbers != nil }

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

  /// The token, the authorities, this host's certificate and the keys.
  private let access: [URL]
  private let accessLooks: [Look]
  /// In which each save leaves a mark.
  private let saves: URL
  private let savesLook: Look
  /// The file itself, and its log, which somebody may put in order.
  private let store: URL
  private let storeLook: Look
  private let logIsThere: Bool

  init(of entry: DaemonConfiguration.Store) {
    access = [
      entry.tokenFile ?? TokenFile.url(forStore: entry.path),
      entry.authorityFile ?? AuthorityFile.url(forStore: entry.path),
      entry.clientCertificateFile ?? ClientCertificateFile.url(forStore: entry.path),
      entry.keyFile ?? KeyFile.url(forStore: entry.path),
    ]
    accessLooks = access.map { Look($0) }
    saves = URL(fileURLWithPath: entry.path.path + "-driftless-lock")
    savesLook = Look(saves)
    store = entry.path
    storeLook = Look(store)
    logIsThere = Self.hasLog(store)
  }

  private static func hasLog(_ store: URL) -> Bool {
    Look(URL(fileURLWithPath: store.path + "-wal")).isThere
  }

  /// Whether any of these is another by now.
  var isAccessChanged: Bool { access.map { Look($0) } != accessLooks }
  /// Whether something was saved since.
  var isSaved: Bool { Look(saves) != savesLook }
  /// Whether the file is another by now, or its log came or went.
  var isFileChanged: Bool {
    Look(store) != storeLook || Self.hasLog(store) != logIsThere
  }
}

/// A pause between two attempts to sync a store, and what ends it before its time: a token that was replaced, a save, or another
/// content of the file.
struct StorePause: Sendable {
  enum Reason: String, Sendable {
    case access = "what lies beside the store was changed"
    case saved = "something was saved"
    case file = "the store's file was changed"
  }

  private let looks: StoreLooks
  private let earliest: ContinuousClock.Instant

  /// - Parameters:
  ///   - looks: from before the attempt that failed.
  ///   - seconds: how long the pause lasts at least where something is saved.
  init(after looks: StoreLooks, secondsAfterSave seconds: Double) {
    self.looks = looks
    earliest = .now + .seconds(seconds)
  }

  /// Why the pause is over by now, if it is.
  func endsEarly() -> Reason? {
    if looks.isAccessChanged { return .access }
    guard .now >= earliest else { return nil }
    return looks.isSaved ? .saved : looks.isFileChanged ? .file : nil
  }
}

extension SyncState {
  /// Whether it failed for what lies in files beside the store, which a person changes.
  var isAboutAccess: Bool {
    switch self {
    case .waitingForPerson(let pause): pause.failure.isAboutTheToken || pause.failure.isAboutTLS
    default: false
    }
  }
}
