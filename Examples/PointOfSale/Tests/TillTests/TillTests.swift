import Foundation
import Testing

private let done = Answer(status: 204, line: "")

/// Real programs: a driftless-server, and tills in processes of their own.
@Suite(.serialized) struct TillTests {
  @Test("Two tills sell without a server, one is killed; when it is back both show the same")
  func offline() throws {
    let floor = try ShopFloor()
    try floor.startServer()
    let left = try floor.startTill("left")
    var right = try floor.startTill("right")
    #expect(try left.add("Tea", price: "2.5", stock: 10) == done)
    let tea = try #require(try right.wait("tea") { $0.product("Tea") != nil }.product("Tea"))
    #expect(tea.price == "2.50")
    try left.wait("in step") { $0.isInStep }
    try right.wait("in step") { $0.isInStep }

    floor.killServer()
    try left.wait("offline") { $0.state.kind == "offline" }
    try right.wait("offline") { $0.state.kind == "offline" }
    #expect(try left.sell(3, of: tea.id) == done)
    #expect(try left.setPrice(of: tea.id, to: "2.80") == done)
    #expect(try right.sell(4, of: tea.id) == done)
    #expect(try right.setPrice(of: tea.id, to: "3") == done)
    // Both take up coffee, too: the shop has it once.
    #expect(try left.add("Coffee", price: "4", stock: 5) == done)
    #expect(try right.add("Coffee", price: "4", stock: 5) == done)
    try left.wait("its own sale") {
      $0.product("Tea")?.stock == 7 && $0.product("Tea")?.price == "2.80" && $0.waiting == 3
    }

    right.program.kill()
    right = try floor.startTill("right")
    let alone = try right.wait("its own sale after kill -9") {
      $0.product("Tea")?.stock == 6 && $0.product("Tea")?.price == "3.00" && $0.sales.count == 1
    }
    #expect(alone.sales.first?.total == "10.00")

    try floor.startServer()
    let isWhole = { (view: View) in
      view.isInStep && view.sales.count == 2 && view.products.count == 2
        && view.product("Tea")?.stock == 3
    }
    var here = try left.wait("both sales", isWhole)
    var there = try right.wait("both sales", isWhole)
    #expect(here.products.map(\.name) == ["Coffee", "Tea"])
    #expect(here.products == there.products)
    #expect(here.sales == there.sales)

    // One price stands, and the till whose price does not asks.
    let asking = here.decisions.isEmpty ? right : left
    let decision = try #require((here.decisions + there.decisions).first)
    #expect(here.decisions.count + there.decisions.count == 1)
    #expect(decision.product == "Tea" && decision.there == here.product("Tea")?.price)
    #expect(Set([decision.here, decision.there]) == ["2.80", "3.00"])
    #expect(try asking.post("/decisions/\(decision.number)", #"{"side":"local"}"#) == done)
    let isDecided = { (view: View) in
      view.isInStep && view.decisions.isEmpty && view.product("Tea")?.price == decision.here
    }
    here = try left.wait("a price", isDecided)
    there = try right.wait("a price", isDecided)
    #expect(here.products == there.products)
    #expect(
      try asking.post("/decisions/\(decision.number)", #"{"side":"remote"}"#)
        == Answer(status: 409, line: "That was decided already."))
  }

