import Crypto
import Foundation

/// How the page looks, and what a browser may do with it.
enum StatusStyle {
  static let sheet = """
    :root{color-scheme:light dark;--ground:#f6f7f8;--card:#fff;--text:#1c2126;--quiet:#5b6570;--line:#dfe3e7;
    --accent:#0b62c4;--fill:#0b62c422;--bad:#b3261e;--good:#1a7f37}
    @media(prefers-color-scheme:dark){:root{--ground:#14171a;--card:#1d2125;--text:#e6e9ec;--quiet:#9aa5b1;
    --line:#333a41;--accent:#6cb2ff;--fill:#6cb2ff2b;--bad:#ff8a80;--good:#6fdc8c}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--ground);color:var(--text);font:15px/1.45 system-ui,sans-serif}
    main{max-width:1080px;margin:0 auto;padding:0 16px 32px}
    header{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;max-width:1080px;margin:0 auto;
    padding:16px}
    h1{font-size:20px;margin:0;flex:1}h2{font-size:16px;margin:24px 0 8px}a{color:var(--accent)}
    .quiet{color:var(--quiet)}.bad{color:var(--bad);font-weight:600}.good{color:var(--good)}
    .cards{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(150px,1fr))}
    .card,.plot,table,form.sign{background:var(--card);border:1px solid var(--line);border-radius:8px}
    .card{padding:10px 12px}.card b{display:block;font-size:18px;overflow-wrap:anywhere}
    .plots{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(280px,1fr))}
    .plot{padding:10px 12px;margin:0}.plot svg{display:block;width:100%;height:72px;margin-top:6px}
    .plot path{vector-effect:non-scaling-stroke;stroke-width:1.5}
    .plot .curve{fill:none;stroke:var(--accent)}.plot .area{fill:var(--fill)}
    .plot .ground{stroke:var(--line)}
    table{border-collapse:collapse;width:100%}
    th,td{padding:6px 10px;text-align:left;border-top:1px solid var(--line);overflow-wrap:anywhere}
    thead th{border-top:0;color:var(--quiet);font-weight:500}
    td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
    th.number{text-align:right}
    button,input{font:inherit;padding:7px 12px;border:1px solid var(--line);border-radius:6px;
    background:var(--card);color:var(--text)}
    button.main{background:var(--accent);border-color:var(--accent);color:var(--card)}
    form.sign{max-width:420px;margin:10vh auto 0;padding:20px;display:grid;gap:12px}
    form.find{display:flex;gap:8px;margin:0 0 8px}form.find input{flex:1;max-width:320px;min-width:0}
    nav{display:flex;gap:16px;margin:10px 2px}
    @media(max-width:640px){thead{display:none}table,tbody,tr,td{display:block}
    tr{border-top:1px solid var(--line);padding:8px 0}tr:first-child{border-top:0}
    td,td.number{border:0;display:flex;justify-content:space-between;gap:12px;text-align:right;padding:3px 12px;
    white-space:normal}td::before{content:attr(data-name);color:var(--quiet);text-align:left}}
    """

  /// Nothing from elsewhere, no script, this sheet alone; no other page shows it in a frame.
  static let policy: String = {
    let digest = Data(SHA256.hash(data: Data(sheet.utf8))).base64EncodedString()
    return "default-src 'none'; style-src 'sha256-\(digest)'; form-action 'self'; base-uri 'none'; "
      + "frame-ancestors 'none'"
  }()
}
