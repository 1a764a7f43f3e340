/** A part of Node.js that its executable contains. */
export interface NodePart {
  readonly name: string
  readonly version: string
  /** An SPDX expression. */
  readonly licence: string
  /** `vendor:product`, where the database of weaknesses has one. */
  readonly cpe?: string
}

interface Row {
  readonly name?: string
  readonly licence: string
  readonly cpe?: string
}

/** By the keys of process.versions. */
const PARTS: Readonly<Record<string, Row>> = {
  acorn: { licence: 'MIT' },
  ada: { licence: 'MIT OR Apache-2.0' },
  amaro: { licence: 'MIT' },
  ares: { name: 'c-ares', licence: 'MIT', cpe: 'c-ares:c-ares' },
  brotli: { licence: 'MIT', cpe: 'google:brotli' },
  cjs_module_lexer: { name: 'cjs-module-lexer', licence: 'MIT' },
  cldr: { licence: 'Unicode-3.0' },
  icu: { licence: 'Unicode-3.0', cpe: 'unicode:international_components_for_unicode' },
  libffi: { licence: 'MIT', cpe: 'libffi_project:libffi' },
  lief: { licence: 'Apache-2.0', cpe: 'lief-project:lief' },
  llhttp: { licence: 'MIT', cpe: 'llhttp:llhttp' },
  merve: { licence: 'MIT OR Apache-2.0' },
  nbytes: { licence: 'MIT' },
  ncrypto: { licence: 'MIT' },
  nghttp2: { licence: 'MIT', cpe: 'nghttp2:nghttp2' },
  nghttp3: { licence: 'MIT' },
  ngtcp2: { licence: 'MIT' },
  openssl: { licence: 'Apache-2.0', cpe: 'openssl:openssl' },
  simdjson: { licence: 'Apache-2.0' },
  simdutf: { licence: 'MIT OR Apache-2.0' },
  sqlite: { licence: 'blessing', cpe: 'sqlite:sqlite' },
  tz: { name: 'tzdata', licence: 'NOASSERTION' },
  undici: { licence: 'MIT', cpe: 'nodejs:undici' },
  unicode: { licence: 'Unicode-3.0' },
  uv: { name: 'libuv', licence: 'MIT', cpe: 'libuv:libuv' },
  uvwasi: { licence: 'MIT' },
  v8: { licence: 'BSD-3-Clause', cpe: 'google:v8' },
  zlib: { licence: 'Zlib', cpe: 'zlib:zlib' },
  zstd: { licence: 'BSD-3-Clause OR GPL-2.0-only', cpe: 'facebook:zstandard' },
}

/** Node.js itself, and the numbers of its binary interfaces. */
const NO_PARTS = ['node', 'modules', 'napi']

/** What Node.js says that it contains. A part without a row ends it, so that no bill of materials leaves one out. */
export function nodeParts(
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): readonly NodePart[] {
  return Object.entries(versions).flatMap(([key, version]) => {
    // The empty text: known, and not built in.
    if (NO_PARTS.includes(key) || version === undefined || version === '') return []
    const row = PARTS[key]
    if (row === undefined) throw new Error(`Node.js contains ${key} ${version}: add its name and licence to PARTS`)
    return [{ name: key, version, ...row }]
  })
}
