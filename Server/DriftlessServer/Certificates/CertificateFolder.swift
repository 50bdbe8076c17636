package import Foundation

/// The folder with a private authority and the server's certificate: `tls` in the data folder, unless told otherwise.
///
/// | file | mode | holds |
/// |---|---|---|
/// | `authority-key.pem` | 0600 | the authority's key and certificate: whoever has it can pose as the server |
/// | `authority.pem` | 0644 | the authority's certificate alone, for hosts |
/// | `server.pem` | 0600 | the server's key and certificate |
/// | `client-NAME.pem` | 0600 | a client's key and certificate, to be moved to its host |
///
/// A key and its certificate are one file each, and a file gets its name when it is whole and on the disk: a process that
/// ends between two writes leaves what was there, or what is new, and never a key with another's certificate.
package struct CertificateFolder: Sendable {
  package let url: URL

  package init(_ url: URL) { self.url = url }

  package init(data: URL) { url = data.appendingPathComponent(Self.name, isDirectory: true) }

  /// How long before its end a certificate is spoken of: time enough for who looks once a week.
  package static let warningSeconds: TimeInterval = 30 * 86_400

  /// Its name in a data folder.
  static let name = "tls"

  package var authority: URL { url.appendingPathComponent("authority.pem") }
  package var authorityKey: URL { url.appendingPathComponent("authority-key.pem") }
  package var server: URL { url.appendingPathComponent("server.pem") }
  package func client(_ name: String) -> URL { url.appendingPathComponent("client-\(name).pem") }
}
