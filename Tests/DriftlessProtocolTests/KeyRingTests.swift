import Foundation
import Testing

@testable import DriftlessProtocol

/// What the page on encryption says of keys, cells and claims, byte by byte: another client does the same.
struct KeyRingTests {
  private static let text = """
    driftless-keys 1
    domain 101112131415161718191a1b1c1d1e1f
    key 0102030405060708 808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f

    """
  private static let object = UUID(uuidString: "0190a1b2-c3d4-8e5f-8123-456789abcdef") ?? UUID()
  private static let nonce = (0xa0...0xab).map { UInt8($0) }

  private func place(_ property: String, _ entity: String = "Note", _ object: UUID = object)
    -> SealedPlace
  {
    SealedPlace(entity: entity, object: object, property: property)
  }

  @Test(
    "Cells are those of the page on encryption",
    arguments: [
      (
        "text", "054772c3bcc39f65",
        "010102030405060708a0a1a2a3a4a5a6a7a8a9aaab66106a36a72457eb882fa81be5ee5104559a231ed27f815c"
      ),
      (
        "stars", "01fdffffffffffffff",
        "010102030405060708a0a1a2a3a4a5a6a7a8a9aaab25bed592ecc37d9c6b90571bb3bc95c8d31f547094409cbb44"
      ),
      (
        "made", "030000208093dcc441",
        "010102030405060708a0a1a2a3a4a5a6a7a8a9aaab1116dcdea73d86deed0d0daa13d50c2594adbeca55a4c82443"
      ),
      (
        "isOpen", "0401",
        "010102030405060708a0a1a2a3a4a5a6a7a8a9aaab6c0a820903f01c3c7f4df75f7c7892d07678"
      ),
      (
        "price", "0731322e35",
        "010102030405060708a0a1a2a3a4a5a6a7a8a9aaabc543206321d73ba2c8971e829a148026a25d4f5017"
      ),
    ])
  func cells(property: String, plain: String, cell: String) throws {
    let ring = try KeyRing(text: Self.text)
    let plaintext = try #require(Hexadecimal.bytes(plain))
    let sealed = try ring.seal(plaintext, at: place(property), nonce: Self.nonce)
    #expect(Hexadecimal.text(sealed.bytes) == cell)
    let read = try #require(Hexadecimal.bytes(cell).flatMap { SealedCell($0) })
    #expect(read.key.description == "0102030405060708")
    #expect(ring.open(read, at: place(property)) == plaintext)
  }

  @Test("A claim is that of the page on encryption, and the same after a rotation")
  func claim() throws {
    let ring = try KeyRing(text: Self.text)
    for ring in [ring, ring.rotated(), ring.rotated().rotated()] {
      let claim = ring.claim(
        entity: "Note", properties: ["text"], values: [Array("Gr\u{fc}\u{df}e".utf8)])
      #expect(Hexadecimal.text(claim.bytes) == "16005b84ae3c3d14ab2c5eca47f99f87")
    }
    #expect(
      KeyRing().claim(entity: "Note", properties: ["text"], values: [[1]])
        != KeyRing().claim(entity: "Note", properties: ["text"], values: [[1]]))
  }

  @Test("A cell opens nowhere but in its place and its domain")
  func places() throws {
    let ring = KeyRing()
    let cell = try ring.seal([1, 2], at: place("text"))
    #expect(ring.open(cell, at: place("text")) == [1, 2])
    #expect(ring.open(cell, at: place("texts")) == nil)
    #expect(ring.open(cell, at: place("text", "Notes")) == nil)
    #expect(ring.open(cell, at: place("text", "Note", UUID())) == nil)
    // Names that run together are two.
    #expect(ring.open(cell, at: place("etext", "Not")) == nil)
    let other = try KeyRing(
      text: ring.text.replacing(/domain [0-9a-f]{4}/) { _ in "domain ffff" })
    #expect(other.keyIDs == ring.keyIDs)
    #expect(other.open(cell, at: place("text")) == nil)
  }

  @Test(
    "What was sealed before a rotation opens after it, and new values are sealed with the newest key"
  )
  func rotation() throws {
    let ring = KeyRing()
    let rotated = ring.rotated()
    #expect(rotated.keyIDs.count == 2 && rotated.keyIDs.first == ring.newest)
    let old = try ring.seal([1], at: place("text"))
    let new = try rotated.seal([2], at: place("text"))
    #expect(old.key == ring.newest && new.key == rotated.newest && old.key != new.key)
    #expect(rotated.open(old, at: place("text")) == [1])
    #expect(rotated.open(new, at: place("text")) == [2])
    #expect(ring.open(new, at: place("text")) == nil)
    #expect(try KeyRing(text: rotated.text) == rotated)
  }

  @Test("No description of a ring has a secret")
  func descriptions() throws {
    let ring = try KeyRing(text: Self.text)
    var dumped = ""
    dump(ring, to: &dumped)
    for text in ["\(ring)", String(reflecting: ring), dumped] {
      #expect(text.contains("0102030405060708"))
      #expect(!text.contains("8081828384") && !text.contains("128, 129"))
    }
  }

  @Test(
    "What is no ring is refused without a word of it",
    arguments: [
      "", "driftless-keys 2\n", "driftless-keys 1\n",
      "driftless-keys 1\ndomain 101112131415161718191a1b1c1d1e1f\n",
      "driftless-keys 1\nkey 0102030405060708 \(String(repeating: "a1", count: 32))\n",
      "driftless-keys 1\ndomain 1011\nkey 0102030405060708 \(String(repeating: "a1", count: 32))\n",
      text + "key 0102030405060708 \(String(repeating: "a1", count: 32))\n",
      text + "key 0102030405060709 \(String(repeating: "a1", count: 31))\n",
      text + "domain 101112131415161718191a1b1c1d1e1f\n", text + "secret\n",
    ])
  func refused(text: String) {
    let error = #expect(throws: ProtocolError.self) { try KeyRing(text: text) }
    #expect(error?.code == .malformed)
    #expect(error.map { !"\($0)".contains("a1a1a1") } ?? false)
  }

  @Test("Comments, empty lines and other ends of lines say nothing")
  func comments() throws {
    let text = "# made for the ship\r\n\r\n" + Self.text.replacing("\n", with: "\r\n")
    #expect(try KeyRing(text: text) == KeyRing(text: Self.text))
  }

  @Test("Bytes that are no cell of this version are none")
  func strangers() throws {
    let cell = try KeyRing().seal([], at: place("text"))
    #expect(SealedCell(cell.bytes)?.bytes == cell.bytes)
    #expect(cell.bytes.count == SealedCell.overhead)
    #expect(SealedCell([]) == nil)
    #expect(SealedCell(Array(cell.bytes.dropLast())) == nil)
    #expect(SealedCell([2] + cell.bytes.dropFirst()) == nil)
  }
}
