import Driftless
import DriftlessSync
import Foundation

/// All that a page shows, as it is sent to it.
struct View: Encodable, Equatable {
  struct Product: Encodable, Equatable {
    var id: UUID
    var name: String
    var price: String
    var stock: Int64
  }

  struct Sale: Encodable, Equatable {
    var number: String
    var till: String
    var soldAt: Date
    var lines: [String]
    var total: String
  }

  /// A price that two tills changed: what this one said, and what stands.
  struct Decision: Encodable, Equatable {
    var number: Int64
    var product: String
    var here: String
    var there: String
  }

  struct State: Encodable, Equatable {
    var kind: String
    var message = ""
    var since: Date?
  }

  var till: String
  var state = State(kind: "syncing")
  /// Changes that the server does not have; nil while it has never answered.
  var waiting: Int?
  var products: [Product] = []
  var sales: [Sale] = []
  var decisions: [Decision] = []
}

/// What the pages of this till show now. It follows the store, whoever writes to it, and the sync.
actor Screen {
  private let shop: Shop
  private var view: View
  private var pages: [UUID: AsyncStream<View>.Continuation] = [:]
  private let (touches, touch) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(_ shop: Shop) {
    self.shop = shop
    view = View(till: shop.till)
  }

  /// What a page shows now, and all that it shows after that. A page that is slow gets the newest.
  func open() throws(TillError) -> AsyncStream<View> {
    guard pages.count < Limits.pages else { throw .tooManyPages }
    let id = UUID()
    let (stream, page) = AsyncStream.makeStream(of: View.self, bufferingPolicy: .bufferingNewest(1))
    page.onTermination = { [weak self] _ in Task { await self?.close(id) } }
    page.yield(view)
    pages[id] = page
    return stream
  }

  private func close(_ id: UUID) { pages[id] = nil }

  private func show(_ change: (inout View) -> Void) {
    let former = view
    change(&view)
    if view != former { for page in pages.values { page.yield(view) } }
  }

  // MARK: What it follows. Each goes on until its task is cancelled

  func followProducts() async throws {
    for try await _ in try shop.library.container.fetchedResults(shop.products) {
      let products = try await shop.productRows()
      show { $0.products = products }
      touch.yield()
    }
  }

  func followSales() async throws {
    for try await _ in try shop.library.container.fetchedResults(shop.sales) {
      let sales = try await shop.saleRows()
      show { $0.sales = sales }
      touch.yield()
    }
  }

  func follow(_ states: AsyncStream<SyncState>) async throws {
    for await state in states {
      show { $0.state = View.State(state) }
      touch.yield()
    }
  }

  /// What waits for the server and for a person, read again after all else.
  func followWaiting() async throws {
    for await _ in touches {
      let status = try SyncEngine.status(of: shop.library.store)
      let decisions = try await shop.decisionRows()
      show {
        $0.waiting = status.isEnrolled ? status.pending.transactions : nil
        $0.decisions = decisions
      }
    }
  }

  /// A person has decided something.
  func decided() { touch.yield() }
}

extension View.State {
  init(_ state: SyncState) {
    switch state {
    case .syncing: self.init(kind: "syncing")
    case .receiving: self.init(kind: "receiving")
    case .sending: self.init(kind: "sending")
    case .inStep: self.init(kind: "inStep")
    case .offline(let pause): self.init("offline", pause)
    case .waitingForPerson(let pause): self.init("waitingForPerson", pause)
    case .refused(let pause): self.init("refused", pause)
    }
  }

  private init(_ kind: String, _ pause: SyncState.Pause) {
    let message = pause.failure.message
    self.init(
      kind: kind,
      message: message + (message.hasSuffix(".") ? " " : ". ") + pause.failure.suggestion,
      since: pause.since)
  }
}