  @Test("A till that never met its server sells, and is enrolled when the server comes")
  func firstStartOffline() throws {
    let floor = try ShopFloor()
    // The address is known, and nobody listens.
    try floor.startServer()
    floor.killServer()
    let till = try floor.startTill("first")
    #expect(try till.add("Ink & 'Öl' 🖋️", price: "1,05", stock: 0) == done)
    let ink = try #require(
      try till.wait("offline") { $0.state.kind == "offline" && !$0.products.isEmpty }.products.first
    )
    #expect(ink.name == "Ink & 'Öl' 🖋️" && ink.price == "1.05")
    // Sold to a customer who stands there with it, whatever the list says.
    #expect(try till.sell(2, of: ink.id) == done)
    let view = try till.wait("less than nothing") { $0.product(ink.name)?.stock == -2 }
    #expect(view.waiting == nil)
    try floor.startServer()
    try till.wait("in step") { $0.isInStep && $0.products.first?.stock == -2 }
    #expect(till.program.stop() == 0)
  }

  @Test("What a till cannot do is one line, and changes nothing")
  func refusals() throws {
    let floor = try ShopFloor()
    try floor.startServer()
    let till = try floor.startTill("odd")
    #expect(try till.add("<b>Tea</b>", price: "2.50", stock: 10) == done)
    let before = try till.wait("tea") { $0.isInStep && !$0.products.isEmpty }
    let tea = try #require(before.products.first)
    #expect(tea.name == "<b>Tea</b>")

    let name = Answer(status: 400, line: "A name has 1 to 60 characters.")
    #expect(try till.add("  ", price: "1", stock: 1) == name)
    #expect(try till.add(String(repeating: "é", count: 61), price: "1", stock: 1) == name)
    let taken = try till.add("<b>Tea</b>", price: "1", stock: 1)
    #expect(taken == Answer(status: 409, line: "There is a product <b>Tea</b> already."))
    for price in ["", "-1", "1.234", "1e3", "NaN", "100000", "99999.50", "1.", "٣", "1.2.3"] {
      let answer = try till.setPrice(of: tea.id, to: price)
      #expect(answer.status == 400 && answer.line.hasPrefix("A price is"), "\(price): \(answer)")
    }
    for stock in [-1, 1_000_001] {
      #expect(try till.add("Milk", price: "1", stock: stock).status == 400)
    }
    for quantity in [0, -3, 1000, Int.max] {
      let answer = try till.sell(quantity, of: tea.id)
      #expect(answer == Answer(status: 400, line: "A quantity is a whole number from 1 to 999."))
    }
    #expect(try till.sell(1, of: UUID()).status == 404)
    #expect(try till.setPrice(of: UUID(), to: "1").status == 404)
    let line = #"{"product":"\#(tea.id)","quantity":1}"#
    let lines = Array(repeating: line, count: 51).joined(separator: ",")
    for body in [
      "", "{", "[]", #"{"number":"1","lines":[]}"#, #"{"number":"","lines":[\#(line)]}"#,
      #"{"number":"1","lines":[\#(lines)]}"#,
      #"{"number":"1","lines":[{"product":"x","quantity":1}]}"#,
      #"{"number":"1","lines":[{"product":"\#(tea.id)","quantity":1.5}]}"#,
      #"{"number":"1","lines":[{"product":"\#(tea.id)","quantity":99999999999999999999}]}"#,
    ] {
      let answer = try till.post("/sales", body)
      #expect(answer.status == 400 && !answer.line.contains("\n"), "\(body): \(answer)")
    }
    #expect(try till.post("/sales", String(repeating: " ", count: 20_000)).status == 413)
    // A form of another site.
    #expect(
      try till.post("/sales", #"{"number":"1","lines":[\#(line)]}"#, type: "text/plain").status
        == 400)
    #expect(try till.get("/nothing").status == 404)

    // A sale whose answer got lost is sent again, and is one.
    #expect(try till.sell(1, of: tea.id, number: "same") == done)
    #expect(try till.sell(1, of: tea.id, number: "same") == done)
    #expect(try till.sell(2, of: tea.id) == done)
    let after = try till.wait("two sales") { $0.sales.count == 2 && $0.products.first?.stock == 7 }
    #expect(after.products.count == 1 && after.products.first?.price == "2.50")
  }

  @Test("A page that is closed makes room for another; more than a till can feed are refused")
  func pages() throws {
    let floor = try ShopFloor()
    try floor.startServer()
    let till = try floor.startTill("busy")
    #expect(try till.get("/").line.hasPrefix("<!DOCTYPE html>"))
    // The till's own stream is one of the 32.
    var pages = try (0..<31).map { _ in try Events(till.program.address + "/events") }
    for page in pages { _ = try #require(try page.next()) }
    let refused = Answer(status: 503, line: "At most 32 pages show one till: close some.")
    #expect(try till.get("/events") == refused)
    pages.removeAll()
    let deadline = Date(timeIntervalSinceNow: 60)
    while Date() < deadline {
      let page = try Events(till.program.address + "/events")
      if (try? page.next()) != nil { return }
    }
    Issue.record("The pages that were closed still count")
  }
}
