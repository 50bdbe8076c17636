import Crypto
import Testing

@testable import DriftlessProtocol

/// The cipher of encrypted properties is the one of RFC 8452.
struct ValueCipherTests {
  /// Plaintext, what is authenticated, and the ciphertext with its tag, of appendix C.2.
  private static let vectors: [(String, String, String)] = [
    (
      "", "",
      "07f5f4169bbf55a8400cd47ea6fd400f"
    ),
    (
      "0100000000000000", "",
      "c2ef328e5c71c83b843122130f7364b761e0b97427e3df28"
    ),
    (
      "010000000000000000000000", "",
      "9aab2aeb3faa0a34aea8e2b18ca50da9ae6559e48fd10f6e5c9ca17e"
    ),
    (
      "01000000000000000000000000000000", "",
      "85a01b63025ba19b7fd3ddfc033b3e76c9eac6fa700942702e90862383c6c366"
    ),
    (
      "0100000000000000000000000000000002000000000000000000000000000000", "",
      "4a6a9db4c8c6549201b9edb53006cba821ec9cf850948a7c86c68ac7539d027f"
        + "e819e63abcd020b006a976397632eb5d"
    ),
    (
      "0100000000000000000000000000000002000000000000000000000000000000"
        + "03000000000000000000000000000000", "",
      "c00d121893a9fa603f48ccc1ca3c57ce7499245ea0046db16c53c7c66fe717e3"
        + "9cf6c748837b61f6ee3adcee17534ed5790bc96880a99ba804bd12c0e6a22cc4"
    ),
    (
      "0200000000000000", "01",
      "1de22967237a813291213f267e3b452f02d01ae33e4ec854"
    ),
    (
      "020000000000000000000000", "01",
      "163d6f9cc1b346cd453a2e4cc1a4a19ae800941ccdc57cc8413c277f"
    ),
    (
      "02000000000000000000000000000000", "01",
      "c91545823cc24f17dbb0e9e807d5ec17b292d28ff61189e8e49f3875ef91aff7"
    ),
    (
      "0200000000000000000000000000000003000000000000000000000000000000", "01",
      "07dad364bfc2b9da89116d7bef6daaaf6f255510aa654f920ac81b94e8bad365"
        + "aea1bad12702e1965604374aab96dbbc"
    ),
    (
      "0200000000000000000000000000000003000000000000000000000000000000"
        + "04000000000000000000000000000000", "01",
      "c67a1f0f567a5198aa1fcc8e3f21314336f7f51ca8b1af61feac35a86416fa47"
        + "fbca3b5f749cdf564527f2314f42fe2503332742b228c647173616cfd44c54eb"
    ),
    (
      "02000000", "010000000000000000000000",
      "22b3f4cd1835e517741dfddccfa07fa4661b74cf"
    ),
    (
      "0300000000000000000000000000000004000000", "010000000000000000000000000000000200",
      "43dd0163cdb48f9fe3212bf61b201976067f342bb879ad976d8242acc188ab59"
        + "cabfe307"
    ),
    (
      "030000000000000000000000000000000400", "0100000000000000000000000000000002000000",
      "462401724b5ce6588d5a54aae5375513a075cfcdf5042112aa29685c912fc205"
        + "6543"
    ),
  ]

  private let key = SymmetricKey(data: [1] + [UInt8](repeating: 0, count: 31))
  private let nonce = [3] + [UInt8](repeating: 0, count: 11)

  @Test("AES-256-GCM-SIV gives what RFC 8452 says, and opens it", arguments: vectors.indices)
  func vector(place: Int) throws {
    let (plain, authenticated, result) = Self.vectors[place]
    let plaintext = try #require(Hexadecimal.bytes(plain))
    let beside = try #require(Hexadecimal.bytes(authenticated))
    let sealed = try ValueCipher.seal(
      plaintext, with: key, nonce: nonce, authenticating: beside)
    #expect(Hexadecimal.text(sealed.prefix(12)) == Hexadecimal.text(nonce))
    #expect(Hexadecimal.text(sealed.dropFirst(12)) == result)
    #expect(ValueCipher.open(sealed, with: key, authenticating: beside) == plaintext)
  }

  @Test("Every changed bit, another key and other authenticated bytes open nothing")
  func forgeries() throws {
    let sealed = try ValueCipher.seal([1, 2, 3], with: key, authenticating: [9])
    for bit in 0..<sealed.count * 8 {
      var forged = sealed
      forged[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(ValueCipher.open(forged, with: key, authenticating: [9]) == nil, "bit \(bit)")
    }
    #expect(ValueCipher.open(sealed, with: key, authenticating: [8]) == nil)
    #expect(
      ValueCipher.open(sealed, with: SymmetricKey(size: .bits256), authenticating: [9]) == nil)
    for count in 0..<sealed.count {
      #expect(ValueCipher.open(sealed.prefix(count), with: key, authenticating: [9]) == nil)
    }
  }

  @Test("A nonce is drawn for each value")
  func nonces() throws {
    let cells = try (0..<100).map { _ in try ValueCipher.seal([7], with: key, authenticating: []) }
    #expect(Set(cells.map { Array($0.prefix(12)) }).count == 100)
  }
}
