import DriftlessProtocol
import Foundation

extension CurlTransport {
  /// Parses a page of the log.
  func page(from response: HTTPResponse, _ request: PullRequest) throws -> PullPage {
    PullPage()
  }
}
