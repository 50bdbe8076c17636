/// Which tokens the compiler sees on Linux: not those in a branch of `#if` that is for other systems.
struct LiveSource {
  /// Systems that this one is not.
  private static let otherSystems: Set<String> = [
    "macOS", "OSX", "iOS", "tvOS", "watchOS", "visionOS", "iPadOS", "Windows", "Android",
  ]

  /// One `#if` with its branches.
  private struct Fork {
    /// Whether what is around it is live, and whether it is so in every build.
    let outside: (isLive: Bool, isCertain: Bool)
    /// Whether a branch was surely taken.
    var isTaken = false
    /// Whether it depends on the build which of the branches so far is taken.
    var isOpen = false
    var isLive = false
    /// Whether the branch is live in every build.
    var isCertain = false

    /// Goes on to a branch; nil is a condition that depends on the build.
    mutating func branch(_ condition: Bool?) {
      isLive = outside.isLive && !isTaken && condition != false
      isCertain = outside.isCertain && isLive && !isOpen && condition == true
      isOpen = isOpen || condition == nil
      isTaken = isTaken || condition == true
    }
  }

  private let tokens: [SwiftToken]
  private var place = 0

  /// For each token, whether it may be compiled.
  private(set) var isLive: [Bool] = []
  /// For each token, whether every build on Linux compiles it.
  private(set) var isCertain: [Bool] = []

  init(_ tokens: [SwiftToken]) {
    self.tokens = tokens
    isLive = Array(repeating: true, count: tokens.count)
    isCertain = isLive
    var forks: [Fork] = []
    for (index, token) in tokens.enumerated() {
      if token.kind == .directive {
        switch token.text {
        case "#if":
          var fork = Fork(outside: (forks.last?.isLive ?? true, forks.last?.isCertain ?? true))
          fork.branch(condition(after: index))
          forks.append(fork)
        case "#elseif", "#else":
          guard var fork = forks.popLast() else { break }
          fork.branch(token.text == "#else" ? true : condition(after: index))
          forks.append(fork)
        case "#endif": _ = forks.popLast()
        default: break
        }
      }
      isLive[index] = forks.last?.isLive ?? true
      isCertain[index] = forks.last?.isCertain ?? true
    }
  }

  // MARK: Conditions

  /// What a condition is on Linux; nil where that depends on how the source is built.
  private mutating func condition(after index: Int) -> Bool? {
    place = index + 1
    return any()
  }

  private mutating func take(_ text: String) -> Bool {
    guard place < tokens.count, tokens[place].text == text else { return false }
    place += 1
    return true
  }

  private mutating func takeTwice(_ text: String) -> Bool {
    guard place + 1 < tokens.count, tokens[place + 1].text == text else { return false }
    guard take(text) else { return false }
    return take(text)
  }

  private mutating func any() -> Bool? {
    var result = all()
    while takeTwice("|") {
      let next = all()
      result = result == true || next == true ? true : result == false ? next : nil
    }
    return result
  }

  private mutating func all() -> Bool? {
    var result = one()
    while takeTwice("&") {
      let next = one()
      result = result == false || next == false ? false : result == true ? next : nil
    }
    return result
  }

  private mutating func one() -> Bool? {
    if take("!") { return one().map { !$0 } }
    if take("(") {
      let result = any()
      _ = take(")")
      return result
    }
    guard place < tokens.count, tokens[place].kind == .word else { return nil }
    let word = tokens[place].text
    place += 1
    if word == "true" || word == "false" { return word == "true" }
    guard take("(") else { return nil }
    let argument = place < tokens.count ? tokens[place].text : ""
    var depth = 1
    while place < tokens.count, depth > 0 {
      if tokens[place].text == "(" { depth += 1 }
      if tokens[place].text == ")" { depth -= 1 }
      place += 1
    }
    switch word {
    case "os":
      return argument == "Linux" ? true : Self.otherSystems.contains(argument) ? false : nil
    case "canImport":
      if AppleModules.names.contains(argument) || argument == "ObjectiveC" { return false }
      return ["CoreData", "Foundation", "Glibc"].contains(argument) ? true : nil
    case "targetEnvironment": return false
    case "_runtime": return argument == "_Native"
    default: return nil
    }
  }
}

/// Modules that come with Apple's systems and not with Swift.
enum AppleModules {
  static let names: Set<String> = [
    "ARKit", "AVFoundation", "AVKit", "Accelerate", "ActivityKit", "AppIntents", "AppKit",
    "AuthenticationServices", "BackgroundTasks", "CFNetwork", "CallKit", "CarPlay", "Charts",
    "CloudKit", "Cocoa", "Combine", "Contacts", "ContactsUI", "CoreAudio", "CoreBluetooth",
    "CoreGraphics", "CoreImage", "CoreLocation", "CoreML", "CoreMedia",
    "CoreMotion", "CoreServices", "CoreSpotlight", "CoreTelephony", "CoreText", "CoreVideo",
    "CryptoKit", "Darwin", "EventKit", "GameKit", "GameplayKit", "HealthKit", "HomeKit",
    "ImageIO", "Intents", "IOKit", "LocalAuthentication", "MapKit", "MediaPlayer",
    "MessageUI", "Metal", "MetalKit", "MobileCoreServices", "MultipeerConnectivity",
    "NaturalLanguage", "Network", "NotificationCenter", "ObjectiveC", "OSLog", "PDFKit",
    "Photos", "PhotosUI", "QuartzCore", "QuickLook", "RealityKit", "SafariServices", "SceneKit",
    "Security", "Social", "Speech", "SpriteKit", "StoreKit", "SwiftData", "SwiftUI",
    "SystemConfiguration", "UIKit", "UniformTypeIdentifiers", "UserNotifications", "Vision",
    "WatchConnectivity", "WatchKit", "WebKit", "WidgetKit", "os",
  ]

  /// What does the like on Linux.
  static let replacements: [String: String] = [
    "Combine": "an AsyncSequence", "CryptoKit": "swift-crypto", "Darwin": "Glibc",
    "OSLog": "swift-log", "os": "swift-log", "SwiftData": "CoreData",
  ]
}
