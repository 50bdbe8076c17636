package import Foundation

/// The files beside a store that say how its server is reached, as they are before a command replaces them: where that is refused
/// after all, they are put back, and the store goes on with its server of before.
package struct FormerAccess {
  private let store: URL
  private var files: [(url: URL, content: SideFile.Content?)] = []
  /// No file that a command writes there is larger.
  private static let bytesMax = 1 << 20

  /// - Parameter store: Its file.
  package init(ofStore store: URL) {
    self.store = store
    for url in [TokenFile.url, AuthorityFile.url, ClientCertificateFile.url].map({ $0(store) }) {
      do {
        let content = try SideFile.readIfThere(url, bytesMax: Self.bytesMax) { problem in
          Self.failure(url, problem.reason)
        }
        files.append((url, content))
      } catch {
        // What cannot be read opened no server, and is not put back.
      }
    }
  }

  /// Makes the files what they were.
  ///
  /// - Throws: `Failure` that names the file which is not what it was.
  package func putBack() throws(Failure) {
    for (url, content) in files {
      let now = try SideFile.readIfThere(url, bytesMax: Self.bytesMax) {
        Self.failure(url, $0.reason)
      }
      guard now?.data != content?.data else { continue }
      if let content {
        try SideFile.put(content.text, at: url, beside: store.path) { Self.failure(url, $0) }
      } else {
        try SideFile.remove(url) { Self.failure(url, $0) }
      }
    }
  }

  private static func failure(_ url: URL, _ reason: String) -> Failure {
    Failure(
      .failed, code: "token-unwritable",
      "\(url.path) is not what it was before the store was to be enrolled elsewhere: \(reason).",
      suggestion:
        "enroll the store with its server again, and name the token: syncctl enroll --token-file FILE"
    )
  }
}
