import ArgumentParser
import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import Hummingbird

/// One till: a store of its own, a page for it, and a server that it is in step with whenever there is a network.
@main struct Till: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "till", abstract: "A point of sale that works without a network.")

  @Option(help: "The till's name, on its page and its sales.")
  var name: String

  @Option(help: "The till's store; it is made when it is not there.")
  var store: String

  @Option(help: "The port of its page, on this host alone; 0 for any.")
  var port = 8081

  @Option(help: "The address of the driftless-server.")
  var server: String

  @Option(help: "The zone that all tills of the shop have in common.")
  var zone = "shop"

  @Option(help: "A file with the token for that zone.")
  var tokenFile: String

  func run() async throws {
    guard let address = URL(string: server) else {
      throw ValidationError("--server takes an address: http://127.0.0.1:8080")
    }
    guard let token = try? String(contentsOfFile: tokenFile, encoding: .utf8) else {
      throw ValidationError("--token-file: \(tokenFile) cannot be read")
    }
    guard let page = Bundle.module.url(forResource: "page", withExtension: "html") else {
      throw ValidationError("page.html is not beside the program")
    }

    let library = try await LocalStore.open(
      model: ShopModel.make(), at: URL(fileURLWithPath: store))
    // Without a network, also at the first start, the state is `offline`, and all goes on.
    let states = try await library.sync(
      with: address, zone: zone, token: token.trimmingCharacters(in: .whitespacesAndNewlines),
      delays: SyncSchedule.Delays(retryMax: 10))

    let shop = Shop(library: library, till: name)
    let screen = Screen(shop)
    let routes = Routes(
      shop: shop, screen: screen, page: ByteBuffer(bytes: try Data(contentsOf: page)))
    let application = Application(
      router: routes.router(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        let port = channel.localAddress?.port ?? 0
        FileHandle.standardOutput.write(Data("listening on http://127.0.0.1:\(port)\n".utf8))
      })

    try await withThrowingTaskGroup { group in
      group.addTask { try await application.runService() }
      group.addTask { try await Self.again { try await screen.followProducts() } }
      group.addTask { try await Self.again { try await screen.followSales() } }
      group.addTask { try await screen.follow(states) }
      group.addTask { try await Self.again { try await screen.followWaiting() } }
      // The first that ends, on SIGTERM say, ends the others.
      try await group.next()
      group.cancelAll()
    }
  }

  /// A read that fails, for a disk that is full say, stops no sale: it is done again.
  private static func again(_ body: () async throws -> Void) async throws {
    while !Task.isCancelled {
      do {
        return try await body()
      } catch is CancellationError {
        return
      } catch {
        FileHandle.standardError.write(Data("till: \(error)\n".utf8))
        try await Task.sleep(for: .seconds(5))
      }
    }
  }
}
