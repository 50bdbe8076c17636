import Foundation
import Testing

@testable import Driftless

/// Property lists that would exhaust the stack or the memory are none.
struct BoundedPropertyListTests {
  @Test("What others write is read, binary or as XML", arguments: [true, false])
  func read(isBinary: Bool) throws {
    let values: [String: Any] = ["a": [1, 2, ["b": Data([1])]], "c": "<&>", "d": [String]()]
    let data = try PropertyListSerialization.data(
      fromPropertyList: values, format: isBinary ? .binary : .xml, options: 0)
    #expect((BoundedPropertyList.values(data) as? [String: Any])?.count == 3)
  }

  @Test("Containers nested without end are no property list, binary or as XML")
  func deep() {
    let count = 200_000
    let xml =
      "<plist>" + String(repeating: "<array>", count: count)
      + String(repeating: "</array>", count: count) + "</plist>"
    #expect(BoundedPropertyList.values(Data(xml.utf8)) == nil)
    #expect(BoundedPropertyList.values(Data(String(repeating: "(", count: count).utf8)) == nil)
    // Each array holds the next one; the last holds none.
    #expect(BoundedPropertyList.values(arrays(count: 5_000) { [$0 + 1] }) == nil)
  }

  @Test(
    "What only looks like an end of a container, or hides one, does not make room for more",
    arguments: [
      ("<plist><!--ENDS-->", "<array>", "</array>"),
      ("<plist><![CDATA[ENDS]]>", "<array>", "</array>"),
      ("<plist>", "<array name=\"/>\">", "</array>"),
      ("/*ENDS*/", "(", ")"), ("//ENDS\n", "(", ")"), ("'ENDS'", "(", ")"),
    ])
  func hidden(start: String, open: String, close: String) {
    func list(_ count: Int) -> Data {
      let ends = String(repeating: close, count: 400)
      let middle = String(repeating: open, count: count) + String(repeating: close, count: count)
      let text = start.replacingOccurrences(of: "ENDS", with: ends) + middle
      return Data((open == "(" ? text : text + "</plist>").utf8)
    }
    #expect(!BoundedPropertyList.isBounded(list(400)))
    // What is hidden from Foundation as well is no reason to refuse.
    #expect(BoundedPropertyList.isBounded(list(20)))
  }

  @Test("More ends of containers than containers are no property list")
  func ends() {
    #expect(!BoundedPropertyList.isBounded(Data("<plist></array></plist>".utf8)))
    #expect(!BoundedPropertyList.isBounded(Data(")(".utf8)))
  }

  @Test("A list that holds itself, or one list many times over, is no property list")
  func shared() {
    #expect(BoundedPropertyList.values(arrays(count: 2) { _ in [0] }) == nil)
    #expect(BoundedPropertyList.values(arrays(count: 40) { [$0 + 1, $0 + 1] }) == nil)
  }

  /// A binary list of arrays that hold each other, the last of which is empty.
  private func arrays(count: Int, _ members: (Int) -> [Int]) -> Data {
    var data = Data("bplist00".utf8)
    var offsets: [Int] = []
    for index in 0..<count {
      offsets.append(data.count)
      let held = index == count - 1 && count > 2 ? [] : members(index)
      data.append(0xA0 | UInt8(held.count))
      for member in held { data.append(contentsOf: bytes(member)) }
    }
    let table = data.count
    for offset in offsets { data.append(contentsOf: bytes(offset)) }
    data.append(contentsOf: [0, 0, 0, 0, 0, 0, 4, 4])
    for number in [count, 0, table] { data.append(contentsOf: [0, 0, 0, 0] + bytes(number)) }
    return data
  }

  private func bytes(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}
