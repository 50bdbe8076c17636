import DriftlessProtocol
import Foundation

extension CurlTransport {
  /// Reads a page of the log; nothing of a damaged one is used.
  func page(from response: HTTPResponse) throws -> PullPage {
    guard response.mediaType == WirePath.logType else { throw foreign(response) }
    guard
      let generation = response.fields[PullPage.generationField.lowercased()]
        .flatMap({ UUID(uuidString: $0) }),
      let head = response.fields[PullPage.headField.lowercased()].flatMap({ UInt64($0) })
    else {
      throw TransportError.damagedBody(address, "it does not say where the zone's log stands")
    }
    do {
      return try PullPage(body: response.body, generation: generation, head: head)
    } catch {
      guard error.code == .damaged else { throw error }
      throw TransportError.damagedBody(address, error.message)
    }
  }
}
