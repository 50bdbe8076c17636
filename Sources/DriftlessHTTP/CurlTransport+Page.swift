import DriftlessProtocol
import Foundation

extension CurlTransport {
  /// Reads a page of the log; nothing of a damaged one is used.
  func page(from response: HTTPResponse) throws -> PullPage {
    guard response.mediaType == WirePath.logType else { throw foreign(response) }
    guard
      let generation = response.fields[PullPage.generationField.lowercased()]
        .flatMap({ UUID(uuidString: $0) }),
      let head = number(PullPage.headField, of: response),
      let time = number(PullPage.timeField, of: response)
    else {
      throw TransportError.damagedBody(address, "it does not say where the zone's log stands")
    }
    do {
      return try PullPage(
        body: response.body, generation: generation, head: head, serverTimeMilliseconds: time)
    } catch {
      guard error.code == .damaged else { throw error }
      throw TransportError.damagedBody(address, error.message)
    }
  }

  private func number(_ field: String, of response: HTTPResponse) -> UInt64? {
    response.fields[field.lowercased()].flatMap { UInt64($0) }
  }
}
