import { readFileSync } from 'node:fs'
import { type Bundle, PROGRAMS, readBundle } from '../tools/bundle.ts'

interface Sign {
  /** A module of Node.js that the bundle requires. */
  readonly module?: string
  /** A text of the bundle. */
  readonly text?: RegExp
  /** A flag with which Node.js is started. */
  readonly flag?: RegExp
}

/** What a weakness of Node.js may need before an attacker can use it, and how a bundle shows that it loads that. */
const FEATURES = {
  'the permission model': { flag: /^--(?:experimental-)?permission/ },
  'worker threads': { module: 'worker_threads' },
  WebCrypto: { text: /\bwebcrypto\b|\bcrypto\.subtle\b/ },
  WASI: { module: 'wasi' },
  SQLite: { module: 'sqlite' },
  'the inspector': { module: 'inspector/promises' },
  'UDP sockets': { module: 'dgram' },
  QUIC: { module: 'quic' },
  // A call of the global; a method of that name is another one.
  'fetch of undici': { text: /(?<![.\w$]|async )fetch\(|\bglobalThis\.fetch\b/ },
  // A release has images and executables for Linux alone.
  Windows: {},
} as const satisfies Readonly<Record<string, Sign>>

export type Feature = keyof typeof FEATURES

/** The features that a bundle loads. */
export function featuresIn(bundle: string, flags: readonly string[]): readonly Feature[] {
  return (Object.keys(FEATURES) as Feature[]).filter((name) => {
    const { module, text, flag }: Sign = FEATURES[name]
    const required =
      module !== undefined && [module, `node:${module}`].some((each) => bundle.includes(`require("${each}")`))
    return required || text?.test(bundle) === true || (flag !== undefined && flags.some((one) => flag.test(one)))
  })
}

/** Those of all bundles that a release ships. */
export function loadedFeatures(): readonly Feature[] {
  const of = ({ file, flags }: Bundle): readonly Feature[] => featuresIn(readFileSync(file, 'utf8'), flags)
  return [...new Set(PROGRAMS.flatMap((name) => of(readBundle(name))))].sort()
}
