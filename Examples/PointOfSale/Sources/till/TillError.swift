import Foundation
import Hummingbird

/// What is asked of the till and cannot be done. The page shows its line as it is.
enum TillError: Error, Equatable {
  case badName
  case badPrice
  case badStock
  case badQuantity
  case emptySale
  case tooManyLines
  case badNumber
  case nameTaken(String)
  case noProduct
  case noDecision
  case notUnderstood
  case tooManyPages

  var line: String {
    switch self {
    case .badName: "A name has 1 to \(Limits.name) characters."
    case .badPrice: "A price is a number from 0 to \(Limits.price), with at most two decimals: 2.50"
    case .badStock: "A stock is a whole number from 0 to \(Limits.stock)."
    case .badQuantity: "A quantity is a whole number from 1 to \(Limits.quantity)."
    case .emptySale: "Nothing is sold: give a quantity."
    case .tooManyLines: "A sale has at most \(Limits.lines) lines: make two of it."
    case .badNumber: "A sale's number has 1 to \(Limits.number) characters."
    case .nameTaken(let name): "There is a product \(name) already."
    case .noProduct: "That product is not there any more: look at the list again."
    case .noDecision: "That was decided already."
    case .notUnderstood: "The request is not one that this till understands."
    case .tooManyPages: "At most \(Limits.pages) pages show one till: close some."
    }
  }

  var status: HTTPResponse.Status {
    switch self {
    case .nameTaken, .noDecision: .conflict
    case .noProduct: .notFound
    case .tooManyPages: .serviceUnavailable
    default: .badRequest
    }
  }
}

/// The bounds of what a till takes and shows.
enum Limits {
  static let name = 60
  static let number = 60
  static let price = 99_999
  static let stock: Int64 = 1_000_000
  static let quantity: Int64 = 999
  static let lines = 50
  static let productsShown = 500
  static let salesShown = 20
  static let pages = 32
  static let requestBytes = 16_384
}
